# Run recipes through ./dev, which installs what they need.

set shell := ["bash", "-euo", "pipefail", "-c"]

wasmill := justfile_directory() / "target/release/wasmill"

# List the recipes
default:
    @just --list

# Run the main job: January 2013 departures from New York, joined, through two plugins, into SQLite (no server)
demo: build plugins
    @scripts/demo.sh {{wasmill}}

# Build the wasmill binary
build:
    cargo build --release --locked -p wasmill

# Build the example plugins to wasm
plugins:
    scripts/build-plugins.sh

# Everything that CI runs: format, licences, build, lints, all tests, docs
test: fmt-check deny build clippy plugins tests docs
    @scripts/count-tests.sh

# Check the formatting
fmt-check:
    cargo fmt --all --check
    cargo fmt --all --check --manifest-path plugins/Cargo.toml

# Format the code
fmt:
    cargo fmt --all
    cargo fmt --all --manifest-path plugins/Cargo.toml

# Lints; warnings are errors
clippy:
    cargo clippy --release --locked --workspace --all-targets -- -D warnings

# Licences, bans and sources of all dependencies (advisories need the network)
deny:
    cargo fetch --locked
    cargo deny --log-level error check licenses bans sources

# All tests; the results are kept for the count
tests:
    @scripts/run-tests.sh

# Write the golden files anew from what comes out now; read the diff before you commit it
bless:
    BLESS=1 cargo test --release --locked -p wasmill-tests

# The API docs
docs:
    RUSTDOCFLAGS="-D warnings" cargo doc --release --locked --workspace --no-deps

# Build the C guest (needs clang-19 and lld-19)
c-guest:
    scripts/build-c-guest.sh

# Timings, each as a ratio to a baseline of the same run
bench: build plugins
    scripts/bench.sh

# Servers to try things against: `./dev services up`, `down`, `status`, `env`
services command="status":
    @scripts/services.sh {{command}}
