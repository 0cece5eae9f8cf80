//! Statements that do not declare or write anything themselves: DROP, ALTER, USE, RESET, SHOW, DESCRIBE, EXPLAIN,
//! catalogs and databases, the end of a statement set.

use super::ast::{
    AlterAction, AlterTable, CreateCatalog, CreateDatabase, Drop, Explain, Explained, Name, ObjectKind, Show, Shown,
    Statement, Use, WithOptions,
};
use super::cursor::{JobParser, Parsed};
use crate::diagnostic::Span;
use sqlparser::tokenizer::Token;

impl JobParser<'_> {
    /// `END`
    pub fn end_set(&mut self) -> Parsed<Statement> {
        let span = self.advance();
        self.expect_end()?;
        Ok(Statement::EndSet(span))
    }

    /// `RESET ['key']`, the key also bare
    pub fn reset(&mut self) -> Parsed<Statement> {
        self.advance();
        let key = match self.token(0) {
            Token::EOF => None,
            Token::SingleQuotedString(_) => {
                let (value, span) = self.string("an option")?;
                Some(Name { value, span })
            }
            _ => Some(self.bare_text(&Token::EOF, "an option")?),
        };
        self.expect_end()?;
        Ok(Statement::Reset(key))
    }

    /// `DROP [TEMPORARY [SYSTEM]] TABLE | VIEW | FUNCTION [IF EXISTS] name`
    pub fn drop_object(&mut self) -> Parsed<Statement> {
        let title = self.first_words(3);
        let start = self.advance();
        if self.eat_words(&["TEMPORARY"]).is_some() {
            self.eat_words(&["SYSTEM"]);
        }
        let kind = if self.eat_words(&["TABLE"]).is_some() {
            ObjectKind::Table
        } else if self.eat_words(&["VIEW"]).is_some() {
            ObjectKind::View
        } else if self.eat_words(&["FUNCTION"]).is_some() {
            ObjectKind::Function
        } else if ["CATALOG", "DATABASE", "MODEL"].iter().any(|w| self.is_word(0, w)) {
            let what = title.split(' ').take(2).collect::<Vec<_>>().join(" ");
            return Err(self.unsupported_statement(start, &what, None));
        } else {
            return Err(self.unexpected("TABLE, VIEW or FUNCTION"));
        };
        let if_exists = self.eat_words(&["IF", "EXISTS"]).is_some();
        let path = self.object_path(&format!("the {} to drop", kind.as_str()))?;
        self.expect_end()?;
        Ok(Statement::Drop(Drop { kind, path, if_exists, span: self.whole() }))
    }

    /// `ALTER TABLE [IF EXISTS] name RENAME TO other | SET (..) | RESET (..)`
    pub fn alter(&mut self) -> Parsed<Statement> {
        let start = self.span(0);
        if !self.is_word(1, "TABLE") {
            return Err(self.unsupported_statement(start, &self.first_words(2), None));
        }
        self.eat_words(&["ALTER", "TABLE"]);
        let if_exists = self.eat_words(&["IF", "EXISTS"]).is_some();
        let path = self.object_path("a table name")?;
        let action = if self.eat_words(&["RENAME", "TO"]).is_some() {
            AlterAction::RenameTo(self.object_path("the new name")?)
        } else if let Some(set) = self.eat_words(&["SET"]) {
            AlterAction::Set(self.with_options(set)?)
        } else if self.eat_words(&["RESET"]).is_some() {
            AlterAction::Reset(self.quoted_keys()?)
        } else {
            let what = format!("ALTER TABLE .. {}", self.first_words(1));
            let hint = "RENAME TO, SET (..) and RESET (..) are; change columns in the CREATE TABLE statement";
            return Err(self.unsupported_statement(start, what.trim_end(), Some(hint)));
        };
        self.expect_end()?;
        Ok(Statement::AlterTable(AlterTable { path, if_exists, action, span: self.whole() }))
    }

    /// `('a', 'b')`
    fn quoted_keys(&mut self) -> Parsed<Vec<Name>> {
        self.expect(&Token::LParen)?;
        let mut keys = Vec::new();
        loop {
            let (value, span) = self.string("the name of an option in quotes")?;
            keys.push(Name { value, span });
            if self.eat(&Token::RParen).is_some() {
                return Ok(keys);
            }
            self.list_separator("an option")?;
        }
    }

    /// After `CREATE CATALOG`.
    pub fn create_catalog(&mut self) -> Parsed<Statement> {
        let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]).is_some();
        let name = self.name("a catalog name")?;
        self.comment()?;
        let options = self.optional_with(name.span)?;
        self.expect_end()?;
        Ok(Statement::CreateCatalog(CreateCatalog { name, if_not_exists, options, span: self.whole() }))
    }

    /// After `CREATE DATABASE`.
    pub fn create_database(&mut self) -> Parsed<Statement> {
        let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]).is_some();
        let path = self.object_path("a database name")?;
        self.comment()?;
        self.optional_with(path.name.span)?;
        self.expect_end()?;
        Ok(Statement::CreateDatabase(CreateDatabase { path, if_not_exists, span: self.whole() }))
    }

    fn comment(&mut self) -> Parsed<()> {
        if self.eat_words(&["COMMENT"]).is_some() {
            self.string("a comment")?;
        }
        Ok(())
    }

    fn optional_with(&mut self, place: Span) -> Parsed<WithOptions> {
        match self.eat_words(&["WITH"]) {
            Some(with) => self.with_options(with),
            None => Ok(WithOptions { entries: Vec::new(), span: place }),
        }
    }

    /// `USE CATALOG name`, `USE [catalog.]database`
    pub fn use_database(&mut self) -> Parsed<Statement> {
        let start = self.span(0);
        if self.is_word(1, "MODULES") {
            return Err(self.unsupported_statement(start, "USE MODULES", None));
        }
        self.advance();
        let used = if self.is_word(0, "CATALOG") && matches!(self.token(1), Token::Word(_)) {
            self.advance();
            Use::Catalog(self.name("a catalog name")?)
        } else {
            Use::Database(self.object_path("a database name")?)
        };
        self.expect_end()?;
        Ok(Statement::Use(used))
    }

    /// `EXPLAIN [PLAN FOR] INSERT .. | SELECT ..`
    pub fn explain(&mut self) -> Parsed<Statement> {
        self.advance();
        if self.eat_words(&["PLAN", "FOR"]).is_none() && self.is_detail() {
            let what = format!("EXPLAIN with {}", self.first_words(1));
            return Err(self.unsupported_clause(self.span(0), &what).hint("write EXPLAIN alone"));
        }
        let what = if self.is_word(0, "INSERT") {
            Explained::Insert(self.insert()?)
        } else {
            let query = self.query()?;
            self.expect_end()?;
            Explained::Query(query)
        };
        Ok(Statement::Explain(Explain { what, span: self.whole() }))
    }

    fn is_detail(&self) -> bool {
        ["ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE", "AST"]
            .iter()
            .any(|w| self.is_word(0, w))
    }

    /// `SHOW TABLES` and what else can be answered without a server.
    pub fn show(&mut self) -> Parsed<Statement> {
        let span = self.span(0);
        let title = self.first_words(3);
        const FORMS: &[(&[&str], Shown)] = &[
            (&["TABLES"], Shown::Tables),
            (&["VIEWS"], Shown::Views),
            (&["USER", "FUNCTIONS"], Shown::Functions),
            (&["CATALOGS"], Shown::Catalogs),
            (&["DATABASES"], Shown::Databases),
            (&["CURRENT", "CATALOG"], Shown::CurrentCatalog),
            (&["CURRENT", "DATABASE"], Shown::CurrentDatabase),
        ];
        self.advance();
        let Some((_, what)) = FORMS.iter().find(|(words, _)| self.eat_words(words).is_some()) else {
            let length = if self.is_word(0, "CREATE") { 3 } else { 2 };
            let name = title.split(' ').take(length).collect::<Vec<_>>().join(" ");
            let hint = "SHOW TABLES, VIEWS, USER FUNCTIONS, CATALOGS, DATABASES, CURRENT CATALOG and DESCRIBE are \
                        answered by `wasmill check`, which shows each table with its options, too";
            return Err(self.unsupported_statement(span, &name, Some(hint)));
        };
        self.expect_end()?;
        Ok(Statement::Show(Show { what: what.clone(), title, span: self.whole() }))
    }

    /// `DESCRIBE [EXTENDED] t`, `DESC t`
    pub fn describe(&mut self) -> Parsed<Statement> {
        let start = self.advance();
        self.eat_words(&["EXTENDED"]);
        for other in ["CATALOG", "DATABASE", "FUNCTION", "JOB", "MODEL"] {
            if self.is_word(0, other) && matches!(self.token(1), Token::Word(_)) {
                return Err(self.unsupported_statement(start, &format!("DESCRIBE {other}"), None));
            }
        }
        let path = self.object_path("a table name")?;
        self.expect_end()?;
        let title = format!("DESCRIBE {}", path.name.value);
        Ok(Statement::Show(Show { what: Shown::Columns(path), title, span: self.whole() }))
    }
}
