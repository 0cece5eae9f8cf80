//! Text made of other text: padding, repeating, replacing, choosing. Positions count characters from 1.

use super::call::{Texts, at};
use super::types::{self, Arg};
use super::{Builtin, Call, PURE};
use crate::data::Reason;
use crate::expr::java_printf;
use arrow::array::ArrayRef;
use arrow::datatypes::{DataType, Int32Type};
use datafusion_common::Result;
use std::collections::HashMap;

const TEXT_INT: [Arg; 2] = [Arg::Text, Arg::Int];
const PADDING: [Arg; 3] = [Arg::Text, Arg::Int, Arg::Text];
const THREE_TEXTS: [Arg; 3] = [Arg::Text; 3];
const OVERLAY: [Arg; 4] = [Arg::Text, Arg::Text, Arg::Int, Arg::Int];

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "concat_ws", coerce: two_or_more_texts, eval: concat_ws, ..PURE },
    Builtin { name: "left", coerce: |t| types::signature(t, &TEXT_INT, 2), eval: left, ..PURE },
    Builtin { name: "right", coerce: |t| types::signature(t, &TEXT_INT, 2), eval: right, ..PURE },
    Builtin { name: "lpad", fallible: true, coerce: |t| types::signature(t, &PADDING, 3), eval: lpad, ..PURE },
    Builtin { name: "rpad", fallible: true, coerce: |t| types::signature(t, &PADDING, 3), eval: rpad, ..PURE },
    Builtin { name: "repeat", fallible: true, coerce: |t| types::signature(t, &TEXT_INT, 2), eval: repeat, ..PURE },
    Builtin { name: "reverse", coerce: types::one_text, eval: reverse, ..PURE },
    Builtin {
        name: "replace",
        fallible: true,
        coerce: |t| types::signature(t, &THREE_TEXTS, 3),
        eval: replace,
        ..PURE
    },
    Builtin { name: "translate", coerce: |t| types::signature(t, &THREE_TEXTS, 3), eval: translate, ..PURE },
    Builtin { name: "initcap", coerce: types::one_text, eval: initcap, ..PURE },
    Builtin { name: "$overlay", coerce: |t| types::signature(t, &OVERLAY, 3), eval: overlay, ..PURE },
    Builtin { name: "elt", coerce: elt_args, eval: elt, ..PURE },
    Builtin { name: "ascii", coerce: types::one_text, returns: types::int, eval: ascii, ..PURE },
    Builtin { name: "chr", coerce: |t| types::signature(t, &[Arg::Int], 1), eval: chr, ..PURE },
    Builtin { name: "printf", fallible: true, coerce: printf_args, returns: printf_type, eval: printf, ..PURE },
];

/// No function makes a longer value: a slip in a length must not take the machine's memory.
const VALUE_MAX: usize = 16 << 20;

/// Whether a value of `bytes` may be made; else the row is refused.
fn fits(call: &Call<'_>, row: usize, bytes: Option<usize>) -> Option<()> {
    if bytes.is_some_and(|b| b <= VALUE_MAX) {
        return Some(());
    }
    call.fail(row, Reason::Arithmetic, "the result would be longer than 16 MiB");
    None
}

fn two_or_more_texts(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    if args.len() < 2 {
        return Err("takes a separator and at least one text".to_string());
    }
    types::texts(args)
}

/// Skips NULLs; NULL only if the separator is.
fn concat_ws(call: &Call<'_>) -> Result<ArrayRef> {
    let separator = call.texts(0)?;
    let parts = (1..call.arg_count()).map(|i| call.texts(i)).collect::<Result<Vec<_>>>()?;
    call.text_rows(|i, out| {
        let separator = separator.get(i)?;
        for (n, part) in parts.iter().filter_map(|p| p.get(i)).enumerate() {
            if n > 0 {
                out.push_str(separator);
            }
            out.push_str(part);
        }
        Some(())
    })
}

/// The first `count` characters.
pub(super) fn head(text: &str, count: usize) -> &str {
    if count >= text.len() {
        return text;
    }
    text.char_indices().nth(count).map_or(text, |(at, _)| &text[..at])
}

fn left(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, counts) = (call.texts(0)?, call.longs(1)?);
    call.text_rows(|i, out| {
        let (text, count) = (source.get(i)?, at(&counts, i)?);
        out.push_str(head(text, usize::try_from(count).unwrap_or(0)));
        Some(())
    })
}

fn right(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, counts) = (call.texts(0)?, call.longs(1)?);
    call.text_rows(|i, out| {
        let (text, count) = (source.get(i)?, usize::try_from(at(&counts, i)?).unwrap_or(0));
        let skipped = text.chars().count().saturating_sub(count);
        out.push_str(&text[head(text, skipped).len()..]);
        Some(())
    })
}

fn lpad(call: &Call<'_>) -> Result<ArrayRef> {
    pad(call, true)
}

fn rpad(call: &Call<'_>) -> Result<ArrayRef> {
    pad(call, false)
}

/// `SqlFunctionUtils.lpad/rpad`: a negative length and an empty padding give NULL; longer text is cut.
fn pad(call: &Call<'_>, before: bool) -> Result<ArrayRef> {
    let (source, lengths, padding) = (call.texts(0)?, call.longs(1)?, call.texts(2)?);
    call.text_rows(|i, out| {
        let (text, length, padding) = (source.get(i)?, at(&lengths, i)?, padding.get(i)?);
        let length = usize::try_from(length).ok()?;
        if padding.is_empty() {
            return None;
        }
        let chars = text.chars().count();
        if length <= chars {
            out.push_str(head(text, length));
            return Some(());
        }
        let missing = length - chars;
        fits(call, i, missing.checked_mul(4).and_then(|b| b.checked_add(text.len())))?;
        if !before {
            out.push_str(text);
        }
        out.extend(padding.chars().cycle().take(missing));
        if before {
            out.push_str(text);
        }
        Some(())
    })
}

fn repeat(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, counts) = (call.texts(0)?, call.longs(1)?);
    call.text_rows(|i, out| {
        let (text, count) = (source.get(i)?, usize::try_from(at(&counts, i)?).unwrap_or(0));
        fits(call, i, text.len().checked_mul(count))?;
        if !text.is_empty() {
            (0..count).for_each(|_| out.push_str(text));
        }
        Some(())
    })
}

fn reverse(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    call.text_rows(|i, out| {
        out.extend(source.get(i)?.chars().rev());
        Some(())
    })
}

/// As Java's `String.replace`: an empty search text matches before every character and at the end.
fn replace(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, search, replacement) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
    call.text_rows(|i, out| {
        let (text, search, replacement) = (source.get(i)?, search.get(i)?, replacement.get(i)?);
        let matches = if search.is_empty() { text.len() + 1 } else { text.len() / search.len() };
        let bound = matches.checked_mul(replacement.len()).and_then(|b| b.checked_add(text.len()));
        // The bound is a rough one: count before refusing.
        if bound.is_none_or(|b| b > VALUE_MAX) {
            let exact = text.matches(search).count().checked_mul(replacement.len());
            fits(call, i, exact.and_then(|b| b.checked_add(text.len())))?;
        }
        let mut rest = 0;
        for (start, found) in text.match_indices(search) {
            out.push_str(&text[rest..start]);
            out.push_str(replacement);
            rest = start + found.len();
        }
        out.push_str(&text[rest..]);
        Some(())
    })
}

/// Each character of the second text becomes the one at its place in the third, or nothing if that is shorter.
fn translate(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, from, to) = (call.texts(0)?, call.texts(1)?, call.texts(2)?);
    let table = |from: &str, to: &str| {
        let mut table = HashMap::new();
        let mut targets = to.chars();
        for c in from.chars() {
            let target = targets.next();
            table.entry(c).or_insert(target);
        }
        table
    };
    let constant = match (from, to) {
        (Texts::Constant(Some(from)), Texts::Constant(Some(to))) => Some(table(from, to)),
        _ => None,
    };
    call.text_rows(|i, out| {
        let (text, from, to) = (source.get(i)?, from.get(i)?, to.get(i)?);
        let own;
        let table = match &constant {
            Some(table) => table,
            None => {
                own = table(from, to);
                &own
            }
        };
        out.extend(text.chars().filter_map(|c| table.get(&c).copied().unwrap_or(Some(c))));
        Some(())
    })
}

/// The first letter of each word in upper case, the others in lower case; words are runs of letters and digits.
fn initcap(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    call.text_rows(|i, out| {
        let mut inside = false;
        for c in source.get(i)?.chars() {
            if inside {
                out.extend(c.to_lowercase());
            } else {
                out.extend(c.to_uppercase());
            }
            inside = c.is_alphanumeric();
        }
        Some(())
    })
}

/// `SqlFunctionUtils.overlay`: a start outside the text changes nothing; the length is that of the new part, if not
/// given; below 1 it drops the rest.
fn overlay(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, new, starts) = (call.texts(0)?, call.texts(1)?, call.longs(2)?);
    let lengths = if call.arg_count() > 3 { Some(call.longs(3)?) } else { None };
    call.text_rows(|i, out| {
        let (text, new, start) = (source.get(i)?, new.get(i)?, at(&starts, i)?);
        let chars = text.chars().count() as i64;
        let length = match &lengths {
            Some(lengths) => at(lengths, i)?,
            None => new.chars().count() as i64,
        };
        if start <= 0 || start > chars {
            out.push_str(text);
            return Some(());
        }
        out.push_str(head(text, (start - 1) as usize));
        out.push_str(new);
        if length > 0 && length <= chars - start {
            out.push_str(&text[head(text, (start - 1 + length) as usize).len()..]);
        }
        Some(())
    })
}

fn elt_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    let [index, rest @ ..] = args else { return Err("takes an index and at least one text".to_string()) };
    let mut coerced = types::signature(std::slice::from_ref(index), &[Arg::Int], 1)?;
    if rest.is_empty() {
        return Err("takes an index and at least one text".to_string());
    }
    coerced.extend(types::texts(rest)?);
    Ok(coerced)
}

/// The text at an index that counts from 1; NULL outside.
fn elt(call: &Call<'_>) -> Result<ArrayRef> {
    let indexes = call.longs(0)?;
    let choices = (1..call.arg_count()).map(|i| call.texts(i)).collect::<Result<Vec<_>>>()?;
    call.text_rows(|i, out| {
        let index = usize::try_from(at(&indexes, i)?).ok()?.checked_sub(1)?;
        out.push_str(choices.get(index)?.get(i)?);
        Some(())
    })
}

/// The first byte as Java's `getBytes()[0]`, which is signed; 0 for the empty text.
fn ascii(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    Ok(call.primitive_rows::<Int32Type>(|i| {
        source.get(i).map(|t| t.as_bytes().first().map_or(0, |b| i32::from(*b as i8)))
    }))
}

/// `SqlFunctionUtils.chr`: modulo 256, Latin-1; negative numbers give the empty text.
fn chr(call: &Call<'_>) -> Result<ArrayRef> {
    let codes = call.longs(0)?;
    call.text_rows(|i, out| {
        let code = at(&codes, i)?;
        if code >= 0 {
            out.push(char::from((code & 0xFF) as u8));
        }
        Some(())
    })
}

fn printf_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    let Some((format, values)) = args.split_first() else { return Err("takes a format and values".to_string()) };
    let mut coerced = types::signature(std::slice::from_ref(format), &[Arg::Text], 1)?;
    for t in values {
        coerced.push(match t {
            t if types::is_integer(t) => DataType::Int64,
            t if types::is_float(t) => DataType::Float64,
            DataType::Boolean => DataType::Boolean,
            t if types::is_decimal(t) => t.clone(),
            _ => types::one_text(std::slice::from_ref(t))?.remove(0),
        });
    }
    Ok(coerced)
}

fn printf_type(binding: &super::Binding<'_>) -> std::result::Result<DataType, String> {
    if let Some(format) = binding.text(0) {
        java_printf::Format::new(format)?;
    }
    Ok(DataType::Utf8)
}

/// Java's `String.format` for `%s %d %x %X %o %f %e %c %b %%`. What Java would throw for refuses the row.
fn printf(call: &Call<'_>) -> Result<ArrayRef> {
    let formats = call.texts(0)?;
    let columns = (1..call.arg_count()).map(|i| call.array(i)).collect::<Result<Vec<_>>>()?;
    let arguments = java_printf::Arguments::new(&columns, call.time_zone)?;
    let constant = match formats {
        Texts::Constant(Some(f)) => java_printf::Format::new(f).ok(),
        _ => None,
    };
    call.text_rows(|i, out| {
        let text = formats.get(i)?;
        let outcome = match &constant {
            Some(format) => format.write(&arguments, i, out),
            None => java_printf::Format::new(text).and_then(|f| f.write(&arguments, i, out)),
        };
        outcome.map_err(|why| call.fail(i, Reason::Cast, why)).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::head;

    #[test]
    fn heads_count_characters() {
        for (text, count, expected) in
            [("abc", 0, ""), ("abc", 2, "ab"), ("abc", 9, "abc"), ("数据é", 2, "数据"), ("", 1, "")]
        {
            assert_eq!(head(text, count), expected, "{text} {count}");
        }
    }
}
