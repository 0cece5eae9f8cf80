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

    pub(super) fn refuse(&mut self, span: sqlparser::tokenizer::Span, what: &str) {
        let d = Diagnostic::error(codes::UNSUPPORTED_QUERY, self.place(span), format!("not supported yet: {what}"));
        self.report(d);
    }

    pub(super) fn refuse_if(&mut self, present: bool, span: sqlparser::tokenizer::Span, what: &str) {
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
}

/// Where a query begins. (`Spanned` of a whole query visits every expression in it.)
pub(super) fn first_token(body: &sp::SetExpr) -> sqlparser::tokenizer::Span {
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

#[cfg(test)]
#[path = "unsupported_tests.rs"]
mod tests;
