//! Text and bytes in other spellings: base64, hexadecimal, character sets, URLs.

use super::call::{Texts, at};
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::Reason;
use arrow::array::{Array, ArrayRef, AsArray, BinaryBuilder};
use arrow::datatypes::DataType;
use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use datafusion_common::Result;
use std::fmt::Write as _;
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "to_base64", coerce: text_or_bytes, eval: to_base64, ..PURE },
    Builtin { name: "from_base64", coerce: types::one_text, eval: from_base64, ..PURE },
    Builtin { name: "hex", coerce: number_or_text, eval: hex, ..PURE },
    Builtin { name: "unhex", coerce: types::one_text, returns: types::bytes, eval: unhex, ..PURE },
    Builtin { name: "bin", coerce: |t| types::signature(t, &[Arg::Int], 1), eval: bin, ..PURE },
    Builtin { name: "encode", fallible: true, coerce: types::two_texts, returns: encoded, eval: encode, ..PURE },
    Builtin {
        name: "decode",
        fallible: true,
        coerce: |t| types::signature(t, &[Arg::Bytes, Arg::Text], 2),
        returns: decoded,
        eval: decode,
        ..PURE
    },
    Builtin { name: "url_encode", coerce: types::one_text, eval: url_encode, ..PURE },
    Builtin { name: "url_decode", coerce: types::one_text, eval: url_decode, ..PURE },
    Builtin { name: "parse_url", coerce: |t| types::signature(t, &[Arg::Text; 3], 2), eval: parse_url, ..PURE },
];

fn text_or_bytes(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match args {
        [DataType::Binary] => Ok(args.to_vec()),
        _ => types::one_text(args),
    }
}

fn number_or_text(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match args {
        [t] if types::is_integer(t) => Ok(vec![DataType::Int64]),
        _ => text_or_bytes(args),
    }
}

/// Text (as UTF-8) or BYTES.
pub(super) enum Octets<'a> {
    Text(Texts<'a>),
    Bytes(ArrayRef),
}

impl<'a> Octets<'a> {
    pub fn new(call: &Call<'a>, index: usize) -> Result<Self> {
        let column = call.array(index)?;
        Ok(if *column.data_type() == DataType::Binary {
            Octets::Bytes(column)
        } else {
            Octets::Text(call.texts(index)?)
        })
    }

    pub fn get(&self, row: usize) -> Option<&[u8]> {
        match self {
            Octets::Text(texts) => texts.get(row).map(str::as_bytes),
            Octets::Bytes(a) => a.is_valid(row).then(|| a.as_binary::<i32>().value(row)),
        }
    }
}

fn to_base64(call: &Call<'_>) -> Result<ArrayRef> {
    let source = Octets::new(call, 0)?;
    call.text_rows(|i, out| {
        base64::engine::general_purpose::STANDARD.encode_string(source.get(i)?, out);
        Some(())
    })
}

/// With or without padding.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &base64::alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// NULL for what is no base64.
fn from_base64(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    call.text_rows(|i, out| {
        let bytes = BASE64.decode(source.get(i)?).ok()?;
        out.push_str(&String::from_utf8_lossy(&bytes));
        Some(())
    })
}

/// The hexadecimal digits of a number (of its two's complement), or of each byte.
fn hex(call: &Call<'_>) -> Result<ArrayRef> {
    if *call.array(0)?.data_type() == DataType::Int64 {
        let numbers = call.longs(0)?;
        return call.text_rows(|i, out| write!(out, "{:X}", at(&numbers, i)?).ok());
    }
    let source = Octets::new(call, 0)?;
    call.text_rows(|i, out| source.get(i)?.iter().try_for_each(|b| write!(out, "{b:02X}")).ok())
}

pub(super) fn bytes_rows(call: &Call<'_>, mut f: impl FnMut(usize) -> Option<Vec<u8>>) -> Result<ArrayRef> {
    let mut out = BinaryBuilder::with_capacity(call.rows, 0);
    let mut total = 0;
    for row in 0..call.rows {
        let value = f(row);
        total += value.as_ref().map_or(0, Vec::len);
        crate::expr::cast::text::offset(total)?;
        out.append_option(value);
    }
    Ok(Arc::new(out.finish()))
}

/// NULL for what has other characters; of an odd number of digits the first stands alone.
fn unhex(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    bytes_rows(call, |i| {
        let digits = source.get(i)?.bytes().map(|b| char::from(b).to_digit(16).map(|d| d as u8));
        let digits = digits.collect::<Option<Vec<u8>>>()?;
        let (first, pairs) = digits.split_at(digits.len() % 2);
        Some(first.iter().copied().chain(pairs.chunks_exact(2).map(|p| (p[0] << 4) | p[1])).collect())
    })
}

fn bin(call: &Call<'_>) -> Result<ArrayRef> {
    let numbers = call.longs(0)?;
    call.text_rows(|i, out| write!(out, "{:b}", at(&numbers, i)?).ok())
}

#[derive(Clone, Copy, PartialEq)]
enum Charset {
    Ascii,
    Latin1,
    Utf8,
    Utf16 { little: bool, mark: bool },
}

fn charset(name: &str) -> std::result::Result<Charset, String> {
    Ok(match name.to_ascii_uppercase().as_str() {
        "US-ASCII" | "ASCII" => Charset::Ascii,
        "ISO-8859-1" | "LATIN1" => Charset::Latin1,
        "UTF-8" | "UTF8" => Charset::Utf8,
        "UTF-16BE" => Charset::Utf16 { little: false, mark: false },
        "UTF-16LE" => Charset::Utf16 { little: true, mark: false },
        "UTF-16" => Charset::Utf16 { little: false, mark: true },
        _ => {
            return Err(format!(
                "unknown character set '{name}': it must be US-ASCII, ISO-8859-1, UTF-8, UTF-16BE, UTF-16LE or UTF-16"
            ));
        }
    })
}

fn check_charset(binding: &Binding<'_>) -> std::result::Result<(), String> {
    binding.text(1).map_or(Ok(()), |name| charset(name).map(drop))
}

fn encoded(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    check_charset(binding).map(|()| DataType::Binary)
}

fn decoded(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    check_charset(binding).map(|()| DataType::Utf8)
}

impl Charset {
    /// As Java's `getBytes`: what the set does not have is `?`; UTF-16 has a mark in front.
    fn encode(self, text: &str) -> Vec<u8> {
        match self {
            Charset::Utf8 => text.as_bytes().to_vec(),
            Charset::Ascii => text.chars().map(|c| if c.is_ascii() { c as u8 } else { b'?' }).collect(),
            Charset::Latin1 => text.chars().map(|c| u8::try_from(u32::from(c)).unwrap_or(b'?')).collect(),
            Charset::Utf16 { little, mark } => {
                let mark = (mark && !text.is_empty()).then_some(0xFEFF);
                let units = mark.into_iter().chain(text.encode_utf16());
                units.flat_map(|u| if little { u.to_le_bytes() } else { u.to_be_bytes() }).collect()
            }
        }
    }

    /// As Java's `new String(bytes, charset)`: what cannot be read is U+FFFD.
    fn decode(self, bytes: &[u8], out: &mut String) {
        match self {
            Charset::Utf8 => out.push_str(&String::from_utf8_lossy(bytes)),
            Charset::Ascii => {
                out.extend(
                    bytes.iter().map(|b| if b.is_ascii() { char::from(*b) } else { char::REPLACEMENT_CHARACTER }),
                );
            }
            Charset::Latin1 => out.extend(bytes.iter().map(|b| char::from(*b))),
            Charset::Utf16 { little, mark } => {
                let (little, bytes) = match bytes {
                    [0xFE, 0xFF, rest @ ..] if mark => (false, rest),
                    [0xFF, 0xFE, rest @ ..] if mark => (true, rest),
                    all => (little, all),
                };
                let pairs = bytes.chunks_exact(2);
                let cut = !pairs.remainder().is_empty();
                let unit =
                    |p: &[u8]| if little { u16::from_le_bytes([p[0], p[1]]) } else { u16::from_be_bytes([p[0], p[1]]) };
                out.extend(char::decode_utf16(pairs.map(unit)).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)));
                out.extend(cut.then_some(char::REPLACEMENT_CHARACTER));
            }
        }
    }
}

/// The character set of a row; an unknown one refuses it.
fn charset_of(call: &Call<'_>, names: Texts<'_>, row: usize) -> Option<Charset> {
    charset(names.get(row)?).map_err(|message| call.fail(row, Reason::Cast, message)).ok()
}

fn encode(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, names) = (call.texts(0)?, call.texts(1)?);
    bytes_rows(call, |i| {
        let text = source.get(i)?;
        Some(charset_of(call, names, i)?.encode(text))
    })
}

fn decode(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, names) = (Octets::new(call, 0)?, call.texts(1)?);
    call.text_rows(|i, out| {
        let bytes = source.get(i)?;
        charset_of(call, names, i)?.decode(bytes, out);
        Some(())
    })
}

/// `application/x-www-form-urlencoded`, UTF-8.
fn url_encode(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    call.text_rows(|i, out| {
        for b in source.get(i)?.bytes() {
            match b {
                b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'-' | b'*' | b'_' => out.push(char::from(b)),
                b' ' => out.push('+'),
                b => write!(out, "%{b:02X}").ok()?,
            }
        }
        Some(())
    })
}

/// NULL for a `%` without two hexadecimal digits.
fn url_decode(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    call.text_rows(|i, out| {
        out.push_str(&String::from_utf8_lossy(&url_decoded(source.get(i)?)?));
        Some(())
    })
}

fn url_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut out = Vec::with_capacity(text.len());
    let digit = |b: Option<u8>| char::from(b?).to_digit(16);
    while let Some(b) = bytes.next() {
        out.push(match b {
            b'+' => b' ',
            b'%' => ((digit(bytes.next())? << 4) | digit(bytes.next())?) as u8,
            b => b,
        });
    }
    Some(out)
}

/// `PARSE_URL(url, part[, key])`; NULL for what is no URL, for a missing part and an unknown part's name.
fn parse_url(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, parts) = (call.texts(0)?, call.texts(1)?);
    let keys = if call.arg_count() > 2 { Some(call.texts(2)?) } else { None };
    call.text_rows(|i, out| {
        let url = Url::read(source.get(i)?)?;
        let part = url.part(parts.get(i)?)?;
        match &keys {
            None => out.push_str(&part),
            Some(keys) => {
                let key = keys.get(i)?;
                let mut members = part.split('&').filter_map(|m| m.split_once('='));
                out.push_str(members.find(|(k, _)| *k == key).filter(|_| parts.get(i) == Some("QUERY"))?.1);
            }
        }
        Some(())
    })
}

/// The parts of `java.net.URL`.
struct Url<'a> {
    protocol: &'a str,
    authority: &'a str,
    path: &'a str,
    query: Option<&'a str>,
    reference: Option<&'a str>,
}

impl<'a> Url<'a> {
    fn read(url: &'a str) -> Option<Self> {
        let (rest, reference) = cut_at(url, '#');
        let (protocol, rest) = rest.split_once(':')?;
        let known = ["http", "https", "ftp", "file", "jar", "mailto"];
        if !known.iter().any(|k| k.eq_ignore_ascii_case(protocol)) {
            return None;
        }
        let (rest, query) = cut_at(rest, '?');
        let (authority, path) = match rest.strip_prefix("//") {
            Some(rest) => rest.split_at(rest.find('/').unwrap_or(rest.len())),
            None => ("", rest),
        };
        Some(Self { protocol, authority, path, query, reference })
    }

    fn part(&self, name: &str) -> Option<String> {
        let (user, server) = match self.authority.rsplit_once('@') {
            Some((user, server)) => (Some(user), server),
            None => (None, self.authority),
        };
        let host = if server.starts_with('[') {
            server.split_inclusive(']').next().unwrap_or(server)
        } else {
            server.split(':').next().unwrap_or(server)
        };
        match name {
            "HOST" => Some(host.to_string()),
            "PATH" => Some(self.path.to_string()),
            "QUERY" => self.query.map(str::to_string),
            "REF" => self.reference.map(str::to_string),
            "PROTOCOL" => Some(self.protocol.to_ascii_lowercase()),
            "FILE" => Some(self.query.map_or_else(|| self.path.to_string(), |q| format!("{}?{q}", self.path))),
            "AUTHORITY" => Some(self.authority.to_string()),
            "USERINFO" => user.map(str::to_string),
            _ => None,
        }
    }
}

fn cut_at(text: &str, mark: char) -> (&str, Option<&str>) {
    text.split_once(mark).map_or((text, None), |(a, b)| (a, Some(b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charsets_read_what_they_write() {
        for name in ["UTF-8", "UTF-16", "UTF-16BE", "UTF-16LE"] {
            let set = charset(name).unwrap();
            let mut back = String::new();
            set.decode(&set.encode("aé数😀"), &mut back);
            assert_eq!(back, "aé数😀", "{name}");
        }
        assert_eq!(charset("ISO-8859-1").unwrap().encode("é数"), [0xE9, b'?']);
        let mut text = String::new();
        charset("US-ASCII").unwrap().decode(&[b'a', 0xE9], &mut text);
        assert_eq!(text, "a\u{FFFD}");
    }
}
