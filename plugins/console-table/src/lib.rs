//! A formatter for the console: one line a row, columns aligned.

use wasmill_guest::{Config, Row, RowKind, formatter};

/// Numbers stand at the right, everything else at the left; a column is as wide as its name and at least `width`
/// (option, 12). Longer values push the rest of their line aside: nothing is cut.
#[formatter]
fn console_table(row: &Row, config: &Config) -> Result<String, String> {
    let width = match config.get("width") {
        Some(w) => w.parse().ok().filter(|w| *w <= 200).ok_or(format!("width '{w}' is not a number up to 200"))?,
        None => 12usize,
    };
    let separator = config.get("separator").unwrap_or("  ");
    let cells: Vec<String> = (0..row.len()).map(|i| cell(row, i, width)).collect();
    let kind = match row.kind() {
        RowKind::Insert => "",
        RowKind::UpdateBefore => "-U ",
        RowKind::UpdateAfter => "+U ",
        RowKind::Delete => "-D ",
    };
    Ok(format!("{kind}{}", cells.join(separator)).trim_end().to_string())
}

fn cell(row: &Row, column: usize, width: usize) -> String {
    let width = width.max(row.name(column).chars().count());
    let text = if row.is_null(column) { "-".to_string() } else { row.text(column) };
    let is_number = row.column_type(column).is_some_and(|t| (2..=8).contains(&t.code()));
    if is_number { format!("{text:>width$}") } else { format!("{text:<width$}") }
}
