//! CREATE TABLE, flinkStreamSQL's and Flink's form in one grammar.

use super::ast::{ColumnKind, ColumnSpec, CreateTable, Name, PrimaryKey, WatermarkSpec, WithOptions};
use super::codes;
use super::cursor::{JobParser, Parsed};
use super::options::Dialect;
use crate::data::PathStep;
use crate::diagnostic::{Diagnostic, Span};
use sqlparser::tokenizer::Token;

/// An array index in a column's path.
const INDEX_MAX: u64 = 1_000_000;

impl JobParser<'_> {
    /// After `CREATE [TEMPORARY] TABLE`.
    pub fn create_table(&mut self, temporary: bool) -> Parsed<CreateTable> {
        let if_not_exists = self.eat_words(&["IF", "NOT", "EXISTS"]).is_some();
        let path = self.object_path("a table name")?;
        let mut table = CreateTable {
            qualifier: path.qualifier,
            name: path.name,
            if_not_exists,
            temporary,
            columns: Vec::new(),
            primary_key: None,
            watermark: None,
            period_for_system_time: None,
            comment: None,
            options: WithOptions::default(),
            like: None,
            span: self.whole(),
        };
        let has_columns = *self.token(0) == Token::LParen;
        let may_do_without = ["WITH", "LIKE", "COMMENT", "AS"].iter().any(|w| self.is_word(0, w));
        if has_columns || !may_do_without {
            self.table_elements(&mut table)?;
        }
        if self.eat_words(&["COMMENT"]).is_some() {
            table.comment = Some(self.string("a comment")?.0);
        }
        self.refuse_table_clauses()?;
        match self.eat_words(&["WITH"]) {
            Some(with) => table.options = self.with_options(with)?,
            None if self.is_word(0, "LIKE") => {}
            None => {
                let d = self.unexpected("WITH (..)");
                return Err(d.hint("the WITH clause names the connector of the table"));
            }
        }
        self.refuse_table_clauses()?;
        if let Some(like) = self.eat_words(&["LIKE"]) {
            table.like = Some(Box::new(self.like_clause(like)?));
        } else if !has_columns {
            let d =
                Diagnostic::error(codes::SYNTAX, table.name.span, format!("table {} has no columns", table.name.value));
            return Err(d.hint("write CREATE TABLE name (column type, ..) WITH (..), or .. LIKE another table"));
        }
        self.expect_end()?;
        Ok(table)
    }

    fn refuse_table_clauses(&self) -> Parsed<()> {
        match ["PARTITIONED", "PARTITION", "DISTRIBUTED", "STORED", "AS"].into_iter().find(|c| self.is_word(0, c)) {
            Some(clause) => Err(self.unsupported_clause(self.span(0), &format!("{clause} in CREATE TABLE"))),
            None => Ok(()),
        }
    }

    fn table_elements(&mut self, table: &mut CreateTable) -> Parsed<()> {
        self.expect(&Token::LParen)?;
        if *self.token(0) == Token::RParen {
            return Err(self.unexpected("a column"));
        }
        while self.eat(&Token::RParen).is_none() {
            self.table_element(table)?;
            self.element_separator()?;
        }
        Ok(())
    }

    /// As [`Self::list_separator`], but a clause that follows a column without a comma is named: `name varchar PRIMARY
    /// KEY(id)` made flinkStreamSQL lose the column.
    fn element_separator(&mut self) -> Parsed<()> {
        let clause = ["PRIMARY KEY", "PERIOD FOR", "WATERMARK FOR", "CONSTRAINT"]
            .into_iter()
            .find(|c| self.are_words(&c.split(' ').collect::<Vec<_>>()));
        match clause {
            Some(clause) => {
                let name = clause.trim_end_matches(" FOR");
                let message = format!("a comma is missing before {name}");
                Err(Diagnostic::error(codes::MISSING_COMMA, self.span(0), message))
            }
            None if self.is_word(0, "DEFAULT") || self.is_word(0, "UNIQUE") || self.is_word(0, "CHECK") => {
                Err(self.unsupported_clause(self.span(0), &format!("{} on a column", self.token(0))))
            }
            None => self.list_separator("a column"),
        }
    }

    fn table_element(&mut self, table: &mut CreateTable) -> Parsed<()> {
        if let Some(span) = self.eat_words(&["PERIOD", "FOR", "SYSTEM_TIME"]) {
            table.period_for_system_time = Some(span);
        } else if self.are_words(&["PRIMARY", "KEY"]) {
            let key = self.primary_key()?;
            self.set_primary_key(table, key);
        } else if self.is_word(0, "CONSTRAINT") && self.is_word(2, "PRIMARY") {
            self.advance();
            self.name("the name of the constraint")?;
            let key = self.primary_key()?;
            self.set_primary_key(table, key);
        } else if self.is_word(0, "UNIQUE") && *self.token(1) == Token::LParen {
            return Err(self.unsupported_clause(self.span(0), "UNIQUE in CREATE TABLE"));
        } else if self.are_words(&["WATERMARK", "FOR"]) {
            let watermark = self.watermark()?;
            if table.watermark.replace(watermark.clone()).is_some() {
                let message = "a table has one watermark";
                self.out.push(Diagnostic::error(codes::BAD_WATERMARK, watermark_span(&watermark), message));
            }
        } else {
            self.column(table)?;
        }
        Ok(())
    }

    fn set_primary_key(&mut self, table: &mut CreateTable, key: PrimaryKey) {
        if table.primary_key.is_some() {
            let message = "the table has a PRIMARY KEY already";
            self.out.push(Diagnostic::error(codes::BAD_PRIMARY_KEY, key.span, message));
        } else {
            table.primary_key = Some(key);
        }
    }

    /// `PRIMARY KEY (a, b) [NOT ENFORCED]`
    fn primary_key(&mut self) -> Parsed<PrimaryKey> {
        let start = self.span(0);
        if self.eat_words(&["PRIMARY", "KEY"]).is_none() {
            return Err(self.unexpected("PRIMARY KEY"));
        }
        self.expect(&Token::LParen)?;
        let mut columns = Vec::new();
        let end = loop {
            columns.push(self.name("a column name")?);
            if let Some(end) = self.eat(&Token::RParen) {
                break end;
            }
            self.list_separator("a key column")?;
        };
        let (not_enforced, enforced_span) = self.not_enforced()?;
        Ok(PrimaryKey { columns, not_enforced, span: start.to(enforced_span.unwrap_or(end)) })
    }

    fn not_enforced(&mut self) -> Parsed<(bool, Option<Span>)> {
        if self.is_word(0, "ENFORCED") {
            let d = self.unsupported_clause(self.span(0), "ENFORCED keys");
            return Err(d.hint("no engine checks keys of outside tables: write NOT ENFORCED"));
        }
        let span = self.eat_words(&["NOT", "ENFORCED"]);
        Ok((span.is_some(), span))
    }

    fn watermark(&mut self) -> Parsed<WatermarkSpec> {
        let start = self.span(0);
        self.eat_words(&["WATERMARK", "FOR"]);
        let column = self.dotted_name("a column name")?;
        self.expect_word("AS")?;
        if self.is_word(0, "withOffset") && *self.token(1) == Token::LParen {
            return self.with_offset(start, column);
        }
        let expr = self.expr()?;
        let span = start.to(Span::from(self.p.get_current_token().span));
        Ok(WatermarkSpec::Expr { column, expr, span })
    }

    /// flinkStreamSQL: `withOffset(column, millis)`; it ignores the column that is named there.
    fn with_offset(&mut self, start: Span, column: Name) -> Parsed<WatermarkSpec> {
        self.advance();
        self.expect(&Token::LParen)?;
        let inner = self.name("a column name")?;
        if inner.value != column.value {
            let message = format!("withOffset names {}, the watermark is for {}", inner.value, column.value);
            self.out.push(
                Diagnostic::warning(codes::W_WITH_OFFSET, inner.span, message)
                    .hint(format!("{} is used", column.value)),
            );
        }
        self.expect(&Token::Comma)?;
        let millis = self.number(0, i64::MAX as u64, "a delay in milliseconds")?;
        let end = self.expect(&Token::RParen)?;
        Ok(WatermarkSpec::WithOffset { column, millis, span: start.to(end) })
    }

    fn column(&mut self, table: &mut CreateTable) -> Parsed<()> {
        let position = self.position();
        let path = match self.token(0) {
            Token::Word(_) | Token::AtSign | Token::LBracket | Token::DoubleQuotedString(_) => {
                Some(self.column_path()?)
            }
            _ => None,
        };
        let column = match path {
            Some(path) if self.is_word(0, "AS") && path.plain.is_some() => self.computed_after_name(path)?,
            Some(path) if !self.continues_expression(&path) => self.physical(path, table)?,
            _ => {
                self.rewind(position);
                self.computed_before_name()?
            }
        };
        table.columns.push(column);
        Ok(())
    }

    /// What follows the first words of a column says whether they began an expression (`concat(a, b) AS c`).
    fn continues_expression(&self, path: &ColumnPath) -> bool {
        let starts_case = path.plain.as_ref().is_some_and(|n| n.value.eq_ignore_ascii_case("CASE"));
        match self.token(0) {
            Token::LParen | Token::Plus | Token::Minus | Token::Mul | Token::Div | Token::Mod => true,
            Token::StringConcat | Token::Eq | Token::Neq | Token::Lt | Token::Gt | Token::LtEq | Token::GtEq => true,
            _ => starts_case && self.is_word(0, "WHEN"),
        }
    }

    /// Flink: `name AS expr [COMMENT '..']`
    fn computed_after_name(&mut self, path: ColumnPath) -> Parsed<ColumnSpec> {
        self.advance();
        let expr = self.expr()?;
        let name = path.plain.unwrap_or(Name { value: String::new(), span: path.span });
        Ok(ColumnSpec { name, kind: ColumnKind::Computed(expr), comment: self.column_comment()? })
    }

    /// flinkStreamSQL: `expr AS name`
    fn computed_before_name(&mut self) -> Parsed<ColumnSpec> {
        if matches!(self.token(0), Token::Comma | Token::RParen) {
            return Err(self.unexpected("a column"));
        }
        let expr = self.expr()?;
        if !self.is_word(0, "AS") {
            return Err(self.unexpected("AS and a column name"));
        }
        self.advance();
        let name = self.name("a column name")?;
        Ok(ColumnSpec { name, kind: ColumnKind::Computed(expr), comment: self.column_comment()? })
    }

    fn column_comment(&mut self) -> Parsed<Option<String>> {
        Ok(match self.eat_words(&["COMMENT"]) {
            Some(_) => Some(self.string("a comment")?.0),
            None => None,
        })
    }

    fn physical(&mut self, path: ColumnPath, table: &mut CreateTable) -> Parsed<ColumnSpec> {
        let (data_type, type_span) = self.data_type()?;
        if self.is_word(0, "METADATA") {
            return self.metadata(path, data_type);
        }
        let (name, steps) = self.column_name(path)?;
        let mut not_null = self.nullability();
        if self.are_words(&["PRIMARY", "KEY"]) && *self.token(2) != Token::LParen {
            let start = self.span(0);
            let end = self.eat_words(&["PRIMARY", "KEY"]).unwrap_or(start);
            let (not_enforced, enforced) = self.not_enforced()?;
            let span = start.to(enforced.unwrap_or(end));
            self.set_primary_key(table, PrimaryKey { columns: vec![name.clone()], not_enforced, span });
            not_null |= self.nullability();
        }
        let comment = self.column_comment()?;
        Ok(ColumnSpec { name, kind: ColumnKind::Physical { data_type, type_span, not_null, path: steps }, comment })
    }

    /// `[NOT NULL | NULL]`
    fn nullability(&mut self) -> bool {
        self.eat_words(&["NOT", "NULL"]).is_some() || {
            self.eat_words(&["NULL"]);
            false
        }
    }

    /// `[AS name]`: where the value lies and what the column is called.
    fn column_name(&mut self, path: ColumnPath) -> Parsed<(Name, Option<Vec<PathStep>>)> {
        if self.eat_words(&["AS"]).is_some() {
            return Ok((self.name("a column name")?, Some(path.steps)));
        }
        match path.plain {
            Some(name) => Ok((name, None)),
            None => {
                let message = "a nested field needs a column name";
                Err(Diagnostic::error(codes::BAD_COLUMN, path.span, message)
                    .hint("write the name after the type: a.b type AS name"))
            }
        }
    }

    /// `name type METADATA [FROM 'key'] [VIRTUAL]`
    fn metadata(&mut self, path: ColumnPath, data_type: crate::data::LogicalType) -> Parsed<ColumnSpec> {
        self.advance();
        let Some(name) = path.plain else {
            return Err(Diagnostic::error(codes::BAD_COLUMN, path.span, "a metadata column has a plain name"));
        };
        let key = match self.eat_words(&["FROM"]) {
            Some(_) => Some(self.string("the metadata key")?.0),
            None => None,
        };
        let is_virtual = self.eat_words(&["VIRTUAL"]).is_some();
        let comment = self.column_comment()?;
        Ok(ColumnSpec { name, kind: ColumnKind::Metadata { data_type, key, is_virtual }, comment })
    }

    /// `name`, `a.b[0].c`, `[0].a`, `cf:qualifier`, `@name`
    fn column_path(&mut self) -> Parsed<ColumnPath> {
        let mut span = self.span(0);
        let mut steps = Vec::new();
        let mut plain = None;
        if self.eat(&Token::AtSign).is_some() {
            let name = self.name("a name")?;
            steps.push(PathStep::Member(format!("@{}", name.value)));
            span = span.to(name.span);
        } else if *self.token(0) != Token::LBracket {
            let name = self.name("a column name")?;
            steps.push(PathStep::Member(name.value.clone()));
            span = name.span;
            plain = Some(name);
        }
        loop {
            let end = if self.eat(&Token::Period).is_some() {
                let name = self.name("a field name after the dot")?;
                steps.push(PathStep::Member(name.value));
                name.span
            } else if self.eat(&Token::LBracket).is_some() {
                steps.push(PathStep::Index(self.number(0, INDEX_MAX, "an array index")? as usize));
                self.expect(&Token::RBracket)?
            } else if self.dialect == Dialect::DtStack && self.eat(&Token::Colon).is_some() {
                let name = self.name("a column qualifier")?;
                if let Some(PathStep::Member(family)) = steps.last_mut() {
                    *family = format!("{family}:{}", name.value);
                }
                name.span
            } else {
                return Ok(ColumnPath { steps, plain, span });
            };
            plain = None;
            span = span.to(end);
        }
    }
}

/// The words at the start of a column.
struct ColumnPath {
    steps: Vec<PathStep>,
    /// Set when it is a single name.
    plain: Option<Name>,
    span: Span,
}

pub(crate) fn watermark_span(w: &WatermarkSpec) -> Span {
    match w {
        WatermarkSpec::Expr { span, .. } | WatermarkSpec::WithOffset { span, .. } => *span,
    }
}
