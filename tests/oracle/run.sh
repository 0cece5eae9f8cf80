#!/usr/bin/env bash
# Evaluates the expressions of tests/expr on a real Flink (from Maven) and writes tests/oracle/flink.txt. Needs some minutes;
# the tests only compare with what is written.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
cache=${WASMILL_DEV_CACHE:-$HOME/.cache/wasmill-dev}
if [ ! -d "$cache/flink-libs" ]; then
  (cd ../../benches/peers/flink && mvn -q -B dependency:copy-dependencies -DincludeScope=runtime -DoutputDirectory="$cache/flink-libs")
fi
opens=()
for p in lang lang.invoke lang.reflect net io nio text time util util.concurrent util.concurrent.atomic util.concurrent.locks; do
  opens+=(--add-opens "java.base/java.$p=ALL-UNNAMED")
done
TZ=Asia/Shanghai java -Xmx1500m "${opens[@]}" -cp "$cache/flink-libs/*" Oracle.java ../expr flink.txt
