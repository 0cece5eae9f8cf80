//! A consumer whose partitions and positions are given to it: it never joins a group.

use super::client::Client;
use super::conf::Conf;
use super::events::{Events, KafkaError};
use super::message::MessageBatch;
use super::partitions::{PartitionList, TopicPartition};
use super::{code, millis, text_of};
use rdkafka::bindings as rd;
use std::ffi::CString;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

pub struct Consumer {
    /// Before the client: it must go first.
    queue: Queue,
    client: Client,
}

struct Queue(*mut rd::rd_kafka_queue_t);

// SAFETY: queues may be used from every thread.
unsafe impl Send for Queue {}
// SAFETY: as above.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: it is ours, and its client is still alive.
        unsafe { rd::rd_kafka_queue_destroy(self.0) };
    }
}

impl Deref for Consumer {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Consumer {
    pub fn new(conf: Conf, events: Arc<Events>) -> Result<Self, String> {
        let client = Client::start(rd::rd_kafka_type_t::RD_KAFKA_CONSUMER, conf, events)?;
        // SAFETY: the client is alive. Errors of the client then come through the consumer's queue, too.
        let queue = unsafe {
            rd::rd_kafka_poll_set_consumer(client.ptr());
            rd::rd_kafka_queue_get_consumer(client.ptr())
        };
        if queue.is_null() {
            return Err("the consumer has no queue".into());
        }
        Ok(Self { queue: Queue(queue), client })
    }

    /// Serves callbacks, as `Client::poll` does for producers. Messages must not be waiting: they would be lost.
    pub fn assign(&self, partitions: &[(TopicPartition, i64)]) -> Result<(), String> {
        let list = PartitionList::new(partitions.iter().map(|(at, offset)| (at, *offset)));
        // SAFETY: both are alive during the call.
        outcome(unsafe { rd::rd_kafka_incremental_assign(self.client.ptr(), list.ptr()) })
    }

    pub fn unassign(&self, partitions: &[TopicPartition]) -> Result<(), String> {
        let list = PartitionList::new(partitions.iter().map(|at| (at, 0)));
        // SAFETY: both are alive during the call.
        outcome(unsafe { rd::rd_kafka_incremental_unassign(self.client.ptr(), list.ptr()) })
    }

    /// Adds up to `max` messages that are there; waits for the first one if there is none.
    pub fn consume(&self, batch: &mut MessageBatch, max: usize, wait: Duration) -> usize {
        let take = |batch: &mut MessageBatch, max: usize, wait: Duration| {
            batch.extend_with(max, |room| {
                // SAFETY: there is room for `max` pointers.
                unsafe { rd::rd_kafka_consume_batch_queue(self.queue.0, millis(wait), room, max) }
            })
        };
        // The call waits until it has `max` or the time is over, so only the first message is waited for.
        match take(batch, max, Duration::ZERO) {
            0 if !wait.is_zero() => match take(batch, 1, wait) {
                0 => 0,
                n => n + take(batch, max.saturating_sub(n), Duration::ZERO),
            },
            n => n,
        }
    }

    /// The end of the partition as the last fetch told it.
    pub fn known_end(&self, at: &TopicPartition) -> Option<i64> {
        let topic = CString::new(&*at.topic).ok()?;
        let (mut low, mut high) = (-1, -1);
        // SAFETY: the pointers live during the call, which asks nobody.
        let error = unsafe {
            rd::rd_kafka_get_watermark_offsets(self.client.ptr(), topic.as_ptr(), at.partition, &mut low, &mut high)
        };
        (error as i32 == code::OK && high >= 0).then_some(high)
    }

    /// Commits to the consumer's group, without waiting; what fails is told to the events.
    pub fn commit(&self, offsets: &[(TopicPartition, i64)]) -> Result<(), KafkaError> {
        let list = PartitionList::new(offsets.iter().map(|(at, offset)| (at, *offset)));
        // SAFETY: both are alive during the call, which copies the list.
        match unsafe { rd::rd_kafka_commit(self.client.ptr(), list.ptr(), 1) } as i32 {
            code::OK => Ok(()),
            other => Err(KafkaError::of(other)),
        }
    }
}

fn outcome(error: *mut rd::rd_kafka_error_t) -> Result<(), String> {
    if error.is_null() {
        return Ok(());
    }
    // SAFETY: the error is ours and freed once; its text is copied before.
    unsafe {
        let text = text_of(rd::rd_kafka_error_string(error));
        rd::rd_kafka_error_destroy(error);
        Err(text)
    }
}
