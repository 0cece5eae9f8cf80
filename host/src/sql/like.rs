//! Patterns of LIKE: Flink has no escape character unless ESCAPE names one; the engine's LIKE always has the backslash.

/// A pattern in Flink's form as one whose escape character is the backslash. `None`: the escape character stands before
/// something else than `%`, `_` or itself.
pub fn with_backslash_escapes(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars();
    while let Some(c) = rest.next() {
        if Some(c) == escape {
            let escaped = rest.next().filter(|n| matches!(n, '%' | '_') || Some(*n) == escape)?;
            push_escaped(&mut out, escaped);
        } else if c == '\\' {
            push_escaped(&mut out, c);
        } else {
            out.push(c);
        }
    }
    Some(out)
}

fn push_escaped(out: &mut String, c: char) {
    if matches!(c, '%' | '_' | '\\') {
        out.push('\\');
    }
    out.push(c);
}

#[cfg(test)]
mod tests {
    use super::with_backslash_escapes;

    #[test]
    fn only_the_named_character_escapes() {
        for (pattern, escape, expected) in [
            ("a%_b", None, Some("a%_b")),
            (r"a\_b", None, Some(r"a\\_b")),
            ("a!%b!_c!!", Some('!'), Some(r"a\%b\_c!")),
            (r"a\%b", Some('\\'), Some(r"a\%b")),
            (r"\\", Some('\\'), Some(r"\\")),
            (r"\", Some('!'), Some(r"\\")),
            ("%%_", Some('%'), Some(r"\%_")),
            ("%%x", Some('%'), Some(r"\%x")),
            ("a!b", Some('!'), None),
            ("a!", Some('!'), None),
        ] {
            assert_eq!(with_backslash_escapes(pattern, escape).as_deref(), expected, "{pattern} {escape:?}");
        }
    }
}
