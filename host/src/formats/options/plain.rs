//! Options of csv, raw and plugins.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};

/// Flink's csv format and our `header`.
pub static CSV: &[OptionSpec] = &[
    OptionSpec::new(
        "field-delimiter",
        OptionType::Char,
        &[(Flink, "field-delimiter"), (Legacy, "field-delimiter"), (DtStack, "fieldDelimiter")],
        "The character between fields.",
    )
    .default(&[(Flink, ","), (Legacy, ","), (DtStack, ",")]),
    OptionSpec::new(
        "header",
        OptionType::Bool,
        &[(Flink, "header"), (Legacy, "header"), (DtStack, "csv.header")],
        "Files begin with a line of column names; columns are found by name. Without it by position.",
    )
    .default(&[(Flink, "false"), (Legacy, "false"), (DtStack, "false")]),
    OptionSpec::new(
        "quote-character",
        OptionType::Char,
        &[(Flink, "quote-character"), (Legacy, "quote-character"), (DtStack, "quoteCharacter")],
        "The character around fields that contain delimiters.",
    ),
    OptionSpec::new(
        "disable-quote-character",
        OptionType::Bool,
        &[(Flink, "disable-quote-character"), (Legacy, "disable-quote-character")],
        "Quotes are ordinary characters.",
    )
    .default(&[(Flink, "false"), (Legacy, "false")]),
    OptionSpec::new(
        "allow-comments",
        OptionType::Bool,
        &[(Flink, "allow-comments"), (Legacy, "allow-comments"), (DtStack, "allowComments"), (DtStack, "allowComment")],
        "Lines that begin with # are no records.",
    )
    .default(&[(Flink, "false"), (Legacy, "false"), (DtStack, "true")]),
    OptionSpec::new(
        "ignore-parse-errors",
        OptionType::Bool,
        &[(Flink, "ignore-parse-errors"), (Legacy, "ignore-parse-errors"), (DtStack, "ignoreParseErrors")],
        "Values that cannot be decoded are NULL, records of the wrong shape are skipped.",
    ),
    OptionSpec::new(
        "array-element-delimiter",
        OptionType::Text,
        &[(Flink, "array-element-delimiter"), (Legacy, "array-element-delimiter"), (DtStack, "arrayElementDelimiter")],
        "The text between the elements of an array.",
    ),
    OptionSpec::new(
        "escape-character",
        OptionType::Char,
        &[(Flink, "escape-character"), (Legacy, "escape-character"), (DtStack, "escapeCharacter")],
        "The character that takes the meaning from the next one.",
    ),
    OptionSpec::new(
        "null-literal",
        OptionType::Text,
        &[(Flink, "null-literal"), (Legacy, "null-literal"), (DtStack, "nullLiteral")],
        "The field text that means NULL.",
    ),
    OptionSpec::new(
        "line-delimiter",
        OptionType::Ignored("records are lines"),
        &[(Legacy, "line-delimiter")],
        "Records are lines.",
    ),
    OptionSpec::new(
        "schema",
        OptionType::Ignored("the columns are the schema"),
        &[(Legacy, "schema"), (Legacy, "derive-schema"), (DtStack, "schemaInfo")],
        "The columns are the schema.",
    ),
    OptionSpec::new(
        "property-version",
        OptionType::Ignored("there is one version"),
        &[(Legacy, "property-version")],
        "1",
    ),
];

pub static RAW: &[OptionSpec] = &[
    OptionSpec::new("charset", OptionType::Text, &[(Flink, "charset")], "The encoding of text.")
        .default(&[(Flink, "UTF-8")]),
    OptionSpec::new(
        "endianness",
        OptionType::Enum(&["big-endian", "little-endian"]),
        &[(Flink, "endianness")],
        "The byte order of numbers.",
    )
    .default(&[(Flink, "big-endian")]),
];

/// A plugin decodes or encodes; everything else under `wasm.` is handed to it.
pub static WASM: &[OptionSpec] = &[
    OptionSpec::new(
        "module",
        OptionType::Text,
        &[(DtStack, "module"), (Legacy, "module"), (Flink, "module")],
        "The plugin's .wasm file, relative to the job file.",
    )
    .required(&[DtStack, Legacy, Flink]),
    OptionSpec::new(
        "function",
        OptionType::Text,
        &[(DtStack, "function"), (Legacy, "function"), (Flink, "function")],
        "The formatter or decoder in the module, if it has several.",
    ),
    OptionSpec::new(
        "config",
        OptionType::Prefix,
        &[(DtStack, ""), (Legacy, ""), (Flink, "")],
        "Every other option under wasm. is the plugin's configuration.",
    ),
];
