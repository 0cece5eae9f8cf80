//! From the file's text to one text per statement in which only standard SQL is left: comments are blanks, full-width
//! punctuation is ASCII, flinkStreamSQL's `\'` is `''`. Every replacement is one character for one character, so
//! places in the result are places in the file.

use super::codes;
use crate::diagnostic::{Diagnostic, Pos, Span};

/// The text of one statement, without its `;`.
#[derive(Debug)]
pub(super) struct StatementText {
    pub text: String,
    /// Where `text` begins in the file.
    pub start: Pos,
    /// `#` and `//` comments: right in flinkStreamSQL only, and the dialect is not known here.
    pub foreign_comments: Vec<(Span, &'static str)>,
}

/// More warnings about punctuation than this help nobody.
const FULL_WIDTH_WARNINGS_MAX: usize = 20;

/// Splits at `;` outside of quotes and comments. Empty statements are left out.
pub(super) fn split(text: &str, out: &mut Vec<Diagnostic>) -> Vec<StatementText> {
    let mut splitter = Splitter::new(text, out);
    splitter.run();
    splitter.statements
}

struct Splitter<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    pos: Pos,
    out: &'a mut Vec<Diagnostic>,
    statements: Vec<StatementText>,
    current: StatementText,
    words: Words,
    full_width_warnings: usize,
}

/// As much of a statement's shape as tells a flinkStreamSQL WITH value (`key = 'value'` with a bare key) from other
/// strings: only there is `\'` an escape. In Flink `'\'` is a whole string.
#[derive(Default)]
struct Words {
    first: String,
    word: String,
    seen_with: bool,
    /// The last character that is no blank, and the one before an `=`.
    last: char,
    before_equals: char,
}

impl Words {
    fn push(&mut self, c: char) {
        if c.is_alphanumeric() || c == '_' {
            self.word.push(c.to_ascii_uppercase());
        } else {
            self.end_word();
        }
        if c == '=' {
            self.before_equals = self.last;
        }
        if !c.is_whitespace() {
            self.last = c;
        }
    }
    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        if self.first.is_empty() {
            self.first = self.word.clone();
        }
        self.seen_with |= self.word == "WITH";
        self.word.clear();
    }
    fn at_bare_with_value(&self) -> bool {
        let bare = self.before_equals.is_alphanumeric() || self.before_equals == '_';
        self.first == "CREATE" && self.seen_with && self.last == '=' && bare
    }
}

impl<'a> Splitter<'a> {
    fn new(text: &'a str, out: &'a mut Vec<Diagnostic>) -> Self {
        let pos = Pos { line: 1, column: 1 };
        Splitter {
            chars: text.chars().peekable(),
            pos,
            out,
            statements: Vec::new(),
            current: StatementText { text: String::new(), start: pos, foreign_comments: Vec::new() },
            words: Words::default(),
            full_width_warnings: 0,
        }
    }

    fn run(&mut self) {
        while let Some(c) = self.peek() {
            match c {
                '\'' | '"' | '‘' | '’' | '“' | '”' => self.string(c),
                '`' => self.quoted_identifier(),
                '#' => self.foreign_comment("#"),
                '/' => self.slash(),
                '-' => self.minus(),
                ';' | '；' => self.end_statement(),
                _ => {
                    let ascii = self.normalise(c);
                    self.take_as(ascii);
                    self.words.push(ascii);
                }
            }
        }
        self.finish_statement();
    }

    fn peek(&mut self) -> Option<char> {
        self.chars.peek().copied()
    }

    /// Consumes one character without keeping anything.
    fn skip(&mut self) -> Option<char> {
        let c = self.chars.next()?;
        if c == '\n' {
            self.pos = Pos { line: self.pos.line + 1, column: 1 };
        } else {
            self.pos.column += 1;
        }
        Some(c)
    }

    fn take_as(&mut self, replacement: char) {
        if let Some(c) = self.skip() {
            self.current.text.push(if c == '\n' { '\n' } else { replacement });
        }
    }

    fn span_here(&self) -> Span {
        Span::new(self.pos, Pos { line: self.pos.line, column: self.pos.column + 1 })
    }

    /// The ASCII character that a full-width one stands for, with a warning.
    fn normalise(&mut self, c: char) -> char {
        let ascii = match c {
            '，' | '、' => ',',
            '（' => '(',
            '）' => ')',
            '：' => ':',
            '；' => ';',
            '＝' => '=',
            '‘' | '’' => '\'',
            '“' | '”' => '"',
            '\u{feff}' => return ' ',
            c if c.is_whitespace() && c != '\n' => return ' ',
            c => return c,
        };
        self.full_width_warnings += 1;
        if self.full_width_warnings <= FULL_WIDTH_WARNINGS_MAX {
            let message = format!("full-width {c} is read as {ascii}");
            self.out.push(Diagnostic::warning(codes::W_FULL_WIDTH, self.span_here(), message));
        }
        ascii
    }

    fn string(&mut self, opening: char) {
        let start = self.span_here();
        let quote = self.normalise(opening);
        let backslash_escapes = self.words.at_bare_with_value();
        let also_closes = match opening {
            '‘' | '’' => Some('’'),
            '“' | '”' => Some('”'),
            _ => None,
        };
        self.take_as(quote);
        while let Some(c) = self.peek() {
            if c == quote || Some(c) == also_closes {
                self.take_as(quote);
                if self.peek() != Some(quote) {
                    self.words.push(quote);
                    return;
                }
                self.take_as(quote);
            } else if c == '\\' && backslash_escapes {
                self.skip();
                let escaped = self.peek() == Some(quote);
                self.current.text.push(if escaped { quote } else { '\\' });
                if escaped {
                    self.take_as(quote);
                }
            } else {
                self.take_as(c);
            }
        }
        self.unclosed(start, if quote == '\'' { "string" } else { "double-quoted string" }, quote);
    }

    fn quoted_identifier(&mut self) {
        let start = self.span_here();
        self.take_as('`');
        while let Some(c) = self.peek() {
            self.take_as(c);
            if c == '`' {
                self.words.push('`');
                return;
            }
        }
        self.unclosed(start, "quoted identifier", '`');
    }

    /// Nothing after an opening quote without an end can be read; the statement is dropped.
    fn unclosed(&mut self, start: Span, what: &str, quote: impl std::fmt::Display) {
        let d = Diagnostic::error(codes::UNCLOSED, start, format!("{what} is not closed"));
        self.out.push(d.hint(format!("a closing {quote} is missing here or in an earlier place")));
        self.current.text.clear();
    }

    fn line_comment(&mut self) {
        while let Some(c) = self.peek()
            && c != '\n'
        {
            self.take_as(' ');
        }
        self.words.push(' ');
    }

    fn foreign_comment(&mut self, sign: &'static str) {
        let start = self.pos;
        self.line_comment();
        self.current.foreign_comments.push((Span::new(start, self.pos), sign));
    }

    fn minus(&mut self) {
        let mut ahead = self.chars.clone();
        ahead.next();
        if ahead.next() == Some('-') {
            self.line_comment();
        } else {
            self.take_as('-');
            self.words.push('-');
        }
    }

    fn slash(&mut self) {
        let mut ahead = self.chars.clone();
        ahead.next();
        match ahead.next() {
            Some('/') => self.foreign_comment("//"),
            Some('*') => self.block_comment(ahead.next() == Some('+')),
            _ => {
                self.take_as('/');
                self.words.push('/');
            }
        }
    }

    fn block_comment(&mut self, is_hint: bool) {
        let start = self.span_here();
        self.take_as(' ');
        self.take_as(' ');
        let mut previous = ' ';
        while let Some(c) = self.peek() {
            self.take_as(' ');
            if previous == '*' && c == '/' {
                self.words.push(' ');
                if is_hint {
                    let span = Span::new(start.start, self.pos);
                    let d =
                        Diagnostic::error(codes::UNSUPPORTED_HINT, span, "not supported yet: query hints /*+ .. */");
                    self.out.push(d.hint("options belong into the WITH clause of the table"));
                }
                return;
            }
            previous = c;
        }
        self.unclosed(start, "comment", "*/");
    }

    fn end_statement(&mut self) {
        if self.peek() == Some('；') {
            self.normalise('；');
        }
        self.skip();
        self.finish_statement();
    }

    fn finish_statement(&mut self) {
        let next = StatementText { text: String::new(), start: self.pos, foreign_comments: Vec::new() };
        let done = std::mem::replace(&mut self.current, next);
        self.words = Words::default();
        if !done.text.trim().is_empty() {
            self.statements.push(done);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> (Vec<String>, Vec<Diagnostic>) {
        let mut out = Vec::new();
        let s = split(text, &mut out);
        (s.into_iter().map(|s| s.text).collect(), out)
    }

    #[test]
    fn splits_outside_quotes_and_comments_only() {
        let (s, out) = texts("/* a; b */ SELECT ';' -- ;\n ; ; `x;` ");
        assert_eq!(s, ["           SELECT ';'     \n ", " `x;` "]);
        assert!(out.is_empty());
    }

    #[test]
    fn a_comment_is_a_blank() {
        assert_eq!(texts("id--key\nFROM").0, ["id     \nFROM"]);
    }

    #[test]
    fn backslash_escapes_only_in_bare_with_values() {
        assert_eq!(texts(r"CREATE TABLE t(a int) WITH(k = 'a\'b')").0, [r"CREATE TABLE t(a int) WITH(k = 'a''b')"]);
        let flink = r"CREATE TABLE t(a INT) WITH('k' = '\')";
        assert_eq!(texts(flink).0, [flink]);
        let query = r"SELECT a FROM t WHERE a = '\'";
        assert_eq!(texts(query).0, [query]);
    }

    #[test]
    fn full_width_punctuation_becomes_ascii_outside_literals() {
        let (s, out) = texts("PRIMARY KEY（id，xx） k＝‘a，b’；x");
        assert_eq!(s, ["PRIMARY KEY(id,xx) k='a，b'", "x"]);
        assert_eq!(out.len(), 6, "one warning per place (closing quotes go with their opening): {out:?}");
        assert_eq!(out[0].span.map(|s| s.start), Some(Pos { line: 1, column: 12 }));
    }

    #[test]
    fn an_unclosed_string_is_reported_where_it_opens_and_spares_earlier_statements() {
        let (s, out) = texts("a;\nb 'c");
        assert_eq!(s, ["a"]);
        assert_eq!((out[0].code, out[0].span.map(|s| s.start)), (codes::UNCLOSED, Some(Pos { line: 2, column: 3 })));
    }
}
