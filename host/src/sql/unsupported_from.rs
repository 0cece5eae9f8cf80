//! The FROM clause half of [`super::unsupported`]: tables, joins, table functions.

use super::codes;
use super::unsupported::{Walk, first_token};
use crate::diagnostic::Diagnostic;
use sqlparser::ast as sp;
use sqlparser::ast::Spanned;

impl Walk<'_> {
    pub(super) fn from(&mut self, from: &[sp::TableWithJoins]) {
        match from {
            // One row.
            [] => {}
            [one] => self.table_with_joins(one),
            [first, rest @ ..] => {
                self.table_with_joins(first);
                for other in rest {
                    self.table_with_joins(other);
                    // `FROM t, UNNEST(t.a)` is a CROSS JOIN UNNEST; table functions are refused as such.
                    if !is_correlated(&other.relation) {
                        let message = "not supported yet: several tables in FROM (a cross join)";
                        let span = self.place(factor_place(&other.relation));
                        let d = Diagnostic::error(codes::UNSUPPORTED_JOIN, span, message);
                        self.report(d.hint("write FROM a JOIN b ON .."));
                    }
                }
            }
        }
    }

    fn table_with_joins(&mut self, table: &sp::TableWithJoins) {
        let sp::TableWithJoins { relation, joins } = table;
        self.table_factor(relation);
        for join in joins {
            self.join(join);
        }
    }

    fn join(&mut self, join: &sp::Join) {
        let sp::Join { relation, global, join_operator } = join;
        let at = factor_place(relation);
        self.refuse_if(*global, at, "GLOBAL joins");
        self.table_factor(relation);
        use sp::JoinOperator as J;
        let (constraint, refused) = match join_operator {
            J::Join(c) | J::Inner(c) | J::Left(c) | J::LeftOuter(c) => (Some(c), None),
            J::Right(c) | J::RightOuter(c) => (Some(c), Some("RIGHT JOIN")),
            J::FullOuter(c) => (Some(c), Some("FULL JOIN")),
            J::CrossJoin(_) if matches!(relation, sp::TableFactor::UNNEST { .. }) => (None, None),
            J::CrossJoin(_) => (None, Some("CROSS JOIN")),
            J::Semi(c) | J::LeftSemi(c) | J::RightSemi(c) => (Some(c), Some("SEMI JOIN")),
            J::Anti(c) | J::LeftAnti(c) | J::RightAnti(c) => (Some(c), Some("ANTI JOIN")),
            J::StraightJoin(c) => (Some(c), Some("STRAIGHT_JOIN")),
            J::CrossApply => (None, Some("CROSS APPLY")),
            J::OuterApply => (None, Some("OUTER APPLY")),
            J::AsOf { match_condition: _, constraint: _ } => (None, Some("ASOF JOIN")),
            J::ArrayJoin | J::LeftArrayJoin | J::InnerArrayJoin => (None, Some("ARRAY JOIN")),
        };
        if let Some(name) = refused {
            let message = format!("{name} is not supported: use JOIN or LEFT JOIN");
            let d = Diagnostic::error(codes::UNSUPPORTED_JOIN, self.place(at), message);
            self.report(d);
            return;
        }
        if let Some(c) = constraint {
            self.join_constraint(c, at);
        }
    }

    fn join_constraint(&mut self, constraint: &sp::JoinConstraint, at: sqlparser::tokenizer::Span) {
        match constraint {
            sp::JoinConstraint::On(e) => self.expr(e),
            sp::JoinConstraint::Using(columns) => {
                for c in columns {
                    self.object_name(c);
                }
            }
            sp::JoinConstraint::Natural => self.refuse(at, "NATURAL JOIN"),
            sp::JoinConstraint::None => {
                let d =
                    Diagnostic::error(codes::UNSUPPORTED_JOIN, self.place(at), "a JOIN needs an ON or USING clause");
                self.report(d);
            }
        }
    }

    pub fn table_alias(&mut self, alias: &sp::TableAlias) {
        let sp::TableAlias { explicit: _, name, columns, at } = alias;
        self.ident(name);
        for sp::TableAliasColumnDef { name, data_type } in columns {
            self.ident(name);
            self.refuse_if(data_type.is_some(), name.span, "types in a table alias");
        }
        self.refuse_if(at.is_some(), name.span, "AT in a table alias");
    }

    fn table_factor(&mut self, factor: &sp::TableFactor) {
        use sp::TableFactor as T;
        let at = factor_place(factor);
        match factor {
            T::Table {
                name,
                alias,
                args,
                with_hints,
                version,
                with_ordinality,
                partitions,
                json_path,
                sample,
                index_hints,
            } => {
                self.object_name(name);
                if let Some(a) = alias {
                    self.table_alias(a);
                }
                if args.is_some() {
                    self.refuse(at, &format!("{name}(..) in FROM"));
                }
                self.refuse_if(!with_hints.is_empty() || !index_hints.is_empty(), at, "table hints");
                self.refuse_if(*with_ordinality, at, "WITH ORDINALITY");
                self.refuse_if(!partitions.is_empty(), at, "PARTITION in FROM");
                self.refuse_if(json_path.is_some(), at, "a path after a table");
                self.refuse_if(sample.is_some(), at, "TABLESAMPLE");
                if let Some(v) = version {
                    self.table_version(v, at);
                }
            }
            T::Derived { lateral, subquery, alias, sample } => {
                self.refuse_if(*lateral, at, "LATERAL");
                self.refuse_if(sample.is_some(), at, "TABLESAMPLE");
                self.query(subquery);
                if let Some(a) = alias {
                    self.table_alias(a);
                }
            }
            T::NestedJoin { table_with_joins, alias } => {
                self.refuse_if(alias.is_some(), at, "a name for joined tables in brackets");
                self.table_with_joins(table_with_joins);
            }
            T::TableFunction { expr, alias: _ } => match expr {
                sp::Expr::Function(f) => self.refuse(f.name.span(), &format!("TABLE({}(..)) in FROM", f.name)),
                _ => self.refuse(expr.span(), "TABLE(..) in FROM"),
            },
            T::Function { lateral: _, name, args: _, with_ordinality: _, alias: _ } => {
                self.refuse(name.span(), "LATERAL TABLE(..) and table functions");
            }
            T::UNNEST { alias, array_exprs, with_offset, with_offset_alias, with_ordinality: _ } => {
                array_exprs.iter().for_each(|e| self.expr(e));
                self.refuse_if(*with_offset || with_offset_alias.is_some(), at, "WITH OFFSET (WITH ORDINALITY is)");
                if let Some(a) = alias {
                    self.table_alias(a);
                }
            }
            T::JsonTable { .. } | T::OpenJsonTable { .. } => self.refuse(at, "JSON tables"),
            T::Pivot { .. } | T::Unpivot { .. } => self.refuse(at, "PIVOT and UNPIVOT"),
            T::MatchRecognize { .. } => self.refuse(at, "MATCH_RECOGNIZE"),
            T::XmlTable { .. } => self.refuse(at, "XMLTABLE"),
            T::SemanticView { .. } => self.refuse(at, "SEMANTIC_VIEW"),
        }
    }

    fn table_version(&mut self, version: &sp::TableVersion, at: sqlparser::tokenizer::Span) {
        match version {
            sp::TableVersion::ForSystemTimeAsOf(e) => self.expr(e),
            sp::TableVersion::TimestampAsOf(_)
            | sp::TableVersion::VersionAsOf(_)
            | sp::TableVersion::Function(_)
            | sp::TableVersion::Changes { changes: _, at: _, end: _ } => {
                self.refuse(at, "this form of table version (FOR SYSTEM_TIME AS OF is)");
            }
        }
    }
}

/// What stands for rows of each row before it.
fn is_correlated(factor: &sp::TableFactor) -> bool {
    use sp::TableFactor as T;
    matches!(factor, T::UNNEST { .. } | T::Function { .. } | T::TableFunction { .. } | T::Derived { lateral: true, .. })
}

fn factor_place(factor: &sp::TableFactor) -> sqlparser::tokenizer::Span {
    match factor {
        sp::TableFactor::Table { name, .. } | sp::TableFactor::Function { name, .. } => name.span(),
        sp::TableFactor::Derived { subquery, .. } => first_token(&subquery.body),
        sp::TableFactor::NestedJoin { table_with_joins, .. } => factor_place(&table_with_joins.relation),
        other => other.span(),
    }
}
