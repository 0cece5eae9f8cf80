//! Which column of the query goes to which column of the sink.
//!
//! flinkStreamSQL maps by name (reference: its FlinkSQLExec selects the sink's column names from the query); Flink's
//! dialects map by position.

use crate::catalog::TableDescriptor;
use crate::data::{Column, LogicalType};
use crate::diagnostic::Diagnostic;
use crate::sql::ast::Insert;
use crate::sql::codes;
use crate::sql::options::Dialect;
use crate::sql::suggest::did_you_mean;

/// For each column of the sink the index of the query's column; None is NULL. `dialect` is the table's, or the one that
/// the job asks for.
pub fn map_columns(
    insert: &Insert,
    table: &TableDescriptor,
    dialect: Dialect,
    query: &[(String, Option<LogicalType>)],
    out: &mut Vec<Diagnostic>,
) -> Option<Vec<Option<usize>>> {
    let sink = table.writable_columns();
    if !insert.columns.is_empty() {
        return by_list(insert, table, dialect, &sink, query, out);
    }
    if dialect == Dialect::DtStack {
        if let Some(map) = by_name(&sink, query) {
            return Some(map);
        }
        // With some names right and some wrong, a position would swap values without a word.
        let none_named = !sink.iter().any(|c| query.iter().any(|(n, _)| n.eq_ignore_ascii_case(&c.name)));
        if !none_named {
            let missing = sink.iter().filter(|c| !query.iter().any(|(n, _)| n.eq_ignore_ascii_case(&c.name)));
            let missing: Vec<&str> = missing.map(|c| c.name.as_str()).collect();
            let near = missing.first().and_then(|m| did_you_mean(m, query.iter().map(|(n, _)| n.as_str())));
            let message = format!("the query has no column {} of {}", missing.join(", "), table.name);
            let hint = format!("{}{}", near.map(|n| format!("{n} ")).unwrap_or_default(), schemas(&sink, query));
            out.push(Diagnostic::error(codes::INSERT_COLUMNS, insert.table.span, message).hint(hint));
            return None;
        }
        if sink.len() == query.len() {
            out.push(
                Diagnostic::warning(
                    codes::INSERT_BY_POSITION,
                    insert.table.span,
                    format!("no column of {} is a column of the query: columns are mapped by position", table.name),
                )
                .hint(schemas(&sink, query)),
            );
            return Some((0..sink.len()).map(Some).collect());
        }
    } else if sink.len() == query.len() {
        return Some((0..sink.len()).map(Some).collect());
    }
    out.push(
        Diagnostic::error(
            codes::INSERT_COLUMNS,
            insert.table.span,
            format!("the query has {} columns, the sink {} has {}", query.len(), table.name, sink.len()),
        )
        .hint(schemas(&sink, query)),
    );
    None
}

/// Every column of the sink by its name, or by its name in another case; surplus columns of the query are dropped.
fn by_name(sink: &[Column], query: &[(String, Option<LogicalType>)]) -> Option<Vec<Option<usize>>> {
    sink.iter()
        .map(|c| {
            let exact = query.iter().position(|(n, _)| *n == c.name);
            exact.or_else(|| query.iter().position(|(n, _)| n.eq_ignore_ascii_case(&c.name))).map(Some)
        })
        .collect()
}

fn by_list(
    insert: &Insert,
    table: &TableDescriptor,
    dialect: Dialect,
    sink: &[Column],
    query: &[(String, Option<LogicalType>)],
    out: &mut Vec<Diagnostic>,
) -> Option<Vec<Option<usize>>> {
    let before = out.len();
    let mut map = vec![None; sink.len()];
    for (at, name) in insert.columns.iter().enumerate() {
        let found = sink.iter().position(|c| c.name == name.value).or_else(|| {
            let lenient = dialect == Dialect::DtStack;
            sink.iter().position(|c| lenient && c.name.eq_ignore_ascii_case(&name.value))
        });
        match found {
            None => out.push(
                Diagnostic::error(
                    codes::UNKNOWN_COLUMN,
                    name.span,
                    format!("table {} has no column '{}' to write", table.name, name.value),
                )
                .hint(schemas(sink, query)),
            ),
            Some(i) if map[i].is_some() => out.push(Diagnostic::error(
                codes::DUPLICATE_COLUMN,
                name.span,
                format!("column '{}' is listed twice", name.value),
            )),
            Some(i) => map[i] = Some(at),
        }
    }
    if insert.columns.len() != query.len() {
        out.push(Diagnostic::error(
            codes::INSERT_COLUMNS,
            insert.table.span,
            format!("{} columns are listed, the query has {}", insert.columns.len(), query.len()),
        ));
    }
    for (c, mapped) in sink.iter().zip(&map) {
        if mapped.is_none() && !c.nullable {
            out.push(Diagnostic::error(
                codes::INSERT_COLUMNS,
                insert.table.span,
                format!("column '{}' is NOT NULL and not in the list", c.name),
            ));
        }
    }
    (out.len() == before).then_some(map)
}

/// Whether INSERT may cast this to the sink's type without being asked: only where no value is lost, as Flink's
/// `LogicalTypeCasts.supportsImplicitCast`. flinkStreamSQL casts whatever can be cast.
pub fn is_implicit(from: &LogicalType, to: &LogicalType) -> bool {
    use LogicalType as L;
    let digits = |t: &L| match t {
        L::TinyInt => Some((3, 0)),
        L::SmallInt => Some((5, 0)),
        L::Int => Some((10, 0)),
        L::BigInt => Some((19, 0)),
        L::Decimal(p, s) => Some((p - s, *s)),
        _ => None,
    };
    match (from, to) {
        (f, t) if f.to_arrow() == t.to_arrow() => true,
        (f, t) if f.is_text() && t.is_text() => true,
        (f, L::Float | L::Double) => f.is_numeric() && !matches!((f, to), (L::Double, L::Float)),
        (f, L::Decimal(p, s)) => digits(f).is_some_and(|(before, after)| before <= p - s && after <= *s),
        (f, t) if f.is_numeric() && t.is_numeric() => match (digits(f), digits(t)) {
            (Some((a, 0)), Some((b, 0))) => a <= b,
            _ => false,
        },
        (L::Binary(_) | L::Varbinary(_), L::Binary(_) | L::Varbinary(_)) => true,
        (L::Date, L::Timestamp(_) | L::TimestampLtz(_)) => true,
        (L::Timestamp(_) | L::TimestampLtz(_), L::Timestamp(_) | L::TimestampLtz(_)) => true,
        (L::Time(_), L::Time(_)) => true,
        _ => false,
    }
}

fn schemas(sink: &[Column], query: &[(String, Option<LogicalType>)]) -> String {
    let q: Vec<String> = query
        .iter()
        .map(|(n, t)| format!("{n} {}", t.as_ref().map_or("NULL".to_string(), |t| t.to_string())))
        .collect();
    let s: Vec<String> = sink.iter().map(|c| format!("{} {}", c.name, c.logical_type)).collect();
    format!("query: [{}], sink: [{}]", q.join(", "), s.join(", "))
}
