#!/usr/bin/env bash
# kudu.sh DIR start|stop|kill|restart-tserver|kill-tserver [N]
# Apache Kudu on 127.0.0.1, its data in DIR: one master and KUDU_TSERVERS tablet servers (1). With KUDU_KDC set to a folder
# of kdc.sh it is secured by Kerberos: alice, etl/worker1 and kudu-admin (superuser) may use it, mallory may not. KUDU_FLAGS are for all
# daemons, KUDU_MASTER_FLAGS and KUDU_TSERVER_FLAGS for one kind. DIR/kudu is Kudu's own tool, with the libraries that it
# needs. `kill-tserver N` and `restart-tserver N` are for tests of failover; all servers are ended with SIGKILL, which
# Kudu's own tests do too (a clean end takes 3 s).
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: kudu.sh DIR start|stop|kill|kill-tserver N|restart-tserver N"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
version=${KUDU_VERSION:-1.17.1}
home=$cache/kudu-binary-$version-linux-x86_64

fetch() {
  [ -e "$home/.ok" ] && return 0
  mkdir -p "$cache"
  local work jar
  work=$(mktemp -d "$cache/kudu-XXXXXX")
  jar=$cache/kudu-binary-$version-linux-x86_64.jar
  if [ ! -s "$jar" ]; then
    echo "== fetching Kudu $version from Maven" >&2
    mvn -q -B dependency:copy -Dartifact="org.apache.kudu:kudu-binary:$version:jar:linux-x86_64" -DoutputDirectory="$work" >&2
    mv "$work"/*.jar "$jar"
  fi
  # A jar is a zip; it does not keep execute bits.
  python3 -m zipfile -e "$jar" "$work"
  chmod +x "$work/kudu-binary-$version-linux-x86_64"/bin/*
  touch "$work/kudu-binary-$version-linux-x86_64/.ok"
  # Somebody else may have been faster.
  mv -T "$work/kudu-binary-$version-linux-x86_64" "$home" 2>/dev/null || [ -e "$home/.ok" ] || die "cannot unpack Kudu"
  rm -rf "$work"
}

# launch NAME BINARY PORT FLAG..: in the background, its pid in DIR/NAME/pid
launch() {
  local name=$1 binary=$2 port=$3 d=$dir/$1
  shift 3
  mkdir -p "$d/data" "$d/log"
  # The archive has its own libraries; without SASL_PATH no connection can be made.
  # shellcheck disable=SC2086
  LD_LIBRARY_PATH=$home/lib SASL_PATH=$home/lib/sasl2 setsid nohup "$home/bin/$binary" \
    --fs_wal_dir="$d/data" --fs_data_dirs="$d/data" --log_dir="$d/log" --webserver_enabled=false \
    --rpc_bind_addresses="127.0.0.1:$port" --unlock_unsafe_flags --unlock_experimental_flags \
    --time_source=system_unsync --never_fsync --enable_minidumps=false \
    --memory_limit_hard_bytes="${KUDU_MEMORY:-536870912}" --block_cache_capacity_mb=16 \
    "${security[@]}" "$@" ${KUDU_FLAGS:-} >>"$d/stdout" 2>>"$d/stderr" </dev/null &
  echo $! >"$d/pid"
}

launch_tserver() {
  local n=$1 all
  read -ra all < <(ports "$dir" $((servers + 1)))
  # shellcheck disable=SC2086
  launch "ts$n" kudu-tserver "${all[$n]}" --tserver_master_addrs="127.0.0.1:${all[0]}" --heartbeat_interval_ms=200 \
    --scanner_gc_check_interval_us=500000 ${KUDU_TSERVER_FLAGS:-}
}

registered() {
  [ "$("$dir/kudu" tserver list "127.0.0.1:$port" -format=csv -columns=uuid 2>"$dir/ready.err" | grep -c .)" -ge "$servers" ]
}

end_all() {
  local d
  for d in "$dir"/ts*/ "$dir/master/"; do
    [ -d "$d" ] && stop_pid "${d%/}" KILL
  done
  rm -f "$dir/pid"
}

[ -s "$dir/servers" ] || echo "${KUDU_TSERVERS:-1}" >"$dir/servers"
servers=$(cat "$dir/servers")
[ -s "$dir/kdc" ] || echo "${KUDU_KDC:-}" >"$dir/kdc"
kdc=$(cat "$dir/kdc")
security=()
if [ -n "$kdc" ]; then
  export KRB5_CONFIG=$kdc/krb5.conf
  security=(--keytab_file="$kdc/kudu.keytab" --principal=kudu/127.0.0.1 --rpc_authentication=required
    --superuser_acl=kudu-admin --user_acl=alice,etl)
fi
case $2 in
  stop | kill) end_all; exit ;;
  kill-tserver) stop_pid "$dir/ts$3" KILL; exit ;;
  restart-tserver) launch_tserver "$3"; exit ;;
  start) ;;
  *) die "no such command: $2" ;;
esac
alive "$dir/master" && exit 0
fetch
cat >"$dir/kudu" <<K
#!/bin/sh
${kdc:+export KRB5_CONFIG=$kdc/krb5.conf KRB5CCNAME=\${KRB5CCNAME:-FILE:$dir/ccache\}}
LD_LIBRARY_PATH=$home/lib SASL_PATH=$home/lib/sasl2 exec $home/bin/kudu "\$@"
K
chmod +x "$dir/kudu"
[ -z "$kdc" ] || kinit -c "FILE:$dir/ccache" -k -t "$kdc/kudu-admin.keytab" kudu-admin
read -r port _ < <(ports "$dir" $((servers + 1)))
# shellcheck disable=SC2086
launch master kudu-master "$port" ${KUDU_MASTER_FLAGS:-}
cp "$dir/master/pid" "$dir/pid"
for n in $(seq "$servers"); do launch_tserver "$n"; done
cat >"$dir/env" <<P
WASMILL_KUDU=127.0.0.1:$port
WASMILL_KUDU_TOOL=$dir/kudu
P
wait_for 60 "$dir" "$dir/master/stderr" registered
