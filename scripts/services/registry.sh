#!/usr/bin/env bash
# registry.sh DIR start|stop|kill
# Apicurio Registry on 127.0.0.1, in memory: a schema registry with the Confluent API under /apis/ccompat/v7.
set -euo pipefail
. "$(dirname "$0")/lib.sh"
[ $# -ge 2 ] || die "usage: registry.sh DIR start|stop|kill"
mkdir -p "$1"
dir=$(cd "$1" && pwd)
case $2 in
  stop) stop_pid "$dir"; exit ;;
  kill) stop_pid "$dir" KILL; exit ;;
  start) ;;
  *) die "no such command: $2" ;;
esac
alive "$dir" && exit 0

version=3.0.9
app=$cache/apicurio-$version
if [ ! -f "$app/.ok" ]; then
  echo "== fetching Apicurio Registry $version from Maven" >&2
  mkdir -p "$app"
  mvn -q -B dependency:copy -Dartifact="io.apicurio:apicurio-registry-app:$version:tar.gz:all" \
    -DoutputDirectory="$app" -Dmdep.useBaseVersion=true >&2
  tar xzf "$app/apicurio-registry-app-$version-all.tar.gz" -C "$app"
  touch "$app/.ok"
fi
read -r port < <(ports "$dir" 1)
cd "$dir"
QUARKUS_HTTP_HOST=127.0.0.1 QUARKUS_HTTP_PORT=$port APICURIO_EVENTS_KAFKA_ENABLED=false \
  nohup java -Xmx256m -XX:TieredStopAtLevel=1 -jar "$app/apicurio-registry-app-$version-runner.jar" >"$dir/log" 2>&1 &
echo $! >"$dir/pid"
wait_for 120 "$dir" "$dir/log" \
  python3 -c 'import sys, urllib.request as r; r.build_opener(r.ProxyHandler({})).open(sys.argv[1], timeout=5)' \
  "http://127.0.0.1:$port/apis/ccompat/v7/subjects"
echo "WASMILL_REGISTRY=http://127.0.0.1:$port/apis/ccompat/v7" >"$dir/env"
