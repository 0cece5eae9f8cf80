//! Messages about job text: what, where (file, line, column, the source line with a caret), and what to do.

use std::fmt::Write as _;
use std::sync::Arc;

/// A place in the text: line and column count from 1, columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Pos {
    pub line: u32,
    pub column: u32,
}

/// A range of the text; `end` is the place after the last character.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Span {
    pub start: Pos,
    pub end: Pos,
}

impl Span {
    pub fn new(start: Pos, end: Pos) -> Self {
        Self { start, end }
    }
    /// The smallest span that holds both.
    pub fn to(self, other: Span) -> Span {
        Span { start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}

impl From<sqlparser::tokenizer::Span> for Span {
    fn from(s: sqlparser::tokenizer::Span) -> Self {
        let pos = |l: sqlparser::tokenizer::Location| Pos { line: l.line as u32, column: l.column as u32 };
        Span { start: pos(s.start), end: pos(s.end) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Error,
    Warning,
}

/// One message. `code` is stable (`E0101`, `W0203`): users search for it, tests pin it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    pub severity: Severity,
    pub code: &'static str,
    pub message: String,
    /// None only where no text is to blame (a missing file, say).
    pub span: Option<Span>,
    pub hint: Option<String>,
}

impl Diagnostic {
    pub fn error(code: &'static str, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Error, code, message: message.into(), span: span.into(), hint: None }
    }
    pub fn warning(code: &'static str, span: impl Into<Option<Span>>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, span, message) }
    }
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

/// The text that spans point into.
#[derive(Debug, Clone)]
pub struct SourceFile {
    /// As the user named it; shown in messages.
    pub name: Arc<str>,
    pub text: Arc<str>,
}

impl SourceFile {
    pub fn new(name: impl Into<Arc<str>>, text: impl Into<Arc<str>>) -> Self {
        Self { name: name.into(), text: text.into() }
    }

    /// `job.sql:3:5: error[E0101]: message`, the source line, a caret under the span, the hint.
    pub fn render(&self, d: &Diagnostic) -> String {
        let kind = match d.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let mut out = match d.span {
            Some(s) => format!("{}:{}:{}: ", self.name, s.start.line, s.start.column),
            None => format!("{}: ", self.name),
        };
        let _ = writeln!(out, "{kind}[{}]: {}", d.code, d.message);
        if let Some(span) = d.span
            && let Some(line) = self.shown_line(span.start.line)
        {
            render_caret(&mut out, &line, span);
        }
        if let Some(hint) = &d.hint {
            let _ = writeln!(out, "  = {hint}");
        }
        out
    }

    /// A line (from 1) without secrets. The key of one may stand in the line before.
    fn shown_line(&self, number: u32) -> Option<String> {
        let index = number.saturating_sub(1) as usize;
        let mut lines = self.text.lines().skip(index.saturating_sub(1));
        let before = if index == 0 { "" } else { lines.next()? };
        let both = redact_in_place(&format!("{before}\n{}", lines.next()?));
        both.split_once('\n').map(|(_, line)| line.to_string())
    }
}

/// Words whose values are secrets, wherever they stand in a key; of `password` also what is left of it when it is
/// misspelt.
const SECRET_WORDS: &[&str] = &[
    "passw",
    "pasw",
    "psw",
    "passord",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "bearer",
    "credential",
    "accesskey",
    "access_key",
    "access.key",
    "access-key",
    "api_key",
    "apikey",
    "api-key",
    "api.key",
    "private_key",
    "private-key",
    "private.key",
    "keystore.key",
    "signature",
    "user.info",
];

/// Whether an option of this name holds a secret by its name alone.
pub fn is_secret_key(key: &str) -> bool {
    let key = key.to_ascii_lowercase();
    SECRET_WORDS.iter().any(|w| key.contains(w))
}

/// The text with every secret in it replaced by `******`: values after a word like `password` and `=` (URLs, JAAS
/// lines, job text) and the password of `scheme://user:password@host`.
pub fn redact(text: &str) -> String {
    replace_secrets(text, |_| "******".to_string())
}

/// As [`redact`], one `*` for one character, so that columns stay right.
fn redact_in_place(text: &str) -> String {
    replace_secrets(text, |secret| secret.chars().map(|c| if c == '\n' { c } else { '*' }).collect())
}

fn replace_secrets(text: &str, mask: impl Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut copied = 0;
    for range in secret_ranges(text) {
        if range.start >= copied
            && let (Some(before), Some(secret)) = (text.get(copied..range.start), text.get(range.clone()))
        {
            out.push_str(before);
            out.push_str(&mask(secret));
            copied = range.end;
        }
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    out
}

fn secret_ranges(text: &str) -> Vec<std::ops::Range<usize>> {
    let lower = text.to_ascii_lowercase();
    let mut found = Vec::new();
    for word in SECRET_WORDS {
        for (at, _) in lower.match_indices(word) {
            found.extend(value_after(text, at + word.len()));
        }
    }
    for (at, _) in text.match_indices("://") {
        let authority = at + 3;
        let rest = &text[authority..];
        let end = rest.find(['/', '?', '\'', '"', ' ', ',']).unwrap_or(rest.len());
        if let Some(host) = rest[..end].rfind('@')
            && let Some(colon) = rest[..host].find(':')
        {
            found.push(authority + colon + 1..authority + host);
        }
    }
    found.sort_by_key(|r| (r.start, std::cmp::Reverse(r.end)));
    found
}

/// The value of `[rest of the key][quote] = [quote]value` whose key has been read up to `from`.
fn value_after(text: &str, from: usize) -> Option<std::ops::Range<usize>> {
    let bytes = text.as_bytes();
    let skip = |mut i: usize, what: fn(u8) -> bool| {
        while bytes.get(i).is_some_and(|b| what(*b)) {
            i += 1;
        }
        i
    };
    fn blank(b: u8) -> bool {
        matches!(b, b' ' | b'\t' | b'\n' | b'\r')
    }
    let key_end = skip(from, |b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'));
    let key_end = key_end + usize::from(matches!(bytes.get(key_end), Some(b'\'' | b'"' | b'`')));
    let sign = skip(key_end, blank);
    let sign_length = match text.get(sign..)?.chars().next()? {
        c @ ('=' | ':' | '＝' | '：') => c.len_utf8(),
        '\'' | '"' => 0,
        _ => return None,
    };
    // `==` is a slip that is shown, too.
    let start = skip(sign + sign_length, |b| blank(b) || b == b'=');
    let quote = text[start..].chars().next().filter(|c| matches!(c, '\'' | '"' | '‘' | '“'));
    let (start, end) = match quote {
        Some(q) => {
            let start = start + q.len_utf8();
            let closing = match q {
                '‘' => '’',
                '“' => '”',
                q => q,
            };
            (start, text[start..].find(closing))
        }
        None => {
            (start, text[start..].find(|c: char| c.is_whitespace() || matches!(c, '&' | ';' | ',' | '\'' | '"' | ')')))
        }
    };
    let end = end.map_or(text.len(), |e| start + e);
    (end > start).then_some(start..end)
}

/// The longest stretch of a source line that is shown; longer lines are cut around the caret.
const LINE_SHOWN_MAX: usize = 160;

fn render_caret(out: &mut String, line: &str, span: Span) {
    use unicode_width::UnicodeWidthChar;
    let chars: Vec<char> = line.chars().map(|c| if c == '\t' { ' ' } else { c }).collect();
    let start = (span.start.column.saturating_sub(1) as usize).min(chars.len());
    let end = if span.end.line == span.start.line {
        (span.end.column.saturating_sub(1) as usize).clamp(start, chars.len())
    } else {
        chars.len()
    };
    let from = if chars.len() > LINE_SHOWN_MAX { start.saturating_sub(40) } else { 0 };
    let to = (from + LINE_SHOWN_MAX).min(chars.len());
    let width = |cs: &[char]| cs.iter().map(|c| c.width().unwrap_or(0)).sum::<usize>();
    let shown: String = chars[from..to].iter().collect();
    let number = span.start.line.to_string();
    let gutter = " ".repeat(number.len());
    let marks = width(&chars[start..end.min(to).max(start)]).max(1);
    let _ = writeln!(out, " {gutter} |");
    let _ = writeln!(out, " {number} | {}", shown.trim_end());
    let _ = writeln!(out, " {gutter} | {}{}", " ".repeat(width(&chars[from..start])), "^".repeat(marks));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked_in_every_form() {
        assert_eq!(
            redact("jdbc:mysql://h:3306/d?user=u&password=p1&x=1"),
            "jdbc:mysql://h:3306/d?user=u&password=******&x=1"
        );
        assert_eq!(redact("postgres://u:p1@h/d"), "postgres://u:******@h/d");
        assert_eq!(redact(r#"required username="u" password="p 1";"#), r#"required username="u" password="******";"#);
        assert_eq!(redact("password='p1',"), "password='******',");
        assert_eq!(redact("'ssl.key.password' = 'p1'"), "'ssl.key.password' = '******'");
        assert_eq!(redact("h1:9092,h2:9092"), "h1:9092,h2:9092");
        assert_eq!(redact("jdbc:mysql://h/d?passwrd=p1"), "jdbc:mysql://h/d?passwrd=******");
        assert_eq!(redact("passwrod='p1', passengers = 4"), "passwrod='******', passengers = 4");
        assert_eq!(redact("password"), "password");
        assert_eq!(redact("password == 'p1'"), "password == '******'");
        assert_eq!(redact("ssl.keystore.key='k', bearer=b"), "ssl.keystore.key='******', bearer=******");
    }

    #[test]
    fn a_secret_in_the_line_after_its_key_is_masked() {
        let file = SourceFile::new("job.sql", "type='mysql', password=\n'abc', tpic='t'\n");
        let span = Span::new(Pos { line: 2, column: 8 }, Pos { line: 2, column: 12 });
        let text = file.render(&Diagnostic::error("E0301", span, "unknown option tpic"));
        assert!(text.contains("'***', tpic='t'\n") && !text.contains("abc"), "{text}");
    }

    #[test]
    fn a_shown_source_line_hides_the_password_and_keeps_the_caret_in_place() {
        let file = SourceFile::new("job.sql", "  password ='abc', tpic='t'");
        let span = Span::new(Pos { line: 1, column: 20 }, Pos { line: 1, column: 24 });
        let text = file.render(&Diagnostic::error("E0301", span, "unknown option tpic"));
        assert!(
            text.contains("| password ='***', tpic='t'\n") || text.contains("   password ='***', tpic='t'\n"),
            "{text}"
        );
        assert!(text.contains(&format!("{}^^^^\n", " ".repeat(19))), "{text}");
        assert!(!text.contains("abc"));
    }
}
