//! Scalar functions of the flights demo.

use wasmill_guest::scalar;

/// How late a departure is, in the words of a departure board. The US Bureau of Transportation Statistics counts a
/// flight as on time up to 14 minutes; NULL (it never left) is a cancellation.
#[scalar]
fn delay_class(minutes: Option<i32>) -> &'static str {
    match minutes {
        None => "cancelled",
        Some(..0) => "early",
        Some(0..15) => "on time",
        Some(15..60) => "delayed",
        Some(60..) => "badly delayed",
    }
}

/// `517` (hours and minutes run together, as airlines write them) to `05:17`. 2400 is midnight at the end of the day
/// and becomes `24:00`; anything that is no time of day is refused.
#[scalar]
fn clock_time(hhmm: i32) -> Result<String, String> {
    let (hours, minutes) = (hhmm / 100, hhmm % 100);
    match (hours, minutes) {
        (0..24, 0..60) | (24, 0) => Ok(format!("{hours:02}:{minutes:02}")),
        _ => Err(format!("{hhmm} is not a time of day")),
    }
}
