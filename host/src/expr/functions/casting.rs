//! CAST and TRY_CAST as functions of (value, name of the target type): so the length of VARCHAR(n) survives the
//! planner, constants fold with Flink's rules, and refused rows have somewhere to go.

use super::{Binding, Builtin, Call, PURE, types};
use crate::data::{LogicalType, Reason};
use crate::expr::cast::{self, Failures};
use crate::expr::type_name;
use arrow::array::{Array, ArrayRef};
use arrow::datatypes::{DataType, TimeUnit};
use arrow::util::display::array_value_to_string;
use datafusion_common::Result;

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "$cast", fallible: true, coerce, returns, eval: cast_or_refuse, ..PURE },
    Builtin { name: "$try_cast", coerce, returns, eval: cast_or_null, ..PURE },
];

fn coerce(types: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    match types {
        [value, target] if types::is_text(target) => {
            let value = if types::is_text(value) { DataType::Utf8 } else { value.clone() };
            Ok(vec![value, DataType::Utf8])
        }
        _ => Err("expects a value and a type".to_string()),
    }
}

fn returns(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    let Some(from) = binding.types.first() else { return Err("expects a value and a type".to_string()) };
    let target = binding.text(1).unwrap_or_default();
    let Some(to) = type_name::parse(target) else { return Err(format!("{target} is no type to cast to")) };
    if *from != DataType::Null {
        match LogicalType::from_arrow(from) {
            Some(from) => cast::check(&from, &to)?,
            None => return Err(format!("{} cannot be cast to {to}", types::name(from))),
        }
    }
    Ok(to.to_arrow())
}

fn cast_or_refuse(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, to) = operands(call)?;
    let from = types::name(source.data_type());
    let mut refuse = |row: usize, why: &'static str| {
        let value = shown(&source, row);
        call.fail(row, Reason::Cast, format!("cannot cast {value} from {from} to {to}: {why}"));
    };
    Ok(cast::cast(&source, &to, call.time_zone, &mut Failures::new(&mut refuse))?)
}

fn cast_or_null(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, to) = operands(call)?;
    Ok(cast::cast(&source, &to, call.time_zone, &mut Failures::new(&mut |_, _| {}))?)
}

fn operands(call: &Call<'_>) -> Result<(ArrayRef, LogicalType)> {
    match call.texts(1)?.get(0).and_then(type_name::parse) {
        Some(to) => Ok((call.array(0)?, to)),
        None => call.internal("lost its target type"),
    }
}

/// The longest part of a value that a message shows.
const SHOWN_CHARS: usize = 60;

fn shown(source: &ArrayRef, row: usize) -> String {
    let text = array_value_to_string(source, row).unwrap_or_default();
    let mut cut: String = text.chars().take(SHOWN_CHARS).collect();
    if cut.len() < text.len() {
        cut.push('…');
    }
    if types::is_text(source.data_type()) { format!("'{cut}'") } else { cut }
}

/// The name under which a cast carries an Arrow type; None for a type that is no CAST target of SQL.
pub fn cast_type(t: &DataType) -> Option<String> {
    let name = LogicalType::from_arrow(t)?.to_string();
    type_name::parse(&name).map(|_| name)
}

/// Whether Arrow's own cast gives Flink's values for this pair and cannot fail, so that it may stay as it is.
pub fn is_cast_free(from: &DataType, to: &DataType) -> bool {
    use DataType::*;
    let bits = |t: &DataType| t.primitive_width().unwrap_or(0);
    match (from, to) {
        (a, b) if a == b => true,
        (Null, _) => true,
        (a, b) if types::is_text(a) && types::is_text(b) => true,
        (Dictionary(_, value), to) => is_cast_free(value, to),
        (a, b) if types::is_integer(a) && types::is_integer(b) => bits(a) <= bits(b),
        (a, b) if types::is_integer(a) && types::is_float(b) => true,
        (Float32, Float64) => true,
        (Int8 | Int16 | Int32 | Int64, Decimal128(p, s)) => {
            types::decimal_of(from).is_some_and(|(digits, _)| i16::from(*p) - i16::from(*s) >= i16::from(digits))
        }
        (Decimal128(p, s), Decimal128(q, r)) => {
            r >= s && i16::from(*q) - i16::from(*r) >= i16::from(*p) - i16::from(*s)
        }
        (Timestamp(a, x), Timestamp(b, y)) => x == y && rank(*a) <= rank(*b) && rank(*b) < 3,
        _ => false,
    }
}

fn rank(unit: TimeUnit) -> u8 {
    match unit {
        TimeUnit::Second => 0,
        TimeUnit::Millisecond => 1,
        TimeUnit::Microsecond => 2,
        TimeUnit::Nanosecond => 3,
    }
}
