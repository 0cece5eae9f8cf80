//! Finding and taking apart text. Positions count characters from 1; 0 is "not found".

use super::call::at;
use super::types::{self, Arg};
use super::{Builtin, Call, PURE};
use arrow::array::{Array, ArrayRef, AsArray, ListBuilder, StringBuilder};
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion_common::Result;
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "position", coerce: types::two_texts, returns: types::int, eval: locate, ..PURE },
    Builtin {
        name: "locate",
        coerce: |t| types::signature(t, &[Arg::Text, Arg::Text, Arg::Int], 2),
        returns: types::int,
        eval: locate,
        ..PURE
    },
    Builtin { name: "instr", coerce: types::two_texts, returns: types::int, eval: instr, ..PURE },
    Builtin { name: "startswith", coerce: two_alike, returns: types::boolean, eval: starts_with, ..PURE },
    Builtin { name: "endswith", coerce: two_alike, returns: types::boolean, eval: ends_with, ..PURE },
    Builtin { name: "split_index", coerce: split_index_args, eval: split_index, ..PURE },
    Builtin { name: "split", coerce: types::two_texts, returns: types::text_array, eval: split, ..PURE },
    Builtin { name: "is_alpha", coerce: types::one_text, returns: types::boolean, eval: is_alpha, ..PURE },
    Builtin { name: "is_digit", coerce: types::one_text, returns: types::boolean, eval: is_digit, ..PURE },
    Builtin { name: "is_decimal", coerce: types::one_text, returns: types::boolean, eval: is_decimal, ..PURE },
];

/// The position of `search` in `text` from character `start` (from 0) on.
fn find(text: &str, search: &str, start: usize) -> i32 {
    let Some((byte, _)) = text.char_indices().map(|(b, c)| (b, Some(c))).chain([(text.len(), None)]).nth(start) else {
        return 0;
    };
    match text[byte..].find(search) {
        Some(found) => (start + text[byte..byte + found].chars().count()) as i32 + 1,
        None => 0,
    }
}

/// `LOCATE(search, text[, start])`, `POSITION(search IN text)`.
fn locate(call: &Call<'_>) -> Result<ArrayRef> {
    let (search, text) = (call.texts(0)?, call.texts(1)?);
    let starts = if call.arg_count() > 2 { Some(call.longs(2)?) } else { None };
    Ok(call.primitive_rows::<Int32Type>(|i| {
        let (search, text) = (search.get(i)?, text.get(i)?);
        let start = match &starts {
            Some(starts) => at(starts, i)?,
            None => 1,
        };
        // A start before the text is its start.
        Some(find(text, search, usize::try_from(start.saturating_sub(1)).unwrap_or(0)))
    }))
}

fn instr(call: &Call<'_>) -> Result<ArrayRef> {
    let (text, search) = (call.texts(0)?, call.texts(1)?);
    Ok(call.primitive_rows::<Int32Type>(|i| Some(find(text.get(i)?, search.get(i)?, 0))))
}

/// Two texts, or two BYTES.
fn two_alike(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    if args.len() == 2 && args.contains(&DataType::Binary) {
        return types::signature(args, &[Arg::Bytes, Arg::Bytes], 2);
    }
    types::two_texts(args)
}

fn starts_with(call: &Call<'_>) -> Result<ArrayRef> {
    compare(call, <[u8]>::starts_with)
}

fn ends_with(call: &Call<'_>) -> Result<ArrayRef> {
    compare(call, <[u8]>::ends_with)
}

fn compare(call: &Call<'_>, test: fn(&[u8], &[u8]) -> bool) -> Result<ArrayRef> {
    let (value, part) = (call.array(0)?, call.array(1)?);
    if *value.data_type() == DataType::Binary {
        let (value, part) = (value.as_binary::<i32>(), part.as_binary::<i32>());
        return Ok(
            call.boolean_rows(|i| (value.is_valid(i) && part.is_valid(i)).then(|| test(value.value(i), part.value(i))))
        );
    }
    let (value, part) = (call.texts(0)?, call.texts(1)?);
    Ok(call.boolean_rows(|i| Some(test(value.get(i)?.as_bytes(), part.get(i)?.as_bytes()))))
}

/// The separator is a text, or the code of a character.
fn split_index_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    let separator = match args.get(1) {
        Some(t) if types::is_integer(t) => Arg::Int,
        _ => Arg::Text,
    };
    types::signature(args, &[Arg::Text, separator, Arg::Int], 3)
}

/// The part at an index that counts from 0; NULL outside. An empty separator splits at white space
/// (`StringUtils.splitByWholeSeparatorPreserveAllTokens`).
fn split_index(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, indexes) = (call.texts(0)?, call.longs(2)?);
    let separator = call.array(1)?;
    let separators: Box<dyn Fn(usize) -> Option<String>> = match separator.data_type() {
        DataType::Int64 => {
            let codes = call.longs(1)?;
            Box::new(move |i| {
                let code = at(&codes, i).and_then(|c| u8::try_from(c).ok()).filter(|c| *c > 0)?;
                Some(char::from(code).to_string())
            })
        }
        _ => {
            let texts = call.texts(1)?;
            Box::new(move |i| texts.get(i).map(str::to_string))
        }
    };
    call.text_rows(|i, out| {
        let (text, separator) = (source.get(i)?, separators(i)?);
        let index = usize::try_from(at(&indexes, i)?).ok()?;
        if text.is_empty() {
            return None;
        }
        let part = match separator.as_str() {
            "" => text.split(char::is_whitespace).nth(index),
            separator => text.split(separator).nth(index),
        }?;
        out.push_str(part);
        Some(())
    })
}

/// An empty separator splits into characters.
fn split(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, separators) = (call.texts(0)?, call.texts(1)?);
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new("item", DataType::Utf8, true));
    for i in 0..call.rows {
        match (source.get(i), separators.get(i)) {
            (Some(text), Some("")) => {
                let mut buffer = [0; 4];
                text.chars().for_each(|c| lists.values().append_value(c.encode_utf8(&mut buffer)));
                lists.append(true);
            }
            (Some(text), Some(separator)) => {
                text.split(separator).for_each(|part| lists.values().append_value(part));
                lists.append(true);
            }
            _ => lists.append(false),
        }
    }
    Ok(Arc::new(lists.finish()))
}

fn is_alpha(call: &Call<'_>) -> Result<ArrayRef> {
    test(call, |t| !t.is_empty() && t.chars().all(char::is_alphabetic))
}

fn is_digit(call: &Call<'_>) -> Result<ArrayRef> {
    test(call, |t| !t.is_empty() && t.chars().all(char::is_numeric))
}

/// Digits with one sign in front and one point.
fn is_decimal(call: &Call<'_>) -> Result<ArrayRef> {
    test(call, |t| {
        let t = t.strip_prefix(['+', '-']).unwrap_or(t);
        let (whole, fraction) = t.split_once('.').unwrap_or((t, ""));
        t.len() > usize::from(t.contains('.')) && whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit())
    })
}

/// FALSE for NULL, as `SqlFunctionUtils` answers.
fn test(call: &Call<'_>, f: fn(&str) -> bool) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    Ok(call.boolean_rows(|i| Some(source.get(i).is_some_and(f))))
}

#[cfg(test)]
mod tests {
    use super::find;

    #[test]
    fn positions_count_characters() {
        for (text, search, start, expected) in [
            ("abcabc", "bc", 0, 2),
            ("abcabc", "bc", 2, 5),
            ("abc", "x", 0, 0),
            ("abc", "", 0, 1),
            ("abc", "", 3, 4),
            ("abc", "a", 4, 0),
            ("数据é", "é", 0, 3),
        ] {
            assert_eq!(find(text, search, start), expected, "{text} {search} {start}");
        }
    }
}
