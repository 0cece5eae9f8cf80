#!/usr/bin/env bash
# Starts the servers, runs every test against them and keeps the output, so that count-tests.sh can close with one count.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
mkdir -p target
services=$PWD/target/services-test-$$
trap 'scripts/services.sh down "$services"' EXIT
echo "== starting Kafka, MariaDB, PostgreSQL, a schema registry, Kudu and a KDC" >&2
scripts/services.sh up "$services"
set -a
. "$services/env"
set +a
# The tests that drive the binary drive the optimised one. The unit tests are built without optimisation: to link the host
# a second time with it costs five minutes more, and they check no speed. They come last, since what they build takes the
# optimised library's place.
{
  failed=0
  cargo test --release --locked --workspace --exclude wasmill --no-fail-fast || failed=1
  CARGO_PROFILE_RELEASE_OPT_LEVEL=0 cargo test --release --locked -p wasmill --no-fail-fast || failed=1
  exit $failed
} 2>&1 | tee target/tests.log
