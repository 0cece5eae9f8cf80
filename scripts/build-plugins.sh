#!/usr/bin/env bash
# Builds the example plugins from source into plugins/built/.
set -euo pipefail
cd "$(dirname "$0")/../plugins"
cargo build --release --locked --target wasm32-unknown-unknown
mkdir -p built
for wasm in target/wasm32-unknown-unknown/release/*.wasm; do
  cmp -s "$wasm" "built/$(basename "$wasm")" || cp "$wasm" built/
done
