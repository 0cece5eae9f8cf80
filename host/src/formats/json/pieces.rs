//! A JSON value taken apart one level at a time, its numbers by their text: for formats that need exact numbers and
//! members in another order than they come.

use super::decode::Fault;
use super::scan::{MemberName, Scanner};
use std::borrow::Cow;

/// A value; what is inside arrays and objects is text again.
#[derive(Debug, PartialEq)]
pub(in crate::formats) enum Piece<'a> {
    Null,
    Bool(bool),
    Number(&'a str),
    Text(Cow<'a, str>),
    Array(Vec<&'a str>),
    /// Of equal names the last one counts.
    Object(Vec<(Cow<'a, str>, &'a str)>),
}

/// The one value that `text` is, with blanks around it. All of it is checked.
pub(in crate::formats) fn piece(text: &str) -> Result<Piece<'_>, String> {
    let mut scan = Scanner::new(text);
    scan.blanks();
    read(&mut scan).map_err(|fault| match fault {
        Fault::Syntax(message) | Fault::Value(message) => message,
    })
}

fn read<'a>(scan: &mut Scanner<'a>) -> Result<Piece<'a>, Fault> {
    let piece = match scan.peek() {
        b'"' => Piece::Text(scan.string()?),
        b'-' | b'0'..=b'9' => Piece::Number(scan.number()?),
        b'{' => Piece::Object(members(scan)?),
        b'[' => Piece::Array(elements(scan)?),
        b't' => {
            scan.word("true")?;
            Piece::Bool(true)
        }
        b'f' => {
            scan.word("false")?;
            Piece::Bool(false)
        }
        _ => {
            scan.word("null")?;
            Piece::Null
        }
    };
    scan.blanks();
    if scan.at_end() { Ok(piece) } else { scan.fault("text after the value") }
}

fn members<'a>(scan: &mut Scanner<'a>) -> Result<Vec<(Cow<'a, str>, &'a str)>, Fault> {
    let mut found = Vec::new();
    let mut object = scan.enter(0)?;
    while let Some(name) = scan.next_member(&mut object, b"")? {
        let MemberName::Other(name) = name else { return scan.fault("a member without a name") };
        let name = match name {
            Cow::Borrowed(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
            Cow::Owned(bytes) => String::from_utf8(bytes).ok().map(Cow::Owned),
        };
        let Some(name) = name else { return scan.fault("a name that is not valid UTF-8") };
        let start = scan.at;
        scan.skip(1)?;
        found.push((name, scan.slice(start)));
    }
    Ok(found)
}

fn elements<'a>(scan: &mut Scanner<'a>) -> Result<Vec<&'a str>, Fault> {
    let mut found = Vec::new();
    let mut array = scan.enter(0)?;
    while scan.next_element(&mut array)? {
        let start = scan.at;
        scan.skip(1)?;
        found.push(scan.slice(start));
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_come_apart_level_by_level() {
        let Ok(Piece::Object(members)) = piece(r#" {"a" : [1.50, "x"],"\u0062":null} "#) else { panic!() };
        assert_eq!(members, [("a".into(), r#"[1.50, "x"]"#), ("b".into(), "null")]);
        assert_eq!(piece(members[0].1), Ok(Piece::Array(vec!["1.50", "\"x\""])));
        assert_eq!(piece("\"\\n\""), Ok(Piece::Text("\n".into())));
        assert_eq!((piece("-1e5"), piece("true")), (Ok(Piece::Number("-1e5")), Ok(Piece::Bool(true))));
        for bad in ["", "nul", "1 2", "{\"a\":[}", "[1,]"] {
            assert!(piece(bad).is_err(), "{bad}");
        }
    }
}
