//! Reading JSON. The clauses of SQL (`RETURNING .. NULL ON EMPTY`) come as arguments: `sql::special_forms` writes them
//! so. A path is strict unless it begins with `lax`.

use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::{LogicalType, Reason};
use crate::expr::json_path::{Found, Path, kind};
use crate::expr::json_text::{push_list, push_number, push_quoted, push_value};
use crate::expr::type_name;
use arrow::array::{ArrayRef, BooleanArray, Float64Array, Int32Array, Int64Array, StringArray};
use arrow::compute::kernels::zip::zip;
use arrow::datatypes::DataType;
use datafusion_common::Result;
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin {
        name: "json_exists",
        fallible: true,
        coerce: |t| types::signature(t, &[Arg::Text; 3], 3),
        returns: exists_type,
        eval: exists,
        ..PURE
    },
    Builtin { name: "json_value", fallible: true, coerce: value_args, returns: value_type, eval: value, ..PURE },
    Builtin {
        name: "json_query",
        fallible: true,
        coerce: |t| types::signature(t, &[Arg::Text; 5], 5),
        returns: query_type,
        eval: query,
        ..PURE
    },
    Builtin { name: "$is_json", coerce: types::two_texts, returns: types::boolean, eval: is_json, ..PURE },
    Builtin { name: "json_quote", coerce: types::one_text, eval: quote, ..PURE },
    Builtin { name: "json_unquote", coerce: types::one_text, eval: unquote, ..PURE },
];

type Returns = std::result::Result<DataType, String>;

fn check_path(binding: &Binding<'_>) -> std::result::Result<(), String> {
    binding.text(1).map_or(Ok(()), |path| Path::new(path).map(drop))
}

fn exists_type(binding: &Binding<'_>) -> Returns {
    check_path(binding).map(|()| DataType::Boolean)
}

fn query_type(binding: &Binding<'_>) -> Returns {
    check_path(binding).map(|()| DataType::Utf8)
}

/// Text, path, type, behaviour on empty and its default, behaviour on error and its default.
fn value_args(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    use Arg::{Any, Text};
    types::signature(args, &[Text, Text, Text, Text, Any, Text, Any], 7)
}

fn value_type(binding: &Binding<'_>) -> Returns {
    check_path(binding)?;
    let name = binding.text(2).unwrap_or_default();
    match type_name::parse(name) {
        Some(t @ (LogicalType::Boolean | LogicalType::Int | LogicalType::BigInt | LogicalType::Double)) => {
            Ok(t.to_arrow())
        }
        Some(LogicalType::Varchar(_)) => Ok(DataType::Utf8),
        _ => Err(format!("RETURNING takes STRING, BOOLEAN, INT, BIGINT or DOUBLE, not {name}: CAST the result")),
    }
}

/// What a path found in a text: None is a lax nothing.
enum Outcome<'a> {
    Found(Cow<'a, Value>),
    Nothing,
    Failed(String),
}

/// Paths of the rows: a constant one is read once.
struct Paths<'a> {
    call: &'a Call<'a>,
    texts: super::call::Texts<'a>,
    constant: Option<Path>,
}

impl<'a> Paths<'a> {
    fn new(call: &'a Call<'a>) -> Result<Self> {
        let texts = call.texts(1)?;
        let constant = match texts {
            super::call::Texts::Constant(Some(path)) => Path::new(path).ok(),
            _ => None,
        };
        Ok(Self { call, texts, constant })
    }

    /// A path that cannot be read refuses the row.
    fn get(&self, row: usize) -> Option<Cow<'_, Path>> {
        match &self.constant {
            Some(path) => Some(Cow::Borrowed(path)),
            None => {
                let path = Path::new(self.texts.get(row)?).map_err(|m| self.call.fail(row, Reason::Cast, m));
                path.ok().map(Cow::Owned)
            }
        }
    }
}

fn look<T>(text: &str, path: &Path, f: impl FnOnce(Outcome<'_>) -> T) -> T {
    let root: Value = match serde_json::from_str(text) {
        Ok(root) => root,
        Err(_) if path.lax => return f(Outcome::Nothing),
        Err(e) => return f(Outcome::Failed(format!("the text is no JSON: {e}"))),
    };
    let outcome = match path.find(&root) {
        Ok(Found::One(Value::Null)) => Outcome::Nothing,
        Ok(Found::One(value)) => Outcome::Found(Cow::Borrowed(value)),
        Ok(Found::Many(values)) => Outcome::Found(Cow::Owned(Value::Array(values.into_iter().cloned().collect()))),
        Err(_) if path.lax && path.is_definite() => Outcome::Nothing,
        Err(_) if path.lax => Outcome::Found(Cow::Owned(Value::Array(vec![]))),
        Err(missing) => Outcome::Failed(missing),
    };
    f(outcome)
}

/// Whether the path leads to a value that is not null.
fn exists(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, paths, on_error) = (call.texts(0)?, Paths::new(call)?, call.texts(2)?);
    Ok(call.boolean_rows(|i| {
        let (text, path) = (source.get(i)?, paths.get(i)?);
        look(text, &path, |outcome| match outcome {
            Outcome::Found(_) => Some(true),
            Outcome::Nothing => Some(false),
            Outcome::Failed(message) => match on_error.get(i) {
                Some("TRUE") => Some(true),
                Some("UNKNOWN") => None,
                Some("ERROR") => {
                    call.fail(i, Reason::Cast, message);
                    None
                }
                _ => Some(false),
            },
        })
    }))
}

/// What a row of JSON_VALUE or JSON_QUERY came to.
enum Answer<T> {
    Value(T),
    Null,
    DefaultOnEmpty,
    DefaultOnError,
}

fn on_empty<T>(call: &Call<'_>, row: usize, behaviour: Option<&str>) -> Answer<T> {
    match behaviour {
        Some("ERROR") => {
            call.fail(row, Reason::Cast, "the JSON path leads to nothing, and ERROR ON EMPTY is set");
            Answer::Null
        }
        Some("NULL") | None => Answer::Null,
        _ => Answer::DefaultOnEmpty,
    }
}

fn on_error<T>(call: &Call<'_>, row: usize, behaviour: Option<&str>, message: String) -> Answer<T> {
    match behaviour {
        Some("ERROR") => {
            call.fail(row, Reason::Cast, message);
            Answer::Null
        }
        Some("NULL") | None => Answer::Null,
        _ => Answer::DefaultOnError,
    }
}

/// Values, and which rows take the default for an empty result and for an error.
type Scalars<T> = (Vec<Option<T>>, Vec<bool>, Vec<bool>);

/// A scalar of JSON as a value of SQL.
fn scalars<T>(call: &Call<'_>, convert: impl Fn(&Value) -> Option<T>, wanted: &str) -> Result<Scalars<T>> {
    let (source, paths) = (call.texts(0)?, Paths::new(call)?);
    let (empty, error) = (call.texts(3)?, call.texts(5)?);
    let answer = |i: usize| {
        let (Some(text), Some(path)) = (source.get(i), paths.get(i)) else { return Answer::Null };
        look(text, &path, |outcome| match outcome {
            Outcome::Failed(message) => on_error(call, i, error.get(i), message),
            Outcome::Nothing => on_empty(call, i, empty.get(i)),
            Outcome::Found(value) if value.is_array() || value.is_object() => match path.lax {
                true => on_empty(call, i, empty.get(i)),
                false => {
                    on_error(call, i, error.get(i), format!("the path leads to {}, not to a scalar", kind(&value)))
                }
            },
            Outcome::Found(value) => match convert(&value) {
                Some(value) => Answer::Value(value),
                None => on_error(call, i, error.get(i), format!("the value is {}, not {wanted}", kind(&value))),
            },
        })
    };
    let (mut values, mut empties, mut errors) = (vec![], vec![], vec![]);
    for i in 0..call.rows {
        let answer = answer(i);
        empties.push(matches!(answer, Answer::DefaultOnEmpty));
        errors.push(matches!(answer, Answer::DefaultOnError));
        values.push(match answer {
            Answer::Value(value) => Some(value),
            _ => None,
        });
    }
    Ok((values, empties, errors))
}

fn value(call: &Call<'_>) -> Result<ArrayRef> {
    let (values, empties, errors): (ArrayRef, _, _) = match call.returns {
        DataType::Boolean => {
            let (v, empties, errors) = scalars(call, Value::as_bool, "a boolean")?;
            (Arc::new(BooleanArray::from(v)), empties, errors)
        }
        DataType::Int32 => {
            let int = |v: &Value| v.as_i64().and_then(|v| i32::try_from(v).ok());
            let (v, empties, errors) = scalars(call, int, "an INT")?;
            (Arc::new(Int32Array::from(v)), empties, errors)
        }
        DataType::Int64 => {
            let (v, empties, errors) = scalars(call, Value::as_i64, "a BIGINT")?;
            (Arc::new(Int64Array::from(v)), empties, errors)
        }
        DataType::Float64 => {
            let (v, empties, errors) = scalars(call, Value::as_f64, "a DOUBLE")?;
            (Arc::new(Float64Array::from(v)), empties, errors)
        }
        _ => {
            let (v, empties, errors) = scalars(call, scalar_text, "text")?;
            crate::expr::cast::text::offset(v.iter().flatten().map(String::len).sum())?;
            (Arc::new(StringArray::from(v)), empties, errors)
        }
    };
    let with_default = |values: ArrayRef, chosen: Vec<bool>, index: usize| -> Result<ArrayRef> {
        if !chosen.contains(&true) {
            return Ok(values);
        }
        let default = arrow::compute::cast(&call.array(index)?, call.returns)?;
        Ok(zip(&BooleanArray::from(chosen), &default, &values)?)
    };
    with_default(with_default(values, empties, 4)?, errors, 6)
}

fn scalar_text(value: &Value) -> Option<String> {
    let mut text = String::new();
    match value {
        Value::Bool(b) => text.push_str(if *b { "true" } else { "false" }),
        Value::Number(n) => push_number(n, &mut text),
        Value::String(s) => text.push_str(s),
        _ => return None,
    }
    Some(text)
}

/// Text, path, wrapper, behaviour on empty, behaviour on error.
fn query(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, paths) = (call.texts(0)?, Paths::new(call)?);
    let (wrappers, empty, error) = (call.texts(2)?, call.texts(3)?, call.texts(4)?);
    call.text_rows(|i, out| {
        let (text, path) = (source.get(i)?, paths.get(i)?);
        let answer: Answer<()> = look(text, &path, |outcome| {
            let value = match outcome {
                Outcome::Failed(message) => return on_error(call, i, error.get(i), message),
                Outcome::Nothing => return on_empty(call, i, empty.get(i)),
                Outcome::Found(value) => value,
            };
            let wrap = match wrappers.get(i) {
                Some("UNCONDITIONAL") => true,
                Some("CONDITIONAL") => !value.is_array(),
                _ => false,
            };
            if wrap {
                push_list(std::iter::once(value.as_ref()), out);
            } else if value.is_array() || value.is_object() {
                push_value(&value, out);
            } else if path.lax {
                return on_empty(call, i, empty.get(i));
            } else {
                let message = format!("the path leads to {}, not to an array or object", kind(&value));
                return on_error(call, i, error.get(i), message);
            }
            Answer::Value(())
        });
        match answer {
            Answer::Value(()) => {}
            Answer::Null => return None,
            Answer::DefaultOnEmpty => out.push_str(default_text(empty.get(i))),
            Answer::DefaultOnError => out.push_str(default_text(error.get(i))),
        }
        Some(())
    })
}

fn default_text(behaviour: Option<&str>) -> &'static str {
    if behaviour == Some("EMPTY OBJECT") { "{}" } else { "[]" }
}

/// FALSE for NULL.
fn is_json(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, kinds) = (call.texts(0)?, call.texts(1)?);
    Ok(call.boolean_rows(|i| {
        let value = source.get(i).and_then(|text| serde_json::from_str::<Value>(text).ok());
        Some(value.is_some_and(|v| match kinds.get(i) {
            Some("OBJECT") => v.is_object(),
            Some("ARRAY") => v.is_array(),
            Some("SCALAR") => !v.is_object() && !v.is_array(),
            _ => true,
        }))
    }))
}

/// As a JSON string; `/` is escaped, too.
fn quote(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    call.text_rows(|i, out| {
        let mut quoted = String::new();
        push_quoted(source.get(i)?, &mut quoted);
        out.push_str(&quoted.replace('/', "\\/"));
        Some(())
    })
}

/// The text of a JSON string; what is none stays as it is.
fn unquote(call: &Call<'_>) -> Result<ArrayRef> {
    let source = call.texts(0)?;
    call.text_rows(|i, out| {
        let text = source.get(i)?;
        let quoted = text.len() >= 2 && text.starts_with('"') && text.ends_with('"');
        match quoted.then(|| serde_json::from_str::<String>(text)) {
            Some(Ok(unquoted)) => out.push_str(&unquoted),
            _ => out.push_str(text),
        }
        Some(())
    })
}
