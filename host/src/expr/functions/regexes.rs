//! Functions with regular expressions. A constant pattern is read when the job is checked.

use super::call::{Texts, at};
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::Reason;
use crate::expr::java_regex::{compile, similar_pattern};
use arrow::array::{ArrayRef, ListBuilder, MapBuilder, MapFieldNames, StringBuilder};
use arrow::datatypes::{DataType, Field, Int32Type};
use datafusion_common::Result;
use regex::Regex;
use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::rc::Rc;
use std::sync::Arc;

const TEXT_TEXT_INT: [Arg; 3] = [Arg::Text, Arg::Text, Arg::Int];
const THREE_TEXTS: [Arg; 3] = [Arg::Text; 3];
const FALLIBLE: Builtin = Builtin { fallible: true, ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "regexp", coerce: types::two_texts, returns: boolean, eval: regexp, ..FALLIBLE },
    Builtin { name: "$similar", coerce: similar_args, returns: similar_type, eval: similar, ..FALLIBLE },
    Builtin {
        name: "regexp_extract",
        coerce: |t| types::signature(t, &TEXT_TEXT_INT, 2),
        returns: text,
        eval: extract,
        ..FALLIBLE
    },
    Builtin {
        name: "regexp_extract_all",
        coerce: |t| types::signature(t, &TEXT_TEXT_INT, 2),
        returns: texts,
        eval: extract_all,
        ..FALLIBLE
    },
    Builtin {
        name: "regexp_replace",
        coerce: |t| types::signature(t, &THREE_TEXTS, 3),
        returns: text,
        eval: replace,
        ..FALLIBLE
    },
    Builtin { name: "regexp_count", coerce: types::two_texts, returns: int, eval: count, ..FALLIBLE },
    Builtin { name: "regexp_instr", coerce: types::two_texts, returns: int, eval: instr, ..FALLIBLE },
    Builtin { name: "regexp_substr", coerce: types::two_texts, returns: text, eval: substr, ..FALLIBLE },
    Builtin {
        name: "str_to_map",
        coerce: |t| types::signature(t, &THREE_TEXTS, 1),
        returns: map,
        eval: str_to_map,
        ..FALLIBLE
    },
];

type Returns = std::result::Result<DataType, String>;

/// Refuses a constant pattern that cannot be read.
fn check(binding: &Binding<'_>, index: usize) -> std::result::Result<(), String> {
    binding.text(index).map_or(Ok(()), |pattern| compile(pattern).map(drop))
}

fn boolean(binding: &Binding<'_>) -> Returns {
    check(binding, 1).map(|()| DataType::Boolean)
}

fn int(binding: &Binding<'_>) -> Returns {
    check(binding, 1).map(|()| DataType::Int32)
}

fn text(binding: &Binding<'_>) -> Returns {
    check(binding, 1).map(|()| DataType::Utf8)
}

fn texts(binding: &Binding<'_>) -> Returns {
    check(binding, 1).map(|()| types::array_of(DataType::Utf8))
}

fn map(binding: &Binding<'_>) -> Returns {
    check(binding, 1)?;
    check(binding, 2)?;
    Ok(types::map_of(DataType::Utf8, DataType::Utf8))
}

/// Distinct patterns of a batch that are kept.
const CACHE_MAX: usize = 64;

/// The pattern argument: one for all rows, or a column of them.
struct Patterns<'a> {
    call: &'a Call<'a>,
    texts: Texts<'a>,
    translate: fn(&str) -> std::result::Result<Regex, String>,
    known: RefCell<HashMap<&'a str, Rc<std::result::Result<Regex, String>>>>,
}

impl<'a> Patterns<'a> {
    fn new(call: &'a Call<'a>, index: usize) -> Result<Self> {
        Ok(Self { call, texts: call.texts(index)?, translate: compile, known: RefCell::default() })
    }

    /// None: NULL, or a pattern that refuses the row.
    fn get(&self, row: usize) -> Option<Pattern> {
        let text = self.texts.get(row)?;
        let mut known = self.known.borrow_mut();
        if known.len() >= CACHE_MAX && !known.contains_key(text) {
            known.clear();
        }
        let pattern = known.entry(text).or_insert_with(|| Rc::new((self.translate)(text))).clone();
        match pattern.as_ref() {
            Ok(_) => Some(Pattern(pattern)),
            Err(message) => {
                self.call.fail(row, Reason::Cast, message.clone());
                None
            }
        }
    }
}

struct Pattern(Rc<std::result::Result<Regex, String>>);

impl Pattern {
    /// `Patterns::get` gives readable ones only.
    fn with<T>(&self, f: impl FnOnce(&Regex) -> Option<T>) -> Option<T> {
        self.0.as_ref().as_ref().ok().and_then(f)
    }
}

/// Whether the pattern is found anywhere.
fn regexp(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, patterns) = (call.texts(0)?, Patterns::new(call, 1)?);
    Ok(call.boolean_rows(|i| {
        let text = source.get(i)?;
        patterns.get(i)?.with(|p| Some(p.is_match(text)))
    }))
}

fn similar_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    types::signature(args, &THREE_TEXTS, 2)
}

fn similar_type(binding: &Binding<'_>) -> Returns {
    let escape = binding.text(2);
    if let (Some(pattern), true) = (binding.text(1), binding.types.len() < 3 || escape.is_some()) {
        similar_pattern(pattern, escape)?;
    }
    Ok(DataType::Boolean)
}

/// `text SIMILAR TO pattern [ESCAPE c]`: the whole text has to match.
fn similar(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    if call.arg_count() < 3 {
        let patterns = Patterns { translate: |p| similar_pattern(p, None), ..Patterns::new(call, 1)? };
        return Ok(call.boolean_rows(|i| {
            let text = source.get(i)?;
            patterns.get(i)?.with(|p| Some(p.is_match(text)))
        }));
    }
    let (patterns, escapes) = (call.texts(1)?, call.texts(2)?);
    Ok(call.boolean_rows(|i| {
        let (text, pattern, escape) = (source.get(i)?, patterns.get(i)?, escapes.get(i)?);
        match similar_pattern(pattern, Some(escape)) {
            Ok(p) => Some(p.is_match(text)),
            Err(message) => {
                call.fail(i, Reason::Cast, message);
                None
            }
        }
    }))
}

/// The group of an optional index argument; 0 is the whole match. None: NULL, or no such group.
fn group(call: &Call<'_>) -> Result<impl Fn(usize, &Regex, i64) -> Option<usize>> {
    let indexes = if call.arg_count() > 2 { Some(call.longs(2)?) } else { None };
    Ok(move |row: usize, pattern: &Regex, default: i64| {
        let index = match &indexes {
            Some(indexes) => at(indexes, row)?,
            None => default,
        };
        usize::try_from(index).ok().filter(|i| *i < pattern.captures_len())
    })
}

/// The group of the first match; NULL without match and for a group that took no part.
fn extract(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, patterns, group) = (call.texts(0)?, Patterns::new(call, 1)?, group(call)?);
    call.text_rows(|i, out| {
        let text = source.get(i)?;
        patterns.get(i)?.with(|p| {
            let group = group(i, p, 0)?;
            out.push_str(p.captures(text)?.get(group)?.as_str());
            Some(())
        })
    })
}

/// The group (1 without an index, as the function is specified) of every match.
fn extract_all(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, patterns, group) = (call.texts(0)?, Patterns::new(call, 1)?, group(call)?);
    let mut lists = ListBuilder::new(StringBuilder::new()).with_field(Field::new("item", DataType::Utf8, true));
    for i in 0..call.rows {
        let found = source.get(i).and_then(|text| {
            patterns.get(i)?.with(|p| {
                let group = group(i, p, 1)?;
                p.captures_iter(text).for_each(|c| lists.values().append_option(c.get(group).map(|m| m.as_str())));
                Some(())
            })
        });
        lists.append(found.is_some());
    }
    Ok(Arc::new(lists.finish()))
}

/// Replaces every match. The replacement is taken as it is: Flink quotes it, so `$1` is no group.
fn replace(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, patterns, replacements) = (call.texts(0)?, Patterns::new(call, 1)?, call.texts(2)?);
    call.text_rows(|i, out| {
        let (text, replacement) = (source.get(i)?, replacements.get(i)?);
        patterns.get(i)?.with(|p| {
            let mut rest = 0;
            for found in p.find_iter(text) {
                out.push_str(&text[rest..found.start()]);
                out.push_str(replacement);
                rest = found.end();
            }
            out.push_str(&text[rest..]);
            Some(())
        })
    })
}

fn count(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, patterns) = (call.texts(0)?, Patterns::new(call, 1)?);
    Ok(call.primitive_rows::<Int32Type>(|i| {
        let text = source.get(i)?;
        patterns.get(i)?.with(|p| i32::try_from(p.find_iter(text).count()).ok())
    }))
}

fn instr(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, patterns) = (call.texts(0)?, Patterns::new(call, 1)?);
    Ok(call.primitive_rows::<Int32Type>(|i| {
        let text = source.get(i)?;
        patterns.get(i)?.with(|p| Some(p.find(text).map_or(0, |m| text[..m.start()].chars().count() as i32 + 1)))
    }))
}

fn substr(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, patterns) = (call.texts(0)?, Patterns::new(call, 1)?);
    call.text_rows(|i, out| {
        let text = source.get(i)?;
        patterns.get(i)?.with(|p| out.write_str(p.find(text)?.as_str()).ok())
    })
}

/// `STR_TO_MAP(text[, between entries[, between key and value]])`; both separators are regular expressions. An entry
/// without a value has NULL; of two equal keys the last counts.
fn str_to_map(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    let separators = |index: usize, default: &'static str| -> Result<Patterns<'_>> {
        let texts = if call.arg_count() > index { call.texts(index)? } else { Texts::Constant(Some(default)) };
        Ok(Patterns { call, texts, translate: compile, known: RefCell::default() })
    };
    let (between, inside) = (separators(1, ",")?, separators(2, "=")?);
    let names = MapFieldNames { entry: "entries".into(), key: "key".into(), value: "value".into() };
    let mut maps = MapBuilder::new(Some(names), StringBuilder::new(), StringBuilder::new())
        .with_keys_field(Field::new("key", DataType::Utf8, false))
        .with_values_field(Field::new("value", DataType::Utf8, true));
    for i in 0..call.rows {
        let found = source.get(i).and_then(|text| {
            let (between, inside) = (between.get(i)?, inside.get(i)?);
            let mut entries: indexmap::IndexMap<&str, Option<&str>> = indexmap::IndexMap::new();
            between.with(|b| {
                inside.with(|k| {
                    for entry in b.split(text) {
                        let mut parts = k.splitn(entry, 2);
                        entries.insert(parts.next().unwrap_or_default(), parts.next());
                    }
                    Some(())
                })
            })?;
            for (key, value) in entries {
                maps.keys().append_value(key);
                maps.values().append_option(value);
            }
            Some(())
        });
        maps.append(found.is_some())?;
    }
    Ok(Arc::new(maps.finish()))
}
