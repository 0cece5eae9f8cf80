#!/usr/bin/env bash
# W1 (Kafka to Kafka), W1 with a checkpoint every second, W4 (lookup join on MySQL), W5 (Kafka to MySQL) and end-to-end
# latency: wasmill beside a bare rdkafka program and, with FLINK=1, beside Apache Flink from Maven. Runs are interleaved.
# Usage: benches/kafka/run.sh [REPETITIONS] [w1 w1-checkpoints w4 w4-large w5 latency ..]. Starts its own servers.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
work=${WASMILL_BENCH_DIR:-$root/target/bench}/kafka
mkdir -p "$work"
cargo build --release --locked -q -p wasmill -p bench-kafka
services=$work/services
"$root/scripts/services.sh" up "$services" >&2
trap '"$root/scripts/services.sh" down "$services"' EXIT
set -a
. "$services/env"
set +a
if [ "${FLINK:-0}" = 1 ]; then
  cd "$root/benches/peers/flink"
  cache=${WASMILL_DEV_CACHE:-$HOME/.cache/wasmill-dev}
  [ -d "$cache/flink-libs" ] || mvn -q -B package dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$cache/flink-libs"
  [ -d "$cache/flink120-libs" ] || mvn -q -B -Pflink120 dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$cache/flink120-libs"
  [ -f target/flink-peer-1.jar ] || mvn -q -B package
  export FLINK_CACHE=$cache
fi
python3 "$here/measure.py" "$root" "$work" "$@"
