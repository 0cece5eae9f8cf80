//! A strict JSON scanner over one record: no tree, no copies, numbers by their text. `serde_json` is its oracle in the
//! tests (same verdict, same values).

use super::decode::Fault;
use std::borrow::Cow;

/// Nesting deeper than this is refused, so that no record can exhaust the stack.
pub(super) const DEPTH_MAX: usize = 128;

/// An object or array whose parts are being read.
pub(super) struct Nest {
    first: bool,
}

/// The name of a member.
pub(super) enum MemberName<'a> {
    /// The one that was expected.
    Expected,
    Other(Cow<'a, [u8]>),
}

/// A place in a record. The text was checked to be UTF-8.
pub(super) struct Scanner<'a> {
    text: &'a str,
    bytes: &'a [u8],
    pub at: usize,
}

/// Bytes up to the first that ends a string or needs a closer look: a quote, a backslash, a control character.
#[inline]
fn plain_len(bytes: &[u8]) -> usize {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const HIGHS: u64 = ONES << 7;
    let zero_in = |w: u64| w.wrapping_sub(ONES) & !w;
    let mut at = 0;
    // Eight at a time; the lowest flagged byte is exact (a borrow can only disturb those above it).
    while let Some(chunk) = bytes[at..].first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let found = (control | zero_in(word ^ (ONES * 0x22)) | zero_in(word ^ (ONES * 0x5c))) & HIGHS;
        if found != 0 {
            return at + (found.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at + bytes[at..].iter().position(|&b| b == b'"' || b == b'\\' || b < 0x20).unwrap_or(bytes.len() - at)
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, bytes: text.as_bytes(), at: 0 }
    }

    #[cold]
    pub fn fault<T>(&self, what: &str) -> Result<T, Fault> {
        Err(Fault::Syntax(format!("not valid JSON: {what} at byte {}", self.at)))
    }

    pub fn at_end(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// The next byte; 0 at the end (which no token starts with).
    #[inline]
    pub fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(0)
    }

    #[inline]
    pub fn blanks(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\n' | b'\r') {
            self.at += 1;
        }
    }

    pub fn slice(&self, from: usize) -> &'a str {
        self.text.get(from..self.at).unwrap_or("")
    }

    /// The raw text of a string whose opening quote is next, and whether it has escapes (which are not yet checked).
    #[inline]
    pub fn raw_string(&mut self) -> Result<(&'a [u8], bool), Fault> {
        self.at += 1;
        let start = self.at;
        let mut escaped = false;
        loop {
            self.at += plain_len(&self.bytes[self.at.min(self.bytes.len())..]);
            match self.bytes.get(self.at) {
                Some(b'"') => {
                    let raw = &self.bytes[start..self.at];
                    self.at += 1;
                    return Ok((raw, escaped));
                }
                Some(b'\\') => {
                    escaped = true;
                    self.at += 2;
                }
                Some(_) => return self.fault("a control character inside a string"),
                None => return self.fault("a string without its closing quote"),
            }
        }
    }

    /// Appends the value of a string whose opening quote is next.
    #[inline]
    pub fn string_into(&mut self, out: &mut Vec<u8>) -> Result<(), Fault> {
        let (raw, escaped) = self.raw_string()?;
        if escaped {
            return self.unescape(raw, out);
        }
        out.extend_from_slice(raw);
        Ok(())
    }

    /// The value of a string whose opening quote is next.
    #[inline]
    pub fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at + 1;
        let (raw, escaped) = self.raw_string()?;
        if !escaped {
            return Ok(Cow::Borrowed(self.text.get(start..start + raw.len()).unwrap_or("")));
        }
        let mut value = Vec::new();
        self.unescape(raw, &mut value)?;
        match String::from_utf8(value) {
            Ok(value) => Ok(Cow::Owned(value)),
            Err(_) => self.fault("a string that is not valid UTF-8"),
        }
    }

    /// Appends a raw string with its escapes resolved.
    pub fn unescape(&self, raw: &[u8], out: &mut Vec<u8>) -> Result<(), Fault> {
        let mut rest = raw;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            out.extend_from_slice(&rest[..at]);
            let byte = match rest.get(at + 1) {
                Some(b'n') => b'\n',
                Some(b't') => b'\t',
                Some(b'r') => b'\r',
                Some(b'b') => 0x08,
                Some(b'f') => 0x0c,
                Some(&c @ (b'"' | b'\\' | b'/')) => c,
                Some(b'u') => {
                    let (c, len) = match unicode_escape(&rest[at..]) {
                        Some(found) => found,
                        None => return self.fault("a \\u escape that is no character"),
                    };
                    out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
                    rest = &rest[at + len..];
                    continue;
                }
                _ => return self.fault("an unknown escape in a string"),
            };
            out.push(byte);
            rest = &rest[at + 2..];
        }
        out.extend_from_slice(rest);
        Ok(())
    }

    /// A number, by its text.
    #[inline]
    pub fn number(&mut self) -> Result<&'a str, Fault> {
        let start = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        match self.peek() {
            b'0' => self.at += 1,
            b'1'..=b'9' => self.digits(),
            _ => return self.fault("a malformed number"),
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.required_digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.required_digits()?;
        }
        Ok(self.slice(start))
    }

    #[inline]
    fn digits(&mut self) {
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
    }

    fn required_digits(&mut self) -> Result<(), Fault> {
        if !self.peek().is_ascii_digit() {
            return self.fault("a malformed number");
        }
        self.digits();
        Ok(())
    }

    /// `true`, `false` or `null`.
    pub fn word(&mut self, word: &str) -> Result<(), Fault> {
        if !self.bytes[self.at..].starts_with(word.as_bytes()) {
            return self.fault("an unexpected character");
        }
        self.at += word.len();
        Ok(())
    }

    /// Checks a value and passes over it.
    pub fn skip(&mut self, depth: usize) -> Result<(), Fault> {
        match self.peek() {
            b'"' => self.skip_string(),
            b'-' | b'0'..=b'9' => self.number().map(|_| ()),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            b'{' => {
                let mut object = self.enter(depth)?;
                while self.next_member(&mut object, b"")?.is_some() {
                    self.skip(depth + 1)?;
                }
                Ok(())
            }
            b'[' => {
                let mut array = self.enter(depth)?;
                while self.next_element(&mut array)? {
                    self.skip(depth + 1)?;
                }
                Ok(())
            }
            _ if self.at_end() => self.fault("the end where a value should be"),
            _ => self.fault("an unexpected character"),
        }
    }

    fn skip_string(&mut self) -> Result<(), Fault> {
        let (raw, escaped) = self.raw_string()?;
        if !escaped {
            return Ok(());
        }
        let mut rest = raw;
        while let Some(at) = memchr::memchr(b'\\', rest) {
            let len = match rest.get(at + 1) {
                Some(b'n' | b't' | b'r' | b'b' | b'f' | b'"' | b'\\' | b'/') => 2,
                Some(b'u') if hex4(&rest[at + 2..]).is_some() => 6,
                _ => return self.fault("an unknown escape in a string"),
            };
            rest = &rest[at + len..];
        }
        Ok(())
    }

    /// Enters the object or array here; its parts follow with [`Self::next_member`] or [`Self::next_element`].
    #[inline]
    pub fn enter(&mut self, depth: usize) -> Result<Nest, Fault> {
        if depth >= DEPTH_MAX {
            return self.fault("nesting deeper than 128 levels");
        }
        self.at += 1;
        Ok(Nest { first: true })
    }

    /// The name of the next member; the scanner then stands before its value, which must be consumed. None: the object
    /// is at its end. `expected` is the text of the name that most likely comes next, with quotes and colon (or empty):
    /// comparing it whole is cheaper than looking for the name's end.
    #[inline]
    pub fn next_member(&mut self, nest: &mut Nest, expected: &[u8]) -> Result<Option<MemberName<'a>>, Fault> {
        if !self.next_part(nest, b'}')? {
            return Ok(None);
        }
        if !expected.is_empty() && self.bytes[self.at..].starts_with(expected) {
            self.at += expected.len();
            self.blanks();
            return Ok(Some(MemberName::Expected));
        }
        self.any_member().map(Some)
    }

    fn any_member(&mut self) -> Result<MemberName<'a>, Fault> {
        if self.peek() != b'"' {
            return self.fault("no quoted member name");
        }
        let (raw, escaped) = self.raw_string()?;
        let name = if escaped {
            let mut name = Vec::new();
            self.unescape(raw, &mut name)?;
            Cow::Owned(name)
        } else {
            Cow::Borrowed(raw)
        };
        self.blanks();
        if self.peek() != b':' {
            return self.fault("no ':' after a member name");
        }
        self.at += 1;
        self.blanks();
        Ok(MemberName::Other(name))
    }

    /// Whether there is a next element; the scanner then stands before it and it must be consumed.
    #[inline]
    pub fn next_element(&mut self, nest: &mut Nest) -> Result<bool, Fault> {
        self.next_part(nest, b']')
    }

    #[inline]
    fn next_part(&mut self, nest: &mut Nest, close: u8) -> Result<bool, Fault> {
        self.blanks();
        let next = self.peek();
        if next == close {
            self.at += 1;
            return Ok(false);
        }
        if !std::mem::take(&mut nest.first) {
            if next != b',' {
                return self.fault("no ',' or closing bracket after a value");
            }
            self.at += 1;
            self.blanks();
            if self.peek() == close {
                return self.fault("a ',' without a value after it");
            }
        }
        Ok(true)
    }

    /// Appends the text of the value here without blanks between its tokens; strings stay as they are written.
    pub fn compact_into(&mut self, out: &mut Vec<u8>, depth: usize) -> Result<(), Fault> {
        let start = self.at;
        self.skip(depth)?;
        let mut in_string = false;
        let mut after_backslash = false;
        for &b in &self.bytes[start..self.at] {
            if !in_string && matches!(b, b' ' | b'\t' | b'\n' | b'\r') {
                continue;
            }
            if b == b'"' && !after_backslash {
                in_string = !in_string;
            }
            after_backslash = in_string && b == b'\\' && !after_backslash;
            out.push(b);
        }
        Ok(())
    }
}

fn hex4(bytes: &[u8]) -> Option<u32> {
    let digits = bytes.first_chunk::<4>()?;
    digits.iter().try_fold(0, |n, &d| Some(n * 16 + char::from(d).to_digit(16)?))
}

/// The character of a `\uXXXX` escape or of a surrogate pair, and the length of its text.
fn unicode_escape(bytes: &[u8]) -> Option<(char, usize)> {
    let first = hex4(bytes.get(2..)?)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|c| (c, 6));
    }
    if bytes.get(6..8)? != b"\\u" {
        return None;
    }
    let second = hex4(bytes.get(8..)?)?;
    if !(0xdc00..0xe000).contains(&second) {
        return None;
    }
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)).map(|c| (c, 12))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str) -> bool {
        let mut s = Scanner::new(text);
        s.blanks();
        s.skip(0).is_ok() && {
            s.blanks();
            s.at_end()
        }
    }

    #[test]
    fn the_grammar_is_strict() {
        for good in ["0", "-0.5e+10", "\"a\\u00e9\\n\"", "[]", "[1, {\"a\" : null}]", " true ", "{}", "1E5"] {
            assert!(accepts(good), "{good}");
        }
        for bad in [
            "",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "nul",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"a\nb\"",
            "\"a",
            "{\"a\" 1}",
            "[1 2]",
            "{\"a\":1}{",
            "'a'",
            "NaN",
            "\"\\",
            "\u{feff}1",
            "[",
            "{\"a\":",
        ] {
            assert!(!accepts(bad), "{bad}");
        }
    }

    #[test]
    fn deep_nesting_is_refused_without_deep_recursion() {
        assert!(accepts(&("[".repeat(127) + &"]".repeat(127))));
        assert!(!accepts(&("[".repeat(200_000) + &"]".repeat(200_000))));
        assert!(!accepts(&"{\"a\":".repeat(200_000)));
    }

    #[test]
    fn special_bytes_are_found_at_every_place() {
        for len in 0..40 {
            for special in [b'"', b'\\', 0x1f, 0x00] {
                let mut text = vec![b'x'; len];
                text.push(special);
                text.extend_from_slice("ä\u{7f}~".as_bytes());
                assert_eq!(plain_len(&text), len);
            }
            assert_eq!(plain_len("ÿ\u{7f} !#[]".repeat(len).as_bytes()), "ÿ\u{7f} !#[]".len() * len);
        }
    }

    proptest::proptest! {
        #[test]
        fn the_verdict_is_serde_jsons(text in "[\\[\\]{}:,\"\\\\u0-9a-eE+.\\- truefalsn]{0,24}") {
            let oracle = serde_json::from_str::<serde::de::IgnoredAny>(&text).is_ok();
            proptest::prop_assert_eq!(accepts(&text), oracle, "{}", text);
        }

        #[test]
        fn strings_have_the_value_that_serde_json_gives(text in "\"(\\\\[nrtbf\"\\\\/]|\\\\u[0-9a-f]{4}|[^\"\\\\]){0,12}\"") {
            let mut out = Vec::new();
            let ours = Scanner::new(&text).string_into(&mut out).ok().map(|()| String::from_utf8(out).unwrap());
            proptest::prop_assert_eq!(ours, serde_json::from_str::<String>(&text).ok());
        }
    }
}
