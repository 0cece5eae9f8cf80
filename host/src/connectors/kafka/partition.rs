//! One partition on its way: where it was fetched to, where it was handed on to, where it ends.

use super::native::TopicPartition;
use super::topics::split_name;
use crate::connectors::api::SourceSplit;
use std::sync::Arc;

#[derive(Debug)]
pub struct Partition {
    pub id: Arc<str>,
    pub at: TopicPartition,
    start: i64,
    end: Option<i64>,
    /// The position after what was taken from librdkafka.
    pub fetched: i64,
    /// The position after what the reader gave to the engine.
    pub returned: i64,
    /// The consumer has it.
    pub fetching: bool,
    split: SourceSplit,
}

impl Partition {
    pub fn of(split: SourceSplit) -> Self {
        let number = |name: &str| split.detail.get(name).and_then(serde_json::Value::as_i64);
        let (topic, partition) = split_name(&split.id).unwrap_or((&split.id, 0));
        let at = TopicPartition { topic: topic.into(), partition };
        let position = i64::try_from(split.position).unwrap_or(i64::MAX);
        let mut new = Self {
            id: split.id.clone(),
            at,
            start: number("start").unwrap_or(position),
            end: number("end"),
            fetched: position,
            returned: position,
            fetching: true,
            split,
        };
        new.fetching = !new.ended();
        new
    }

    /// Everything before its end was taken.
    pub fn ended(&self) -> bool {
        self.end.is_some_and(|end| self.fetched >= end)
    }

    /// A record at this offset is behind the end.
    pub fn ends_before(&self, offset: i64) -> bool {
        self.end.is_some_and(|end| offset >= end)
    }

    pub fn split(&self) -> SourceSplit {
        SourceSplit { position: u64::try_from(self.returned).unwrap_or(0), ..self.split.clone() }
    }

    /// (done, of); None: it has no end.
    pub fn progress(&self) -> Option<(u64, u64)> {
        let of = |from: i64, to: i64| u64::try_from(to - from).unwrap_or(0);
        let end = self.end?;
        Some((of(self.start, self.returned.min(end)), of(self.start, end)))
    }
}
