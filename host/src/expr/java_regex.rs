//! Java's regular expressions by the `regex` crate, as far as it goes: look-around, back references, atomic groups and
//! possessive quantifiers are refused by name. And the patterns of SIMILAR TO.

use regex::{Regex, RegexBuilder};

/// A pattern's program may not take more memory than this.
const PROGRAM_MAX: usize = 1 << 20;

/// Reads a pattern; an error names what it has that is not supported.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    if has_possessive_quantifier(pattern) {
        // The crate would read `a++` as `(a+)+`, which matches other texts.
        return Err(format!("regular expression '{pattern}': possessive quantifiers are not supported"));
    }
    let build = RegexBuilder::new(&to_rust(pattern)).size_limit(PROGRAM_MAX).dfa_size_limit(PROGRAM_MAX).build();
    build.map_err(|e| {
        let what = if has_look_around(pattern) {
            "look-around is not supported"
        } else if has_back_reference(pattern) {
            "back references are not supported"
        } else if matches!(e, regex::Error::CompiledTooBig(_)) {
            "it is too large"
        } else {
            "it cannot be read"
        };
        let detail = e.to_string();
        let detail = detail.lines().last().unwrap_or_default().trim_start_matches("error: ");
        format!("regular expression '{pattern}': {what} ({detail})")
    })
}

/// What Java spells otherwise: `\Z` is `\z`, `\h` is a blank or tab, classes hold their inner brackets unescaped alike.
fn to_rust(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('Z') => out.push_str(r"\z"),
            Some('h') => out.push_str(r"[ \t\u00A0\u1680\u180e\u2000-\u200a\u202f\u205f\u3000]"),
            Some('R') => out.push_str(r"(?:\r\n|[\n\x0B\f\r\u0085\u2028\u2029])"),
            // Java's classes are ASCII.
            Some('d') => out.push_str("[0-9]"),
            Some('w') => out.push_str("[a-zA-Z_0-9]"),
            Some('s') => out.push_str(r"[ \t\n\x0B\f\r]"),
            Some('D') => out.push_str("[^0-9]"),
            Some('W') => out.push_str("[^a-zA-Z_0-9]"),
            Some('S') => out.push_str(r"[^ \t\n\x0B\f\r]"),
            Some('v') => out.push_str(r"[\n\x0B\f\r\u0085\u2028\u2029]"),
            Some(p @ ('p' | 'P')) => match chars.as_str().strip_prefix('{').and_then(|r| r.split_once('}')) {
                Some((name, after)) if posix(name).is_some() => {
                    let negation = if p == 'P' { "^" } else { "" };
                    out.push_str(&format!("[[:{negation}{}:]]", posix(name).unwrap_or_default()));
                    chars = after.chars();
                }
                _ => {
                    out.push('\\');
                    out.push(p);
                }
            },
            Some('Q') => {
                let rest = chars.as_str();
                let (quoted, after) = rest.split_once(r"\E").unwrap_or((rest, ""));
                out.push_str(&regex::escape(quoted));
                chars = after.chars();
            }
            Some(next) => {
                out.push('\\');
                out.push(next);
            }
            None => out.push('\\'),
        }
    }
    out
}

fn has_look_around(pattern: &str) -> bool {
    ["(?=", "(?!", "(?<=", "(?<!", "(?>"].iter().any(|mark| pattern.contains(mark))
}

fn has_back_reference(pattern: &str) -> bool {
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        if c == '\\' && chars.next().is_some_and(|n| ('1'..='9').contains(&n) || n == 'k') {
            return true;
        }
    }
    false
}

/// Java's POSIX classes, which are ASCII; the crate knows some of the names as Unicode properties.
fn posix(name: &str) -> Option<&'static str> {
    Some(match name {
        "Lower" => "lower",
        "Upper" => "upper",
        "ASCII" => "ascii",
        "Alpha" => "alpha",
        "Digit" => "digit",
        "Alnum" => "alnum",
        "Punct" => "punct",
        "Graph" => "graph",
        "Print" => "print",
        "Blank" => "blank",
        "Cntrl" => "cntrl",
        "XDigit" => "xdigit",
        "Space" => "space",
        _ => return None,
    })
}

/// `a++`, `a*+`, `a?+`, `a{2}+`
fn has_possessive_quantifier(pattern: &str) -> bool {
    let mut chars = pattern.chars().peekable();
    let mut depth = 0;
    let mut quantified = false;
    while let Some(c) = chars.next() {
        match c {
            '\\' => {
                let escaped = chars.next();
                // Quoted text has no quantifiers.
                if escaped == Some('Q') {
                    let rest: String = chars.by_ref().collect();
                    let after = rest.split_once(r"\E").map_or("", |(_, after)| after);
                    return has_possessive_quantifier(after);
                }
                // `\p{Alpha}`: this bracket is no quantifier.
                if matches!(escaped, Some('p' | 'P' | 'x')) && chars.next_if_eq(&'{').is_some() {
                    let _ = chars.by_ref().find(|c| *c == '}');
                }
                quantified = false;
            }
            '[' => {
                depth += 1;
                quantified = false;
            }
            ']' => {
                depth = (depth - 1).max(0);
                quantified = false;
            }
            '+' if depth == 0 && quantified => return true,
            '*' | '+' | '?' | '}' if depth == 0 => quantified = true,
            _ => quantified = false,
        }
    }
    false
}

/// A pattern of SIMILAR TO: `%` and `_` as in LIKE, `| * + ? {} () []` as in regular expressions, all else plain.
pub fn similar_pattern(pattern: &str, escape: Option<&str>) -> Result<Regex, String> {
    let escape = match escape.map(|e| (e.chars().next(), e.chars().count())) {
        None => None,
        Some((Some(c), 1)) => Some(c),
        Some(_) => return Err("ESCAPE takes one character".to_string()),
    };
    let mut out = String::from("^(?s:");
    let mut chars = pattern.chars().peekable();
    let mut in_class = false;
    while let Some(c) = chars.next() {
        if Some(c) == escape {
            let Some(next) = chars.next() else {
                return Err(format!("the pattern '{pattern}' ends with its escape character"));
            };
            out.push_str(&regex::escape(next.encode_utf8(&mut [0; 4])));
            continue;
        }
        match c {
            '[' if chars.peek() == Some(&':') => out.push(c),
            '[' => {
                in_class = true;
                out.push(c);
            }
            ']' => {
                in_class = false;
                out.push(c);
            }
            '%' if !in_class => out.push_str(".*"),
            '_' if !in_class => out.push('.'),
            '|' | '*' | '+' | '?' | '{' | '}' | '(' | ')' => out.push(c),
            '^' | '-' | ':' if in_class => out.push(c),
            c => out.push_str(&regex::escape(c.encode_utf8(&mut [0; 4]))),
        }
    }
    out.push_str(")$");
    RegexBuilder::new(&out)
        .size_limit(PROGRAM_MAX)
        .build()
        .map_err(|_| format!("SIMILAR TO cannot read the pattern '{pattern}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_crate_cannot_do_is_named() {
        for (pattern, what) in [
            ("a(?=b)", "look-around"),
            ("(?<!x)y", "look-around"),
            (r"(a)\1", "back references"),
            ("(a", "cannot be read"),
            ("a{1000000}", "it"),
            ("a++b", "possessive"),
            ("(a|b){2}+", "possessive"),
            (r"\d{2}+", "possessive"),
        ] {
            let message = compile(pattern).unwrap_err();
            assert!(message.contains(what) && message.contains(pattern), "{message}");
        }
    }

    #[test]
    fn javas_spellings_are_understood() {
        for (pattern, text, expected) in [
            (r"^\d+$", "12", true),
            (r"^\d+$", "١", false),
            (r"\Qa.b\E+", "a.bb", true),
            (r"\Qa.b\E", "axb", false),
            (r"^[\w]+\Z", "a_1", true),
            (r"a\sb", "a\tb", true),
            (r"^\p{Alpha}+$", "aB", true),
            (r"^\p{Alpha}+$", "é", false),
            (r"^[\p{Digit}x]+$", "1x", true),
            (r"^\P{Lower}$", "A", true),
            (r"^\p{L}+$", "é数", true),
            (r"[+*]+\++", "++", true),
            (r"\Qa++\E", "a++", true),
        ] {
            assert_eq!(compile(pattern).unwrap().is_match(text), expected, "{pattern} {text}");
        }
    }

    #[test]
    fn similar_patterns_match_the_whole_text() {
        for (text, pattern, escape, expected) in [
            ("abc", "a%", None, true),
            ("abc", "b", None, false),
            ("abc", "(a|x)_c", None, true),
            ("a.c", "a.c", None, true),
            ("abc", "a.c", None, false),
            ("a%c", "a!%c", Some("!"), true),
            ("abc", "a!%c", Some("!"), false),
            ("a1", "[a-c][0-9]", None, true),
        ] {
            assert_eq!(similar_pattern(pattern, escape).unwrap().is_match(text), expected, "{text} {pattern}");
        }
    }
}
