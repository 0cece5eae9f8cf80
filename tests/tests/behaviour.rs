//! Tests that drive the binary and look at what it does.

mod architecture;
