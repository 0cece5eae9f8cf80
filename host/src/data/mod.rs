//! What travels between the parts: logical types, batches with row kinds, where rows came from, errors of single
//! rows. A leaf: it names no other module but `error`.

mod batch;
mod origin;
mod row_error;
mod types;

pub use batch::{Batch, ChangelogMode, RowKind};
pub use origin::{Envelope, Origin, RecordChunk, RecordRef, RefusedRecord, RowOrigin};
pub use row_error::{FailurePolicy, Reason, RowError};
pub use types::{Column, LogicalType, PathStep, TableSchema, time_unit};

/// The number of a checkpoint; counts up from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);
