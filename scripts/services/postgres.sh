#!/usr/bin/env bash
# postgres.sh DIR start|stop|kill
# A private PostgreSQL (Debian's) on 127.0.0.1. Database `test`, user wasmill with password wasmill-secret, plain or
# with TLS. The server
# refuses to run as root: then it runs as `postgres`, with its data in a folder of its own under /tmp (removed by stop).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: postgres.sh DIR start|stop|kill"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
case $2 in
  stop) stop_pid "$dir" INT; exit ;;
  kill) stop_pid "$dir" QUIT; exit ;;
  remove) stop_pid "$dir" INT; [ -s "$dir/home" ] && rm -rf "$(cat "$dir/home")"; exit 0 ;;
  start) ;;
  *) die "no such command: $2" ;;
esac
alive "$dir" && exit 0
bin=$(ls -d /usr/lib/postgresql/*/bin 2>/dev/null | sort -V | tail -1)
[ -n "$bin" ] || die "PostgreSQL is missing: apt-get install postgresql"
read -r port < <(ports "$dir" 1)
[ -s "$dir/home" ] || mktemp -d /tmp/wasmill-postgres-XXXXXX >"$dir/home"
home=$(cat "$dir/home")
as=()
if [ "$(id -u)" = 0 ]; then
  chown postgres "$home"
  as=(setpriv --reuid=postgres --regid=postgres --init-groups)
fi
if [ ! -f "$home/data/PG_VERSION" ]; then
  echo wasmill-secret >"$home/password"
  chmod 644 "$home/password"
  (cd "$home" && "${as[@]}" "$bin/initdb" -D "$home/data" -U wasmill -A scram-sha-256 --pwfile="$home/password" -E UTF8 \
    --locale=C.UTF-8) >"$dir/install.log" 2>&1 || { tail -20 "$dir/install.log" >&2; die "cannot install a database"; }
fi
tls "$dir/tls"
# The server takes no key that others may read.
cp "$dir/tls/ca.pem" "$dir/tls/server.pem" "$dir/tls/server.key" "$home/"
chmod 600 "$home/server.key"
[ "$(id -u)" = 0 ] && chown postgres "$home/server.key"
(
  cd "$home"
  setsid nohup "${as[@]}" "$bin/postgres" -D "$home/data" -p "$port" -h 127.0.0.1 -k "$home" \
    -c ssl=on -c ssl_ca_file="$home/ca.pem" -c ssl_cert_file="$home/server.pem" -c ssl_key_file="$home/server.key" \
    -c fsync=off >>"$dir/server.log" 2>&1 </dev/null &
  echo $! >"$dir/pid"
)
export PGPASSWORD=wasmill-secret
wait_for 60 "$dir" "$dir/server.log" psql -h 127.0.0.1 -p "$port" -U wasmill -d postgres -c 'select 1'
psql -q -h 127.0.0.1 -p "$port" -U wasmill -d postgres -tc "SELECT 1 FROM pg_database WHERE datname = 'test'" | grep -q 1 ||
  psql -q -h 127.0.0.1 -p "$port" -U wasmill -d postgres -c 'CREATE DATABASE test'
cat >"$dir/env" <<P
WASMILL_POSTGRES=127.0.0.1:$port
WASMILL_POSTGRES_USER=wasmill
WASMILL_POSTGRES_PASSWORD=wasmill-secret
WASMILL_POSTGRES_TLS=$dir/tls
P
