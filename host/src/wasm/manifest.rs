//! What a plugin says about itself: the JSON answer of `wmdescribe`.

use super::types::{fits, from_wire, show};
use crate::data::LogicalType;
use arrow::datatypes::DataType;
use serde::Deserialize;
use std::fmt;
use wasmill_abi::Type;

const MAX_FUNCTIONS: usize = 1000;

/// The whole description. Members that we do not know are ignored: a later minor version may add some.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Manifest {
    #[serde(default)]
    pub name: String,
    #[serde(default)]
    pub version: String,
    pub functions: Vec<Function>,
    /// Names of what the host must understand to run the plugin.
    #[serde(default)]
    pub features: Vec<String>,
    /// What the plugin asks for beyond its data.
    #[serde(default)]
    pub capabilities: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    Scalar,
    Table,
    Aggregate,
    Process,
    Decoder,
    Formatter,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Function {
    pub name: String,
    pub kind: Kind,
    #[serde(default)]
    pub arguments: Vec<Pattern>,
    pub result: Option<Pattern>,
    /// The last argument may come any number of times, none included.
    #[serde(default)]
    pub variadic: bool,
    #[serde(default = "yes")]
    pub deterministic: bool,
}

fn yes() -> bool {
    true
}

/// A parameter's or result's type.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "String")]
pub(super) enum Pattern {
    Concrete(Type),
    /// The type that the call has; `wmbind` decides the result.
    Any,
    /// DECIMAL of any precision and scale, `DECIMAL(*)`.
    AnyDecimal,
}

impl TryFrom<String> for Pattern {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        match text.trim() {
            t if t.eq_ignore_ascii_case("ANY") => Ok(Pattern::Any),
            t if t.eq_ignore_ascii_case("DECIMAL(*)") => Ok(Pattern::AnyDecimal),
            t => t.parse().map(Pattern::Concrete).map_err(|e| e.to_string()),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::Concrete(t) => t.fmt(f),
            Pattern::Any => f.write_str("ANY"),
            Pattern::AnyDecimal => f.write_str("DECIMAL(*)"),
        }
    }
}

impl Kind {
    pub fn as_str(self) -> &'static str {
        match self {
            Kind::Scalar => "scalar",
            Kind::Table => "table",
            Kind::Aggregate => "aggregate",
            Kind::Process => "process",
            Kind::Decoder => "decoder",
            Kind::Formatter => "formatter",
        }
    }
}

impl Manifest {
    pub fn parse(json: &[u8]) -> Result<Manifest, String> {
        let manifest: Manifest =
            serde_json::from_slice(json).map_err(|e| format!("wmdescribe: its answer is not as ABI.md says: {e}"))?;
        if let Some(feature) = manifest.features.first() {
            return Err(format!("needs the feature '{feature}', which this version does not have"));
        }
        if let Some(capability) = manifest.capabilities.first() {
            return Err(format!("asks for the capability '{capability}'; this version grants none"));
        }
        if manifest.functions.is_empty() || manifest.functions.len() > MAX_FUNCTIONS {
            return Err(format!("describes {} functions, 1 to {MAX_FUNCTIONS} are possible", manifest.functions.len()));
        }
        for (i, function) in manifest.functions.iter().enumerate() {
            function.check()?;
            if manifest.functions[..i].iter().any(|f| f.name == function.name) {
                return Err(format!("describes the function '{}' twice", function.name));
            }
        }
        Ok(manifest)
    }

    /// The functions of a kind, as a list for messages.
    pub fn names(&self, kind: Kind) -> String {
        let names: Vec<&str> = self.functions.iter().filter(|f| f.kind == kind).map(|f| f.name.as_str()).collect();
        if names.is_empty() { "none".into() } else { names.join(", ") }
    }
}

impl Function {
    fn check(&self) -> Result<(), String> {
        let name = &self.name;
        if name.is_empty() || name.len() > 200 {
            return Err(format!("describes a function with the name '{name:.40}', 1 to 200 bytes are possible"));
        }
        if self.kind != Kind::Scalar {
            return Ok(());
        }
        match &self.result {
            None => Err(format!("function {name}: a scalar function needs a result type")),
            Some(Pattern::AnyDecimal) => {
                Err(format!("function {name}: the result DECIMAL(*) is open; say ANY and bind"))
            }
            Some(_) if self.variadic && self.arguments.is_empty() => {
                Err(format!("function {name}: variadic without an argument"))
            }
            Some(_) => Ok(()),
        }
    }

    /// Whether the types of a call are decided by the plugin's `wmbind`.
    pub fn is_generic(&self) -> bool {
        self.arguments.iter().chain(&self.result).any(|p| *p == Pattern::Any)
    }

    /// `mask(STRING, INT) -> STRING`
    pub fn signature(&self) -> String {
        let arguments: Vec<String> = self.arguments.iter().map(ToString::to_string).collect();
        let dots = if self.variadic { " ..." } else { "" };
        match &self.result {
            Some(result) => format!("{}({}{dots}) -> {result}", self.name, arguments.join(", ")),
            None => self.name.clone(),
        }
    }

    /// The types that the arguments are cast to, or why they do not fit.
    pub fn bind_arguments(&self, given: &[DataType]) -> Result<Vec<DataType>, String> {
        let fixed = self.arguments.len() - usize::from(self.variadic);
        if given.len() < fixed || (!self.variadic && given.len() > fixed) {
            let (s, many) = (if fixed == 1 { "" } else { "s" }, if self.variadic { " or more" } else { "" });
            return Err(format!("{} takes {fixed}{many} argument{s}, {} given", self.signature(), given.len()));
        }
        given.iter().enumerate().map(|(i, ty)| self.bind_argument(i, ty)).collect()
    }

    fn bind_argument(&self, index: usize, given: &DataType) -> Result<DataType, String> {
        let pattern = self.arguments.get(index).or(self.arguments.last());
        match pattern {
            Some(Pattern::Concrete(ty)) => {
                let wanted = from_wire(ty).to_arrow();
                if fits(given, &wanted) {
                    return Ok(wanted);
                }
            }
            Some(Pattern::Any) if LogicalType::from_arrow(given).is_some() => return Ok(given.clone()),
            Some(Pattern::Any) if *given == DataType::Null => return Ok(DataType::Utf8),
            Some(Pattern::AnyDecimal) => match given {
                DataType::Decimal128(..) => return Ok(given.clone()),
                DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 => {
                    return Ok(DataType::Decimal128(19, 0));
                }
                DataType::Null => return Ok(DataType::Decimal128(38, 18)),
                _ => {}
            },
            _ => {}
        }
        Err(format!("argument {} of {} cannot be {}; CAST it", index + 1, self.signature(), show(given)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn function(arguments: &str, more: &str) -> Function {
        let json = format!(
            r#"{{"functions":[{{"name":"f","kind":"scalar","arguments":[{arguments}],"result":"INT"{more}}}]}}"#
        );
        Manifest::parse(json.as_bytes()).unwrap().functions.remove(0)
    }

    #[test]
    fn arguments_are_cast_where_that_loses_nothing() {
        let f = function(r#""BIGINT","DECIMAL(*)""#, "");
        let bound = f.bind_arguments(&[DataType::Int32, DataType::Decimal128(7, 3)]).unwrap();
        assert_eq!(bound, [DataType::Int64, DataType::Decimal128(7, 3)]);
        assert_eq!(
            f.bind_arguments(&[DataType::Utf8, DataType::Int32]).unwrap_err(),
            "argument 1 of f(BIGINT, DECIMAL(*)) -> INT cannot be STRING; CAST it"
        );
        assert_eq!(
            f.bind_arguments(&[DataType::Int32]).unwrap_err(),
            "f(BIGINT, DECIMAL(*)) -> INT takes 2 arguments, 1 given"
        );
    }

    #[test]
    fn a_variadic_argument_may_repeat() {
        let f = function(r#""STRING","INT""#, r#","variadic":true"#);
        assert_eq!(f.bind_arguments(&[DataType::Utf8]).unwrap().len(), 1);
        assert_eq!(f.bind_arguments(&[DataType::Utf8, DataType::Int8, DataType::Int16]).unwrap().len(), 3);
    }

    #[test]
    fn unknown_members_are_ignored_and_unknown_needs_refused() {
        let parse = |json: &str| Manifest::parse(json.as_bytes()).map(|_| ()).unwrap_err();
        let function = r#"{"name":"f","kind":"scalar","arguments":[],"result":"INT","later":1}"#;
        assert!(Manifest::parse(format!(r#"{{"functions":[{function}],"colour":2}}"#).as_bytes()).is_ok());
        assert_eq!(
            parse(&format!(r#"{{"functions":[{function}],"features":["async"]}}"#)),
            "needs the feature 'async', which this version does not have"
        );
        assert_eq!(
            parse(&format!(r#"{{"functions":[{function}],"capabilities":["http"]}}"#)),
            "asks for the capability 'http'; this version grants none"
        );
        assert_eq!(parse(&format!(r#"{{"functions":[{function},{function}]}}"#)), "describes the function 'f' twice");
        assert!(parse("{").starts_with("wmdescribe: its answer is not as ABI.md says"));
    }
}
