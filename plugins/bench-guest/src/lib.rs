//! The work of the boundary bench (benches/boundary), by way of the SDK: the same as its baseline's guest does by
//! hand.

use wasmill_guest::{Text, scalar};

/// Five strings in, two strings out.
#[scalar]
fn strings(channel: &str, name: &str, _pv: &str, a: &str, _b: &str, u: &mut Text, k: &mut Text) {
    u.push_ascii_uppercase(channel);
    k.push_str(name);
    k.push_str(":");
    k.push_str(a);
}

/// Three integers and two floats in, one of each out.
#[scalar]
fn numbers(x: i64, y: i64, z: i64, p: f64, q: f64) -> (i64, f64) {
    (x.wrapping_mul(2).wrapping_add(y).wrapping_sub(z), p * q)
}
