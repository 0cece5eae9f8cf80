//! What statements do to those before them: DROP, ALTER, RESET, USE, LIKE, statement sets, views that an INSERT fills.
//! Here it is done, so that only declarations, INSERTs, settings and questions are left, whose order does not matter
//! (flinkStreamSQL's files have them in any order). No connection is made.

use super::ast::{
    AlterAction, AlterTable, CreateTable, CreateView, DeclareView, Drop, Explain, Explained, Insert, Name, ObjectKind,
    ObjectPath, Script, Statement,
};
use super::codes;
use super::databases::Databases;
use super::suggest::did_you_mean;
use super::table_like;
use crate::diagnostic::{Diagnostic, Span};
use sqlparser::ast as sp;
use std::collections::HashMap;
use std::ops::ControlFlow;

/// Does what the statements say to each other.
pub(super) fn apply(script: Script, out: &mut Vec<Diagnostic>) -> Script {
    let declared_later = script.statements.iter().filter_map(declares).map(|(_, n)| n.value.clone()).collect();
    let mut sequence = Sequence {
        out,
        done: Vec::new(),
        broken: script.broken,
        declared_later,
        dropped: HashMap::new(),
        databases: Databases::default(),
        views: Vec::new(),
        set: None,
    };
    for statement in script.statements {
        sequence.statement(statement);
    }
    sequence.end()
}

struct Sequence<'a> {
    out: &'a mut Vec<Diagnostic>,
    done: Vec<Statement>,
    broken: Vec<String>,
    /// Every name that the file declares somewhere.
    declared_later: Vec<String>,
    /// Tables and views that were in use when they were dropped, and where.
    dropped: HashMap<String, Span>,
    databases: Databases,
    /// Declared without a query; the INSERT into it is taken out of the statements when all are known.
    views: Vec<DeclareView>,
    set: Option<OpenSet>,
}

struct OpenSet {
    explain: bool,
    span: Span,
}

/// The kind and name that a statement declares.
fn declares(s: &Statement) -> Option<(ObjectKind, &Name)> {
    match s {
        Statement::CreateTable(t) => Some((ObjectKind::Table, &t.name)),
        Statement::CreateView(v) => Some((ObjectKind::View, &v.name)),
        Statement::DeclareView(v) => Some((ObjectKind::View, &v.path.name)),
        Statement::CreateFunction(f) => Some((ObjectKind::Function, &f.name)),
        _ => None,
    }
}

impl Sequence<'_> {
    fn error(&mut self, code: &'static str, span: Span, message: String, hint: &str) {
        self.out.push(Diagnostic::error(code, span, message).hint(hint));
    }

    fn statement(&mut self, statement: Statement) {
        if let (Some(set), false) = (&self.set, is_allowed_in_set(&statement)) {
            let message =
                format!("a statement set holds INSERT statements only (it begins in line {})", set.span.start.line);
            let span = span_of(&statement).unwrap_or(set.span);
            self.error(codes::UNSUPPORTED_CLAUSE, span, message, "put it before the set, or END; before it");
        }
        match statement {
            Statement::CreateTable(t) => self.create_table(t),
            Statement::CreateView(v) => self.create_view(v),
            Statement::DeclareView(v) => self.declare_view(v),
            Statement::CreateFunction(f) => {
                if self.is_here(&f.qualifier, &f.name) {
                    self.done.push(Statement::CreateFunction(f));
                }
            }
            Statement::Insert(i) => self.insert(i),
            Statement::Explain(e) => self.explain(e),
            Statement::Show(s) => self.done.push(Statement::Show(s)),
            Statement::Set(s) => self.done.push(Statement::Set(s)),
            Statement::Reset(key) => self.done.retain(|s| !is_setting(s, key.as_ref())),
            Statement::Drop(d) => self.drop_object(&d),
            Statement::AlterTable(a) => self.alter_table(a),
            Statement::CreateCatalog(c) => self.databases.create_catalog(&c, self.out),
            Statement::CreateDatabase(d) => self.databases.create_database(&d, self.out),
            Statement::Use(u) => self.databases.use_one(&u, self.out),
            Statement::BeginSet { explain, span } => self.set = Some(OpenSet { explain, span }),
            Statement::EndSet(span) => {
                if self.set.take().is_none() {
                    let hint = "BEGIN STATEMENT SET; begins one";
                    self.error(codes::SYNTAX, span, "END without a statement set".to_string(), hint);
                }
            }
        }
    }

    fn end(mut self) -> Script {
        if let Some(set) = &self.set {
            let span = set.span;
            self.error(
                codes::SYNTAX,
                span,
                "the statement set has no end".to_string(),
                "END; is missing after its INSERTs",
            );
        }
        self.fill_views();
        let mut script = Script { statements: self.done, broken: self.broken };
        super::time_attributes::expand(&mut script);
        script
    }

    /// Whether the object lies where this job can reach it; if not (reported), its name is no longer spoken of.
    fn is_here(&mut self, qualifier: &[Name], name: &Name) -> bool {
        let here = self.databases.check(qualifier, self.out);
        if !here {
            self.broken.push(name.value.clone());
        }
        here
    }

    /// Says so if the name belonged to a table that was dropped while in use: one file has one meaning per name.
    fn is_free_of_dropped(&mut self, name: &Name) -> bool {
        let Some(dropped) = self.dropped.get(&name.value) else { return true };
        let message = format!("{} was used before it was dropped in line {}", name.value, dropped.start.line);
        let hint = "all INSERT statements of a file are one job: give the new table another name";
        self.error(codes::DUPLICATE_TABLE, name.span, message, hint);
        false
    }

    fn create_table(&mut self, mut table: CreateTable) {
        if !self.is_here(&table.qualifier, &table.name) || !self.is_free_of_dropped(&table.name) {
            return;
        }
        if let Some(like) = table.like.take() {
            let before = self.out.len();
            let base = self.table(&like.base);
            match &base {
                Some(base) => table_like::expand(&mut table, &like, base, self.out),
                None => self.no_base(&like.base),
            }
            if base.is_none() || self.out.len() > before {
                self.broken.push(table.name.value);
                return;
            }
        }
        self.done.push(Statement::CreateTable(table));
    }

    fn table(&self, path: &ObjectPath) -> Option<CreateTable> {
        self.done.iter().find_map(|s| match s {
            Statement::CreateTable(t) if t.name.value == path.name.value => Some(t.clone()),
            _ => None,
        })
    }

    fn no_base(&mut self, base: &ObjectPath) {
        let name = &base.name.value;
        if !self.databases.check(&base.qualifier, self.out) || self.broken.contains(name) {
            return;
        }
        if self.declared_later.contains(name) {
            let message = format!("table {name} is not declared yet, or is no table");
            self.error(codes::UNKNOWN_TABLE, base.name.span, message, "LIKE copies a table that stands above");
        } else {
            self.unknown(ObjectKind::Table, &base.name);
        }
    }

    fn unknown(&mut self, kind: ObjectKind, name: &Name) {
        let names = self.done.iter().filter_map(declares).filter(|(k, _)| *k == kind).map(|(_, n)| n.value.as_str());
        let near = did_you_mean(&name.value, names);
        let code = if kind == ObjectKind::Function { codes::UNKNOWN_FUNCTION } else { codes::UNKNOWN_TABLE };
        let d = Diagnostic::error(code, name.span, format!("unknown {} {}", kind.as_str(), name.value));
        let none = || format!("no statement above declares a {} of this name", kind.as_str());
        self.out.push(d.hint(near.unwrap_or_else(none)));
    }

    fn create_view(&mut self, mut view: CreateView) {
        if !self.is_here(&view.qualifier, &view.name) || !self.is_free_of_dropped(&view.name) {
            return;
        }
        if self.relations(&mut view.query, view.span) {
            self.done.push(Statement::CreateView(view));
        } else {
            self.broken.push(view.name.value);
        }
    }

    fn declare_view(&mut self, view: DeclareView) {
        if !self.is_here(&view.path.qualifier, &view.path.name) {
            return;
        }
        let name = view.path.name.value.clone();
        if self.views.iter().any(|v| v.path.name.value == name) {
            let message = format!("there is a view {name} already");
            self.error(codes::DUPLICATE_TABLE, view.path.name.span, message, "declare it once");
        } else {
            self.views.push(view);
        }
    }

    fn insert(&mut self, mut insert: Insert) {
        if !self.databases.check(&insert.qualifier, self.out) || self.refers_to_dropped(&insert.table) {
            return;
        }
        if !self.relations(&mut insert.query, insert.span) {
            return;
        }
        let explained = self.set.as_ref().is_some_and(|s| s.explain);
        self.done.push(match explained {
            true => Statement::Explain(Explain { span: insert.span, what: Explained::Insert(insert) }),
            false => Statement::Insert(insert),
        });
    }

    fn explain(&mut self, mut explain: Explain) {
        let here = match &mut explain.what {
            Explained::Insert(i) => {
                self.databases.check(&i.qualifier, self.out)
                    && !self.refers_to_dropped(&i.table)
                    && self.relations(&mut i.query, i.span)
            }
            Explained::Query(q) => self.relations(q, explain.span),
        };
        if here {
            self.done.push(Statement::Explain(explain));
        }
    }

    fn refers_to_dropped(&mut self, name: &Name) -> bool {
        let Some(dropped) = self.dropped.get(&name.value) else { return false };
        let message = format!("{} was dropped in line {}", name.value, dropped.start.line);
        self.out.push(Diagnostic::error(codes::UNKNOWN_TABLE, name.span, message));
        true
    }

    /// Checks what stands before the names of tables, and takes it away. False: reported.
    fn relations(&mut self, query: &mut sp::Query, statement: Span) -> bool {
        let mut fine = true;
        let _ = sp::visit_relations_mut(query, |name| {
            let parts: Option<Vec<Name>> = name.0.iter().map(|p| p.as_ident().map(|i| as_name(i, statement))).collect();
            if let Some((last, qualifier)) = parts.as_deref().and_then(|p| p.split_last()) {
                if !qualifier.is_empty() {
                    fine &= self.databases.check(qualifier, self.out);
                    name.0.drain(..qualifier.len());
                }
                fine &= !self.refers_to_dropped(last);
            }
            ControlFlow::<()>::Continue(())
        });
        fine
    }

    fn drop_object(&mut self, drop: &Drop) {
        if !self.databases.check(&drop.path.qualifier, self.out) {
            return;
        }
        let name = &drop.path.name;
        let same = |s: &Statement| {
            declares(s).is_some_and(|(kind, n)| match drop.kind {
                ObjectKind::Function => kind == drop.kind && n.value.eq_ignore_ascii_case(&name.value),
                _ => kind == drop.kind && n.value == name.value,
            })
        };
        if self.done.iter().any(same) {
            match self.user_of(&name.value) {
                // It is needed by what was read so far; only what follows does not see it.
                Some(_) => drop_later(&mut self.dropped, drop),
                None => self.done.retain(|s| !same(s)),
            }
            return;
        }
        let other = self.done.iter().filter_map(declares).find(|(k, n)| {
            *k != drop.kind && *k != ObjectKind::Function && drop.kind != ObjectKind::Function && n.value == name.value
        });
        if let Some((kind, _)) = other {
            let (kind, word) = (kind.as_str(), kind.as_str().to_uppercase());
            let message = format!("{} is a {kind}", name.value);
            self.error(codes::UNKNOWN_TABLE, name.span, message, &format!("write DROP {word}"));
        } else if !drop.if_exists && !self.broken.contains(&name.value) {
            self.unknown(drop.kind, name);
        }
    }

    /// The first statement so far that reads or writes the table or view, or calls the function.
    fn user_of(&self, name: &str) -> Option<Span> {
        self.done.iter().find_map(|s| {
            let (table, query, span) = match s {
                Statement::Insert(i) => (Some(&i.table.value), &i.query, i.span),
                Statement::CreateView(v) => (None, &v.query, v.span),
                Statement::Explain(Explain { what: Explained::Insert(i), span }) => {
                    (Some(&i.table.value), &i.query, *span)
                }
                Statement::Explain(Explain { what: Explained::Query(q), span }) => (None, q, *span),
                _ => return None,
            };
            (table.is_some_and(|t| t == name) || uses(query, name)).then_some(span)
        })
    }

    fn alter_table(&mut self, alter: AlterTable) {
        if !self.databases.check(&alter.path.qualifier, self.out) || self.refers_to_dropped(&alter.path.name) {
            return;
        }
        let name = alter.path.name.clone();
        if self.table(&alter.path).is_none() {
            if !alter.if_exists && !self.broken.contains(&name.value) {
                self.unknown(ObjectKind::Table, &name);
            }
            return;
        }
        if let Some(used) = self.user_of(&name.value) {
            let message = format!("table {} is changed after line {} has used it", name.value, used.start.line);
            let hint = "all INSERT statements of a file are one job: change the table before they use it";
            self.error(codes::UNSUPPORTED_CLAUSE, alter.span, message, hint);
            return;
        }
        if let AlterAction::RenameTo(new) = &alter.action {
            let taken = self
                .done
                .iter()
                .filter_map(declares)
                .any(|(k, n)| k != ObjectKind::Function && n.value == new.name.value);
            if !self.databases.check(&new.qualifier, self.out) {
                return;
            }
            if taken {
                let message = format!("there is a table or view {} already", new.name.value);
                self.error(codes::DUPLICATE_TABLE, new.name.span, message, "choose another name");
                return;
            }
        }
        for s in &mut self.done {
            if let Statement::CreateTable(t) = s
                && t.name.value == name.value
            {
                match alter.action {
                    AlterAction::RenameTo(new) => t.name.value = new.name.value,
                    AlterAction::Set(given) => table_like::set_options(&mut t.options, &given),
                    AlterAction::Reset(keys) => t.options.entries.retain(|e| !keys.iter().any(|k| k.value == e.key)),
                }
                return;
            }
        }
    }

    /// flinkStreamSQL: `CREATE VIEW v (a type, ..); INSERT INTO v SELECT ..` is one view with a query.
    fn fill_views(&mut self) {
        for view in std::mem::take(&mut self.views) {
            let name = &view.path.name;
            let fills = |s: &Statement| matches!(s, Statement::Insert(i) if i.table.value == name.value);
            let Some(at) = self.done.iter().position(fills) else {
                let message = format!("view {} has no query", name.value);
                let hint = "write CREATE VIEW name AS SELECT .., or INSERT INTO it";
                self.error(codes::UNSUPPORTED_CLAUSE, name.span, message, hint);
                self.broken.push(name.value.clone());
                continue;
            };
            let Statement::Insert(insert) = self.done.remove(at) else { continue };
            if let Some(Statement::Insert(second)) = self.done.iter().find(|s| fills(s)) {
                let (span, message) = (second.table.span, format!("view {} is filled twice", name.value));
                self.error(codes::UNSUPPORTED_CLAUSE, span, message, "write one INSERT with UNION ALL");
                self.done.retain(|s| !fills(s));
            }
            match super::declared_view::mismatch(&view, &insert) {
                Some(d) => {
                    self.out.push(d);
                    self.broken.push(view.path.name.value);
                }
                None => self.done.insert(at, Statement::CreateView(super::declared_view::fill(&view, insert))),
            }
        }
    }
}

fn drop_later(dropped: &mut HashMap<String, Span>, drop: &Drop) {
    if drop.kind != ObjectKind::Function {
        dropped.insert(drop.path.name.value.clone(), drop.span);
    }
}

fn is_allowed_in_set(s: &Statement) -> bool {
    matches!(s, Statement::Insert(_) | Statement::EndSet(_))
}

fn span_of(s: &Statement) -> Option<Span> {
    match s {
        Statement::Set(s) => Some(s.key.span),
        Statement::Explain(e) => Some(e.span),
        Statement::Show(s) => Some(s.span),
        Statement::Drop(d) => Some(d.span),
        Statement::AlterTable(a) => Some(a.span),
        Statement::BeginSet { span, .. } => Some(*span),
        Statement::CreateCatalog(c) => Some(c.span),
        Statement::CreateDatabase(d) => Some(d.span),
        _ => declares(s).map(|(_, n)| n.span),
    }
}

fn is_setting(s: &Statement, key: Option<&Name>) -> bool {
    matches!(s, Statement::Set(s) if key.is_none_or(|k| k.value.eq_ignore_ascii_case(&s.key.value)))
}

/// Some names have no place of their own (`@t`).
fn as_name(ident: &sp::Ident, statement: Span) -> Name {
    let span = if ident.span.start.line == 0 { statement } else { ident.span.into() };
    Name { value: ident.value.clone(), span }
}

/// Whether the query names the table, or calls the function.
fn uses(query: &sp::Query, name: &str) -> bool {
    let last = |n: &sp::ObjectName| n.0.last().and_then(|p| p.as_ident()).map(|i| i.value.clone());
    let mut found = false;
    let _ = sp::visit_relations(query, |n| {
        found |= last(n).is_some_and(|l| l == name);
        ControlFlow::<()>::Continue(())
    });
    let _ = sp::visit_expressions(query, |e| {
        if let sp::Expr::Function(f) = e {
            found |= last(&f.name).is_some_and(|l| l.eq_ignore_ascii_case(name));
        }
        ControlFlow::<()>::Continue(())
    });
    found
}
