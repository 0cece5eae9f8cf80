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
cargo test --release --locked --workspace --no-fail-fast 2>&1 | tee target/tests.log
