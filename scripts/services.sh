#!/usr/bin/env bash
# services.sh up|down|env|status [DIR]
# The servers that tests run against, each started by its own script in services/, on free loopback ports, with their
# data in DIR (default: target/services). `env` prints what tests need to find them: `set -a; eval "$(./dev services env)"`.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
dir=${2:-$here/../target/services}
all=(kdc kafka mariadb postgres registry kudu)

up() {
  mkdir -p "$dir"
  dir=$(cd "$dir" && pwd)
  export KDC_DIR=$dir/kdc
  local pids=() failed=0
  "$here/services/kdc.sh" "$dir/kdc" start || failed=1
  for s in kafka mariadb postgres registry kudu; do
    "$here/services/$s.sh" "$dir/$s" start &
    pids+=($!)
  done
  for p in "${pids[@]}"; do wait "$p" || failed=1; done
  [ "$failed" = 0 ] || { down; exit 1; }
  for s in "${all[@]}"; do cat "$dir/$s/env"; done >"$dir/env"
}

down() {
  for s in "${all[@]}"; do
    [ -d "$dir/$s" ] || continue
    if [ "$s" = postgres ]; then "$here/services/$s.sh" "$dir/$s" remove; else "$here/services/$s.sh" "$dir/$s" stop; fi
  done
  rm -rf "$dir"
}

case ${1:-} in
  up) up ;;
  down) down ;;
  env) [ -s "$dir/env" ] || { echo "the services are not up: ./dev services up" >&2; exit 1; }; cat "$dir/env" ;;
  status) for s in "${all[@]}"; do
      if [ -s "$dir/$s/pid" ] && kill -0 "$(cat "$dir/$s/pid")" 2>/dev/null; then echo "$s: up, pid $(cat "$dir/$s/pid"), port(s) $(cat "$dir/$s/ports")"; else echo "$s: down"; fi
    done ;;
  *) echo "usage: services.sh up|down|env|status [DIR]" >&2; exit 2 ;;
esac
