//! What was sent and is not yet known to be with the brokers, and what they refused.

use super::native::{DeliveryFailure, Events, FailedRecord, KafkaError, code};
use crate::connectors::api::FailedRow;
use crate::data::{Origin, Reason, RowError};
use std::collections::{HashSet, VecDeque};

/// A record to send again.
#[derive(Debug)]
pub struct Retry {
    pub tag: u64,
    pub record: FailedRecord,
}

/// Records that are sent again together.
pub type Group = Vec<Retry>;

/// Records of a batch that are on their way.
struct InFlight {
    id: u32,
    origin: Origin,
    left: usize,
}

#[derive(Default)]
pub struct Deliveries {
    batches: VecDeque<InFlight>,
    next_id: u32,
    outstanding: usize,
    failed: Vec<FailedRow>,
    groups: Vec<Group>,
    /// Refused for the first time.
    refused: Vec<Retry>,
    /// The group that is out again.
    again: Option<Again>,
    warned: bool,
}

struct Again {
    size: usize,
    /// Its records that were not refused (yet).
    tags: HashSet<u64>,
    refused: Vec<(Retry, KafkaError)>,
}

impl Deliveries {
    /// Opens a batch of so many records and gives its number.
    pub fn open(&mut self, origin: Origin, records: usize) -> u32 {
        let id = self.next_id;
        self.next_id = id.wrapping_add(1);
        if records > 0 {
            self.batches.push_back(InFlight { id, origin, left: records });
            self.outstanding += records;
        }
        id
    }

    /// Records that were sent or have to be sent again.
    pub fn outstanding(&self) -> usize {
        self.outstanding
    }

    pub fn origin_bytes(&self) -> usize {
        self.batches.iter().map(|b| b.origin.num_bytes()).sum()
    }

    pub fn take_failed(&mut self) -> Vec<FailedRow> {
        std::mem::take(&mut self.failed)
    }

    /// A record was never sent.
    pub fn refused(&mut self, batch: u32) {
        self.settle(batch, 1);
    }

    fn settle(&mut self, batch: u32, records: usize) {
        self.outstanding = self.outstanding.saturating_sub(records);
        if let Some(b) = self.batches.iter_mut().find(|b| b.id == batch) {
            b.left = b.left.saturating_sub(records);
            if b.left == 0 {
                self.batches.retain(|b| b.left > 0);
            }
        }
    }

    /// Takes the reports that have come. An error that is not one record's fault is returned.
    pub fn collect(&mut self, events: &Events) -> Option<KafkaError> {
        let (delivered, failures) = events.take_deliveries();
        for (batch, records) in delivered {
            self.settle(batch, records as usize);
        }
        let mut broken = None;
        for f in failures {
            let again = self.again.as_mut().is_some_and(|a| a.tags.remove(&f.tag));
            let DeliveryFailure { tag, error, record } = f;
            let retry = Retry { tag, record: as_sent(record) };
            if !is_about_records(error.code) {
                broken.get_or_insert(error);
            } else if let Some(a) = self.again.as_mut().filter(|_| again) {
                a.refused.push((retry, error));
            } else {
                self.tell(&error);
                self.refused.push(retry);
            }
        }
        broken
    }

    fn tell(&mut self, error: &KafkaError) {
        if !std::mem::replace(&mut self.warned, true) {
            tracing::warn!(
                "Kafka refuses a batch of records ({}); it is sent again in parts to find which of them it means. If \
                 the topic's max.message.bytes is small, set the property batch.size below it",
                error.reason
            );
        }
    }

    /// The next records to send together; none while others are out.
    pub fn next_group(&mut self) -> Option<Group> {
        if !self.refused.is_empty() {
            self.groups.push(std::mem::take(&mut self.refused));
        }
        let group = self.groups.pop()?;
        let tags = group.iter().map(|r| r.tag).collect();
        self.again = Some(Again { size: group.len(), tags, refused: Vec::new() });
        Some(group)
    }

    /// Whether the group's records are still on their way. When they are not, what was refused becomes two groups, or
    /// a failed row.
    pub fn group_is_out(&mut self) -> bool {
        let Some(again) = &mut self.again else { return false };
        // Successes are counted by batch only, so everything else is waited for, too.
        let held = again.refused.len() + self.refused.len() + self.groups.iter().map(Vec::len).sum::<usize>();
        if self.outstanding > held {
            return true;
        }
        let Some(Again { size, refused, .. }) = self.again.take() else { return false };
        if size == 1 {
            for (retry, error) in refused {
                self.fail(retry.tag, &error);
            }
        } else if !refused.is_empty() {
            let mut records: Vec<Retry> = refused.into_iter().map(|(r, _)| r).collect();
            let second = records.split_off(records.len().div_ceil(2));
            for records in [second, records] {
                if !records.is_empty() {
                    self.groups.push(records);
                }
            }
        }
        false
    }

    fn fail(&mut self, tag: u64, error: &KafkaError) {
        let (batch, row) = ((tag >> 32) as u32, tag as u32);
        if let Some(b) = self.batches.iter().find(|b| b.id == batch) {
            let error = RowError::new(row, Reason::Sink, format!("Kafka: {}", error.reason));
            self.failed.push(FailedRow { origin: b.origin.of_row(row as usize), error });
        }
        self.settle(batch, 1);
    }
}

/// The partitioner has chosen; a record that is sent again stays in its partition.
fn as_sent(record: FailedRecord) -> FailedRecord {
    // The time that librdkafka gave it stays, too, if there is one.
    FailedRecord { timestamp: record.timestamp.filter(|t| *t > 0), ..record }
}

/// One of the records may be the reason; others of its batch may be well.
fn is_about_records(error: i32) -> bool {
    matches!(
        error,
        code::MESSAGE_TOO_LARGE
            | code::RECORD_LIST_TOO_LARGE
            | code::INVALID_RECORD
            | code::INVALID_DIFFERENT_RECORD
            | code::INVALID_TIMESTAMP
            | code::CORRUPT_MESSAGE
    )
}
