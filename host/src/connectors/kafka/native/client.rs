//! A client of either kind: its life, and what both kinds can ask the brokers.

use super::conf::{Conf, ERROR_TEXT};
use super::events::{self, Events, KafkaError};
use super::partitions::PartitionList;
use super::{Offset, PartitionOffset, TopicPartition, code, millis, number, text_of};
use rdkafka::bindings as rd;
use std::ffi::{CString, c_char};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long one question may take before errors that came meanwhile are looked at.
const SLICE: Duration = Duration::from_millis(500);

pub struct Client {
    rk: *mut rd::rd_kafka_t,
    events: Arc<Events>,
}

// SAFETY: librdkafka's handles may be used from every thread, several at once.
unsafe impl Send for Client {}
// SAFETY: as above.
unsafe impl Sync for Client {}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopicMetadata {
    pub name: String,
    pub partitions: Vec<i32>,
    pub error: i32,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metadata {
    pub brokers: usize,
    pub topics: Vec<TopicMetadata>,
}

impl Client {
    /// Starts a client. The error is about its properties: nothing was asked yet.
    pub(super) fn start(kind: rd::rd_kafka_type_t, conf: Conf, events: Arc<Events>) -> Result<Self, String> {
        events::install(conf.ptr(), &events, kind == rd::rd_kafka_type_t::RD_KAFKA_PRODUCER);
        let mut text = [0 as c_char; ERROR_TEXT];
        // SAFETY: the pointers live during the call. If it fails, the configuration stays ours.
        let rk = unsafe { rd::rd_kafka_new(kind, conf.ptr(), text.as_mut_ptr(), text.len()) };
        if rk.is_null() {
            // SAFETY: the call ended the text with 0.
            return Err(unsafe { text_of(text.as_ptr()) });
        }
        conf.release();
        Ok(Self { rk, events })
    }

    pub(super) fn ptr(&self) -> *mut rd::rd_kafka_t {
        self.rk
    }

    pub fn events(&self) -> &Arc<Events> {
        &self.events
    }

    /// Serves callbacks; waits for the first one.
    pub fn poll(&self, wait: Duration) {
        // SAFETY: the client is alive.
        unsafe { rd::rd_kafka_poll(self.rk, millis(wait)) };
    }

    /// Asks again until there is an answer, an error that does not pass, or the time is over.
    fn ask<T>(
        &self,
        time: Duration,
        mut question: impl FnMut(Duration) -> Result<T, KafkaError>,
    ) -> Result<T, KafkaError> {
        let end = Instant::now() + time;
        loop {
            let answer =
                question(SLICE.min(end.saturating_duration_since(Instant::now())).max(Duration::from_millis(1)));
            self.poll(Duration::ZERO);
            let Err(error) = answer else { return answer };
            if let Some(fatal) = self.events.fatal() {
                return Err(fatal);
            }
            if !passes(error.code) {
                return Err(error);
            }
            // Why the brokers do not answer is told to the client, not to the question.
            let told = self.events.latest();
            let hopeless = told.as_ref().is_some_and(|t| t.code == code::SSL);
            if hopeless || Instant::now() >= end {
                return Err(told.unwrap_or(error));
            }
            // Errors that come at once must not become a busy loop.
            self.poll(Duration::from_millis(50));
        }
    }

    /// The brokers and one topic, or all topics.
    pub fn metadata(&self, topic: Option<&str>, time: Duration) -> Result<Metadata, KafkaError> {
        let handle = topic.map(|t| TopicHandle::new(self, t)).transpose()?;
        let only = handle.as_ref().map_or(std::ptr::null_mut(), |h| h.0);
        self.ask(time, |wait| {
            let mut found: *const rd::rd_kafka_metadata = std::ptr::null();
            // SAFETY: the pointers live during the call.
            let error =
                unsafe { rd::rd_kafka_metadata(self.rk, i32::from(topic.is_none()), only, &mut found, millis(wait)) };
            if error as i32 != code::OK {
                return Err(KafkaError::of(error as i32));
            }
            // SAFETY: the call succeeded: the structure is whole, ours, and freed once.
            unsafe {
                let metadata = read_metadata(&*found);
                rd::rd_kafka_metadata_destroy(found);
                Ok(metadata)
            }
        })
    }

    /// One question to each leader, all at once.
    pub fn list_offsets(
        &self,
        partitions: &[(TopicPartition, Offset)],
        time: Duration,
    ) -> Result<Vec<PartitionOffset>, KafkaError> {
        if partitions.is_empty() {
            return Ok(vec![]);
        }
        self.ask(time, |wait| {
            let list = PartitionList::new(partitions.iter().map(|(at, o)| (at, o.timestamp())));
            // Leaders are found with a metadata question of its own first: more than one slice.
            let wait = wait.max(Duration::from_secs(5));
            // SAFETY: both are alive during the call.
            let error = unsafe { rd::rd_kafka_offsets_for_times(self.rk, list.ptr(), millis(wait)) };
            if error as i32 != code::OK {
                return Err(KafkaError::of(error as i32));
            }
            list.read_all().map_err(|p| {
                let KafkaError { code, reason } = KafkaError::of(p.error);
                KafkaError { code, reason: format!("{}: {reason}", p.at) }
            })
        })
    }

    /// The group's committed offsets; negative where there is none. For clients with a group.
    pub fn committed(&self, partitions: &[TopicPartition], time: Duration) -> Result<Vec<PartitionOffset>, KafkaError> {
        if partitions.is_empty() {
            return Ok(vec![]);
        }
        self.ask(time, |wait| {
            let list = PartitionList::new(partitions.iter().map(|at| (at, -1)));
            let wait = wait.max(Duration::from_secs(5));
            // SAFETY: both are alive during the call.
            let error = unsafe { rd::rd_kafka_committed(self.rk, list.ptr(), millis(wait)) };
            match error as i32 {
                code::OK => list.read_all().map_err(|p| KafkaError::of(p.error)),
                other => Err(KafkaError::of(other)),
            }
        })
    }
}

/// Asking again may help. Topics and leaders may take a while to be known everywhere, but an unknown topic is an answer.
fn passes(error: i32) -> bool {
    !matches!(
        error,
        code::UNKNOWN_TOPIC_OR_PARTITION
            | code::UNKNOWN_TOPIC
            | code::UNKNOWN_PARTITION
            | code::INVALID_TOPIC
            | code::TOPIC_AUTHORIZATION
            | code::GROUP_AUTHORIZATION
            | code::CLUSTER_AUTHORIZATION
            | code::UNSUPPORTED_FOR_MESSAGE_FORMAT
            | code::AUTHENTICATION
            | code::SASL_AUTHENTICATION
            | code::FATAL
    )
}

/// # Safety
/// The structure is whole.
unsafe fn read_metadata(found: &rd::rd_kafka_metadata) -> Metadata {
    let count = |n: i32| usize::try_from(n).unwrap_or(0);
    let mut metadata = Metadata { brokers: count(found.broker_cnt), topics: vec![] };
    for t in 0..count(found.topic_cnt) {
        // SAFETY: so many topics with so many partitions are there.
        unsafe {
            let topic = &*found.topics.add(t);
            let partitions = (0..count(topic.partition_cnt)).map(|p| (*topic.partitions.add(p)).id).collect();
            metadata.topics.push(TopicMetadata {
                name: text_of(topic.topic),
                partitions,
                error: number(&raw const topic.err),
            });
        }
    }
    metadata
}

impl Drop for Client {
    fn drop(&mut self) {
        // SAFETY: it is ours, and everything that was made of it is gone. Nothing has joined a group: no farewell.
        unsafe { rd::rd_kafka_destroy_flags(self.rk, rd::RD_KAFKA_DESTROY_F_NO_CONSUMER_CLOSE) };
    }
}

/// A topic of a client.
pub(super) struct TopicHandle(pub *mut rd::rd_kafka_topic_t);

// SAFETY: as for `Client`.
unsafe impl Send for TopicHandle {}

impl TopicHandle {
    pub fn new(client: &Client, name: &str) -> Result<Self, KafkaError> {
        let invalid = || KafkaError { code: code::INVALID_TOPIC, reason: format!("{name:?} is no topic name") };
        let c_name = CString::new(name).map_err(|_| invalid())?;
        // SAFETY: the pointers live during the call.
        let handle = unsafe { rd::rd_kafka_topic_new(client.ptr(), c_name.as_ptr(), std::ptr::null_mut()) };
        if handle.is_null() { Err(invalid()) } else { Ok(Self(handle)) }
    }
}

impl Drop for TopicHandle {
    fn drop(&mut self) {
        // SAFETY: it is ours and its client lives longer.
        unsafe { rd::rd_kafka_topic_destroy(self.0) };
    }
}
