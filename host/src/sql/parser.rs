//! A job file to its statements. Errors do not end the reading: the next statement is read all the same.

use super::ast::{CreateView, DeclareView, FunctionKind, Insert, Name, Script, SetOption, Statement};
use super::codes;
use super::cursor::{JobParser, Parsed, tokenize};
use super::options::Dialect;
use super::suggest::did_you_mean;
use super::text::{StatementText, split};
use super::with_options::guess_dialect;
use crate::data::LogicalType;
use crate::diagnostic::{Diagnostic, SourceFile, Span};
use sqlparser::tokenizer::{Token, TokenWithSpan};

/// Reads a job file. Statements that could be read are in the script, as far as they declare or run something (what
/// they do to each other is done); the messages (sorted by place) say what could not. The script must not be run if one of them is an error.
pub fn parse_script(file: &SourceFile) -> (Script, Vec<Diagnostic>) {
    let mut out = Vec::new();
    let texts = split(&file.text, &mut out);
    let mut statements = Vec::new();
    for text in texts {
        if is_add_resource(&text.text) {
            out.push(add_resource_warning(&text));
            continue;
        }
        match tokenize(&text) {
            Ok(tokens) => statements.push((guess_dialect(&tokens), tokens, text.foreign_comments)),
            Err(d) => out.push(d),
        }
    }
    // Queries have no keys of their own to tell their dialect by.
    let has_dtstack = statements.iter().any(|(d, ..)| *d == Some(Dialect::DtStack));
    let default = if has_dtstack { Dialect::DtStack } else { Dialect::Flink };
    let mut script = Script::default();
    for (dialect, tokens, comments) in statements {
        let dialect = dialect.unwrap_or(default);
        out.extend(comments.into_iter().map(|(span, sign)| foreign_comment(span, sign, dialect)));
        let mut parser = JobParser::new(tokens.clone(), dialect, &mut out);
        if let Err(d) = parser.statement(&mut script.statements) {
            out.push(d);
            script.broken.extend(declared_name(&tokens));
        }
    }
    let script = super::sequence::apply(script, &mut out);
    out.sort_by_key(|d| d.span.map(|s| s.start));
    (script, out)
}

fn is_add_resource(text: &str) -> bool {
    let mut words = text.split_whitespace();
    let add = words.next().is_some_and(|w| w.eq_ignore_ascii_case("ADD"));
    add && words.next().is_some_and(|w| ["JAR", "FILE", "JARS", "FILES"].iter().any(|k| w.eq_ignore_ascii_case(k)))
}

fn add_resource_warning(text: &StatementText) -> Diagnostic {
    let mut at = text.start;
    for c in text.text.chars().take_while(|c| c.is_whitespace()) {
        if c == '\n' {
            at.line += 1;
            at.column = 1;
        } else {
            at.column += 1;
        }
    }
    let end = crate::diagnostic::Pos { line: at.line, column: at.column + 3 };
    Diagnostic::warning(codes::W_ADD_JAR, Span::new(at, end), "ADD JAR and ADD FILE are ignored")
        .hint("functions come from plugins.toml beside the job file, key files from paths in the WITH clause")
}

fn foreign_comment(span: Span, sign: &str, dialect: Dialect) -> Diagnostic {
    if dialect == Dialect::DtStack {
        let message = format!("{sign} is read as the start of a comment");
        Diagnostic::warning(codes::W_COMMENT, span, message).hint("standard SQL comments begin with --")
    } else {
        let message = format!("{sign} does not begin a comment");
        Diagnostic::error(codes::FOREIGN_COMMENT, span, message).hint("comments begin with --")
    }
}

/// The name after `CREATE .. TABLE | VIEW | FUNCTION`.
fn declared_name(tokens: &[TokenWithSpan]) -> Option<String> {
    let declares = |t: &&TokenWithSpan| matches!(&t.token, Token::Word(w) if w.value.eq_ignore_ascii_case("CREATE"));
    tokens.first().filter(declares)?;
    let word = |t: &TokenWithSpan| match &t.token {
        Token::Word(w) => Some(w.value.clone()),
        _ => None,
    };
    let mut words = tokens
        .iter()
        .map_while(word)
        .skip_while(|w| !["TABLE", "VIEW", "FUNCTION"].iter().any(|k| w.eq_ignore_ascii_case(k)));
    words.next()?;
    let rest = ["FUNCTION", "IF", "NOT", "EXISTS"];
    let first = words.find(|w| !rest.iter().any(|k| w.eq_ignore_ascii_case(k)))?;
    // `catalog.database.name`
    let mut name = first.clone();
    let mut after = tokens.iter().skip_while(|t| word(t).as_ref() != Some(&first)).skip(1);
    while after.next().is_some_and(|t| t.token == Token::Period) {
        name = after.next().and_then(word)?;
    }
    Some(name)
}

/// First words of statements that exist in SQL, so that a slip is told from what we do not have.
const STATEMENT_WORDS: &[&str] = &[
    "CREATE", "INSERT", "SET", "ALTER", "ANALYZE", "BEGIN", "CALL", "COMPILE", "DELETE", "DESC", "DESCRIBE", "DROP",
    "END", "EXECUTE", "EXPLAIN", "LOAD", "MERGE", "REFRESH", "REMOVE", "REPLACE", "RESET", "SELECT", "SHOW", "STOP",
    "TRUNCATE", "UNLOAD", "UPDATE", "UPSERT", "USE", "VALUES", "WITH",
];

impl JobParser<'_> {
    /// One statement, or several where one text holds them (`EXECUTE STATEMENT SET BEGIN INSERT ..`).
    fn statement(&mut self, statements: &mut Vec<Statement>) -> Parsed<()> {
        const FORMS: &[&[&str]] = &[&["EXECUTE", "STATEMENT", "SET", "BEGIN"], &["BEGIN", "STATEMENT", "SET"]];
        if let Some(span) = FORMS.iter().find_map(|f| self.eat_words(f)) {
            statements.push(Statement::BeginSet { explain: false, span });
            if self.at_end() {
                return Ok(());
            }
        } else if let Some(span) = self.eat_words(&["EXPLAIN", "STATEMENT", "SET", "BEGIN"]) {
            statements.push(Statement::BeginSet { explain: true, span });
        } else if self.is_word(0, "EXECUTE") && self.is_word(1, "INSERT") {
            self.advance();
        }
        let word = match self.token(0) {
            Token::Word(w) if w.quote_style.is_none() => w.value.to_ascii_uppercase(),
            _ => String::new(),
        };
        let statement = match word.as_str() {
            "CREATE" => self.create()?,
            "INSERT" => Statement::Insert(self.insert()?),
            "SET" => Statement::Set(self.set()?),
            "RESET" => self.reset()?,
            "DROP" => self.drop_object()?,
            "ALTER" => self.alter()?,
            "USE" => self.use_database()?,
            "EXPLAIN" => self.explain()?,
            "SHOW" => self.show()?,
            "DESCRIBE" | "DESC" => self.describe()?,
            "END" => self.end_set()?,
            _ => return Err(self.other_statement()),
        };
        statements.push(statement);
        Ok(())
    }

    fn other_statement(&self) -> Diagnostic {
        let span = self.span(0);
        let Token::Word(w) = self.token(0) else { return self.unexpected("a statement") };
        let word = w.value.to_ascii_uppercase();
        if !STATEMENT_WORDS.contains(&word.as_str()) {
            let d = Diagnostic::error(codes::UNKNOWN_STATEMENT, span, format!("{} begins no statement", w.value));
            let hint = did_you_mean(&word, STATEMENT_WORDS.iter().copied());
            return d.hint(hint.unwrap_or_else(|| "statements begin with CREATE, INSERT or SET".to_string()));
        }
        let (name, hint) = match word.as_str() {
            "SELECT" | "WITH" | "VALUES" => (
                "a query without INSERT INTO".to_string(),
                Some("a job writes its results to a table: INSERT INTO sink SELECT .."),
            ),
            "REPLACE" | "UPSERT" => (
                format!("{word} INTO"),
                Some("write INSERT INTO; a sink with a PRIMARY KEY replaces rows (see the option allReplace)"),
            ),
            "BEGIN" | "EXECUTE" => (
                self.first_words(3),
                Some(
                    "INSERT statements are grouped by BEGIN STATEMENT SET; .. END; or EXECUTE STATEMENT SET BEGIN .. END;",
                ),
            ),
            "CALL" | "DELETE" | "UPDATE" => (word.clone(), None),
            _ => (self.first_words(2), None),
        };
        self.unsupported_statement(span, &name, hint)
    }

    pub fn unsupported_statement(&self, span: Span, name: &str, hint: Option<&str>) -> Diagnostic {
        let d = Diagnostic::error(codes::UNSUPPORTED_STATEMENT, span, format!("not supported yet: {name}"));
        match hint {
            Some(h) => d.hint(h),
            None => d,
        }
    }

    /// The next words in capitals, at most so many.
    pub fn first_words(&self, max: usize) -> String {
        let words: Vec<String> = (0..max)
            .map_while(|n| match self.token(n) {
                Token::Word(w) if w.quote_style.is_none() => Some(w.value.to_ascii_uppercase()),
                _ => None,
            })
            .collect();
        words.join(" ")
    }

    fn create(&mut self) -> Parsed<Statement> {
        let start = self.advance();
        let temporary = self.eat_words(&["TEMPORARY"]).is_some();
        if temporary {
            self.eat_words(&["SYSTEM"]);
        }
        // A table called `function` would be followed by its column list.
        let function = |p: &Self, n| p.is_word(n, "FUNCTION") && matches!(p.token(n + 1), Token::Word(_));
        for (word, kind) in [
            ("SCALA", FunctionKind::Scalar),
            ("SCALAR", FunctionKind::Scalar),
            ("TABLE", FunctionKind::Table),
            ("AGGREGATE", FunctionKind::Aggregate),
        ] {
            if self.is_word(0, word) && function(self, 1) {
                self.advance();
                self.advance();
                return self.create_function(kind).map(Statement::CreateFunction);
            }
        }
        if self.eat_words(&["FUNCTION"]).is_some() {
            self.create_function(FunctionKind::Unspecified).map(Statement::CreateFunction)
        } else if self.eat_words(&["TABLE"]).is_some() {
            self.create_table(temporary).map(Statement::CreateTable)
        } else if self.eat_words(&["VIEW"]).is_some() {
            self.create_view()
        } else if self.eat_words(&["CATALOG"]).is_some() {
            self.create_catalog()
        } else if self.eat_words(&["DATABASE"]).is_some() {
            self.create_database()
        } else {
            let Token::Word(w) = self.token(0) else { return Err(self.unexpected("TABLE, VIEW or FUNCTION")) };
            let what = w.value.to_ascii_uppercase();
            if let Some(hint) = did_you_mean(&what, ["TABLE", "VIEW", "FUNCTION"]) {
                return Err(self.unexpected("TABLE, VIEW or FUNCTION").hint(hint));
            }
            let what = if what == "OR" { self.first_words(3) } else { what };
            let message = format!("not supported yet: CREATE {what}");
            Err(Diagnostic::error(codes::UNSUPPORTED_STATEMENT, start.to(self.span(0)), message))
        }
    }

    fn create_view(&mut self) -> Parsed<Statement> {
        let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]).is_some();
        let path = self.object_path("a view name")?;
        let columns = if *self.token(0) == Token::LParen { self.view_columns()? } else { Vec::new() };
        if self.eat_words(&["COMMENT"]).is_some() {
            self.string("a comment")?;
        }
        if self.at_end() && !columns.is_empty() {
            return Ok(Statement::DeclareView(DeclareView { path, columns, span: self.whole() }));
        }
        if let Some((name, _)) = columns.iter().find(|(_, t)| t.is_some()) {
            let d = self.unsupported_clause(name.span, "column types in CREATE VIEW .. AS SELECT");
            return Err(d.hint("leave the types out: the query says them"));
        }
        self.expect_word("AS")?;
        let query = self.query()?;
        self.expect_end()?;
        let columns = columns.into_iter().map(|(name, _)| name).collect();
        let (qualifier, name) = (path.qualifier, path.name);
        Ok(Statement::CreateView(CreateView { qualifier, name, if_not_exists, columns, query, span: self.whole() }))
    }

    /// `(a [type] [COMMENT '..'], ..)`
    fn view_columns(&mut self) -> Parsed<Vec<(Name, Option<LogicalType>)>> {
        self.advance();
        let mut columns = Vec::new();
        loop {
            let column = self.name("a column name")?;
            let is_typed = matches!(self.token(0), Token::Word(_)) && !self.is_word(0, "COMMENT");
            let data_type = if is_typed { Some(self.data_type()?.0) } else { None };
            columns.push((column, data_type));
            if self.eat_words(&["COMMENT"]).is_some() {
                self.string("a comment")?;
            }
            if self.eat(&Token::RParen).is_some() {
                return Ok(columns);
            }
            self.list_separator("a column")?;
        }
    }

    pub fn insert(&mut self) -> Parsed<Insert> {
        self.advance();
        if self.is_word(0, "OVERWRITE") {
            return Err(self.unsupported_clause(self.span(0), "INSERT OVERWRITE").hint("write INSERT INTO"));
        }
        self.expect_word("INTO")?;
        if self.is_word(0, "TABLE") && matches!(self.token(1), Token::Word(_)) {
            self.advance();
        }
        let path = self.object_path("the table to insert into")?;
        if self.is_word(0, "PARTITION") && *self.token(1) == Token::LParen {
            return Err(self.unsupported_clause(self.span(0), "PARTITION in INSERT"));
        }
        let starts_query = |p: &Self| p.is_word(1, "SELECT") || p.is_word(1, "WITH") || *p.token(1) == Token::LParen;
        let columns = if *self.token(0) == Token::LParen && !starts_query(self) { self.names()? } else { Vec::new() };
        let query = self.query()?;
        self.expect_end()?;
        Ok(Insert { qualifier: path.qualifier, table: path.name, columns, query, span: self.whole() })
    }

    /// `(a, b)`
    fn names(&mut self) -> Parsed<Vec<Name>> {
        self.expect(&Token::LParen)?;
        let mut names = Vec::new();
        loop {
            names.push(self.name("a column name")?);
            if self.eat(&Token::RParen).is_some() {
                return Ok(names);
            }
            self.expect(&Token::Comma)?;
        }
    }

    /// `SET 'key' = 'value'`, both also bare: `SET table.exec.mini-batch.enabled = true`
    fn set(&mut self) -> Parsed<SetOption> {
        self.advance();
        let key = match self.token(0) {
            Token::SingleQuotedString(_) => {
                let (value, span) = self.string("an option")?;
                Name { value, span }
            }
            _ => self.bare_text(&Token::Eq, "an option")?,
        };
        self.expect(&Token::Eq)?;
        let (value, value_span) = match self.token(0) {
            Token::SingleQuotedString(_) => self.string("a value")?,
            _ => {
                let text = self.bare_text(&Token::EOF, "a value")?;
                (text.value, text.span)
            }
        };
        self.expect_end()?;
        Ok(SetOption { key, value, value_span })
    }

    /// The tokens up to `stop`, as written.
    pub fn bare_text(&mut self, stop: &Token, what: &str) -> Parsed<Name> {
        if self.at_end() || self.token(0) == stop {
            return Err(self.unexpected(what));
        }
        let mut text = String::new();
        let mut span = self.span(0);
        while !self.at_end() && self.token(0) != stop {
            if !text.is_empty() && self.span(0).start != span.end {
                text.push(' ');
            }
            text.push_str(&self.token(0).to_string());
            span = span.to(self.advance());
        }
        Ok(Name { value: text, span })
    }
}
