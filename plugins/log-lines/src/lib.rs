//! Decoders for lines of logs.

use wasmill_guest::{Config, Rows, decoder};

/// A line of `key=value` pairs, as many programs log: `level=warn took=12 msg="disk is full"`. A column takes the value
/// of the key with its name; a key without `=` is `true`; the last of two equal keys wins. Blank lines and comments
/// (`#`, or what the option `comment` says) give no row.
#[decoder]
fn logfmt(line: &str, rows: &mut Rows, config: &Config) -> Result<(), String> {
    let line = line.trim();
    if line.is_empty() || line.starts_with(config.get("comment").unwrap_or("#")) {
        return Ok(());
    }
    let mut row = rows.add();
    let mut rest = line;
    while !rest.is_empty() {
        let end = rest.find(['=', ' ']).unwrap_or(rest.len());
        let (key, behind) = rest.split_at(end);
        if key.is_empty() {
            return Err(format!("a value without a key at '{}'", shown(rest)));
        }
        rest = match behind.strip_prefix('=') {
            None => {
                row.parse(key, "true");
                behind
            }
            Some(quoted) if quoted.starts_with('"') => {
                let (value, behind) = unquoted(&quoted[1..]).ok_or(format!("{key}: a quote that does not end"))?;
                row.parse(key, &value);
                behind
            }
            Some(plain) => {
                let (value, behind) = plain.split_at(plain.find(' ').unwrap_or(plain.len()));
                row.parse(key, value);
                behind
            }
        }
        .trim_start();
    }
    Ok(())
}

/// The text up to the closing quote, and what is behind it.
fn unquoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                't' => value.push('\t'),
                other => value.push(other),
            },
            c => value.push(c),
        }
    }
    None
}

fn shown(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(at, _)| &text[..at])
}

/// `sensor start value value ..`: a row per value, with the columns `sensor`, `at` (start, one later for each value)
/// and `value`. `-` stands for a value that was not taken and gives no row.
#[decoder]
fn samples(line: &str, rows: &mut Rows) -> Result<(), String> {
    let mut words = line.split_ascii_whitespace();
    let (Some(sensor), Some(start)) = (words.next(), words.next()) else {
        return Err("a line begins with a sensor and the number of its first sample".into());
    };
    let start: i64 = start.parse().map_err(|_| format!("'{}' is not the number of a sample", shown(start)))?;
    for (index, value) in words.enumerate().filter(|(_, v)| *v != "-") {
        rows.add().set("sensor", sensor).set("at", start + index as i64).parse("value", value);
    }
    Ok(())
}
