//! Formats of Java's `String.format`, the part that columns need: `%[n$][flags][width][.precision]conversion` with
//! the conversions `s S d x X o f e E c b %` and `%n`.

use super::cast::text;
use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Float64Array, Int64Array, StringArray};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use chrono_tz::Tz;

/// A format, read.
#[derive(Debug, Clone, PartialEq)]
pub struct Format {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq)]
enum Piece {
    Text(String),
    Value(Spec),
}

#[derive(Debug, Clone, Default, PartialEq)]
struct Spec {
    /// Which argument; from 0.
    index: usize,
    left: bool,
    plus: bool,
    blank: bool,
    zeros: bool,
    groups: bool,
    width: usize,
    precision: Option<usize>,
    conversion: char,
}

/// The values of a batch.
pub struct Arguments {
    columns: Vec<Column>,
}

enum Column {
    Text(StringArray),
    Long(Int64Array),
    Double(Float64Array),
    Boolean(BooleanArray),
    /// The plain text of a DECIMAL.
    Decimal(StringArray),
}

impl Arguments {
    pub fn new(columns: &[ArrayRef], zone: Tz) -> Result<Self, arrow::error::ArrowError> {
        let column = |a: &ArrayRef| {
            Ok(match a.data_type() {
                DataType::Int64 => Column::Long(a.as_primitive::<Int64Type>().clone()),
                DataType::Float64 => Column::Double(a.as_primitive::<Float64Type>().clone()),
                DataType::Boolean => Column::Boolean(a.as_boolean().clone()),
                DataType::Decimal128(..) => Column::Decimal(text::column(a, zone)?),
                DataType::Utf8 => Column::Text(a.as_string::<i32>().clone()),
                _ => Column::Text(text::column(a, zone)?),
            })
        };
        Ok(Self { columns: columns.iter().map(column).collect::<Result<_, arrow::error::ArrowError>>()? })
    }
}

/// Widths and precisions are limited: a slip must not take the machine's memory.
const NUMBER_MAX: usize = 1 << 16;

impl Format {
    pub fn new(format: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut literal = String::new();
        let mut chars = format.chars().peekable();
        let mut ordinary = 0;
        while let Some(c) = chars.next() {
            if c != '%' {
                literal.push(c);
                continue;
            }
            let mut spec = Spec::default();
            let mut number = digits(&mut chars, format)?;
            let mut explicit = None;
            if number.is_some() && chars.next_if_eq(&'$').is_some() {
                explicit = number.take();
            }
            if number.is_none() {
                while let Some(flag) = chars.next_if(|c| "-+ 0,".contains(*c)) {
                    match flag {
                        '-' => spec.left = true,
                        '+' => spec.plus = true,
                        ' ' => spec.blank = true,
                        ',' => spec.groups = true,
                        _ => spec.zeros = true,
                    }
                }
                number = digits(&mut chars, format)?;
            }
            spec.width = number.unwrap_or(0);
            if chars.next_if_eq(&'.').is_some() {
                spec.precision = digits(&mut chars, format)?;
            }
            spec.conversion = chars.next().ok_or_else(|| format!("the format '{format}' ends after a %"))?;
            match spec.conversion {
                '%' => literal.push('%'),
                'n' => literal.push('\n'),
                's' | 'S' | 'd' | 'x' | 'X' | 'o' | 'f' | 'e' | 'E' | 'c' | 'b' => {
                    spec.index = match explicit {
                        Some(n) => n.checked_sub(1).ok_or("arguments of a format count from 1")?,
                        None => {
                            ordinary += 1;
                            ordinary - 1
                        }
                    };
                    pieces.push(Piece::Text(std::mem::take(&mut literal)));
                    pieces.push(Piece::Value(spec));
                }
                other => return Err(format!("the format '{format}': %{other} is not supported")),
            }
        }
        pieces.push(Piece::Text(literal));
        Ok(Self { pieces })
    }

    /// Appends row `row`.
    pub fn write(&self, arguments: &Arguments, row: usize, out: &mut String) -> Result<(), String> {
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Value(spec) => {
                    let column = arguments
                        .columns
                        .get(spec.index)
                        .ok_or_else(|| format!("the format asks for argument {}", spec.index + 1))?;
                    spec.write(&spec.text(column, row)?, out);
                }
            }
        }
        Ok(())
    }
}

fn digits(chars: &mut std::iter::Peekable<std::str::Chars<'_>>, format: &str) -> Result<Option<usize>, String> {
    // A leading zero is a flag.
    if chars.peek() == Some(&'0') {
        return Ok(None);
    }
    let mut value = None;
    while let Some(d) = chars.next_if(char::is_ascii_digit) {
        let next = value.unwrap_or(0) * 10 + d.to_digit(10).unwrap_or(0) as usize;
        if next > NUMBER_MAX {
            return Err(format!("the format '{format}' has a number above {NUMBER_MAX}"));
        }
        value = Some(next);
    }
    Ok(value)
}

impl Spec {
    fn text(&self, column: &Column, row: usize) -> Result<String, String> {
        let wrong = |what: &str| Err(format!("%{} does not take {what}", self.conversion));
        let plain = |value: &StringArray| value.is_valid(row).then(|| value.value(row).to_string());
        let text = match (self.conversion, column) {
            ('b', Column::Boolean(a)) => (a.is_valid(row) && a.value(row)).to_string(),
            ('b', c) => (!c.is_null(row)).to_string(),
            (_, c) if c.is_null(row) => "null".to_string(),
            ('d', Column::Long(a)) => self.signed(a.value(row) < 0, &a.value(row).unsigned_abs().to_string()),
            ('x' | 'X', Column::Long(a)) => format!("{:x}", a.value(row)),
            ('o', Column::Long(a)) => format!("{:o}", a.value(row)),
            ('c', Column::Long(a)) => match u32::try_from(a.value(row)).ok().and_then(char::from_u32) {
                Some(c) => c.to_string(),
                None => return wrong("this number"),
            },
            ('f', Column::Double(a)) => self.fixed(a.value(row)),
            ('f', Column::Decimal(a)) => self.fixed_decimal(a.value(row)),
            ('e' | 'E', Column::Double(a)) => self.scientific(a.value(row)),
            ('s' | 'S', Column::Text(a) | Column::Decimal(a)) => plain(a).unwrap_or_default(),
            ('s' | 'S', Column::Long(a)) => a.value(row).to_string(),
            ('s' | 'S', Column::Double(a)) => {
                let mut text = String::new();
                text::double(a.value(row), &mut text);
                text
            }
            ('s' | 'S', Column::Boolean(a)) => a.value(row).to_string(),
            (_, Column::Text(_)) => return wrong("text"),
            (_, Column::Long(_)) => return wrong("an integer"),
            (_, Column::Double(_)) => return wrong("a DOUBLE"),
            (_, Column::Decimal(_)) => return wrong("a DECIMAL"),
            (_, Column::Boolean(_)) => return wrong("a BOOLEAN"),
        };
        let cut = match self.precision {
            Some(n) if matches!(self.conversion, 's' | 'S') => text.chars().take(n).collect(),
            _ => text,
        };
        Ok(if matches!(self.conversion, 'S' | 'X' | 'E') { cut.to_uppercase() } else { cut })
    }

    fn fixed(&self, value: f64) -> String {
        if !value.is_finite() {
            return if value.is_nan() { "NaN".into() } else { self.signed(value < 0.0, "Infinity") };
        }
        // HALF_UP on the shortest decimal form, as Java does; Rust would round the binary value.
        let mut exact = String::new();
        text::double(value.abs(), &mut exact);
        let digits = self.precision.unwrap_or(6);
        let rounded = super::rounding::of_text(&exact, digits);
        self.signed(value.is_sign_negative(), &rounded)
    }

    fn fixed_decimal(&self, value: &str) -> String {
        let rounded = super::rounding::of_text(value.trim_start_matches('-'), self.precision.unwrap_or(6));
        self.signed(value.starts_with('-'), &rounded)
    }

    fn scientific(&self, value: f64) -> String {
        let text = format!("{:.*e}", self.precision.unwrap_or(6), value.abs());
        let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let exponent: i32 = exponent.parse().unwrap_or(0);
        let sign = if exponent < 0 { '-' } else { '+' };
        self.signed(value.is_sign_negative(), &format!("{mantissa}e{sign}{:02}", exponent.unsigned_abs()))
    }

    /// With sign, groups of thousands and leading zeros.
    fn signed(&self, negative: bool, digits: &str) -> String {
        let sign = match (negative, self.plus, self.blank) {
            (true, ..) => "-",
            (false, true, _) => "+",
            (false, false, true) => " ",
            _ => "",
        };
        let grouped = if self.groups { grouped(digits) } else { digits.to_string() };
        let missing = if self.zeros { self.width.saturating_sub(sign.len() + grouped.len()) } else { 0 };
        format!("{sign}{}{grouped}", "0".repeat(missing))
    }

    fn write(&self, text: &str, out: &mut String) {
        let missing = self.width.saturating_sub(text.chars().count());
        let blanks = std::iter::repeat_n(' ', missing);
        if self.left {
            out.push_str(text);
            out.extend(blanks);
        } else {
            out.extend(blanks);
            out.push_str(text);
        }
    }
}

fn grouped(digits: &str) -> String {
    let (whole, fraction) = digits.find('.').map_or((digits, ""), |at| digits.split_at(at));
    let mut out = String::new();
    for (i, c) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out + fraction
}

impl Column {
    fn is_null(&self, row: usize) -> bool {
        match self {
            Column::Text(a) | Column::Decimal(a) => a.is_null(row),
            Column::Long(a) => a.is_null(row),
            Column::Double(a) => a.is_null(row),
            Column::Boolean(a) => a.is_null(row),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn shown(format: &str) -> Result<String, String> {
        let columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from(vec!["ab"])),
            Arc::new(Int64Array::from(vec![-1234567])),
            Arc::new(Float64Array::from(vec![2.675])),
        ];
        let mut out = String::new();
        let arguments = Arguments::new(&columns, Tz::UTC).unwrap();
        Format::new(format)?.write(&arguments, 0, &mut out)?;
        Ok(out)
    }

    #[test]
    fn formats_as_java_does() {
        for (format, expected) in [
            ("%s|%d|%.2f%%", "ab|-1234567|2.68%"),
            ("%5s|%-12d|%08.3f", "   ab|-1234567    |0002.675"),
            ("%2$,d %1$S %1$.1s", "-1,234,567 AB a"),
            ("%3$e", "2.675000e+00"),
            ("%3$s", "2.675"),
            ("%3$f", "2.675000"),
            ("no values", "no values"),
        ] {
            assert_eq!(shown(format).as_deref(), Ok(expected), "{format}");
        }
    }

    #[test]
    fn says_what_is_wrong_with_a_format() {
        for (format, what) in
            [("%", "ends after"), ("%q", "%q"), ("%d", "text"), ("%s %s %s %s", "argument 4"), ("%9999999s", "above")]
        {
            assert!(shown(format).unwrap_err().contains(what), "{format}");
        }
    }
}
