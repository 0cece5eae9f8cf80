#!/usr/bin/env bash
# mariadb.sh DIR start|stop|kill
# A private MariaDB (Debian's mariadb-server) on 127.0.0.1, its data in DIR, with TLS offered. Database `test`; user
# wasmill with password wasmill-secret may do everything.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: mariadb.sh DIR start|stop|kill"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
case $2 in
  stop) stop_pid "$dir"; rm -f "$(cat "$dir/socket" 2>/dev/null)"; exit ;;
  kill) stop_pid "$dir" KILL; exit ;;
  start) ;;
  *) die "no such command: $2" ;;
esac
alive "$dir" && exit 0
PATH=$PATH:/usr/sbin
command -v mariadbd >/dev/null || die "mariadbd is missing: apt-get install mariadb-server"
read -r port < <(ports "$dir" 1)
tls "$dir/tls"
user=()
[ "$(id -u)" = 0 ] && user=(--user=root)
# A path to a socket may have 107 bytes.
socket=$(cat "$dir/socket" 2>/dev/null || mktemp -u /tmp/wasmill-mariadb-XXXXXX)
echo "$socket" >"$dir/socket"
if [ ! -d "$dir/data/mysql" ]; then
  mariadb-install-db --no-defaults "${user[@]}" --datadir="$dir/data" --auth-root-authentication-method=normal --skip-test-db \
    >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log" >&2; die "cannot install a database"; }
fi
setsid nohup mariadbd --no-defaults "${user[@]}" --datadir="$dir/data" --socket="$socket" --port="$port" \
  --bind-address=127.0.0.1 --skip-name-resolve --innodb-buffer-pool-size=128M --innodb-flush-log-at-trx-commit=2 \
  --character-set-server=utf8mb4 --max-connections=100 --ssl-ca="$dir/tls/ca.pem" --ssl-cert="$dir/tls/server.pem" \
  --ssl-key="$dir/tls/server.key" >>"$dir/server.log" 2>&1 </dev/null &
echo $! >"$dir/pid"
wait_for 60 "$dir" "$dir/server.log" mariadb --no-defaults -uroot -S "$socket" -e 'select 1'
mariadb --no-defaults -uroot -S "$socket" -e "
  CREATE DATABASE IF NOT EXISTS test;
  CREATE USER IF NOT EXISTS wasmill@'%' IDENTIFIED BY 'wasmill-secret';
  GRANT ALL ON *.* TO wasmill@'%' WITH GRANT OPTION;"
cat >"$dir/env" <<P
WASMILL_MYSQL=127.0.0.1:$port
WASMILL_MYSQL_USER=wasmill
WASMILL_MYSQL_PASSWORD=wasmill-secret
WASMILL_MYSQL_TLS=$dir/tls
P
