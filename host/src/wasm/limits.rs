//! What one instance may use.

use std::time::Duration;

/// Option names of the limits, as CREATE FUNCTION, tables (`wasm.` in front) and plugins.toml spell them.
pub const LIMIT_OPTIONS: [&str; 4] = ["memory-limit", "cpu-limit", "stack-limit", "output-limit"];

/// The most that any instance may be given: the instance pool reserves room for it.
pub(super) const MEMORY_MAX: u64 = 1 << 30;
const PAGE: u64 = 64 << 10;
const STACK_RANGE: std::ops::RangeInclusive<u64> = 64 << 10..=1 << 20;

/// Names and values that are handed to a plugin when its function is opened.
pub type PluginConfig = Vec<(String, String)>;

/// Limits of one instance of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory in bytes.
    pub memory: u64,
    /// CPU time of one call (up to 1,024 rows).
    pub cpu: Duration,
    /// Bytes of stack for wasm frames.
    pub stack: u64,
    /// Bytes of one answer.
    pub output: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self { memory: 64 << 20, cpu: Duration::from_secs(1), stack: 512 << 10, output: 64 << 20 }
    }
}

impl Limits {
    /// Takes one option. `Ok(false)`: not the name of a limit. The error says what is wrong with the value.
    pub fn set(&mut self, name: &str, value: &str) -> Result<bool, String> {
        match name {
            "memory-limit" => self.memory = size(value, PAGE..=MEMORY_MAX)? / PAGE * PAGE,
            "cpu-limit" => self.cpu = duration(value)?,
            "stack-limit" => self.stack = size(value, STACK_RANGE)?,
            "output-limit" => self.output = size(value, 1 << 10..=wasmill_abi::MAX_FRAME_BYTES as u64)?,
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Splits the options of a function or table into limits and the plugin's own configuration. `wasm.` in front of
    /// a name is not part of it. All wrong values are reported.
    pub fn from_options<'a>(
        options: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<(Limits, PluginConfig), Vec<String>> {
        let (mut limits, mut config, mut wrong) = (Limits::default(), Vec::new(), Vec::new());
        for (name, value) in options {
            let short = name.strip_prefix("wasm.").unwrap_or(name);
            match limits.set(short, value) {
                Ok(true) => {}
                Ok(false) => config.push((short.to_string(), value.to_string())),
                Err(e) => wrong.push(format!("option '{name}': {e}")),
            }
        }
        if wrong.is_empty() { Ok((limits, config)) } else { Err(wrong) }
    }
}

/// `64 MiB`, `1.5 s`: sizes for messages.
pub(super) fn show_bytes(n: u64) -> String {
    match n {
        n if n >= 1 << 20 && n % (1 << 20) == 0 => format!("{} MiB", n >> 20),
        n if n >= 1 << 10 && n % (1 << 10) == 0 => format!("{} KiB", n >> 10),
        n => format!("{n} bytes"),
    }
}

fn split_unit(text: &str) -> Option<(u64, String)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit.trim().to_ascii_lowercase()))
}

fn size(text: &str, range: std::ops::RangeInclusive<u64>) -> Result<u64, String> {
    let bytes = split_unit(text).and_then(|(n, unit)| {
        let shift = match unit.as_str() {
            "" | "b" | "bytes" => 0,
            "k" | "kb" | "kib" | "kibibytes" => 10,
            "m" | "mb" | "mib" | "mebibytes" => 20,
            "g" | "gb" | "gib" | "gibibytes" => 30,
            _ => return None,
        };
        n.checked_mul(1 << shift)
    });
    match bytes {
        Some(n) if range.contains(&n) => Ok(n),
        Some(_) => Err(format!(
            "'{text}' is out of range, {} to {} are possible",
            show_bytes(*range.start()),
            show_bytes(*range.end())
        )),
        None => Err(format!("'{text}' is not a size such as '64 mb'")),
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let value = split_unit(text).and_then(|(n, unit)| {
        Some(Duration::from_millis(match unit.as_str() {
            "" | "ms" | "milli" | "millis" | "millisecond" | "milliseconds" => n,
            "s" | "sec" | "secs" | "second" | "seconds" => n.checked_mul(1000)?,
            "m" | "min" | "minute" | "minutes" => n.checked_mul(60_000)?,
            _ => return None,
        }))
    });
    match value {
        Some(d) if (Duration::from_millis(1)..=Duration::from_secs(600)).contains(&d) => Ok(d),
        Some(_) => Err(format!("'{text}' is out of range, 1 ms to 10 min are possible")),
        None => Err(format!("'{text}' is not a duration such as '500 ms'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_taken_and_the_rest_is_configuration() {
        let options = [("wasm.memory-limit", "16 MB"), ("cpu-limit", "50ms"), ("wasm.separator", ";")];
        let (limits, config) = Limits::from_options(options).unwrap();
        assert_eq!((limits.memory, limits.cpu), (16 << 20, Duration::from_millis(50)));
        assert_eq!(config, [("separator".to_string(), ";".to_string())]);
    }

    #[test]
    fn wrong_values_are_reported_together() {
        let wrong = Limits::from_options([("memory-limit", "lots"), ("stack-limit", "1 gb")]).unwrap_err();
        assert_eq!(
            wrong,
            [
                "option 'memory-limit': 'lots' is not a size such as '64 mb'",
                "option 'stack-limit': '1 gb' is out of range, 64 KiB to 1 MiB are possible",
            ]
        );
    }
}
