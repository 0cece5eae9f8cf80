//! librdkafka, as far as this connector uses it: its batch calls, with one small safe type around each pointer. What is
//! unsafe stands in this folder and nowhere else in the connector.

mod client;
mod conf;
mod consumer;
mod events;
mod message;
mod partitions;
mod producer;

pub(super) use client::TopicMetadata;
pub(super) use conf::{Conf, ConfError};
pub(super) use consumer::Consumer;
pub(super) use events::{DeliveryFailure, Events, FailedRecord, KafkaError};
pub(super) use message::{Message, MessageBatch};
pub(super) use partitions::{Offset, PartitionOffset, TopicPartition};
pub(super) use producer::{Outgoing, Producer, Refusal};

/// The codes that librdkafka and Kafka give errors (`rd_kafka_resp_err_t`), as far as we tell them apart.
pub(super) mod code {
    pub const OK: i32 = 0;
    pub const TRANSPORT: i32 = -195;
    pub const RESOLVE: i32 = -193;
    pub const MSG_TIMED_OUT: i32 = -192;
    pub const PARTITION_EOF: i32 = -191;
    pub const UNKNOWN_PARTITION: i32 = -190;
    pub const UNKNOWN_TOPIC: i32 = -188;
    pub const ALL_BROKERS_DOWN: i32 = -187;
    pub const TIMED_OUT: i32 = -185;
    pub const QUEUE_FULL: i32 = -184;
    pub const SSL: i32 = -181;
    pub const AUTHENTICATION: i32 = -169;
    pub const FATAL: i32 = -150;
    pub const FENCED: i32 = -144;
    pub const AUTO_OFFSET_RESET: i32 = -140;
    pub const INVALID_DIFFERENT_RECORD: i32 = -138;
    pub const OFFSET_OUT_OF_RANGE: i32 = 1;
    pub const CORRUPT_MESSAGE: i32 = 2;
    pub const UNKNOWN_TOPIC_OR_PARTITION: i32 = 3;
    pub const LEADER_NOT_AVAILABLE: i32 = 5;
    pub const MESSAGE_TOO_LARGE: i32 = 10;
    pub const INVALID_TOPIC: i32 = 17;
    pub const RECORD_LIST_TOO_LARGE: i32 = 18;
    pub const TOPIC_AUTHORIZATION: i32 = 29;
    pub const GROUP_AUTHORIZATION: i32 = 30;
    pub const CLUSTER_AUTHORIZATION: i32 = 31;
    pub const INVALID_TIMESTAMP: i32 = 32;
    pub const UNSUPPORTED_SASL_MECHANISM: i32 = 33;
    pub const UNSUPPORTED_FOR_MESSAGE_FORMAT: i32 = 43;
    pub const SASL_AUTHENTICATION: i32 = 58;
    pub const INVALID_RECORD: i32 = 87;
}

/// Milliseconds as librdkafka's functions take them.
fn millis(time: std::time::Duration) -> i32 {
    i32::try_from(time.as_millis()).unwrap_or(i32::MAX)
}

/// A text of C's, which need not be UTF-8.
///
/// # Safety
/// `text` is null or points to a text that ends in 0 and lives during the call.
unsafe fn text_of(text: *const std::ffi::c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    // SAFETY: as the caller promises.
    unsafe { std::ffi::CStr::from_ptr(text) }.to_string_lossy().into_owned()
}

/// librdkafka's words for an error. The number is looked up, not made a value of the bindings' enum: a newer broker may
/// send numbers that the enum does not have.
fn describe(code: i32) -> String {
    let mut list: *const rdkafka::bindings::rd_kafka_err_desc = std::ptr::null();
    let mut count = 0usize;
    // SAFETY: both are out parameters; the list is static and holds `count` entries with static texts.
    let found = unsafe {
        rdkafka::bindings::rd_kafka_get_err_descs(&mut list, &mut count);
        (0..if list.is_null() { 0 } else { count }).map(|i| list.add(i)).find_map(|entry| {
            let desc = (*entry).desc;
            (!desc.is_null() && number(&raw const (*entry).code) == code).then(|| text_of(desc))
        })
    };
    found.filter(|text| !text.is_empty()).unwrap_or_else(|| format!("error {code}"))
}

/// The number of an error that came from outside.
///
/// # Safety
/// `at` points to an error code.
unsafe fn number(at: *const rdkafka::bindings::rd_kafka_resp_err_t) -> i32 {
    // SAFETY: the enum is laid out as an i32.
    unsafe { at.cast::<i32>().read() }
}
