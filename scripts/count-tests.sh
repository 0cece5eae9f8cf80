#!/usr/bin/env bash
# The closing line: all counted tests of the run.
set -euo pipefail
awk '/^test result:/ { p += $4; f += $6; i += $8 } END { printf "%d passed, %d failed, %d skipped\n", p, f, i; exit f > 0 || p == 0 }' target/tests.log
