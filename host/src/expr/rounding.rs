//! Rounding of numbers in their decimal form, as Java's `BigDecimal.setScale` (HALF_UP or towards zero).

/// The digits of a number that is not negative: `1234` and 2 for 12.34.
struct Digits {
    digits: Vec<u8>,
    scale: i64,
}

/// Reads `12.34`, `1.0E-5`, `1e300`.
fn read(text: &str) -> Digits {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let fraction = mantissa.split_once('.').map_or(0, |(_, f)| f.len() as i64);
    let digits = mantissa.bytes().filter(u8::is_ascii_digit).map(|b| b - b'0').collect();
    Digits { digits, scale: fraction - exponent.parse::<i64>().unwrap_or(0) }
}

impl Digits {
    /// Drops digits until `scale` are left after the point.
    fn cut(&mut self, scale: i64, half_up: bool) {
        let drop = self.scale - scale;
        if drop <= 0 {
            return;
        }
        let drop = usize::try_from(drop).unwrap_or(usize::MAX);
        self.scale = scale;
        if drop > self.digits.len() {
            self.digits.clear();
            return;
        }
        let first_dropped = self.digits.len() - drop;
        let up = half_up && self.digits[first_dropped] >= 5;
        self.digits.truncate(first_dropped);
        if up {
            self.increment();
        }
    }

    fn increment(&mut self) {
        for d in self.digits.iter_mut().rev() {
            if *d < 9 {
                *d += 1;
                return;
            }
            *d = 0;
        }
        self.digits.insert(0, 1);
    }
}

/// A number's text (without sign) with exactly `scale` digits after the point.
pub fn of_text(text: &str, scale: usize) -> String {
    let mut number = read(text);
    number.cut(scale as i64, true);
    let mut digits: String = number.digits.iter().map(|d| char::from(b'0' + d)).collect();
    let missing = scale as i64 - number.scale;
    digits.extend(std::iter::repeat_n('0', usize::try_from(missing).unwrap_or(0)));
    let digits = format!("{digits:0>width$}", width = scale + 1);
    let (whole, fraction) = digits.split_at(digits.len() - scale);
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    if scale == 0 { whole.to_string() } else { format!("{whole}.{fraction}") }
}

/// A DOUBLE at `scale` digits after the point (before it, if negative), by its shortest decimal form.
pub fn double(value: f64, scale: i64, half_up: bool) -> f64 {
    rounded(&format!("{:e}", value.abs()), value.is_finite(), value.is_sign_negative(), scale, half_up).unwrap_or(value)
}

/// As [`double`], by the shortest form of a FLOAT.
pub fn float(value: f32, scale: i64, half_up: bool) -> f32 {
    let text = format!("{:e}", value.abs());
    rounded(&text, value.is_finite(), value.is_sign_negative(), scale, half_up).map_or(value, |v| v as f32)
}

fn rounded(text: &str, finite: bool, negative: bool, scale: i64, half_up: bool) -> Option<f64> {
    if !finite {
        return None;
    }
    let mut number = read(text);
    if number.scale <= scale {
        return None;
    }
    number.cut(scale, half_up);
    if number.digits.iter().all(|d| *d == 0) {
        return Some(0.0);
    }
    let digits: String = number.digits.iter().map(|d| char::from(b'0' + d)).collect();
    let value: f64 = format!("{digits}e{}", -number.scale).parse().ok()?;
    Some(if negative { -value } else { value })
}

/// An integer at `scale` digits; only negative ones change anything. None: beyond 128 bits.
pub fn integer(value: i128, scale: i64, half_up: bool) -> Option<i128> {
    if scale >= 0 {
        return Some(value);
    }
    let Some(unit) = u32::try_from(-scale).ok().and_then(|e| 10i128.checked_pow(e)) else { return Some(0) };
    let (whole, rest) = (value / unit, value % unit);
    let up = half_up && rest.unsigned_abs() * 2 >= unit.unsigned_abs();
    (whole + if up { value.signum() } else { 0 }).checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_round_by_their_decimal_form() {
        for (value, scale, expected) in [
            (2.675, 2, 2.68),
            (-2.675, 2, -2.68),
            (1234.5, -2, 1200.0),
            (1250.0, -2, 1300.0),
            (0.04, 1, 0.0),
            (0.05, 1, 0.1),
            (9.99, 1, 10.0),
            (1e300, 2, 1e300),
            (5.0, 0, 5.0),
            (0.5, 0, 1.0),
            (49.0, -2, 0.0),
            (50.0, -2, 100.0),
            (50.0, -3, 0.0),
        ] {
            assert_eq!(double(value, scale, true), expected, "{value} {scale}");
        }
        assert_eq!(double(-2.679, 2, false), -2.67);
        assert!(double(f64::NAN, 1, true).is_nan());
        assert_eq!(float(1.15, 1, true), 1.2);
    }

    #[test]
    fn integers_round_before_the_point() {
        for (value, scale, expected) in [(1250, -2, 1300), (-1250, -2, -1300), (1249, -2, 1200), (7, 3, 7), (7, -40, 0)]
        {
            assert_eq!(integer(value, scale, true), Some(expected), "{value} {scale}");
        }
        assert_eq!(integer(-1299, -2, false), Some(-1200));
    }

    #[test]
    fn texts_get_their_digits() {
        for (text, scale, expected) in [
            ("2.675", 2, "2.68"),
            ("1.0E10", 1, "10000000000.0"),
            ("1.0E-5", 3, "0.000"),
            ("0.9995", 3, "1.000"),
            ("12", 0, "12"),
            ("0.5", 0, "1"),
        ] {
            assert_eq!(of_text(text, scale), expected, "{text} {scale}");
        }
    }
}
