//! Rust types of Kudu's protocol, made from its .proto files without protoc.

use std::error::Error;

const ROOTS: [&str; 4] = [
    "kudu/rpc/rpc_header.proto",
    "kudu/master/master.proto",
    "kudu/tserver/tserver_service.proto",
    "kudu/client/client.proto",
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = protox::compile(ROOTS, ["proto"])?;
    prost_build::Config::new()
        .include_file("kudu_pb.rs")
        .bytes(["."])
        // Comments with an indented block would become doc tests.
        .disable_comments(["."])
        .compile_fds(files)?;
    Ok(())
}
