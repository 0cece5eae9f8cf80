//! Functions over text. Loops run over Arrow's buffers; where a column is all ASCII, characters are bytes.

use super::call::Texts;
use super::{Builtin, Call, PURE, types};
use crate::expr::cast::text::{build, offset};
use arrow::array::{Array, ArrayRef, Int32Array, StringArray};
use arrow::buffer::{Buffer, NullBuffer, OffsetBuffer};
use arrow::datatypes::Int64Type;
use datafusion_common::Result;
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "upper", coerce: types::one_text, eval: upper, ..PURE },
    Builtin { name: "lower", coerce: types::one_text, eval: lower, ..PURE },
    Builtin { name: "btrim", coerce: types::one_or_two_texts, eval: trim_both, ..PURE },
    Builtin { name: "ltrim", coerce: types::one_or_two_texts, eval: trim_left, ..PURE },
    Builtin { name: "rtrim", coerce: types::one_or_two_texts, eval: trim_right, ..PURE },
    Builtin { name: "substring", coerce: types::text_and_positions, eval: substring, ..PURE },
    Builtin { name: "substr", coerce: types::text_and_positions, eval: substring, ..PURE },
    Builtin { name: "concat", coerce: types::texts, eval: concat, ..PURE },
    Builtin { name: "char_length", coerce: types::one_text, returns: types::int, eval: char_length, ..PURE },
    Builtin { name: "character_length", coerce: types::one_text, returns: types::int, eval: char_length, ..PURE },
    Builtin { name: "length", coerce: types::one_text, returns: types::int, eval: char_length, ..PURE },
];

fn upper(call: &Call<'_>) -> Result<ArrayRef> {
    change_case(call, <[u8]>::make_ascii_uppercase, str::to_uppercase)
}

fn lower(call: &Call<'_>) -> Result<ArrayRef> {
    change_case(call, <[u8]>::make_ascii_lowercase, str::to_lowercase)
}

fn change_case(call: &Call<'_>, ascii: fn(&mut [u8]), unicode: fn(&str) -> String) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    if let Texts::Column(a) = source
        && let Some(bytes) = used_bytes(a).filter(|b| b.is_ascii())
    {
        let mut bytes = bytes.to_vec();
        ascii(&mut bytes);
        let first = a.value_offsets()[0];
        let offsets: Vec<i32> = a.value_offsets().iter().map(|o| o - first).collect();
        let offsets = OffsetBuffer::new(offsets.into());
        return Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(bytes), a.nulls().cloned())?));
    }
    map_text(call, source, |text, out| out.push_str(&unicode(text)))
}

/// The bytes of a column's values, without those of rows that a slice left out. (An array without rows may have
/// no offset at all, hence the Option.)
fn used_bytes(a: &StringArray) -> Option<&[u8]> {
    let (first, last) = (a.value_offsets().first()?, a.value_offsets().last()?);
    a.value_data().get(*first as usize..*last as usize)
}

/// A text from every text.
fn map_text(call: &Call<'_>, source: Texts<'_>, mut f: impl FnMut(&str, &mut String)) -> Result<ArrayRef> {
    let nulls = source.nulls(call.rows);
    let column = build(call.rows, nulls.as_ref(), |i, out| f(source.get(i).unwrap_or_default(), out))?;
    Ok(Arc::new(column))
}

fn trim_both(call: &Call<'_>) -> Result<ArrayRef> {
    trim(call, true, true)
}

fn trim_left(call: &Call<'_>) -> Result<ArrayRef> {
    trim(call, true, false)
}

fn trim_right(call: &Call<'_>) -> Result<ArrayRef> {
    trim(call, false, true)
}

/// Cuts every character that the second argument contains (default: the blank, not other white space), as
/// `BinaryStringDataUtil.trimLeft/trimRight`.
fn trim(call: &Call<'_>, left: bool, right: bool) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    let set = if call.arg_count() > 1 { call.texts(1)? } else { Texts::Constant(Some(" ")) };
    let nulls = NullBuffer::union(source.nulls(call.rows).as_ref(), set.nulls(call.rows).as_ref());
    let column = build(call.rows, nulls.as_ref(), |i, out| {
        let (mut text, set) = (source.get(i).unwrap_or_default(), set.get(i).unwrap_or_default());
        if left {
            text = text.trim_start_matches(|c| set.contains(c));
        }
        if right {
            text = text.trim_end_matches(|c| set.contains(c));
        }
        out.push_str(text);
    })?;
    Ok(Arc::new(column))
}

/// `BinaryStringDataUtil.substringSQL`: positions count from 1, 0 is the first too, negative ones from the end; a
/// start before the text gives the empty text, a negative length NULL.
fn substring(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    let positions = call.numbers::<Int64Type>(1)?;
    let lengths = if call.arg_count() > 2 { Some(call.numbers::<Int64Type>(2)?) } else { None };
    let valid_length =
        lengths.as_ref().map(|l| (0..call.rows).map(|i| l.is_valid(i) && l.value(i) >= 0).collect::<Vec<_>>().into());
    let nulls = NullBuffer::union(source.nulls(call.rows).as_ref(), positions.nulls());
    let nulls = NullBuffer::union(nulls.as_ref(), valid_length.as_ref());
    let column = build(call.rows, nulls.as_ref(), |i, out| {
        let length = lengths.as_ref().map_or(i64::MAX, |l| l.value(i));
        out.push_str(cut(source.get(i).unwrap_or_default(), positions.value(i), length));
    })?;
    Ok(Arc::new(column))
}

fn cut(text: &str, position: i64, length: i64) -> &str {
    let ascii = text.is_ascii();
    let chars = if ascii { text.len() } else { text.chars().count() };
    let start = match position {
        0 => 0,
        p if p > 0 => usize::try_from(p - 1).unwrap_or(usize::MAX),
        p => match usize::try_from(p.unsigned_abs()).ok().and_then(|back| chars.checked_sub(back)) {
            Some(start) => start,
            None => return "",
        },
    };
    if start >= chars {
        return "";
    }
    let end = start.saturating_add(usize::try_from(length).unwrap_or(usize::MAX)).min(chars);
    let byte = |at: usize| {
        if ascii { at } else { text.char_indices().nth(at).map_or(text.len(), |(byte, _)| byte) }
    };
    text.get(byte(start)..byte(end)).unwrap_or_default()
}

/// NULL if any argument is.
fn concat(call: &Call<'_>) -> Result<ArrayRef> {
    let parts = (0..call.arg_count()).map(|i| call.texts(i)).collect::<Result<Vec<_>>>()?;
    let nulls = parts.iter().fold(None, |all, p| NullBuffer::union(all.as_ref(), p.nulls(call.rows).as_ref()));
    let size: usize = parts
        .iter()
        .map(|p| match p {
            Texts::Column(a) => used_bytes(a).map_or(0, <[u8]>::len),
            Texts::Constant(text) => text.map_or(0, str::len).saturating_mul(call.rows),
        })
        .sum();
    // Also the limit on what is reserved below.
    offset(size)?;
    let mut data: Vec<u8> = Vec::with_capacity(size);
    let mut offsets = Vec::with_capacity(call.rows + 1);
    offsets.push(0);
    for i in 0..call.rows {
        if nulls.as_ref().is_none_or(|n| n.is_valid(i)) {
            for part in &parts {
                data.extend_from_slice(part.get(i).unwrap_or_default().as_bytes());
            }
        }
        offsets.push(data.len() as i32);
    }
    let offsets = OffsetBuffer::new(offsets.into());
    Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(data), nulls)?))
}

/// Characters, not bytes.
fn char_length(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    if let Texts::Column(a) = source
        && used_bytes(a).is_some_and(<[u8]>::is_ascii)
    {
        let lengths: Vec<i32> = a.value_offsets().windows(2).map(|w| w[1] - w[0]).collect();
        return Ok(Arc::new(Int32Array::new(lengths.into(), a.nulls().cloned())));
    }
    let lengths = (0..call.rows).map(|i| source.get(i).map(|t| t.chars().count() as i32));
    Ok(Arc::new(lengths.collect::<Int32Array>()))
}

#[cfg(test)]
mod tests {
    use super::cut;

    #[test]
    fn substring_counts_as_flink_does() {
        let cases = [
            ("abc", 1, i64::MAX, "abc"),
            ("abc", 0, 2, "ab"),
            ("abc", -2, i64::MAX, "bc"),
            ("abc", -2, 1, "b"),
            ("abc", -4, 2, ""),
            ("abc", 4, 1, ""),
            ("abc", 2, 0, ""),
            ("abc", i64::MIN, i64::MAX, ""),
            ("abc", i64::MAX, i64::MAX, ""),
            ("数据é", 2, 1, "据"),
            ("数据é", -1, 9, "é"),
            ("", 1, 1, ""),
        ];
        for (text, position, length, expected) in cases {
            assert_eq!(cut(text, position, length), expected, "{text} {position} {length}");
        }
    }
}
