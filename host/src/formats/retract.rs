//! The `retract` field that flinkStreamSQL's sinks add in `updateMode` = `upsert`: true for rows that are added, false
//! for rows that are taken back. It is a last column like any other, so that every format can write it.

use super::{Encoded, Encoder, FormatContext, FormatFactory};
use crate::data::{Batch, Column, LogicalType, RowError, RowKind};
use crate::error::{Error, Result};
use arrow::array::{ArrayRef, BooleanArray, RecordBatch};
use std::sync::Arc;

const FIELD: &str = "retract";

/// An encoder of the table's rows with the field behind their columns.
pub struct RetractEncoder {
    inner: Box<dyn Encoder>,
    schema: arrow::datatypes::SchemaRef,
}

impl RetractEncoder {
    pub fn new(format: &dyn FormatFactory, cx: &FormatContext) -> Result<Self> {
        if cx.schema.columns.iter().any(|c| c.name.eq_ignore_ascii_case(FIELD)) {
            let message =
                format!("table {}: updateMode = 'upsert' adds a field {FIELD}, which is a column, too", cx.table);
            return Err(
                Error::user(message).with_hint("name the column otherwise, or write with updateMode = 'append'")
            );
        }
        let mut cx = cx.clone();
        cx.schema.columns.push(Column::new(FIELD, LogicalType::Boolean, false));
        Ok(Self { inner: format.encoder(&cx)?, schema: cx.schema.to_arrow() })
    }
}

impl Encoder for RetractEncoder {
    fn encode(&mut self, batch: &Batch, out: &mut Encoded, errors: &mut Vec<RowError>) -> Result<()> {
        let added = |row| matches!(batch.kind(row), RowKind::Insert | RowKind::UpdateAfter);
        let flags: BooleanArray = (0..batch.num_rows()).map(|row| Some(added(row))).collect();
        let mut columns: Vec<ArrayRef> = batch.columns.columns().to_vec();
        columns.push(Arc::new(flags));
        let columns = RecordBatch::try_new(self.schema.clone(), columns)?;
        self.inner.encode(&batch.with_columns(columns), out, errors)
    }

    fn header(&self) -> Option<Vec<u8>> {
        self.inner.header()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Origin;
    use crate::formats::testing::{chunk, column, context, records};
    use crate::formats::{csv::Csv, json::Json};

    fn written(format: &dyn FormatFactory, record: &str) -> Vec<String> {
        let cx = context(vec![column("name", LogicalType::STRING), column("n", LogicalType::Int)], &[]);
        let decoded = format.decoder(&cx).unwrap().decode(&chunk(&[record, record, record, record])).unwrap();
        let mut batch = Batch::new(decoded.columns, Origin::unknown());
        batch.kinds = Some([RowKind::Insert, RowKind::UpdateBefore, RowKind::UpdateAfter, RowKind::Delete].into());
        let (mut out, mut errors) = (Encoded::default(), vec![]);
        RetractEncoder::new(format, &cx).unwrap().encode(&batch, &mut out, &mut errors).unwrap();
        assert!(errors.is_empty(), "{errors:?}");
        records(&out)
    }

    #[test]
    fn rows_say_whether_they_are_added_or_taken_back_once_each_b40() {
        assert_eq!(written(&Csv, "zs,330"), ["zs,330,true", "zs,330,false", "zs,330,true", "zs,330,false"]);
        let json = |added: bool| format!(r#"{{"name":"zs","n":330,"retract":{added}}}"#);
        assert_eq!(written(&Json, r#"{"name":"zs","n":330}"#), [json(true), json(false), json(true), json(false)]);
    }

    #[test]
    fn a_column_of_that_name_is_refused() {
        let cx = context(vec![column("Retract", LogicalType::Boolean)], &[]);
        let error = RetractEncoder::new(&Json, &cx).err().unwrap();
        assert!(error.message.contains("adds a field retract"), "{error}");
    }
}
