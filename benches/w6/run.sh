#!/usr/bin/env bash
# W6, file to file: wasmill beside DataFusion (its Python wheel: the engine is the prebuilt Rust one), interleaved.
# Usage: benches/w6/run.sh [RECORDS] [REPETITIONS]. Prints seconds, records/s and the ratio of the medians.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
records=${1:-2000000}
repetitions=${2:-3}
work=${WASMILL_BENCH_DIR:-$root/target/bench}/w6
cache=${WASMILL_DEV_CACHE:-$HOME/.cache/wasmill-dev}
mkdir -p "$work"
[ -f "$work/plain-$records.jsonl" ] || python3 "$here/gen.py" plain "$records" "$work/plain-$records.jsonl"
ln -sf "plain-$records.jsonl" "$work/plain.jsonl"
if [ ! -x "$cache/bench-venv/bin/python" ]; then
  python3 -m venv "$cache/bench-venv"
  "$cache/bench-venv/bin/pip" install -q --disable-pip-version-check datafusion==55.0.0 pyarrow
fi
cp "$here/w6.sql" "$work/w6.sql"
"$cache/bench-venv/bin/python" "$here/measure.py" "$work" "$repetitions" "$root/target/release/wasmill" \
  "$cache/bench-venv/bin/python" "$here/datafusion_w6.py" "$records"
"$root/scripts/build-plugins.sh" > /dev/null
python3 "$here/variants.py" "$work" "$repetitions" "$root/target/release/wasmill" "$root/plugins/built" "$records"
