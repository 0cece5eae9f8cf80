//! Names in an Avro schema, checked before the library reads it: it panics on some that are none.

use serde_json::Value;

/// Every name, alias and named type of the schema; the message names the first that cannot be one. What is no JSON is
/// left to the library.
pub(super) fn check(text: &str) -> Result<(), String> {
    match serde_json::from_str(text) {
        Ok(schema) => schema_names(&schema),
        Err(_) => Ok(()),
    }
}

/// A schema, or a part of one where a type may stand.
fn schema_names(schema: &Value) -> Result<(), String> {
    match schema {
        Value::String(name) => named(name),
        Value::Array(branches) => branches.iter().try_for_each(schema_names),
        Value::Object(parts) => parts.iter().try_for_each(|(key, part)| match (key.as_str(), part) {
            ("name", Value::String(name)) => named(name),
            ("namespace", Value::String(space)) if !space.is_empty() => named(space),
            ("aliases", Value::Array(aliases)) => aliases.iter().filter_map(Value::as_str).try_for_each(named),
            ("type" | "items" | "values", part) => schema_names(part),
            ("fields", Value::Array(fields)) => fields.iter().try_for_each(schema_names),
            _ => Ok(()),
        }),
        _ => Ok(()),
    }
}

/// `[namespace.]name` of ASCII letters, digits and `_`.
fn named(name: &str) -> Result<(), String> {
    let is_part = |part: &str| {
        let mut chars = part.chars();
        chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let name = name.strip_prefix('.').unwrap_or(name);
    if name.split('.').all(is_part) { Ok(()) } else { Err(format!("'{name}' is no Avro name")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_make_the_library_panic_are_found_wherever_they_stand() {
        for schema in [
            r#"{"type":"record","name":"a b","fields":[]}"#,
            r#"{"type":"record","name":"r","aliases":["1"],"fields":[]}"#,
            r#"{"type":"record","name":"r","fields":[{"name":"a","type":"x y"}]}"#,
            r#"{"type":"record","name":"r","fields":[{"name":"a","type":["null",{"type":"array","items":"-"}]}]}"#,
            r#"{"type":"record","name":"r","fields":[{"name":"a","aliases":["?"],"type":"int"}]}"#,
            r#"{"type":"enum","name":"","symbols":["A"]}"#,
            r#"{"type":"enum","name":"e","namespace":"a b","symbols":["A"]}"#,
        ] {
            assert!(check(schema).is_err(), "{schema}");
        }
        for schema in [r#""int""#, r#"{"type":"fixed","name":"a.b.C_1","size":3,"aliases":["d"]}"#, "no json"] {
            assert_eq!(check(schema), Ok(()), "{schema}");
        }
    }
}
