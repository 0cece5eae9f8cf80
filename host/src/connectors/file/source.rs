//! Reading: whole files, or byte ranges of large ones.

use super::paths::{Found, PathPattern};
use crate::connectors::api::{
    Boundedness, FormatBinding, Source, SourceReader, SourceSplit, SplitAssignment, SubtaskContext, TableContext,
};
use crate::connectors::local::follow::FollowReader;
use crate::connectors::local::io_error;
use crate::connectors::local::load::{FileLookup, reload_interval};
use crate::connectors::local::reader::{Compression, FileId, FileReader, FileSplit};
use crate::connectors::local::records::RecordSpec;
use crate::data::ChangelogMode;
use crate::error::{Error, Result};
use crate::formats::{Decoder, Framing};
use async_trait::async_trait;
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// A range is never smaller than this, so that small files keep their line numbers.
const RANGE_MIN: u64 = 8 << 20;
/// Nor larger, if there is more than one subtask to share the work.
const RANGE_MAX: u64 = 64 << 20;
/// Ranges per subtask: when one is slower, the others take its share.
const RANGES_PER_SUBTASK: u64 = 4;

/// How often to look for the files of a table that is followed, if it does not say.
const FOLLOW_INTERVAL: Duration = Duration::from_secs(1);

pub struct FileSource {
    pattern: PathPattern,
    spec: RecordSpec,
    format: Arc<dyn FormatBinding>,
    /// How often to look for new files; None: the source ends after those that are there.
    monitor: Option<Duration>,
    /// Files are read on when they grow.
    follow: bool,
}

impl FileSource {
    pub fn new(cx: &TableContext, pattern: PathPattern) -> Result<Self> {
        let follow = cx.options.bool("follow") == Some(true);
        let said = cx.options.duration("monitor-interval").filter(|d| !d.is_zero());
        let monitor = said.or(follow.then_some(FOLLOW_INTERVAL));
        Ok(Self { pattern, spec: record_spec(cx)?, format: cx.format()?.clone(), monitor, follow })
    }

    /// The files as they are now: of a source that goes on for ever there may be none yet.
    fn found(&self) -> Result<Vec<Found>> {
        if self.monitor.is_some() { self.pattern.list_or_none() } else { self.pattern.list() }
    }

    fn whole(&self, file: Found) -> Result<SourceSplit> {
        if !self.follow {
            return FileSplit::whole(file.path, file.size);
        }
        if Compression::of(&file.path).is_some() {
            let message =
                format!("table {}: {} is compressed: it cannot be followed", self.spec.table, file.path.display());
            return Err(
                Error::user(message).with_hint("let the path name the files that are written, not the packed ones")
            );
        }
        let about = std::fs::metadata(&file.path).map_err(|e| io_error(&self.spec.table, "read", &file.path, &e))?;
        FileSplit::growing(file.path, FileId::of(&about))
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
        if self.monitor.is_some() { Boundedness::Unbounded } else { Boundedness::Bounded }
    }

    /// Where new files are looked for, those that were read stay known to their readers.
    fn assignment(&self) -> SplitAssignment {
        if self.monitor.is_some() { SplitAssignment::Spread } else { SplitAssignment::OnDemand }
    }

    fn discovery_interval(&self) -> Option<Duration> {
        self.monitor
    }

    async fn discover(&self, known: &[Arc<str>]) -> Result<Vec<SourceSplit>> {
        let known: HashSet<&str> = known.iter().map(|k| &**k).collect();
        let splits = self.found()?.into_iter().map(|file| self.whole(file));
        let splits = splits.collect::<Result<Vec<_>>>()?;
        Ok(splits.into_iter().filter(|s| !known.contains(&*s.id)).collect())
    }

    fn changelog_mode(&self) -> ChangelogMode {
        self.format.changelog_mode()
    }

    async fn enumerate(&self, parallelism: usize) -> Result<Vec<SourceSplit>> {
        let files = self.found()?;
        if self.monitor.is_some() {
            return files.into_iter().map(|file| self.whole(file)).collect();
        }
        let total: u64 = files.iter().map(|f| f.size).sum();
        let range = match parallelism {
            0 | 1 => u64::MAX,
            n => (total / (n as u64 * RANGES_PER_SUBTASK)).clamp(RANGE_MIN, RANGE_MAX),
        };
        // Changes mean something in their order only.
        let ordered = self.format.changelog_mode() != ChangelogMode::Append;
        let mut splits = Vec::new();
        for file in files {
            let divisible = !ordered
                && self.spec.framing == Framing::Lines
                && self.spec.first_line <= 1
                && Compression::of(&file.path).is_none();
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
        let spec = self.spec.clone();
        Ok(match (self.follow, self.monitor) {
            (true, _) => Box::new(FollowReader::new(spec)),
            (false, Some(_)) => Box::new(FileReader::new(spec).keeping_ended()),
            (false, None) => Box::new(FileReader::new(spec)),
        })
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
