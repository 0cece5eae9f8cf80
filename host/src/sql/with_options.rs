//! The WITH clause, and the dialect that it shows.

use super::ast::{WithOption, WithOptions};
use super::codes;
use super::cursor::{JobParser, Parsed};
use super::options::Dialect;
use crate::diagnostic::{Diagnostic, Span, is_secret_key};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// The dialect of a CREATE TABLE by the keys in its WITH clause, before it is parsed: `type` is flinkStreamSQL,
/// `connector.type` legacy, `connector` Flink; without any of them bare keys are flinkStreamSQL's.
pub(super) fn guess_dialect(tokens: &[TokenWithSpan]) -> Option<Dialect> {
    let keys = with_keys(tokens);
    let has = |key: &str| keys.iter().any(|(k, _)| k.eq_ignore_ascii_case(key));
    if has("type") {
        Some(Dialect::DtStack)
    } else if has("connector.type") {
        Some(Dialect::Legacy)
    } else if has("connector") {
        Some(Dialect::Flink)
    } else if keys.iter().any(|(_, bare)| *bare) {
        Some(Dialect::DtStack)
    } else {
        keys.first().map(|_| Dialect::Flink)
    }
}

/// The keys of the first WITH clause outside of brackets, and whether each is bare.
fn with_keys(tokens: &[TokenWithSpan]) -> Vec<(String, bool)> {
    let mut depth = 0i64;
    let mut start = None;
    for (i, t) in tokens.iter().enumerate() {
        match &t.token {
            Token::LParen => depth += 1,
            Token::RParen => depth -= 1,
            Token::Word(w) if depth <= 0 && w.value.eq_ignore_ascii_case("WITH") => start = Some(i + 1),
            _ => {}
        }
        if start.is_some() {
            break;
        }
    }
    let clause = start.and_then(|s| tokens.get(s..)).unwrap_or_default();
    let mut keys = Vec::new();
    for (i, t) in clause.iter().enumerate() {
        if matches!(t.token, Token::LParen | Token::Comma) {
            keys.extend(key_at(clause.get(i + 1..).unwrap_or_default()));
        }
    }
    keys
}

fn key_at(tokens: &[TokenWithSpan]) -> Option<(String, bool)> {
    let end = tokens.iter().position(|t| t.token == Token::Eq)?;
    match &tokens.first()?.token {
        Token::SingleQuotedString(s) if end == 1 => Some((s.clone(), false)),
        Token::Word(_) => Some((tokens.get(..end)?.iter().map(|t| t.token.to_string()).collect(), true)),
        _ => None,
    }
}

impl JobParser<'_> {
    /// `( key = 'value', .. )` after WITH. `start` is the place of WITH.
    pub fn with_options(&mut self, start: Span) -> Parsed<WithOptions> {
        self.expect(&Token::LParen)?;
        let mut entries: Vec<WithOption> = Vec::new();
        loop {
            if let Some(end) = self.eat(&Token::RParen) {
                return Ok(WithOptions { entries, span: start.to(end) });
            }
            let entry = self.with_option()?;
            self.keep_option(&mut entries, entry);
            self.list_separator("a WITH option")?;
        }
    }

    /// The first of two options of one name is kept.
    fn keep_option(&mut self, entries: &mut Vec<WithOption>, entry: WithOption) {
        let ignore_case = self.dialect == Dialect::DtStack;
        let same = |e: &&WithOption| e.key == entry.key || (ignore_case && e.key.eq_ignore_ascii_case(&entry.key));
        match entries.iter().find(same) {
            Some(first) => {
                let message = format!("option {} is given twice", entry.key);
                let hint = format!("the first one is in line {}", first.key_span.start.line);
                self.out.push(Diagnostic::error(codes::DUPLICATE_OPTION, entry.key_span, message).hint(hint));
            }
            None => entries.push(entry),
        }
    }

    /// A comma, or nothing before the closing bracket. A trailing comma is a slip that flinkStreamSQL's own examples
    /// make: accepted there with a warning.
    pub fn list_separator(&mut self, what: &str) -> Parsed<()> {
        match self.token(0) {
            Token::RParen => Ok(()),
            Token::Comma => {
                let comma = self.advance();
                if *self.token(0) == Token::RParen {
                    self.trailing_comma(comma)?;
                }
                Ok(())
            }
            Token::Word(w) if !w.value.eq_ignore_ascii_case("WITH") => {
                let message = format!("a comma is missing before {w}");
                Err(Diagnostic::error(codes::MISSING_COMMA, self.span(0), message))
            }
            Token::SingleQuotedString(_) => {
                Err(Diagnostic::error(codes::MISSING_COMMA, self.span(0), "a comma is missing here"))
            }
            _ => Err(self.unexpected(&format!(", or ) after {what}"))),
        }
    }

    fn trailing_comma(&mut self, comma: Span) -> Parsed<()> {
        if self.dialect == Dialect::DtStack {
            self.out.push(Diagnostic::warning(codes::W_TRAILING_COMMA, comma, "the comma before ) is ignored"));
            Ok(())
        } else {
            Err(Diagnostic::error(codes::TRAILING_COMMA, comma, "nothing follows the comma").hint("remove the comma"))
        }
    }

    fn with_option(&mut self) -> Parsed<WithOption> {
        let (key, key_span) = self.option_key()?;
        self.expect(&Token::Eq)?;
        let (value, value_span) = self.option_value(&key)?;
        Ok(WithOption { key, value, key_span, value_span })
    }

    fn option_key(&mut self) -> Parsed<(String, Span)> {
        match self.token(0) {
            Token::SingleQuotedString(s) => {
                let key = s.clone();
                Ok((key, self.advance()))
            }
            Token::DoubleQuotedString(s) if self.dialect == Dialect::DtStack => {
                let key = s.clone();
                Ok((key, self.advance()))
            }
            Token::Word(_) => Ok(self.bare_key()),
            _ => Err(self.unexpected("the name of an option")),
        }
    }

    /// `type`, `kafka.group.id`, `on-error`: words, dots and dashes without blanks between.
    fn bare_key(&mut self) -> (String, Span) {
        let mut key = String::new();
        let mut span = self.span(0);
        loop {
            match self.token(0) {
                Token::Word(w) => key.push_str(&w.value),
                Token::Number(..) | Token::Period | Token::Minus | Token::Colon => {
                    key.push_str(&self.token(0).to_string());
                }
                _ => return (key, span),
            }
            span = span.to(self.advance());
            if self.span(0).start != span.end {
                return (key, span);
            }
        }
    }

    fn option_value(&mut self, key: &str) -> Parsed<(String, Span)> {
        match self.token(0) {
            Token::DoubleQuotedString(s) if self.dialect == Dialect::DtStack => {
                let value = s.clone();
                Ok((value, self.advance()))
            }
            // The value without its quotes is not repeated: it may be a secret.
            Token::Word(_) | Token::Number(..) if is_secret_key(key) => {
                let message = format!("the value of option {key} stands in no quotes");
                Err(Diagnostic::error(codes::SYNTAX, self.span(0), message).hint(format!("write {key} = '..'")))
            }
            Token::Word(_) | Token::Number(..) => {
                Err(self.unexpected(&format!("a quoted value of option {key}")).hint(format!("write {key} = '..'")))
            }
            _ => self.string(&format!("a quoted value of option {key}")),
        }
    }
}
