//! The function library: an allow-list of our own, with Flink's results. A function is one fn and one line in
//! [`BUILTINS`] (its module's part of it) and a golden case in `tests/expr`. Names that start with `$` are operators
//! and casts; SQL cannot spell them.

mod arithmetic;
mod arrays;
mod call;
mod casting;
mod codec;
mod conditional;
mod hash;
mod intervals;
mod json;
mod json_build;
mod maps;
mod math;
mod nested;
mod pool;
mod regexes;
mod text;
mod text_build;
mod text_search;
mod time;
mod time_parts;
mod time_text;
pub(super) mod types;

pub(super) use call::{Binding, Call};
pub(super) use casting::{cast_type, is_cast_free};

use super::ExprContext;
use arrow::array::{Array, ArrayRef, AsArray};
use arrow::datatypes::{DataType, Field, FieldRef, UInt32Type};
use chrono_tz::Tz;
use datafusion_common::{Result, ScalarValue, plan_err};
use datafusion_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What a function is made of.
#[derive(Clone, Copy)]
pub(super) struct Builtin {
    /// Lower case.
    pub name: &'static str,
    /// May refuse single rows; then it gets the hidden row-number column when compiled.
    pub fallible: bool,
    /// Answers differently from batch to batch, so nothing may fold it.
    pub volatile: bool,
    /// Answers differently from row to row.
    pub per_row: bool,
    /// The result is the processing-time attribute.
    pub proctime: bool,
    /// The types that arguments of these types are cast to, or what fits instead. Its own answers stay as they are.
    pub coerce: fn(&[DataType]) -> std::result::Result<Vec<DataType>, String>,
    /// The result's type for (coerced) arguments, constants among them in view; refuses wrong constants.
    pub returns: fn(&Binding<'_>) -> std::result::Result<DataType, String>,
    /// One value per row.
    pub eval: fn(&Call<'_>) -> Result<ArrayRef>,
}

/// Base of the tables: a pure function that refuses no row.
const PURE: Builtin = Builtin {
    name: "",
    fallible: false,
    volatile: false,
    per_row: false,
    proctime: false,
    coerce: types::none,
    returns: types::text,
    eval: |call| call.internal("has no code"),
};

static BUILTINS: &[&[Builtin]] = &[
    text::FUNCTIONS,
    conditional::FUNCTIONS,
    arithmetic::FUNCTIONS,
    time::FUNCTIONS,
    casting::FUNCTIONS,
    nested::FUNCTIONS,
    text_build::FUNCTIONS,
    text_search::FUNCTIONS,
    regexes::FUNCTIONS,
    codec::FUNCTIONS,
    hash::FUNCTIONS,
    math::FUNCTIONS,
    time_parts::FUNCTIONS,
    time_text::FUNCTIONS,
    intervals::FUNCTIONS,
    arrays::FUNCTIONS,
    maps::FUNCTIONS,
    json::FUNCTIONS,
    json_build::FUNCTIONS,
];

fn builtins() -> impl Iterator<Item = &'static Builtin> {
    BUILTINS.iter().copied().flatten()
}

/// Functions that `plan::ast_passes` turns into others.
const REWRITTEN: [&str; 9] = ["if", "ifnull", "nullif", "mod", "trim", "cast", "try_cast", "extract", "overlay"];

/// The names that SQL may call, lower case (function names ignore case): for refusing the others and suggesting.
pub fn names() -> impl Iterator<Item = &'static str> {
    builtins().map(|b| b.name).filter(|n| !n.starts_with('$')).chain(REWRITTEN)
}

/// Every function under its (lower-case) name, internal ones included.
pub fn scalar_functions(cx: &ExprContext) -> Vec<Arc<ScalarUDF>> {
    builtins().map(|b| Arc::new(ScalarUDF::from(FlinkFunction::new(b, cx.time_zone)))).collect()
}

/// A function by its name in the table, for the rewrites of this crate.
pub(super) fn function(name: &str, time_zone: Tz) -> Result<Arc<ScalarUDF>> {
    match builtins().find(|b| b.name == name) {
        Some(b) => Ok(Arc::new(ScalarUDF::from(FlinkFunction::new(b, time_zone)))),
        None => datafusion_common::internal_err!("no function {name}"),
    }
}

/// A [`Builtin`] as DataFusion sees it.
pub(super) struct FlinkFunction {
    def: &'static Builtin,
    time_zone: Tz,
    /// The last argument is the row number (UINT32).
    row_bound: bool,
    signature: Signature,
}

impl FlinkFunction {
    fn new(def: &'static Builtin, time_zone: Tz) -> Self {
        let volatility = if def.volatile { Volatility::Volatile } else { Volatility::Immutable };
        Self { def, time_zone, row_bound: false, signature: Signature::user_defined(volatility) }
    }

    /// The same function with the row number as a further argument; None if it needs none (or has it).
    pub fn with_row(&self) -> Option<ScalarUDF> {
        (self.def.fallible && !self.row_bound).then(|| {
            let bound = Self { row_bound: true, signature: self.signature.clone(), ..*self };
            ScalarUDF::from(bound)
        })
    }

    pub fn is(&self, name: &str) -> bool {
        self.def.name == name
    }

    pub fn is_fallible(&self) -> bool {
        self.def.fallible
    }

    /// The arguments without the row number.
    fn own<'a, T>(&self, args: &'a [T]) -> &'a [T] {
        match args {
            [own @ .., _] if self.row_bound => own,
            all => all,
        }
    }

    fn shown_name(&self) -> String {
        self.def.name.trim_start_matches('$').to_ascii_uppercase()
    }
}

/// What stands in the tree, if it is one of ours.
pub(super) fn as_flink_function(udf: &ScalarUDF) -> Option<&FlinkFunction> {
    udf.inner().downcast_ref::<FlinkFunction>()
}

impl std::fmt::Debug for FlinkFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.def.name)
    }
}

impl PartialEq for FlinkFunction {
    fn eq(&self, other: &Self) -> bool {
        (self.def.name, self.time_zone, self.row_bound) == (other.def.name, other.time_zone, other.row_bound)
    }
}

impl Eq for FlinkFunction {}

impl Hash for FlinkFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.def.name, self.row_bound).hash(state);
    }
}

impl ScalarUDFImpl for FlinkFunction {
    fn name(&self) -> &str {
        self.def.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    /// Operators and casts are shown as they are written.
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let args = self.own(args).iter().map(|a| a.schema_name().to_string()).collect::<Vec<_>>();
        Ok(match (self.def.name, args.as_slice()) {
            ("$cast", [value, to]) => format!("CAST({value} AS {to})"),
            ("$field", [row, name]) => format!("{row}.{name}"),
            ("$element", [whole, at, ..]) => format!("{whole}[{at}]"),
            ("$array" | "$map", all) => format!("{}[{}]", self.shown_name(), all.join(", ")),
            ("$later", [t, interval]) => format!("{t} + {interval}"),
            ("$earlier", [t, interval]) => format!("{t} - {interval}"),
            ("$try_cast", [value, to]) => format!("TRY_CAST({value} AS {to})"),
            (name, [l, r]) if arithmetic::sign(name).is_some() => {
                format!("{l} {} {r}", arithmetic::sign(name).unwrap_or_default())
            }
            _ => format!("{}({})", self.shown_name(), args.join(", ")),
        })
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        match (self.def.coerce)(self.own(types)) {
            Ok(mut coerced) => {
                coerced.extend(self.row_bound.then_some(DataType::UInt32));
                Ok(coerced)
            }
            Err(message) => plan_err!("{}: {message}", self.shown_name()),
        }
    }

    fn short_circuits(&self) -> bool {
        self.is("coalesce")
    }

    /// So that the sharing of subexpressions does not pull a later argument of COALESCE out of its guard.
    fn conditional_arguments<'a>(&self, args: &'a [Expr]) -> Option<(Vec<&'a Expr>, Vec<&'a Expr>)> {
        let (first, others) = args.split_first().filter(|_| self.short_circuits())?;
        Some((vec![first], others.iter().collect()))
    }

    fn return_type(&self, types: &[DataType]) -> Result<DataType> {
        self.bind(types, &vec![None; types.len()])
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs) -> Result<FieldRef> {
        let types: Vec<_> = args.arg_fields.iter().map(|f| f.data_type().clone()).collect();
        let returns = self.bind(&types, args.scalar_arguments)?;
        let field = Field::new(self.def.name, returns, true);
        Ok(Arc::new(if self.def.proctime {
            field.with_metadata([("time".to_string(), "proctime".to_string())].into())
        } else {
            field
        }))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let values = self.own(&args.args);
        let row_ids = match args.args.last() {
            Some(ColumnarValue::Array(ids)) if self.row_bound => Some(ids.as_primitive::<UInt32Type>()),
            _ => None,
        };
        // Constants are evaluated once; a volatile function without arguments answers once a batch.
        let constant = !self.def.per_row && values.iter().all(|v| matches!(v, ColumnarValue::Scalar(_)));
        let rows = if constant { 1 } else { args.number_rows };
        let call =
            Call::new(self.def.name, values, rows, args.return_field.data_type(), self.time_zone, row_ids, constant);
        let result = (self.def.eval)(&call)?;
        call.finish()?;
        if result.len() != rows {
            return call.internal("answered with another number of rows").map(ColumnarValue::Array);
        }
        Ok(if constant {
            ColumnarValue::Scalar(ScalarValue::try_from_array(&result, 0)?)
        } else {
            ColumnarValue::Array(result)
        })
    }
}

impl FlinkFunction {
    fn bind(&self, types: &[DataType], scalars: &[Option<&ScalarValue>]) -> Result<DataType> {
        let binding = Binding { types: self.own(types), scalars: self.own(scalars) };
        match (self.def.returns)(&binding) {
            Ok(returns) => Ok(returns),
            Err(message) => plan_err!("{}: {message}", self.shown_name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lower_case() {
        let all: Vec<_> = names().collect();
        let unique: std::collections::HashSet<_> = all.iter().collect();
        assert_eq!(unique.len(), all.len());
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        assert!(all.iter().all(|n| n.chars().all(plain)), "{all:?}");
    }

    /// docs/functions.md has a row for each.
    #[test]
    fn every_name_is_documented() {
        let page = include_str!("../../../../docs/functions.md");
        let words: std::collections::HashSet<String> =
            page.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_lowercase).collect();
        let missing: Vec<_> = names().filter(|n| !words.contains(*n)).collect();
        assert!(missing.is_empty(), "not in docs/functions.md: {missing:?}");
    }

    #[test]
    fn only_fallible_functions_take_a_row_number() {
        for udf in scalar_functions(&ExprContext::default()) {
            let f = as_flink_function(&udf).unwrap();
            assert_eq!(f.with_row().is_some(), f.is_fallible(), "{}", udf.name());
        }
    }
}
