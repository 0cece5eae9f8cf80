//! The launcher's flags: `-name value`, or one JSON file that holds them all.

use crate::error::{Error, Result};
use crate::sql::suggest::did_you_mean;
use serde_json::{Map, Value};

/// Of the cluster that the launcher submits to; nothing here has a use for them.
pub const CLUSTER: &[&str] = &[
    "flinkconf",
    "yarnconf",
    "flinkJarPath",
    "queue",
    "pluginLoadMode",
    "yarnSessionConf",
    "localSqlPluginPath",
    "remoteSqlPluginPath",
    "flinkConfDir",
    "yarnConfDir",
    "hadoopConf",
    "krb5path",
];

const OURS: &[&str] = &[
    "sql",
    "name",
    "mode",
    "confProp",
    "dirtyProperties",
    "addjar",
    "addShipfile",
    "savePointPath",
    "allowNonRestoredState",
];

pub struct Flags {
    values: Map<String, Value>,
    /// What is not the launcher's: the options of `wasmill run`.
    pub rest: Vec<String>,
}

impl Flags {
    pub fn read(args: &[String]) -> Result<Self> {
        match args {
            [file, rest @ ..] if !file.starts_with('-') => Ok(Self { values: from_file(file)?, rest: rest.to_vec() }),
            _ => from_args(args),
        }
    }

    pub fn given(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// A value that is a text, or a number or boolean of the JSON file.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.values.get(name)?.as_str().filter(|s| !s.trim().is_empty())
    }

    /// A value that is an object, or its text.
    pub fn object(&self, name: &str) -> Result<Option<Map<String, Value>>> {
        match self.values.get(name) {
            None => Ok(None),
            Some(Value::Object(o)) => Ok(Some(o.clone())),
            Some(Value::String(s)) if s.trim().is_empty() => Ok(None),
            Some(Value::String(s)) => match serde_json::from_str(s) {
                Ok(Value::Object(o)) => Ok(Some(o)),
                // The text is not repeated: it may hold a password.
                Ok(_) => Err(not_an_object(name)),
                Err(e) => Err(Error::user(format!("-{name}: not JSON: {e}")).with_hint(object_hint(name))),
            },
            Some(_) => Err(not_an_object(name)),
        }
    }
}

fn not_an_object(name: &str) -> Error {
    Error::user(format!("-{name}: not a JSON object")).with_hint(object_hint(name))
}

fn object_hint(name: &str) -> String {
    let example = if name == "confProp" { r#"{"sql.env.parallelism":"2"}"# } else { r#"{"type":"console"}"# };
    format!("it looks like -{name} '{example}'")
}

/// The flag's name as we know it; the launcher reads it in this case only.
fn known(name: &str) -> Option<&'static str> {
    OURS.iter().chain(CLUSTER).copied().find(|f| *f == name)
}

fn from_args(args: &[String]) -> Result<Flags> {
    let mut flags = Flags { values: Map::new(), rest: vec![] };
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        let Some(name) = arg.strip_prefix('-').filter(|n| !n.starts_with('-') && !n.is_empty()) else {
            flags.rest.push(arg.clone());
            continue;
        };
        let Some(flag) = known(name) else { return Err(unknown(&format!("-{name}"), name)) };
        let value = args.next().ok_or_else(|| Error::user(format!("-{flag}: its value is missing")))?;
        if flags.values.insert(flag.to_string(), Value::String(value.clone())).is_some() {
            return Err(Error::user(format!("-{flag} is given twice")));
        }
    }
    Ok(flags)
}

fn unknown(shown: &str, name: &str) -> Error {
    let hint = did_you_mean(name, OURS.iter().chain(CLUSTER).copied());
    let hint = hint.unwrap_or_else(|| "`wasmill dtstack --help` lists the flags".to_string());
    Error::user(format!("{shown} is no flag of flinkStreamSQL's launcher")).with_hint(hint)
}

fn from_file(path: &str) -> Result<Map<String, Value>> {
    let text = std::fs::read_to_string(path).map_err(|e| Error::user(format!("cannot read {path}: {e}")))?;
    let hint = "one JSON object with the launcher's flags as names; a job file is given as -sql FILE";
    let Ok(Value::Object(values)) = serde_json::from_str::<Value>(&text) else {
        return Err(Error::user(format!("{path} is no JSON object")).with_hint(hint));
    };
    let mut flags = Map::new();
    for (name, value) in values {
        let Some(flag) = known(name.trim_start_matches('-')) else {
            return Err(unknown(&format!("{path}: {name}"), &name));
        };
        let value = match value {
            Value::Null => continue,
            Value::Bool(_) | Value::Number(_) => Value::String(value.to_string()),
            value => value,
        };
        flags.insert(flag.to_string(), value);
    }
    Ok(flags)
}
