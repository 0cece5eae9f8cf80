#!/usr/bin/env bash
# All benches, one after the other.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
echo '== start-up'
python3 "$root/benches/startup/run.py" "$root/target/release/wasmill" "$root"
echo '== W6, file to file'
"$root/benches/w6/run.sh"
echo '== plugin boundary'
"$root/benches/boundary/run.sh"
