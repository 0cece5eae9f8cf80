#!/usr/bin/env bash
# Builds the C guest into plugins/built/.
set -euo pipefail
cd "$(dirname "$0")/../plugins"
mkdir -p built
clang-19 --target=wasm32-unknown-unknown -O2 -nostdlib -ffreestanding -mbulk-memory \
  -Wl,--no-entry -Wl,--strip-all -o built/c_upper.wasm c-upper/upper.c
