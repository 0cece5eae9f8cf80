//! Rows shared out to splits by turns: split i of n makes the rows i, i + n, i + 2n, ..

use super::field::{Field, Settings, field};
use super::random::Random;
use crate::connectors::api::{
    Boundedness, Source, SourceOutput, SourceReader, SourceSplit, SplitAssignment, SubtaskContext, TableContext,
};
use crate::connectors::row_batch::RowBatch;
use crate::data::{LogicalType, TableSchema};
use crate::error::{Error, Result};
use crate::formats::Decoder;
use crate::sql::options::ResolvedOptions;
use async_trait::async_trait;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// At high rates rows are made in this rhythm, not one by one.
const TICK: Duration = Duration::from_millis(10);

pub(super) struct DatagenSource {
    rows: Arc<Rows>,
    seed: Option<u64>,
}

/// The table's rows by their numbers.
struct Rows {
    table: Arc<str>,
    schema: TableSchema,
    fields: Vec<Field>,
    /// None: without end.
    count: Option<u64>,
    per_second: u64,
}

/// What a split says beside its position, which is the number of rows that it has made.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Share {
    index: u64,
    of: u64,
    seed: u64,
}

impl Share {
    fn row(self, position: u64) -> u64 {
        self.index.saturating_add(position.saturating_mul(self.of))
    }
}

/// What the columns hold, as the options say.
pub(super) fn fields<'a>(
    columns: impl Iterator<Item = (&'a str, &'a LogicalType)>,
    options: &ResolvedOptions,
) -> std::result::Result<Vec<Field>, String> {
    let given = options.prefixed.get("fields");
    columns
        .map(|(name, logical_type)| {
            let prefix = format!("{name}.");
            let own = given.into_iter().flatten();
            let own = own.filter_map(|(key, value)| Some((key.strip_prefix(&prefix)?.to_string(), value.clone())));
            let mut own = Settings::new(name, own.collect());
            let field = field(&mut own, "", logical_type)?;
            own.finish(logical_type)?;
            Ok(field)
        })
        .collect()
}

impl DatagenSource {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let refuse = |why: String| Error::user(format!("table {}: {why}", cx.table));
        let declared = cx.schema.columns.iter().map(|c| (c.name.as_str(), &c.logical_type));
        let fields = fields(declared, &cx.options).map_err(refuse)?;
        let given = cx.options.int("number-of-rows").map(|n| n as u64);
        let rows = Rows {
            table: cx.table.clone(),
            schema: cx.schema.clone(),
            count: fields.iter().filter_map(Field::rows).chain(given).min(),
            fields,
            per_second: cx.options.int("rows-per-second").unwrap_or(10_000).max(1) as u64,
        };
        Ok(Self { rows: Arc::new(rows), seed: cx.options.int("seed").map(|s| s as u64) })
    }
}

#[async_trait]
impl Source for DatagenSource {
    fn boundedness(&self) -> Boundedness {
        match self.rows.count {
            Some(_) => Boundedness::Bounded,
            None => Boundedness::Unbounded,
        }
    }

    fn assignment(&self) -> SplitAssignment {
        SplitAssignment::Spread
    }

    async fn enumerate(&self, parallelism: usize) -> Result<Vec<SourceSplit>> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let seed = self.seed.unwrap_or(now.as_nanos() as u64);
        (0..parallelism as u64)
            .map(|index| {
                let detail = serde_json::to_value(Share { index, of: parallelism as u64, seed })
                    .map_err(|e| Error::internal(e.to_string()))?;
                Ok(SourceSplit { id: format!("rows-{index}").into(), position: 0, detail, size: None })
            })
            .collect()
    }

    fn decoder(&self) -> Result<Option<Box<dyn Decoder>>> {
        Ok(None)
    }

    fn reader(&self, _cx: &SubtaskContext) -> Result<Box<dyn SourceReader>> {
        Ok(Box::new(DatagenReader { rows: self.rows.clone(), splits: VecDeque::new(), ended: vec![], pace: None }))
    }
}

struct DatagenReader {
    rows: Arc<Rows>,
    /// The next one to make rows is in front.
    splits: VecDeque<(SourceSplit, Share)>,
    ended: Vec<SourceSplit>,
    pace: Option<Pace>,
}

/// Rows made since a moment, held against the rate.
struct Pace {
    since: Instant,
    made: u64,
}

impl DatagenReader {
    /// How many rows may be made now; waits for the next one, but not longer than `max_wait`.
    fn due(&mut self, max_rows: usize, max_wait: Duration) -> u64 {
        // A subtask makes its splits' part of the rate.
        let rate = self.splits.iter().map(|(_, s)| self.rows.per_second as f64 / s.of as f64).sum::<f64>();
        let pace = self.pace.get_or_insert_with(|| Pace { since: Instant::now(), made: 0 });
        let due = |pace: &Pace| ((pace.since.elapsed().as_secs_f64() * rate) as u64).saturating_sub(pace.made);
        if due(pace) == 0 {
            let next =
                Duration::from_secs_f64(((pace.made + 1) as f64 / rate).min(1e9)).saturating_sub(pace.since.elapsed());
            std::thread::sleep(next.max(TICK).min(max_wait));
        }
        let now = due(pace).min(max_rows as u64);
        pace.made += now;
        now
    }

    fn end_of(&self, share: Share) -> u64 {
        match self.rows.count {
            None => u64::MAX,
            Some(count) => count.saturating_sub(share.index).div_ceil(share.of),
        }
    }

    fn retire_ended(&mut self) {
        while let Some((split, share)) = self.splits.front()
            && split.position >= self.end_of(*share)
        {
            self.ended.extend(self.splits.pop_front().map(|(split, _)| split));
        }
    }
}

#[async_trait(?Send)]
impl SourceReader for DatagenReader {
    fn add_split(&mut self, split: SourceSplit) {
        // A split of another version would be an error of ours; its rows then begin anew.
        let share = serde_json::from_value(split.detail.clone()).unwrap_or(Share { index: 0, of: 1, seed: 0 });
        self.splits.push_back((split, Share { of: share.of.max(1), ..share }));
        self.pace = None;
    }

    async fn poll(&mut self, max_rows: usize, max_wait: Duration) -> Result<SourceOutput> {
        self.retire_ended();
        if self.splits.is_empty() {
            return Ok(SourceOutput::Exhausted);
        }
        let due = self.due(max_rows.max(1), max_wait);
        let Some((mut split, share)) = self.splits.pop_front() else { return Ok(SourceOutput::Exhausted) };
        let rows = self.rows.clone();
        let count = due.min(self.end_of(share) - split.position);
        let mut batch = RowBatch::new(&rows.schema, rows.table.clone(), split.id.clone(), split.position);
        for row in (split.position..split.position + count).map(|p| share.row(p)) {
            batch.push(|i, builder| rows.fields[i].append(row, &mut Random::of(share.seed, i as u64, row), builder));
        }
        split.position += count;
        let made = count > 0;
        // The splits of a subtask take turns.
        self.splits.push_back((split, share));
        if !made {
            return Ok(SourceOutput::Idle);
        }
        let (columns, chunk) = batch.take()?;
        Ok(SourceOutput::Rows(columns, Arc::new(chunk)))
    }

    fn snapshot(&self) -> Vec<SourceSplit> {
        self.splits.iter().map(|(split, _)| split).chain(&self.ended).cloned().collect()
    }

    fn progress(&self) -> Option<(u64, u64)> {
        let all: Vec<_> = self.splits.iter().map(|(s, share)| (s.position, self.end_of(*share))).collect();
        self.rows.count?;
        let ended: u64 = self.ended.iter().map(|s| s.position).sum();
        Some((ended + all.iter().map(|a| a.0).sum::<u64>(), ended + all.iter().map(|a| a.1).sum::<u64>()))
    }
}
