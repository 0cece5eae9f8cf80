//! The work of the benches, by way of the SDK: of the boundary (benches/boundary), what its baseline's guest does by hand;
//! of W6 (benches/w6), a function and a formatter in place of the host's own.

use wasmill_guest::{Row, Text, formatter, scalar};

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

/// In place of UPPER.
#[scalar]
fn upper(s: &str, u: &mut Text) {
    u.push_ascii_uppercase(s);
}

/// In place of the format `json`.
#[formatter]
fn json_line(row: &Row) -> String {
    let mut line = String::with_capacity(96);
    for i in 0..row.len() {
        line.push(if i == 0 { '{' } else { ',' });
        push_quoted(&mut line, row.name(i));
        line.push(':');
        match row.get::<&str>(i) {
            Some(text) => push_quoted(&mut line, text),
            None if row.is_null(i) => line.push_str("null"),
            None => line.push_str(&row.text(i)),
        }
    }
    line.push('}');
    line
}

fn push_quoted(line: &mut String, text: &str) {
    line.push('"');
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| c == '"' || c == '\\' || c < ' ') {
        line.push_str(&rest[..at]);
        line.push_str(&format!("\\u{:04x}", rest.as_bytes()[at]));
        rest = &rest[at + 1..];
    }
    line.push_str(rest);
    line.push('"');
}
