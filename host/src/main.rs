//! The `wasmill` binary; everything is in the library.

fn main() -> std::process::ExitCode {
    wasmill::cli::main()
}
