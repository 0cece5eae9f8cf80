//! Text to numbers and booleans by Flink's grammar (`BinaryStringDataUtil`, `StringToNumericPrimitiveCastRule`).
//! The column is read from Arrow's buffers without an allocation per row.

use super::Failures;
use arrow::array::{Array, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray};
use arrow::buffer::{BooleanBuffer, NullBuffer};

pub(super) type Parsed<T> = Result<T, &'static str>;

/// Parses every value; refused ones become NULL and are told to `failures`.
pub(super) fn column<T: ArrowPrimitiveType>(
    source: &StringArray,
    failures: &mut Failures<'_>,
    parse: impl Fn(&[u8]) -> Parsed<T::Native>,
) -> PrimitiveArray<T> {
    let (offsets, data) = (source.value_offsets(), source.value_data());
    let mut values = Vec::with_capacity(source.len());
    let mut refused = Refused::default();
    for (i, range) in offsets.windows(2).enumerate() {
        let value = if source.is_null(i) {
            T::Native::default()
        } else {
            parse(&data[range[0] as usize..range[1] as usize]).unwrap_or_else(|why| {
                failures.add(i, why);
                refused.0.push(i);
                T::Native::default()
            })
        };
        values.push(value);
    }
    PrimitiveArray::new(values.into(), refused.mask(source.nulls(), source.len()))
}

/// As [`column`], for BOOLEAN.
pub(super) fn boolean_column(source: &StringArray, failures: &mut Failures<'_>) -> BooleanArray {
    let mut refused = Refused::default();
    let values = BooleanBuffer::collect_bool(source.len(), |i| {
        !source.is_null(i)
            && boolean(source.value(i)).unwrap_or_else(|why| {
                failures.add(i, why);
                refused.0.push(i);
                false
            })
    });
    BooleanArray::new(values, refused.mask(source.nulls(), source.len()))
}

/// The rows of a column that were refused, in order.
#[derive(Default)]
pub(super) struct Refused(pub Vec<usize>);

impl Refused {
    /// The column's validity without the refused rows.
    pub fn mask(&self, nulls: Option<&NullBuffer>, len: usize) -> Option<NullBuffer> {
        if self.0.is_empty() {
            return nulls.cloned();
        }
        let mut valid = vec![true; len];
        for &i in &self.0 {
            valid[i] = false;
        }
        NullBuffer::union(nulls, Some(&NullBuffer::from(valid)))
    }
}

const EMPTY: &str = "the text is empty";
const NO_NUMBER: &str = "it is not a number";
const RANGE: &str = "it is out of range";

/// Integers: blanks around are cut, a sign is allowed, a fraction is checked and dropped (`1.7` is 1).
pub(super) fn integer<T: TryFrom<i64>>(text: &[u8]) -> Parsed<T> {
    let text = trim(text, |b| b == b' ');
    let (negative, digits) = match text {
        [] => return Err(EMPTY),
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() {
        return Err(NO_NUMBER);
    }
    // 18 digits always fit, so the usual number needs no overflow checks.
    let magnitude = if digits.len() <= 18 { short_digits(digits)? } else { long_digits(digits)? };
    let value = if negative { magnitude } else { magnitude.checked_neg().ok_or(RANGE)? };
    T::try_from(value).map_err(|_| RANGE)
}

/// The negated value, so that `i64::MIN` fits.
fn short_digits(digits: &[u8]) -> Parsed<i64> {
    let mut value = 0i64;
    for (i, &b) in digits.iter().enumerate() {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return fraction(&digits[i..]).map(|()| value);
        }
        value = value * 10 - i64::from(digit);
    }
    Ok(value)
}

fn long_digits(digits: &[u8]) -> Parsed<i64> {
    let mut value = 0i64;
    for (i, &b) in digits.iter().enumerate() {
        let digit = b.wrapping_sub(b'0');
        if digit > 9 {
            return fraction(&digits[i..]).map(|()| value);
        }
        value = value.checked_mul(10).and_then(|v| v.checked_sub(i64::from(digit))).ok_or(RANGE)?;
    }
    Ok(value)
}

fn fraction(rest: &[u8]) -> Parsed<()> {
    match rest {
        [b'.', digits @ ..] if digits.iter().all(u8::is_ascii_digit) => Ok(()),
        _ => Err(NO_NUMBER),
    }
}

fn trim(text: &[u8], blank: impl Fn(u8) -> bool) -> &[u8] {
    let start = text.iter().position(|&b| !blank(b)).unwrap_or(text.len());
    let end = text.iter().rposition(|&b| !blank(b)).map_or(start, |e| e + 1);
    &text[start..end]
}

/// `java.lang.Double.parseDouble` without its hexadecimal form: control characters and blanks around are cut, `d` and
/// `f` may follow, NaN and Infinity are spelled so. Too large is Infinity, as there.
pub(super) fn double(text: &[u8]) -> Parsed<f64> {
    let text = trim(text, |b| b <= b' ');
    if text.is_empty() {
        return Err(EMPTY);
    }
    let (sign, unsigned) = match text {
        [b'-', rest @ ..] => (-1.0, rest),
        [b'+', rest @ ..] => (1.0, rest),
        all => (1.0, all),
    };
    let magnitude = match unsigned {
        b"NaN" => f64::NAN,
        b"Infinity" => f64::INFINITY,
        _ => {
            let number = match unsigned {
                [rest @ .., b'd' | b'D' | b'f' | b'F'] => rest,
                all => all,
            };
            // Rust also reads "inf" and "nan", which Java does not.
            let plain = number.first().is_some_and(|b| b.is_ascii_digit() || *b == b'.');
            let text = std::str::from_utf8(number).ok().filter(|_| plain).ok_or(NO_NUMBER)?;
            text.parse::<f64>().map_err(|_| NO_NUMBER)?
        }
    };
    Ok(sign * magnitude)
}

/// The shortest way to FLOAT is not through DOUBLE: that would round twice.
pub(super) fn float(text: &[u8]) -> Parsed<f32> {
    let wide = double(text)?;
    if !wide.is_finite() {
        return Ok(wide as f32);
    }
    let trimmed = trim(text, |b| b <= b' ');
    let number = match trimmed {
        [rest @ .., b'd' | b'D' | b'f' | b'F'] => rest,
        all => all,
    };
    std::str::from_utf8(number).ok().and_then(|t| t.parse().ok()).ok_or(NO_NUMBER)
}

/// DECIMAL from text, exactly; digits after the scale round HALF_UP (`BinaryStringDataUtil.toDecimal`).
pub(super) fn decimal(text: &[u8], precision: u8, scale: u8) -> Parsed<i128> {
    let text = trim(text, |b| matches!(b, b' ' | b'\n' | b'\t'));
    if text.is_empty() {
        return Err(EMPTY);
    }
    let (negative, unsigned) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    let number = Number::read(unsigned)?;
    let magnitude = number.unscaled(precision, scale)?;
    Ok(if negative { -magnitude } else { magnitude })
}

/// `digits` (with at most one point among them) times ten to the power `exponent`.
struct Number<'a> {
    digits: &'a [u8],
    /// Digits before the point.
    whole: i64,
    exponent: i64,
}

impl<'a> Number<'a> {
    fn read(text: &'a [u8]) -> Parsed<Self> {
        let end = text.iter().position(|b| matches!(b, b'e' | b'E')).unwrap_or(text.len());
        let (digits, exponent) = (&text[..end], text.get(end + 1..));
        let point = digits.iter().position(|&b| b == b'.');
        let count = digits.len() - usize::from(point.is_some());
        let valid = digits.iter().enumerate().all(|(i, b)| b.is_ascii_digit() || Some(i) == point);
        if count == 0 || !valid {
            return Err(NO_NUMBER);
        }
        let exponent = exponent.map_or(Ok(0), exponent_value)?;
        Ok(Self { digits, whole: point.unwrap_or(digits.len()) as i64, exponent })
    }

    fn unscaled(&self, precision: u8, scale: u8) -> Parsed<i128> {
        let digits = || self.digits.iter().filter(|&&b| b != b'.').map(|b| i128::from(b - b'0'));
        let leading = digits().take_while(|&d| d == 0).count() as i64;
        // How many of the digits (leading zeros included) are left of the last place that is kept.
        let kept = self.whole + self.exponent + i64::from(scale);
        let total = self.digits.len() as i64 - i64::from(self.digits.contains(&b'.'));
        if leading == total || kept < 0 {
            return Ok(0);
        }
        if kept - leading > i64::from(precision) {
            return Err(RANGE);
        }
        let kept = kept as usize;
        let value = digits().chain(std::iter::repeat(0)).take(kept).fold(0i128, |v, d| v * 10 + d);
        let up = digits().nth(kept).is_some_and(|d| d >= 5);
        let value = value + i128::from(up);
        if value < 10i128.pow(u32::from(precision)) { Ok(value) } else { Err(RANGE) }
    }
}

fn exponent_value(text: &[u8]) -> Parsed<i64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        all => (false, all),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(NO_NUMBER);
    }
    // Larger exponents make an overflow or a zero all the same.
    let value = digits.iter().fold(0i64, |v, b| (v * 10 + i64::from(b - b'0')).min(1_000_000));
    Ok(if negative { -value } else { value })
}

/// `BinaryStringDataUtil.toBooleanSQL`.
fn boolean(text: &str) -> Parsed<bool> {
    const TRUE: [&str; 5] = ["t", "true", "y", "yes", "1"];
    const FALSE: [&str; 5] = ["f", "false", "n", "no", "0"];
    if TRUE.iter().any(|t| t.eq_ignore_ascii_case(text)) {
        Ok(true)
    } else if FALSE.iter().any(|t| t.eq_ignore_ascii_case(text)) {
        Ok(false)
    } else {
        Err("it is neither true nor false")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_follow_flinks_grammar() {
        let ok = [
            ("12", 12),
            (" 12 ", 12),
            ("+5", 5),
            ("-7", -7),
            ("1.7", 1),
            ("-1.7", -1),
            ("1.", 1),
            (".7", 0),
            ("2147483647", i32::MAX),
            ("-2147483648", i32::MIN),
        ];
        for (text, value) in ok {
            assert_eq!(integer::<i32>(text.as_bytes()), Ok(value), "{text}");
        }
        for text in ["", " ", "-", "+", "a", "1e3", "1 2", "1.2.3", "2147483648", "\t1", "--1", "１"] {
            assert!(integer::<i32>(text.as_bytes()).is_err(), "{text}");
        }
        assert_eq!(integer::<i64>(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(integer::<i64>(b"9223372036854775807"), Ok(i64::MAX));
        assert_eq!(integer::<i64>(b"9223372036854775808"), Err(RANGE));
        assert_eq!(integer::<i64>(b"00000000000000000000000012"), Ok(12));
        assert_eq!(integer::<i8>(b"-130"), Err(RANGE));
    }

    #[test]
    fn doubles_follow_javas_grammar() {
        let ok = [("1e10", 1e10), (" .5 ", 0.5), ("5.", 5.0), ("1d", 1.0), ("-1.5F", -1.5), ("1e400", f64::INFINITY)];
        for (text, value) in ok {
            assert_eq!(double(text.as_bytes()), Ok(value), "{text}");
        }
        assert!(double(b"NaN").is_ok_and(f64::is_nan));
        assert_eq!(double(b"-Infinity"), Ok(f64::NEG_INFINITY));
        for text in ["", "inf", "nan", "infinity", "1,5", "1__0", "0x1p3", "e5", ".", "1 2"] {
            assert!(double(text.as_bytes()).is_err(), "{text}");
        }
    }

    #[test]
    fn float_is_rounded_once() {
        // Through DOUBLE this becomes 1.0000001 after two roundings.
        assert_eq!(float(b"1.00000005960464477540"), Ok(1.000_000_1));
        assert_eq!(float(b"1e39"), Ok(f32::INFINITY));
    }

    #[test]
    fn decimals_are_exact_and_round_half_up() {
        let ok: [(&str, u8, u8, i128); 14] = [
            ("1.005", 10, 2, 101),
            ("-1.005", 10, 2, -101),
            ("1.004999", 10, 2, 100),
            ("12.3", 10, 2, 1230),
            ("1e3", 10, 2, 100_000),
            ("15e-1", 3, 1, 15),
            ("0.004", 3, 2, 0),
            ("0.005", 3, 2, 1),
            (" 7\t", 3, 0, 7),
            ("0000000000000000000000000000000000000000012", 4, 0, 12),
            ("0", 1, 1, 0),
            ("0e500", 1, 1, 0),
            ("99999999999999999999999999999999999999", 38, 0, 99_999_999_999_999_999_999_999_999_999_999_999_999),
            ("1e-500", 38, 38, 0),
        ];
        for (text, p, s, value) in ok {
            assert_eq!(decimal(text.as_bytes(), p, s), Ok(value), "{text}");
        }
        for (text, p, s) in
            [("123456789", 10, 2), ("9.995", 3, 2), ("", 3, 0), (".", 3, 0), ("1e", 3, 0), ("1.2.3", 9, 2)]
        {
            assert!(decimal(text.as_bytes(), p, s).is_err(), "{text}");
        }
    }

    #[test]
    fn booleans_have_five_spellings_each() {
        for text in ["t", "TRUE", "Y", "yes", "1"] {
            assert_eq!(boolean(text), Ok(true));
        }
        for text in ["f", "False", "n", "NO", "0"] {
            assert_eq!(boolean(text), Ok(false));
        }
        for text in ["", "on", " true", "2"] {
            assert!(boolean(text).is_err(), "{text}");
        }
    }

    proptest::proptest! {
        /// What is printed reads back, whatever the scale; Rust's own parser agrees on integers.
        #[test]
        fn printed_numbers_read_back(value in -10i128.pow(38) + 1..10i128.pow(38), scale in 0u8..=38, long: i64, double: f64) {
            let mut text = String::new();
            super::super::text::decimal(value, scale, &mut text);
            proptest::prop_assert_eq!(decimal(text.as_bytes(), 38, scale), Ok(value));
            proptest::prop_assert_eq!(integer::<i64>(long.to_string().as_bytes()), Ok(long));
            text.clear();
            super::super::text::double(double, &mut text);
            proptest::prop_assert_eq!(super::double(text.as_bytes()).map(f64::to_bits), Ok(double.to_bits()));
        }

        #[test]
        fn no_text_makes_a_parser_panic(text in "[-+ .eE0-9dDNaInfity\\t]{0,60}", scale in 0u8..=38) {
            let bytes = text.as_bytes();
            let _ = (integer::<i32>(bytes), super::double(bytes), float(bytes), decimal(bytes, 38, scale));
        }
    }
}
