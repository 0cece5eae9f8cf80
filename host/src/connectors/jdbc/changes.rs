//! Rows that wait for their flush: in the order in which they came, or the last change of each key. Pure.

use crate::data::{Batch, RowKind, RowOrigin};
use crate::error::Result;
use arrow::array::{ArrayRef, RecordBatch};
use arrow::row::{RowConverter, SortField};
use indexmap::IndexMap;

/// A waiting row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowRef {
    pub batch: u32,
    pub row: u32,
    /// The row of the same key before it, whose values stand where this row's are NULL (see [`Changes::earlier`]).
    previous: Option<u32>,
}

/// What waits for one key.
#[derive(Debug, Default, Clone, Copy)]
struct Change {
    delete: Option<u32>,
    /// The delete is more than the first half of an update.
    is_final: bool,
    upsert: Option<u32>,
    /// What the first half of an update took back.
    taken_back: Option<u32>,
}

#[derive(Default)]
pub struct Changes {
    batches: Vec<Batch>,
    rows: Vec<RowRef>,
    /// None: rows are appended.
    keys: Option<Keys>,
    bytes: usize,
    last_was_update_before: bool,
}

struct Keys {
    columns: Vec<usize>,
    converter: Option<RowConverter>,
    changes: IndexMap<Box<[u8]>, Change>,
    /// A NULL leaves the older value: rows of one key are put together, and a row that was deleted before has to go
    /// first, so that its values do not stay.
    nulls_keep: bool,
}

impl Changes {
    pub fn append_only() -> Self {
        Self::default()
    }

    pub fn by_key(columns: Vec<usize>, nulls_keep: bool) -> Self {
        let keys = Keys { columns, converter: None, changes: IndexMap::new(), nulls_keep };
        Self { keys: Some(keys), ..Self::default() }
    }

    /// Rows that came since the last flush.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
    /// What the rows keep in memory.
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    /// The last row says what a row was; what it becomes has yet to come.
    pub fn is_between_halves(&self) -> bool {
        self.last_was_update_before
    }

    /// Takes these rows of a batch; its values are `columns`.
    pub fn add(&mut self, batch: &Batch, columns: RecordBatch, rows: &[u32]) -> Result<()> {
        let number = self.batches.len() as u32;
        let encoded = match &mut self.keys {
            Some(keys) => Some(keys.encode(&columns)?),
            None => None,
        };
        for &row in rows {
            let at = self.rows.len() as u32;
            let mut new = RowRef { batch: number, row, previous: None };
            if let (Some(keys), Some(encoded)) = (&mut self.keys, &encoded) {
                let key: Box<[u8]> = encoded.row(row as usize).as_ref().into();
                let change = keys.changes.entry(key).or_default();
                match batch.kind(row as usize) {
                    RowKind::Insert | RowKind::UpdateAfter => {
                        let before = change.upsert.or(change.taken_back.take());
                        new.previous = before.filter(|_| keys.nulls_keep);
                        change.upsert = Some(at);
                    }
                    RowKind::UpdateBefore => {
                        change.taken_back = change.upsert.take().or(change.taken_back);
                        change.delete = change.delete.filter(|_| change.is_final).or(Some(at));
                    }
                    RowKind::Delete => *change = Change { delete: Some(at), is_final: true, ..Change::default() },
                }
            }
            self.last_was_update_before = batch.kind(row as usize) == RowKind::UpdateBefore;
            self.rows.push(new);
        }
        let kept = batch.with_columns(columns);
        self.bytes += kept.num_bytes();
        self.batches.push(kept);
        Ok(())
    }

    pub fn batches(&self) -> &[Batch] {
        &self.batches
    }
    pub fn origin(&self, row: RowRef) -> RowOrigin {
        self.batches[row.batch as usize].origin.of_row(row.row as usize)
    }
    /// The row of the same key before it.
    pub fn earlier(&self, row: RowRef) -> Option<RowRef> {
        row.previous.map(|at| self.rows[at as usize])
    }

    /// Rows whose keys are to be deleted, before anything is written.
    pub fn deletes(&self) -> Vec<RowRef> {
        let Some(keys) = &self.keys else { return vec![] };
        let needed = |c: &&Change| c.upsert.is_none() || (keys.nulls_keep && c.is_final);
        keys.changes.values().filter(needed).filter_map(|c| c.delete).map(|at| self.rows[at as usize]).collect()
    }

    /// Rows to be written.
    pub fn writes(&self) -> Vec<RowRef> {
        match &self.keys {
            None => self.rows.clone(),
            Some(keys) => {
                let mut last: Vec<u32> = keys.changes.values().filter_map(|c| c.upsert).collect();
                last.sort_unstable();
                last.into_iter().map(|at| self.rows[at as usize]).collect()
            }
        }
    }

    /// Empty again, for the rows that follow.
    pub fn take(&mut self) -> Self {
        let next = match &self.keys {
            None => Self::append_only(),
            Some(keys) => Self::by_key(keys.columns.clone(), keys.nulls_keep),
        };
        std::mem::replace(self, next)
    }
}

impl Keys {
    fn encode(&mut self, batch: &RecordBatch) -> Result<arrow::row::Rows> {
        let columns: Vec<ArrayRef> = self.columns.iter().map(|&i| batch.column(i).clone()).collect();
        let converter = match &mut self.converter {
            Some(converter) => converter,
            None => {
                let fields = columns.iter().map(|c| SortField::new(c.data_type().clone())).collect();
                self.converter.insert(RowConverter::new(fields)?)
            }
        };
        Ok(converter.convert_columns(&columns)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connectors::testing::batch;
    use crate::data::{Column, LogicalType};
    use RowKind::{Delete, Insert, UpdateAfter, UpdateBefore};

    fn rows(kinds: &[(RowKind, &str)]) -> Batch {
        let columns = [Column::new("k", LogicalType::Int, true), Column::new("v", LogicalType::STRING, true)];
        let lines: Vec<&str> = kinds.iter().map(|(_, line)| *line).collect();
        let mut batch = batch(&columns, &lines);
        batch.kinds = Some(kinds.iter().map(|(kind, _)| *kind).collect());
        batch
    }

    fn numbers(rows: &[RowRef]) -> Vec<(u32, u32)> {
        rows.iter().map(|r| (r.batch, r.row)).collect()
    }

    fn add(changes: &mut Changes, kinds: &[(RowKind, &str)]) {
        let batch = rows(kinds);
        let all: Vec<u32> = (0..batch.num_rows() as u32).collect();
        changes.add(&batch, batch.columns.clone(), &all).unwrap();
    }

    #[test]
    fn the_last_change_of_a_key_counts_whatever_batch_it_came_in() {
        let mut changes = Changes::by_key(vec![0], false);
        let (one, two, three) = (r#"{"k":1,"v":"a"}"#, r#"{"k":2,"v":"b"}"#, r#"{"k":3,"v":"c"}"#);
        add(&mut changes, &[(Insert, one), (Insert, two), (Delete, one), (Insert, three), (Delete, three)]);
        add(&mut changes, &[(Insert, three), (UpdateBefore, two), (UpdateAfter, two)]);
        assert_eq!(numbers(&changes.deletes()), [(0, 2)]);
        assert_eq!(numbers(&changes.writes()), [(1, 0), (1, 2)]);
        assert_eq!(changes.take().len(), 8);
        assert!(changes.is_empty() && changes.writes().is_empty());
    }

    #[test]
    fn an_update_that_moves_the_key_deletes_the_old_one() {
        let mut changes = Changes::by_key(vec![0], false);
        add(&mut changes, &[(UpdateBefore, r#"{"k":1,"v":"a"}"#)]);
        assert!(changes.is_between_halves());
        add(&mut changes, &[(UpdateAfter, r#"{"k":2,"v":"a"}"#)]);
        assert!(!changes.is_between_halves());
        assert_eq!((numbers(&changes.deletes()), numbers(&changes.writes())), (vec![(0, 0)], vec![(1, 0)]));
    }

    #[test]
    fn where_null_keeps_rows_of_a_key_are_put_together_and_deletes_stay() {
        let mut changes = Changes::by_key(vec![0], true);
        add(&mut changes, &[(Insert, r#"{"k":1,"v":"a"}"#), (Insert, r#"{"k":1,"v":null}"#)]);
        let last = changes.writes()[0];
        assert_eq!((last.row, changes.earlier(last).map(|r| r.row)), (1, Some(0)));
        add(&mut changes, &[(Delete, r#"{"k":1,"v":null}"#), (Insert, r#"{"k":1,"v":"z"}"#)]);
        assert_eq!((numbers(&changes.deletes()), numbers(&changes.writes())), (vec![(1, 0)], vec![(1, 1)]));
        assert_eq!(changes.earlier(changes.writes()[0]), None);
        let mut changes = Changes::by_key(vec![0], true);
        let (old, new) = (r#"{"k":1,"v":"a"}"#, r#"{"k":1,"v":null}"#);
        add(&mut changes, &[(Insert, old), (UpdateBefore, old), (UpdateAfter, new)]);
        assert!(changes.deletes().is_empty());
        assert_eq!(changes.earlier(changes.writes()[0]).map(|r| r.row), Some(0));
    }

    #[test]
    fn without_a_key_every_row_stays_in_its_place() {
        let mut changes = Changes::append_only();
        let row = r#"{"k":1,"v":"a"}"#;
        add(&mut changes, &[(Insert, row), (Insert, row)]);
        assert_eq!((changes.deletes().len(), numbers(&changes.writes())), (0, vec![(0, 0), (0, 1)]));
    }
}
