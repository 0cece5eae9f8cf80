//! One walk over a query that refuses, by name and place, everything that is not supported yet. Foreign nodes are
//! destructured without `..`: a clause that sqlparser learns is a compile error here, never a clause that the planner
//! drops without a word (DataFusion drops `FOR SYSTEM_TIME AS OF`, hints and samples so).

use super::codes;
use super::suggest::did_you_mean;
use crate::diagnostic::{Diagnostic, Span};
use sqlparser::ast as sp;
use sqlparser::ast::Spanned;

/// Refuses what this release cannot run. `known_function` tells whether a function exists (built in or declared),
/// `names` are the candidates for "did you mean".
pub fn check_query(
    query: &sp::Query,
    known_function: &dyn Fn(&str) -> bool,
    names: &[&str],
    out: &mut Vec<Diagnostic>,
) {
    let here = first_token(&query.body).into();
    Walk { known_function, names, out, here }.query(query);
}

/// As [`check_query`] for a single expression (computed columns, watermarks). `here` is where to point for the parts
/// that have no place of their own.
pub fn check_expr(
    expr: &sp::Expr,
    here: Span,
    known_function: &dyn Fn(&str) -> bool,
    names: &[&str],
    out: &mut Vec<Diagnostic>,
) {
    Walk { known_function, names, out, here }.expr(expr);
}

pub(super) struct Walk<'a> {
    known_function: &'a dyn Fn(&str) -> bool,
    names: &'a [&'a str],
    out: &'a mut Vec<Diagnostic>,
    /// The nearest enclosing place, for nodes without one.
    pub here: Span,
}

impl Walk<'_> {
    pub fn place(&self, span: sqlparser::tokenizer::Span) -> Span {
        if span.start.line == 0 { self.here } else { span.into() }
    }

    pub fn report(&mut self, d: Diagnostic) {
        self.out.push(d);
    }

    fn refuse(&mut self, span: sqlparser::tokenizer::Span, what: &str) {
        let d = Diagnostic::error(codes::UNSUPPORTED_QUERY, self.place(span), format!("not supported yet: {what}"));
        self.report(d);
    }

    fn refuse_if(&mut self, present: bool, span: sqlparser::tokenizer::Span, what: &str) {
        if present {
            self.refuse(span, what);
        }
    }

    /// Unknown functions with what they may have meant.
    pub fn function_name(&mut self, name: &str, span: Span) {
        const AGGREGATES: &[&str] = &[
            "COUNT",
            "SUM",
            "AVG",
            "MIN",
            "MAX",
            "COLLECT",
            "LISTAGG",
            "FIRST_VALUE",
            "LAST_VALUE",
            "STDDEV_POP",
            "STDDEV_SAMP",
            "STDDEV",
            "VAR_POP",
            "VAR_SAMP",
            "VARIANCE",
            "JSON_OBJECTAGG",
            "JSON_ARRAYAGG",
            "ARRAY_AGG",
        ];
        const WINDOWS: &[&str] = &[
            "TUMBLE",
            "HOP",
            "SESSION",
            "CUMULATE",
            "TUMBLE_START",
            "TUMBLE_END",
            "HOP_START",
            "HOP_END",
            "SESSION_START",
            "SESSION_END",
            "ROW_NUMBER",
            "RANK",
            "DENSE_RANK",
            "LAG",
            "LEAD",
            "NTILE",
        ];
        if (self.known_function)(name) {
            return;
        }
        let upper = name.to_ascii_uppercase();
        let d = if AGGREGATES.contains(&upper.as_str()) {
            let message = format!("not supported yet: the aggregate function {upper}");
            Diagnostic::error(codes::UNSUPPORTED_AGGREGATE, span, message)
        } else if WINDOWS.contains(&upper.as_str()) {
            let message = format!("not supported yet: the window function {upper}");
            Diagnostic::error(codes::UNSUPPORTED_AGGREGATE, span, message)
        } else {
            let hint = did_you_mean(name, self.names.iter().copied());
            let hint = hint.unwrap_or_else(|| {
                format!("a function of your own: CREATE FUNCTION {name} AS 'name' LANGUAGE WASM USING 'path.wasm'")
            });
            Diagnostic::error(codes::UNKNOWN_FUNCTION, span, format!("unknown function {name}")).hint(hint)
        };
        self.report(d);
    }

    pub fn ident(&mut self, ident: &sp::Ident) {
        let sp::Ident { value: _, quote_style, span } = ident;
        if matches!(quote_style, Some('"' | '\'')) {
            let d = Diagnostic::error(codes::DOUBLE_QUOTES, self.place(*span), "quotes around a name")
                .hint("backticks quote identifiers: `name`");
            self.report(d);
        }
    }

    pub fn object_name(&mut self, name: &sp::ObjectName) {
        for part in &name.0 {
            match part {
                sp::ObjectNamePart::Identifier(i) => self.ident(i),
                sp::ObjectNamePart::Function(f) => {
                    let span = f.name.span;
                    self.refuse(span, "a function as part of a name");
                }
            }
        }
    }

    pub fn query(&mut self, query: &sp::Query) {
        let sp::Query {
            with,
            body,
            order_by,
            limit_clause,
            fetch,
            locks,
            for_clause,
            settings,
            format_clause,
            pipe_operators,
        } = query;
        let here = self.here;
        self.here = self.place(first_token(body));
        if let Some(with) = with {
            self.with(with);
        }
        self.set_expr(body);
        if let Some(o) = order_by {
            self.refuse(o.span(), "ORDER BY");
        }
        if let Some(l) = limit_clause {
            self.refuse(l.span(), "LIMIT and OFFSET");
        }
        if let Some(f) = fetch {
            self.refuse(f.span(), "FETCH FIRST");
        }
        let none = sqlparser::tokenizer::Span::empty();
        self.refuse_if(!locks.is_empty(), none, "FOR UPDATE and FOR SHARE");
        self.refuse_if(for_clause.is_some(), none, "FOR XML, JSON and BROWSE");
        self.refuse_if(settings.is_some(), none, "SETTINGS");
        self.refuse_if(format_clause.is_some(), none, "FORMAT");
        self.refuse_if(!pipe_operators.is_empty(), none, "|> operators");
        self.here = here;
    }

    fn with(&mut self, with: &sp::With) {
        let sp::With { with_token, recursive, cte_tables } = with;
        self.refuse_if(*recursive, with_token.0.span, "WITH RECURSIVE");
        for cte in cte_tables {
            let sp::Cte { alias, query, from, materialized, closing_paren_token: _ } = cte;
            self.table_alias(alias);
            self.query(query);
            if let Some(f) = from {
                self.refuse(f.span, "FROM in WITH");
            }
            self.refuse_if(materialized.is_some(), alias.name.span, "MATERIALIZED");
        }
    }

    fn set_expr(&mut self, body: &sp::SetExpr) {
        match body {
            sp::SetExpr::Select(select) => self.select(select),
            sp::SetExpr::Query(query) => self.query(query),
            sp::SetExpr::SetOperation { left, op, set_quantifier, right } => {
                let all = *op == sp::SetOperator::Union && *set_quantifier == sp::SetQuantifier::All;
                if all {
                    self.set_expr(left);
                    return self.set_expr(right);
                }
                let quantifier = match set_quantifier {
                    sp::SetQuantifier::None => String::new(),
                    q => format!(" {q}"),
                };
                self.refuse(first_token(right), &format!("{op}{quantifier}"));
                self.set_expr(left);
                self.set_expr(right);
            }
            sp::SetExpr::Values(v) => {
                let sp::Values { explicit_row: _, value_keyword: _, rows } = v;
                rows.iter().flat_map(|r| &r.content).for_each(|e| self.expr(e));
            }
            sp::SetExpr::Insert(_) | sp::SetExpr::Update(_) | sp::SetExpr::Delete(_) | sp::SetExpr::Merge(_) => {
                self.refuse(body.span(), "a changing statement inside a query");
            }
            sp::SetExpr::Table(_) => self.refuse(body.span(), "TABLE name as a query"),
        }
    }

    fn select(&mut self, select: &sp::Select) {
        let sp::Select {
            select_token,
            optimizer_hints,
            distinct,
            select_modifiers,
            top,
            top_before_distinct: _,
            projection,
            exclude,
            into,
            from,
            lateral_views,
            prewhere,
            selection,
            connect_by,
            group_by,
            cluster_by,
            distribute_by,
            sort_by,
            having,
            named_window,
            qualify,
            window_before_qualify: _,
            value_table_mode,
            flavor,
        } = select;
        let at = select_token.0.span;
        self.here = self.place(at);
        self.refuse_if(!optimizer_hints.is_empty(), at, "query hints");
        self.refuse_if(matches!(distinct, Some(sp::Distinct::Distinct | sp::Distinct::On(_))), at, "SELECT DISTINCT");
        self.refuse_if(select_modifiers.is_some(), at, "modifiers of SELECT");
        self.refuse_if(top.is_some(), at, "TOP");
        self.refuse_if(exclude.is_some(), at, "EXCLUDE");
        self.refuse_if(into.is_some(), at, "SELECT INTO");
        self.refuse_if(value_table_mode.is_some(), at, "SELECT AS VALUE and AS STRUCT");
        self.refuse_if(!matches!(flavor, sp::SelectFlavor::Standard), at, "FROM before SELECT");
        for item in projection {
            self.select_item(item);
        }
        self.from(from);
        if let Some(e) = selection {
            self.expr(e);
        }
        let first = |list: &[sp::Expr]| list.first().map(|e| e.span());
        self.refuse_if(!lateral_views.is_empty(), at, "LATERAL VIEW");
        self.refuse_if(prewhere.is_some(), at, "PREWHERE");
        self.refuse_if(!connect_by.is_empty(), at, "CONNECT BY");
        self.group_by(group_by, at);
        self.refuse_if(!cluster_by.is_empty(), first(cluster_by).unwrap_or(at), "CLUSTER BY");
        self.refuse_if(!distribute_by.is_empty(), first(distribute_by).unwrap_or(at), "DISTRIBUTE BY");
        self.refuse_if(!sort_by.is_empty(), sort_by.first().map_or(at, |s| s.span()), "SORT BY");
        if let Some(h) = having {
            self.refuse(h.span(), "HAVING");
        }
        self.refuse_if(!named_window.is_empty(), at, "WINDOW");
        if let Some(q) = qualify {
            self.refuse(q.span(), "QUALIFY");
        }
    }

    fn group_by(&mut self, group_by: &sp::GroupByExpr, at: sqlparser::tokenizer::Span) {
        match group_by {
            sp::GroupByExpr::All(_) => self.refuse(at, "GROUP BY ALL"),
            sp::GroupByExpr::Expressions(list, modifiers) => {
                if !list.is_empty() || !modifiers.is_empty() {
                    let what = match list.first() {
                        Some(sp::Expr::GroupingSets(_)) => "GROUP BY GROUPING SETS",
                        Some(sp::Expr::Rollup(_)) => "GROUP BY ROLLUP",
                        Some(sp::Expr::Cube(_)) => "GROUP BY CUBE",
                        _ => "GROUP BY",
                    };
                    self.refuse(list.first().map_or(at, |e| e.span()), what);
                }
            }
        }
    }

    fn select_item(&mut self, item: &sp::SelectItem) {
        match item {
            sp::SelectItem::UnnamedExpr(e) => self.expr(e),
            sp::SelectItem::ExprWithAlias { expr, alias } => {
                self.expr(expr);
                self.ident(alias);
            }
            sp::SelectItem::ExprWithAliases { expr, aliases: _ } => {
                self.refuse(expr.span(), "several names for a column")
            }
            sp::SelectItem::QualifiedWildcard(kind, options) => {
                match kind {
                    sp::SelectItemQualifiedWildcardKind::ObjectName(name) => self.object_name(name),
                    sp::SelectItemQualifiedWildcardKind::Expr(e) => self.refuse(e.span(), ".* of an expression"),
                }
                self.wildcard(options);
            }
            sp::SelectItem::Wildcard(options) => self.wildcard(options),
        }
    }

    fn wildcard(&mut self, options: &sp::WildcardAdditionalOptions) {
        let sp::WildcardAdditionalOptions {
            wildcard_token,
            opt_ilike,
            opt_exclude,
            opt_except,
            opt_replace,
            opt_rename,
            opt_alias,
        } = options;
        let at = wildcard_token.0.span;
        self.refuse_if(opt_ilike.is_some(), at, "* ILIKE");
        self.refuse_if(opt_exclude.is_some(), at, "* EXCLUDE");
        self.refuse_if(opt_except.is_some(), at, "* EXCEPT");
        self.refuse_if(opt_replace.is_some(), at, "* REPLACE");
        self.refuse_if(opt_rename.is_some(), at, "* RENAME");
        self.refuse_if(opt_alias.is_some(), at, "a name for *");
    }

    fn from(&mut self, from: &[sp::TableWithJoins]) {
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

/// Where a query begins. (`Spanned` of a whole query visits every expression in it.)
fn first_token(body: &sp::SetExpr) -> sqlparser::tokenizer::Span {
    let mut body = body;
    loop {
        body = match body {
            sp::SetExpr::Select(s) => return s.select_token.0.span,
            sp::SetExpr::Query(q) => &q.body,
            sp::SetExpr::SetOperation { left, .. } => left,
            _ => return sqlparser::tokenizer::Span::empty(),
        };
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

#[cfg(test)]
#[path = "unsupported_tests.rs"]
mod tests;
