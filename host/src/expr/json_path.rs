//! SQL/JSON paths, with the meaning that Jayway's JsonPath gives them in Flink: `$`, members, positions (negative ones
//! count from the end), wildcards, slices, lists of names or positions, `..name`. Filters and functions are refused.

use serde_json::Value;

/// A path, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Path {
    pub lax: bool,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Member(String),
    Members(Vec<String>),
    Index(i64),
    Indexes(Vec<i64>),
    Slice(Option<i64>, Option<i64>),
    Wildcard,
    /// The value and all values inside it.
    Descend,
}

impl Step {
    /// Leads to one value at most.
    fn is_definite(&self) -> bool {
        matches!(self, Step::Member(_) | Step::Index(_))
    }
}

/// What a path leads to.
#[derive(Debug, Clone, PartialEq)]
pub enum Found<'a> {
    One(&'a Value),
    /// Of a path with wildcards and the like: an array of values.
    Many(Vec<&'a Value>),
}

impl Path {
    /// `[lax | strict] $..`; strict without a word.
    pub fn new(text: &str) -> Result<Self, String> {
        let trimmed = text.trim_start();
        let (lax, spec) = match trimmed.split_once(char::is_whitespace) {
            Some(("lax", rest)) => (true, rest),
            Some(("strict", rest)) => (false, rest),
            _ => (false, trimmed),
        };
        let spec = spec.trim();
        let wrong = |what: &str| format!("the JSON path '{text}' {what}");
        let Some(rest) = spec.strip_prefix('$') else { return Err(wrong("does not begin with $")) };
        let mut reader = Reader { rest, steps: vec![] };
        while !reader.rest.is_empty() {
            reader.step().map_err(|what| wrong(&what))?;
        }
        Ok(Self { lax, steps: reader.steps })
    }

    /// What the path leads to in `root`; an `Err` says what is missing.
    pub fn find<'a>(&self, root: &'a Value) -> Result<Found<'a>, String> {
        let mut current = vec![root];
        let mut definite = true;
        for step in &self.steps {
            let mut next = Vec::new();
            for value in current {
                // Once there are many, those that lack a part are left out.
                if let Err(missing) = step.take(value, &mut next)
                    && definite
                {
                    return Err(missing);
                }
            }
            definite &= step.is_definite();
            current = next;
        }
        match (definite, current.as_slice()) {
            (true, [one]) => Ok(Found::One(one)),
            (true, _) => Err("nothing is there".to_string()),
            (false, _) => Ok(Found::Many(current)),
        }
    }

    /// Leads to one value at most.
    pub fn is_definite(&self) -> bool {
        self.steps.iter().all(Step::is_definite)
    }
}

impl Step {
    fn take<'a>(&self, value: &'a Value, out: &mut Vec<&'a Value>) -> Result<(), String> {
        let array = || value.as_array().ok_or_else(|| format!("there is {}, not an array", kind(value)));
        let object = || value.as_object().ok_or_else(|| format!("there is {}, not an object", kind(value)));
        match self {
            Step::Member(name) => out.push(object()?.get(name).ok_or_else(|| format!("there is no member '{name}'"))?),
            Step::Members(names) => out.extend(names.iter().filter_map(|n| value.get(n))),
            Step::Index(index) => {
                let array = array()?;
                out.push(at(array, *index).ok_or_else(|| format!("there is no element {index}"))?);
            }
            Step::Indexes(indexes) => {
                let array = array()?;
                out.extend(indexes.iter().filter_map(|i| at(array, *i)));
            }
            Step::Slice(from, to) => {
                let array = array()?;
                let bound =
                    |n: i64| if n < 0 { n + array.len() as i64 } else { n }.clamp(0, array.len() as i64) as usize;
                let (from, to) = (from.map_or(0, bound), to.map_or(array.len(), bound));
                out.extend(array.get(from..to).unwrap_or_default());
            }
            Step::Wildcard => match value {
                Value::Array(all) => out.extend(all),
                Value::Object(all) => out.extend(all.values()),
                _ => {}
            },
            Step::Descend => descend(value, out),
        }
        Ok(())
    }
}

fn at(array: &[Value], index: i64) -> Option<&Value> {
    let from_front = if index < 0 { index + array.len() as i64 } else { index };
    usize::try_from(from_front).ok().and_then(|i| array.get(i))
}

/// The parser has limited the depth.
fn descend<'a>(value: &'a Value, out: &mut Vec<&'a Value>) {
    out.push(value);
    match value {
        Value::Array(all) => all.iter().for_each(|v| descend(v, out)),
        Value::Object(all) => all.values().for_each(|v| descend(v, out)),
        _ => {}
    }
}

pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}

struct Reader<'a> {
    rest: &'a str,
    steps: Vec<Step>,
}

impl<'a> Reader<'a> {
    fn step(&mut self) -> Result<(), String> {
        if let Some(rest) = self.rest.strip_prefix("..") {
            self.rest = rest;
            self.steps.push(Step::Descend);
            return if rest.starts_with('[') { self.brackets() } else { self.name() };
        }
        if let Some(rest) = self.rest.strip_prefix('.') {
            self.rest = rest;
            return if rest.starts_with('[') { self.brackets() } else { self.name() };
        }
        if self.rest.starts_with('[') {
            return self.brackets();
        }
        Err(format!("cannot be read at '{}'", self.rest))
    }

    fn name(&mut self) -> Result<(), String> {
        let end = self.rest.find(['.', '[', '(', ' ']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at(end);
        if rest.starts_with('(') {
            return Err(format!("calls {name}(): functions in paths are not supported"));
        }
        if name.is_empty() || rest.starts_with(' ') {
            return Err(format!("cannot be read at '{}'", self.rest));
        }
        self.rest = rest;
        self.steps.push(if name == "*" { Step::Wildcard } else { Step::Member(name.to_string()) });
        Ok(())
    }

    fn brackets(&mut self) -> Result<(), String> {
        self.rest = self.rest[1..].trim_start();
        if self.rest.starts_with('?') {
            return Err("has a filter [?..], which is not supported".to_string());
        }
        let step = if self.rest.starts_with(['\'', '"']) {
            let mut names = vec![self.quoted()?];
            while let Some(rest) = self.rest.strip_prefix(',') {
                self.rest = rest.trim_start();
                names.push(self.quoted()?);
            }
            if names.len() == 1 { Step::Member(names.remove(0)) } else { Step::Members(names) }
        } else {
            let end = self.rest.find(']').ok_or("has a [ without its ]")?;
            let (inside, rest) = self.rest.split_at(end);
            self.rest = rest;
            positions(inside.trim()).ok_or_else(|| format!("cannot be read at '[{inside}]'"))?
        };
        self.rest = self.rest.strip_prefix(']').ok_or("has a [ without its ]")?;
        self.steps.push(step);
        Ok(())
    }

    /// `'name'` or `"name"`, in which a backslash makes the next character plain; and blanks behind.
    fn quoted(&mut self) -> Result<String, String> {
        let mut chars = self.rest.chars();
        let Some(quote @ ('\'' | '"')) = chars.next() else {
            return Err(format!("cannot be read at '{}'", self.rest));
        };
        let mut name = String::new();
        loop {
            match chars.next() {
                Some('\\') => name.extend(chars.next()),
                Some(c) if c == quote => break,
                Some(c) => name.push(c),
                None => return Err("has a name without its closing quote".to_string()),
            }
        }
        self.rest = chars.as_str().trim_start();
        Ok(name)
    }
}

/// `*`, `1`, `1,2`, `1:3`
fn positions(text: &str) -> Option<Step> {
    if text == "*" {
        return Some(Step::Wildcard);
    }
    if let Some((from, to)) = text.split_once(':') {
        let bound = |t: &str| if t.trim().is_empty() { Some(None) } else { t.trim().parse().ok().map(Some) };
        return Some(Step::Slice(bound(from)?, bound(to)?));
    }
    let all: Vec<i64> = text.split(',').map(|n| n.trim().parse().ok()).collect::<Option<_>>()?;
    Some(if let [one] = all.as_slice() { Step::Index(*one) } else { Step::Indexes(all) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str) -> String {
        let root = serde_json::json!({"a": {"b": [1, 2, 3]}, "x.y": true, "l": [{"n": 1}, {"m": 2}, {"n": 3}]});
        match Path::new(path).unwrap().find(&root) {
            Ok(Found::One(v)) => v.to_string(),
            Ok(Found::Many(v)) => serde_json::to_string(&v).unwrap(),
            Err(e) => e,
        }
    }

    #[test]
    fn paths_lead_where_jayways_do() {
        for (path, expected) in [
            ("$.a.b", "[1,2,3]"),
            ("strict $.a.b[0]", "1"),
            ("lax $['a'][\"b\"][-1]", "3"),
            ("$.[\"x.y\"]", "true"),
            ("$.l[*].n", "[1,3]"),
            ("$..n", "[1,3]"),
            ("$.a.b[1:]", "[2,3]"),
            ("$.a.b[:-1]", "[1,2]"),
            ("$.a.b[0,2]", "[1,3]"),
            ("$.a.*", "[[1,2,3]]"),
            ("$.nothing", "there is no member 'nothing'"),
            ("$.nothing[*]", "there is no member 'nothing'"),
            ("$.a.b[9]", "there is no element 9"),
            ("$.a[0]", "there is an object, not an array"),
        ] {
            assert_eq!(found(path), expected, "{path}");
        }
    }

    #[test]
    fn paths_that_are_not_understood_are_refused() {
        for (path, what) in [
            ("a.b", "begin with $"),
            ("$.a[?(@.x > 1)]", "filter"),
            ("$.a.length()", "length()"),
            ("$.a[", "["),
            ("$['a", "quote"),
            ("$.", "read"),
            ("$[x]", "[x]"),
        ] {
            assert!(Path::new(path).unwrap_err().contains(what), "{path}");
        }
    }
}
