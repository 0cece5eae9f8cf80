#!/usr/bin/env bash
# The plugin boundary at 1,024 rows beside its baseline (`plugins/bench-baseline`), in one process.
set -euo pipefail
cd "$(dirname "$0")/../.."
scripts/build-plugins.sh
cargo run --release --locked -q -p bench-boundary
