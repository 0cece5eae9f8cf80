//! Tests against real servers: `./dev tests` starts them. The `kudu` tool looks at what was done from outside.

mod ddl;
mod failover;
mod scan;
mod security;
mod support;
mod write;
