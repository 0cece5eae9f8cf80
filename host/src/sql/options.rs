//! One table of [`OptionSpec`]s per connector and format drives parsing, unknown-option and did-you-mean messages
//! with positions, redaction, and the option tables of the docs.

use crate::diagnostic::{Span, is_secret_key};
use indexmap::IndexMap;
use std::time::Duration;

pub use super::option_value::{duration, parse_size, parse_value};
pub use super::resolve::{Resolver, resolve};
pub use crate::diagnostic::redact;

/// Which family of job files a table was written for. Chosen per table by its keys: `type` is flinkStreamSQL,
/// `connector.type` is legacy Flink 1.9/1.10 and DLI, `connector` is Flink since 1.11.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// DTStack flinkStreamSQL.
    DtStack,
    /// Flink 1.9 / 1.10 and Huawei DLI.
    Legacy,
    /// Flink 1.11 and later.
    Flink,
}

impl Dialect {
    pub fn as_str(self) -> &'static str {
        match self {
            Dialect::DtStack => "flinkStreamSQL",
            Dialect::Legacy => "legacy",
            Dialect::Flink => "flink",
        }
    }
}

/// How a value is read and checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptionType {
    Text,
    Bool,
    /// Inclusive bounds.
    Int {
        min: i64,
        max: i64,
    },
    Float {
        min: f64,
        max: f64,
    },
    /// A bare number is in this unit; Flink's forms (`10s`, `5 min`, `100 ms`) always work.
    Duration {
        bare: Duration,
    },
    /// Bytes; `16mb`, `1 kb`.
    Size,
    /// Any case; the canonical spelling is kept.
    Enum(&'static [&'static str]),
    /// Split on `,` and `，`, trimmed.
    List,
    /// As List, split on this character only (Flink's topic lists: `;`).
    ListBy(char),
    /// A single character (`\t`, `\u0001` and `U&'\0001'` forms too).
    Char,
    /// The names it stands for are everything that starts with it: `properties.*`.
    Prefix,
    /// Known, accepted, without meaning here; the text says why.
    Ignored(&'static str),
}

/// One option of a connector or format. `name` is ours (and the key of [`ResolvedOptions`]); each dialect has its own
/// spellings. A dialect without a spelling does not have the option.
#[derive(Debug, Clone, Copy)]
pub struct OptionSpec {
    pub name: &'static str,
    pub spellings: &'static [(Dialect, &'static str)],
    pub kind: OptionType,
    /// In these dialects the option must be given.
    pub required: &'static [Dialect],
    /// Per dialect: the value when absent.
    pub default: &'static [(Dialect, &'static str)],
    pub sensitive: bool,
    pub doc: &'static str,
}

/// Building blocks of the option tables.
impl OptionSpec {
    pub const fn new(
        name: &'static str,
        kind: OptionType,
        spellings: &'static [(Dialect, &'static str)],
        doc: &'static str,
    ) -> Self {
        Self { name, spellings, kind, required: &[], default: &[], sensitive: false, doc }
    }
    /// In these dialects a table without the option (or with an empty one) is refused.
    pub const fn required(self, dialects: &'static [Dialect]) -> Self {
        Self { required: dialects, ..self }
    }
    pub const fn default(self, values: &'static [(Dialect, &'static str)]) -> Self {
        Self { default: values, ..self }
    }
    pub const fn sensitive(self) -> Self {
        Self { sensitive: true, ..self }
    }
    /// The spellings of this option in a dialect.
    pub fn spelled(&self, dialect: Dialect) -> impl Iterator<Item = &'static str> {
        self.spellings.iter().filter(move |(d, _)| *d == dialect).map(|(_, s)| *s)
    }
}

/// A checked value. The accessors of [`ResolvedOptions`] cannot fail for options of the right type.
#[derive(Debug, Clone, PartialEq)]
pub enum OptionValue {
    Text(String),
    Bool(bool),
    Int(i64),
    Float(f64),
    Duration(Duration),
    Size(u64),
    List(Vec<String>),
    Char(char),
}

/// A value with its place; `span` is None for a default.
#[derive(Debug, Clone, PartialEq)]
pub struct OptionEntry {
    pub value: OptionValue,
    /// As it is written (or as the default says).
    pub text: String,
    /// The key as it is written.
    pub key: String,
    pub span: Option<Span>,
    pub sensitive: bool,
}

/// The options of one table, by our names.
#[derive(Debug, Clone, Default)]
pub struct ResolvedOptions {
    pub entries: IndexMap<&'static str, OptionEntry>,
    /// Options under a [`OptionType::Prefix`]: prefix name -> (rest of the key, value).
    pub prefixed: IndexMap<&'static str, IndexMap<String, String>>,
}

impl ResolvedOptions {
    pub fn get(&self, name: &str) -> Option<&OptionEntry> {
        self.entries.get(name)
    }
    pub fn is_set(&self, name: &str) -> bool {
        self.get(name).is_some_and(|e| e.span.is_some())
    }
    /// What may be shown of the options: key and value as written (or as the default says), secrets as `******`,
    /// and whether it was given.
    pub fn display(&self) -> Vec<(String, String, bool)> {
        let mut shown: Vec<_> = self
            .entries
            .values()
            .map(|e| {
                let secret = e.sensitive || is_secret_key(&e.key);
                (e.key.clone(), if secret { "******".to_string() } else { redact(&e.text) }, e.span.is_some())
            })
            .collect();
        for (prefix, rest) in &self.prefixed {
            for (key, value) in rest {
                // Flink 1.9 numbers its pairs: `properties.0.key` = 'ssl.key.password', `properties.0.value` = '..'.
                let named = key.strip_suffix(".value").and_then(|n| rest.get(&format!("{n}.key")));
                let value = if is_secret_key(key) || named.is_some_and(|n| is_secret_key(n)) {
                    "******".to_string()
                } else {
                    redact(value)
                };
                shown.push((format!("{prefix}.{key}"), value, true));
            }
        }
        shown
    }
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.get(name)?.value {
            OptionValue::Text(t) => Some(t),
            _ => None,
        }
    }
    pub fn bool(&self, name: &str) -> Option<bool> {
        match self.get(name)?.value {
            OptionValue::Bool(b) => Some(b),
            _ => None,
        }
    }
    pub fn int(&self, name: &str) -> Option<i64> {
        match self.get(name)?.value {
            OptionValue::Int(i) => Some(i),
            _ => None,
        }
    }
    pub fn float(&self, name: &str) -> Option<f64> {
        match self.get(name)?.value {
            OptionValue::Float(f) => Some(f),
            _ => None,
        }
    }
    pub fn duration(&self, name: &str) -> Option<Duration> {
        match self.get(name)?.value {
            OptionValue::Duration(d) => Some(d),
            _ => None,
        }
    }
    pub fn size(&self, name: &str) -> Option<u64> {
        match self.get(name)?.value {
            OptionValue::Size(s) => Some(s),
            _ => None,
        }
    }
    pub fn list(&self, name: &str) -> Option<&[String]> {
        match &self.get(name)?.value {
            OptionValue::List(l) => Some(l),
            _ => None,
        }
    }
    pub fn char(&self, name: &str) -> Option<char> {
        match self.get(name)?.value {
            OptionValue::Char(c) => Some(c),
            _ => None,
        }
    }
}
