//! Reading: whole files, or byte ranges of large ones.

use super::paths::{Found, PathPattern};
use crate::connectors::api::{
    Boundedness, FormatBinding, Source, SourceReader, SourceSplit, SubtaskContext, TableContext,
};
use crate::connectors::local::load::{FileLookup, reload_interval};
use crate::connectors::local::reader::{FileReader, FileSplit, is_gzip};
use crate::connectors::local::records::RecordSpec;
use crate::data::ChangelogMode;
use crate::error::Result;
use crate::formats::{Decoder, Framing};
use async_trait::async_trait;
use std::sync::Arc;

/// A range is never smaller than this, so that small files keep their line numbers.
const RANGE_MIN: u64 = 8 << 20;
/// Nor larger, if there is more than one subtask to share the work.
const RANGE_MAX: u64 = 64 << 20;
/// Ranges per subtask: when one is slower, the others take its share.
const RANGES_PER_SUBTASK: u64 = 4;

pub struct FileSource {
    pattern: PathPattern,
    spec: RecordSpec,
    format: Arc<dyn FormatBinding>,
}

impl FileSource {
    pub fn new(cx: &TableContext, pattern: PathPattern) -> Result<Self> {
        Ok(Self { pattern, spec: record_spec(cx)?, format: cx.format()?.clone() })
    }
}

fn record_spec(cx: &TableContext) -> Result<RecordSpec> {
    Ok(RecordSpec {
        table: cx.table.clone(),
        framing: cx.format()?.framing(),
        max_record_bytes: cx.max_record_bytes,
        first_line: cx.options.int("from-line").and_then(|n| u64::try_from(n).ok()).unwrap_or(1),
    })
}

/// The same files as a side table.
pub fn lookup(cx: &TableContext, pattern: PathPattern) -> Result<FileLookup> {
    let list = move || pattern.list()?.into_iter().map(|f| FileSplit::whole(f.path, f.size)).collect();
    Ok(FileLookup {
        spec: record_spec(cx)?,
        format: cx.format()?.clone(),
        splits: Box::new(list),
        reload: reload_interval(&cx.options),
    })
}

#[async_trait]
impl Source for FileSource {
    fn boundedness(&self) -> Boundedness {
        Boundedness::Bounded
    }

    fn changelog_mode(&self) -> ChangelogMode {
        self.format.changelog_mode()
    }

    async fn enumerate(&self, parallelism: usize) -> Result<Vec<SourceSplit>> {
        let files = self.pattern.list()?;
        let total: u64 = files.iter().map(|f| f.size).sum();
        let range = match parallelism {
            0 | 1 => u64::MAX,
            n => (total / (n as u64 * RANGES_PER_SUBTASK)).clamp(RANGE_MIN, RANGE_MAX),
        };
        // Changes mean something in their order only.
        let ordered = self.format.changelog_mode() != ChangelogMode::Append;
        let mut splits = Vec::new();
        for file in files {
            let divisible =
                !ordered && self.spec.framing == Framing::Lines && self.spec.first_line <= 1 && !is_gzip(&file.path);
            match divisible && file.size / 2 >= range {
                true => add_ranges(&mut splits, &file, range)?,
                false => splits.push(FileSplit::whole(file.path, file.size)?),
            }
        }
        Ok(splits)
    }

    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        self.format.decoder().map(Some)
    }

    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(FileReader::new(self.spec.clone())))
    }
}

fn add_ranges(splits: &mut Vec<SourceSplit>, file: &Found, range: u64) -> Result<()> {
    let mut start = 0;
    while start < file.size {
        // The last range takes a small rest with it.
        let end = if file.size - start < range + range / 2 { file.size } else { start + range };
        splits.push(FileSplit::range(file.path.clone(), start, end)?);
        start = end;
    }
    Ok(())
}
