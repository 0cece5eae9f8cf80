# What the start scripts share. Sourced, not run.
# Each service has a folder of its own (its first argument): data, logs, `pid`, `ports`, `env`. Ports are chosen once, at
# the first start, so that a stopped service comes back on the same ones with the same data.

cache=${WASMILL_DEV_CACHE:-$HOME/.cache/wasmill-dev}
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

die() { printf '%s: %s\n' "$(basename "$0")" "$*" >&2; exit 1; }

alive() { [ -s "$1/pid" ] && kill -0 "$(cat "$1/pid")" 2>/dev/null; }

# free_ports N: ports nobody listens on, on 127.0.0.1
free_ports() {
  python3 - "$1" <<'PY'
import socket, sys
sockets = [socket.socket() for _ in range(int(sys.argv[1]))]
for s in sockets:
    s.bind(("127.0.0.1", 0))
print(*[s.getsockname()[1] for s in sockets])
PY
}

# ports DIR N: the service's ports, chosen at its first start
ports() {
  [ -s "$1/ports" ] || free_ports "$2" >"$1/ports"
  cat "$1/ports"
}

# stop_pid DIR [SIGNAL]: ends the process that this folder's service is, and waits for its end
stop_pid() {
  alive "$1" || { rm -f "$1/pid"; return 0; }
  local pid
  pid=$(cat "$1/pid")
  kill "-${2:-TERM}" "$pid" 2>/dev/null || true
  for _ in $(seq 300); do
    kill -0 "$pid" 2>/dev/null || { rm -f "$1/pid"; return 0; }
    sleep 0.1
  done
  kill -KILL "$pid" 2>/dev/null || true
  rm -f "$1/pid"
}

# wait_for SECONDS DIR LOG COMMAND..: until the command succeeds; fails at once when the service has died
wait_for() {
  local tries=$(($1 * 5)) dir=$2 log=$3
  shift 3
  for _ in $(seq "$tries"); do
    alive "$dir" || { tail -20 "$log" >&2; die "the service has died (its log: $log)"; }
    "$@" >/dev/null 2>&1 && return 0
    sleep 0.2
  done
  tail -20 "$log" >&2
  die "the service does not answer (its log: $log)"
}

# tls DIR: a certificate authority of its own, a server and a client certificate (PEM), once
tls() {
  local dir=$1
  [ -f "$dir/done" ] && return 0
  mkdir -p "$dir"
  (
    cd "$dir"
    openssl req -x509 -newkey rsa:2048 -nodes -days 30 -keyout ca.key -out ca.pem -subj "/CN=Wasmill test CA" \
      -addext "basicConstraints=critical,CA:TRUE" 2>log
    for name in server client; do
      openssl req -newkey rsa:2048 -nodes -keyout $name.rsa -out $name.csr -subj "/CN=$name" 2>>log
      openssl pkcs8 -topk8 -nocrypt -in $name.rsa -out $name.key 2>>log
      printf 'subjectAltName=DNS:localhost,IP:127.0.0.1\n' >ext
      openssl x509 -req -in $name.csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 30 -out $name.pem -extfile ext 2>>log
    done
    cat server.key server.pem ca.pem >server-chain.pem
    chmod 644 ./*.key
    touch done
  ) || { cat "$dir/log" >&2; die "cannot make certificates"; }
}
