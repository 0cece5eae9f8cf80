//! [`JobParser`]: sqlparser's `Parser` over the tokens of one statement, with places in every error. Own productions
//! build on the small helpers here; queries and expressions are sqlparser's.

use super::ast::{Name, ObjectPath};
use super::codes;
use super::dialect::FlinkDialect;
use super::options::Dialect;
use super::text::StatementText;
use crate::diagnostic::{Diagnostic, Pos, Span};
use sqlparser::ast as sp;
use sqlparser::parser::{Parser, ParserError};
use sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer};

pub(super) type Parsed<T> = Result<T, Diagnostic>;

pub(super) static DIALECT: FlinkDialect = FlinkDialect;

/// A statement longer than this is no job text. Keeps trees (which are walked and dropped recursively) bounded.
const TOKENS_MAX: usize = 100_000;
/// `a + a + a ..` gives a tree as deep as it is long.
const CHAIN_MAX: usize = 1_000;

/// Tokens of a statement without blanks, placed in the file.
pub(super) fn tokenize(statement: &StatementText) -> Parsed<Vec<TokenWithSpan>> {
    let start = statement.start;
    let shift = |l: Location| match l.line {
        0 => l,
        1 => Location::new(start.line.into(), l.column + u64::from(start.column) - 1),
        n => Location::new(n + u64::from(start.line) - 1, l.column),
    };
    let raw = Tokenizer::new(&DIALECT, &statement.text).tokenize_with_location().map_err(|e| {
        let at = shift(e.location);
        let span = span_between(at, Location::new(at.line, at.column + 1));
        Diagnostic::error(codes::BAD_LITERAL, span, lower_first(&e.message))
    })?;
    let mut tokens = Vec::with_capacity(raw.len());
    for mut t in raw {
        t.span = sqlparser::tokenizer::Span::new(shift(t.span.start), shift(t.span.end));
        push_token(&mut tokens, t);
    }
    check_size(&tokens)?;
    Ok(tokens)
}

fn push_token(tokens: &mut Vec<TokenWithSpan>, mut t: TokenWithSpan) {
    match t.token {
        Token::Whitespace(_) | Token::EOF => return,
        // `U&'..'` is a way to write a string, no type of its own.
        Token::UnicodeStringLiteral(s) => t.token = Token::SingleQuotedString(s),
        // Two closing brackets of nested types; SQL has no shift operator.
        Token::ShiftRight => {
            let middle = Location::new(t.span.start.line, t.span.start.column + 1);
            tokens.push(TokenWithSpan::at(Token::Gt, t.span.start, middle));
            t = TokenWithSpan::at(Token::Gt, middle, t.span.end);
        }
        _ => {}
    }
    tokens.push(t);
}

fn check_size(tokens: &[TokenWithSpan]) -> Parsed<()> {
    if let Some(t) = tokens.get(TOKENS_MAX) {
        let message = format!("the statement has more than {TOKENS_MAX} words and signs");
        return Err(Diagnostic::error(codes::TOO_COMPLEX, Span::from(t.span), message));
    }
    let mut levels = vec![Chain::default()];
    let mut set_operations = 0;
    for t in tokens {
        match &t.token {
            Token::LParen => levels.push(Chain::default()),
            token if is_one_of(token, &["CASE"]) => levels.push(Chain::default()),
            token if levels.len() > 1 && (*token == Token::RParen || is_one_of(token, &["END"])) => {
                let inner = levels.pop().map_or(0, |c| c.longest);
                add_operators(&mut levels, inner);
            }
            token if ends_chain(token) => {
                if let Some(level) = levels.last_mut() {
                    level.length = 0;
                }
            }
            token => add_operators(&mut levels, usize::from(is_operator(token))),
        }
        set_operations += usize::from(is_one_of(&t.token, &["UNION", "EXCEPT", "INTERSECT"]));
        if levels.last().is_some_and(|c| c.longest > CHAIN_MAX) || set_operations > CHAIN_MAX {
            let message = format!("the statement has more than {CHAIN_MAX} operators in a row");
            let d = Diagnostic::error(codes::TOO_COMPLEX, Span::from(t.span), message);
            return Err(d.hint("split the query into views; use IN (..) for long lists of alternatives"));
        }
    }
    Ok(())
}

/// Operators of one level of brackets: since the last token that ends an expression, and the most so far.
#[derive(Default)]
struct Chain {
    length: usize,
    longest: usize,
}

fn add_operators(levels: &mut [Chain], n: usize) {
    if let Some(level) = levels.last_mut() {
        level.length += n;
        level.longest = level.longest.max(level.length);
    }
}

fn ends_chain(t: &Token) -> bool {
    *t == Token::Comma || is_one_of(t, &["SELECT", "FROM", "WHERE", "ON", "WHEN", "THEN", "ELSE", "AS", "WITH"])
}

fn is_one_of(t: &Token, words: &[&str]) -> bool {
    matches!(t, Token::Word(w) if w.quote_style.is_none() && words.iter().any(|k| w.value.eq_ignore_ascii_case(k)))
}

fn is_operator(t: &Token) -> bool {
    match t {
        Token::Word(_) => is_one_of(t, &["AND", "OR", "NOT", "IS", "LIKE", "IN", "BETWEEN", "COLLATE", "AT"]),
        Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod | Token::StringConcat => true,
        Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => true,
        Token::LBracket | Token::DoubleColon | Token::Arrow | Token::LongArrow | Token::Caret => true,
        _ => false,
    }
}

pub(super) struct JobParser<'a> {
    pub p: Parser<'static>,
    tokens: Vec<TokenWithSpan>,
    /// The place after the last token.
    end: Span,
    pub dialect: Dialect,
    /// Warnings and errors that do not end the statement.
    pub out: &'a mut Vec<Diagnostic>,
}

impl<'a> JobParser<'a> {
    pub fn new(tokens: Vec<TokenWithSpan>, dialect: Dialect, out: &'a mut Vec<Diagnostic>) -> Self {
        let end = tokens.last().map_or(Span::default(), |t| {
            let end = Span::from(t.span).end;
            Span::new(end, Pos { line: end.line, column: end.column + 1 })
        });
        let p = Parser::new(&DIALECT).with_tokens_with_locations(tokens.clone());
        Self { p, tokens, end, dialect, out }
    }

    pub fn whole(&self) -> Span {
        match self.tokens.first() {
            Some(first) => Span::from(first.span).to(Span::new(self.end.start, self.end.start)),
            None => self.end,
        }
    }

    pub fn token(&self, n: usize) -> &Token {
        &self.p.peek_nth_token_ref(n).token
    }

    pub fn span(&self, n: usize) -> Span {
        let t = self.p.peek_nth_token_ref(n);
        if t.token == Token::EOF { self.end } else { t.span.into() }
    }

    pub fn at_end(&self) -> bool {
        *self.token(0) == Token::EOF
    }

    pub fn advance(&mut self) -> Span {
        let span = self.span(0);
        self.p.advance_token();
        span
    }

    /// Number of tokens consumed.
    pub fn position(&self) -> usize {
        self.p.get_current_index()
    }

    /// Back to an earlier [`Self::position`].
    pub fn rewind(&mut self, position: usize) {
        while self.p.get_current_index() > position {
            self.p.prev_token();
        }
    }

    /// Whether the n-th next token is this word, unquoted, in any case.
    pub fn is_word(&self, n: usize, word: &str) -> bool {
        matches!(self.token(n), Token::Word(w) if w.quote_style.is_none() && w.value.eq_ignore_ascii_case(word))
    }

    pub fn are_words(&self, words: &[&str]) -> bool {
        words.iter().enumerate().all(|(n, w)| self.is_word(n, w))
    }

    /// Consumes the words if all are there.
    pub fn eat_words(&mut self, words: &[&str]) -> Option<Span> {
        if !self.are_words(words) {
            return None;
        }
        let mut span = self.span(0);
        for _ in words {
            span = span.to(self.advance());
        }
        Some(span)
    }

    pub fn eat(&mut self, token: &Token) -> Option<Span> {
        (self.token(0) == token).then(|| self.advance())
    }

    pub fn expect(&mut self, token: &Token) -> Parsed<Span> {
        self.eat(token).ok_or_else(|| self.unexpected(&token.to_string()))
    }

    pub fn expect_word(&mut self, word: &str) -> Parsed<Span> {
        self.eat_words(&[word]).ok_or_else(|| self.unexpected(word))
    }

    /// An identifier; keywords are good names too (`type STRING` in DLI's own examples).
    pub fn name(&mut self, what: &str) -> Parsed<Name> {
        match self.token(0) {
            Token::Word(w) => {
                let value = w.value.clone();
                let span = self.advance();
                Ok(Name { value, span })
            }
            Token::DoubleQuotedString(_) => Err(self.double_quotes()),
            _ => Err(self.unexpected(what)),
        }
    }

    /// `a.b.c` as one name.
    pub fn dotted_name(&mut self, what: &str) -> Parsed<Name> {
        let mut name = self.name(what)?;
        while self.eat(&Token::Period).is_some() {
            let part = self.name("a name after the dot")?;
            name.value = format!("{}.{}", name.value, part.value);
            name.span = name.span.to(part.span);
        }
        Ok(name)
    }

    /// `[[catalog.]database.]name`
    pub fn object_path(&mut self, what: &str) -> Parsed<ObjectPath> {
        let mut qualifier = Vec::new();
        let mut name = self.name(what)?;
        while self.eat(&Token::Period).is_some() {
            if qualifier.len() == 2 {
                return Err(self.unexpected("at most catalog.database.name"));
            }
            qualifier.push(std::mem::replace(&mut name, self.name("a name after the dot")?));
        }
        Ok(ObjectPath { qualifier, name })
    }

    pub fn string(&mut self, what: &str) -> Parsed<(String, Span)> {
        match self.token(0) {
            Token::SingleQuotedString(s) => {
                let s = s.clone();
                Ok((s, self.advance()))
            }
            Token::DoubleQuotedString(_) => Err(self.double_quotes()),
            _ => Err(self.unexpected(what)),
        }
    }

    fn double_quotes(&self) -> Diagnostic {
        Diagnostic::error(codes::DOUBLE_QUOTES, self.span(0), "double quotes mean nothing here")
            .hint("backticks quote identifiers, single quotes quote text")
    }

    /// "expected X, found (the next token)" at the next token.
    pub fn unexpected(&self, expected: &str) -> Diagnostic {
        let found = match self.token(0) {
            Token::EOF => "the end of the statement".to_string(),
            // May be a secret.
            Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) => "a text".to_string(),
            t => t.to_string(),
        };
        Diagnostic::error(codes::SYNTAX, self.span(0), format!("expected {expected}, found {found}"))
    }

    pub fn unsupported_clause(&self, span: Span, what: &str) -> Diagnostic {
        Diagnostic::error(codes::UNSUPPORTED_CLAUSE, span, format!("not supported yet: {what}"))
    }

    pub fn expr(&mut self) -> Parsed<Box<sp::Expr>> {
        self.p.parse_expr().map(Box::new).map_err(|e| self.foreign(e))
    }

    pub fn query(&mut self) -> Parsed<Box<sp::Query>> {
        if !(self.is_word(0, "SELECT") || self.is_word(0, "WITH") || self.is_word(0, "VALUES"))
            && *self.token(0) != Token::LParen
        {
            return Err(self.unexpected("SELECT"));
        }
        if let Some(at) = self.pattern_query() {
            let message = "not supported yet: MATCH_RECOGNIZE";
            return Err(Diagnostic::error(codes::UNSUPPORTED_QUERY, at, message));
        }
        let mut query = self.p.parse_query().map_err(|e| self.foreign(e))?;
        super::unnest::name_unnests(&mut query);
        Ok(query)
    }

    /// The place of MATCH_RECOGNIZE in what is left of the statement. Its patterns are a language of their own.
    fn pattern_query(&self) -> Option<Span> {
        let left = self.tokens.get(self.position()..)?;
        let pair =
            left.windows(2).find(|t| is_one_of(&t[0].token, &["MATCH_RECOGNIZE"]) && t[1].token == Token::LParen)?;
        Some(pair[0].span.into())
    }

    pub fn expect_end(&mut self) -> Parsed<()> {
        if self.at_end() { Ok(()) } else { Err(self.unexpected("the end of the statement (;)")) }
    }

    /// sqlparser's error with its true place. Its text ends in " at Line: x, Column: y", which may be the place of
    /// the token after the offending one; the parser's position tells more (found by probing 0.62).
    fn foreign(&self, e: ParserError) -> Diagnostic {
        let text = match e {
            ParserError::RecursionLimitExceeded => {
                return Diagnostic::error(codes::TOO_COMPLEX, self.span(0), "the query is nested too deeply");
            }
            ParserError::TokenizerError(s) | ParserError::ParserError(s) => s,
        };
        let (message, place) = split_place(&text);
        let found = message.rsplit_once("found: ").map(|(_, f)| f.to_string());
        let span = self.offender(found.as_deref(), place);
        let message = message
            .replace("Expected: ", "expected ")
            .replace(", found: EOF", ", found the end of the statement")
            .replace("found: ", "found ");
        Diagnostic::error(codes::SYNTAX, span, lower_first(&message))
    }

    fn offender(&self, found: Option<&str>, place: Option<Location>) -> Span {
        let current = self.p.get_current_token();
        let next = self.p.peek_token_ref();
        let at_place = place.and_then(|l| self.tokens.iter().find(|t| t.span.start == l));
        let spelled = |t: &&TokenWithSpan| found.is_some_and(|f| t.token.to_string() == f);
        let token = match found {
            Some("EOF") => return self.end,
            Some(_) => at_place.filter(spelled).or(Some(current).filter(spelled)).or(Some(next).filter(spelled)),
            None => None,
        };
        match token.or(at_place).unwrap_or(current) {
            t if t.token == Token::EOF => self.end,
            t => t.span.into(),
        }
    }
}

fn split_place(text: &str) -> (String, Option<Location>) {
    let Some((message, place)) = text.rsplit_once(" at Line: ") else { return (text.to_string(), None) };
    let location = place
        .split_once(", Column: ")
        .and_then(|(line, column)| Some(Location::new(line.trim().parse().ok()?, column.trim().parse().ok()?)));
    (message.to_string(), location)
}

fn span_between(start: Location, end: Location) -> Span {
    sqlparser::tokenizer::Span::new(start, end).into()
}

fn lower_first(s: &str) -> String {
    let mut chars = s.chars();
    match chars.next() {
        Some(c) => c.to_lowercase().chain(chars).collect(),
        None => String::new(),
    }
}
