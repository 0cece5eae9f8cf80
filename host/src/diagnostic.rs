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
            && let Some(line) = self.text.lines().nth(span.start.line.saturating_sub(1) as usize)
        {
            render_caret(&mut out, line, span);
        }
        if let Some(hint) = &d.hint {
            let _ = writeln!(out, "  = {hint}");
        }
        out
    }
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
