//! Lists of partitions with offsets, as most calls take them.

use super::code;
use rdkafka::bindings as rd;
use std::ffi::{CString, c_char};
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TopicPartition {
    pub topic: Arc<str>,
    pub partition: i32,
}

impl std::fmt::Display for TopicPartition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// What `Client::list_offsets` can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offset {
    Earliest,
    /// The end, or under read_committed the end of what is committed.
    Latest,
    /// The first record at or after this time (ms); the end if there is none.
    At(i64),
}

impl Offset {
    /// As ListOffsets writes it.
    pub(super) fn timestamp(self) -> i64 {
        match self {
            Offset::Earliest => -2,
            Offset::Latest => -1,
            Offset::At(ms) => ms.max(0),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionOffset {
    pub at: TopicPartition,
    /// Negative: there is none.
    pub offset: i64,
    pub error: i32,
}

pub(super) struct PartitionList(*mut rd::rd_kafka_topic_partition_list_t);

impl PartitionList {
    pub fn new<'a>(items: impl IntoIterator<Item = (&'a TopicPartition, i64)>) -> Self {
        // SAFETY: it allocates; it aborts rather than return null.
        let list = Self(unsafe { rd::rd_kafka_topic_partition_list_new(16) });
        for (at, offset) in items {
            // Kafka's names hold no zero byte; one that did would be found nowhere.
            let Ok(topic) = CString::new(&*at.topic) else { continue };
            // SAFETY: the list is alive and copies the name.
            unsafe {
                let element =
                    rd::rd_kafka_topic_partition_list_add(list.0, topic.as_ptr().cast::<c_char>(), at.partition);
                (*element).offset = offset;
            }
        }
        list
    }

    pub fn ptr(&self) -> *mut rd::rd_kafka_topic_partition_list_t {
        self.0
    }

    pub fn read(&self) -> Vec<PartitionOffset> {
        // SAFETY: the list holds `cnt` elements with names that end in 0.
        unsafe {
            let list = &*self.0;
            (0..usize::try_from(list.cnt).unwrap_or(0))
                .map(|i| {
                    let e = &*list.elems.add(i);
                    PartitionOffset {
                        at: TopicPartition { topic: super::text_of(e.topic).into(), partition: e.partition },
                        offset: e.offset,
                        error: super::number(&raw const e.err),
                    }
                })
                .collect()
        }
    }

    /// As `read`; the first partition's error is the list's.
    pub fn read_all(&self) -> Result<Vec<PartitionOffset>, PartitionOffset> {
        let all = self.read();
        match all.iter().find(|p| p.error != code::OK) {
            Some(failed) => Err(failed.clone()),
            None => Ok(all),
        }
    }
}

impl Drop for PartitionList {
    fn drop(&mut self) {
        // SAFETY: it is ours.
        unsafe { rd::rd_kafka_topic_partition_list_destroy(self.0) };
    }
}
