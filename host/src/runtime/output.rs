//! Where the rows of a task go: channels to the tasks of one operator that reads them.

use super::channel::Sender;
use super::element::StreamElement;
use crate::data::Batch;
use crate::error::{Error, Result};
use crate::expr::program::{Program, StepResult};
use crate::operators::{Tail, converter, encode};
use async_trait::async_trait;

/// The other side of a channel is gone. It failed for a reason of its own, which is the one to report.
pub(super) fn disconnected() -> Error {
    Error::internal(DISCONNECTED)
}
pub(super) const DISCONNECTED: &str = "a neighbouring task ended early";

/// As many as Flink has by default: keys are spread over these, and these over the subtasks.
const KEY_GROUPS: u64 = 128;

/// Which channel a batch, or a row of it, goes to.
pub enum Route {
    /// Batches in turn; one channel takes all.
    InTurn { next: usize },
    /// Rows by their key. The program projects the key's columns.
    ByKey(Program),
}

/// The channels to one reader, a channel to each of its subtasks.
pub struct Output {
    pub channels: Vec<Sender>,
    pub route: Route,
}

impl Output {
    /// Control elements go to every subtask.
    async fn broadcast(&self, element: &StreamElement) -> Result<()> {
        for c in &self.channels {
            c.send(element.clone()).await.map_err(|_| disconnected())?;
        }
        Ok(())
    }

    async fn emit(&mut self, batch: Batch) -> Result<()> {
        match &mut self.route {
            Route::InTurn { next } => {
                let channel = &self.channels[*next];
                *next = (*next + 1) % self.channels.len();
                channel.send(StreamElement::Batch(batch)).await.map_err(|_| disconnected())
            }
            Route::ByKey(program) => {
                let parts = by_key(program, &batch, self.channels.len())?;
                for (channel, rows) in self.channels.iter().zip(parts).filter(|(_, rows)| !rows.is_empty()) {
                    let part = if rows.len() == batch.num_rows() { batch.clone() } else { batch.take(&rows)? };
                    channel.send(StreamElement::Batch(part)).await.map_err(|_| disconnected())?;
                }
                Ok(())
            }
        }
    }
}

/// The rows that go to each of `n` subtasks. A row whose key cannot be told goes with those that have none: whoever
/// needs the key says so.
fn by_key(program: &mut Program, batch: &Batch, n: usize) -> Result<Vec<Vec<u32>>> {
    let StepResult::Project { columns, .. } = program.run(0, &batch.columns)? else {
        return Err(Error::internal("key program has a filter"));
    };
    let columns = columns.columns();
    let keys = encode(&converter(columns)?, columns)?;
    let mut parts = vec![Vec::new(); n];
    for (row, key) in keys.iter().enumerate() {
        parts[subtask_of(key.as_deref().unwrap_or_default(), n)].push(row as u32);
    }
    Ok(parts)
}

fn subtask_of(key: &[u8], n: usize) -> usize {
    // Where keys go does not depend on the process.
    let hash = xxhash_rust::xxh3::xxh3_64(key);
    let groups = KEY_GROUPS.max(n as u64);
    ((hash % groups) * n as u64 / groups) as usize
}

/// All outputs of a task, by number.
#[derive(Default)]
pub struct Outputs(pub Vec<Output>);

impl Outputs {
    pub async fn broadcast(&self, element: StreamElement) -> Result<()> {
        for o in &self.0 {
            o.broadcast(&element).await?;
        }
        Ok(())
    }
}

#[async_trait(?Send)]
impl Tail for Outputs {
    async fn emit(&mut self, output: usize, batch: Batch) -> Result<()> {
        self.0[output].emit(batch).await
    }
}

#[cfg(test)]
mod tests {
    use super::subtask_of;

    #[test]
    fn keys_are_spread_over_all_subtasks() {
        for n in [1, 2, 3, 7, 128, 200] {
            let mut counts = vec![0usize; n];
            (0..100_000u32).for_each(|key| counts[subtask_of(&key.to_be_bytes(), n)] += 1);
            // A subtask has whole key groups: up to twice as many as another one.
            let fair = 100_000 / n;
            assert!(counts.iter().all(|c| *c > fair / 4 && *c < fair * 4), "{n}: {counts:?}");
        }
    }
}
