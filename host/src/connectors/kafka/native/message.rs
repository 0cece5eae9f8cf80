//! Messages as they come out of a consumer's queue.

use super::events::FailedRecord;
use super::text_of;
use rdkafka::bindings as rd;
use std::ffi::{CStr, c_void};
use std::marker::PhantomData;

/// Messages taken at once; they are given back when this goes.
pub struct MessageBatch {
    messages: Vec<*mut rd::rd_kafka_message_t>,
}

impl MessageBatch {
    pub fn new() -> Self {
        Self { messages: Vec::new() }
    }
    /// Room for `count` more at the end; `fill` says how many it put there.
    pub(super) fn extend_with(
        &mut self,
        count: usize,
        fill: impl FnOnce(*mut *mut rd::rd_kafka_message_t) -> isize,
    ) -> usize {
        self.messages.reserve(count);
        let before = self.messages.len();
        // SAFETY: the room was reserved.
        let got = fill(unsafe { self.messages.as_mut_ptr().add(before) });
        let got = usize::try_from(got).unwrap_or(0).min(count);
        // SAFETY: `fill` wrote so many.
        unsafe { self.messages.set_len(before + got) };
        got
    }
    pub fn iter(&self) -> impl Iterator<Item = Message<'_>> {
        // SAFETY: the pointers are librdkafka's and live until they are given back.
        self.messages.iter().map(|m| Message { raw: unsafe { &**m }, batch: PhantomData })
    }
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }
    pub fn clear(&mut self) {
        for m in self.messages.drain(..) {
            // SAFETY: each is ours and given back once.
            unsafe { rd::rd_kafka_message_destroy(m) };
        }
    }
}

impl Drop for MessageBatch {
    fn drop(&mut self) {
        self.clear();
    }
}

#[derive(Clone, Copy)]
pub struct Message<'a> {
    raw: &'a rd::rd_kafka_message_t,
    batch: PhantomData<&'a MessageBatch>,
}

impl<'a> Message<'a> {
    #[inline]
    pub fn error(&self) -> i32 {
        // SAFETY: the field is an error code.
        unsafe { super::number(&raw const self.raw.err) }
    }
    /// In words, for messages that are errors.
    pub fn error_text(&self) -> String {
        // SAFETY: the message is alive; the text is its payload or a static one.
        unsafe { text_of(rd::rd_kafka_message_errstr(self.raw)) }
    }
    /// Equal for messages of one topic within a batch.
    #[inline]
    pub fn topic_address(&self) -> usize {
        self.raw.rkt as usize
    }
    /// Empty for errors of no topic.
    pub fn topic(&self) -> &'a str {
        if self.raw.rkt.is_null() {
            return "";
        }
        // SAFETY: the topic lives as long as its messages. Kafka's names are ASCII.
        unsafe { CStr::from_ptr(rd::rd_kafka_topic_name(self.raw.rkt)) }.to_str().unwrap_or_default()
    }
    #[inline]
    pub fn partition(&self) -> i32 {
        self.raw.partition
    }
    #[inline]
    pub fn offset(&self) -> i64 {
        self.raw.offset
    }
    /// None: the record has no value.
    #[inline]
    pub fn value(&self) -> Option<&'a [u8]> {
        // SAFETY: the payload is as long as the message says.
        unsafe { bytes(self.raw.payload, self.raw.len) }
    }
    #[inline]
    pub fn key(&self) -> Option<&'a [u8]> {
        // SAFETY: the key is as long as the message says.
        unsafe { bytes(self.raw.key, self.raw.key_len) }
    }
    /// Milliseconds, and the kind as Flink spells it.
    pub fn timestamp(&self) -> (Option<i64>, &'static str) {
        // SAFETY: the message is alive.
        unsafe { timestamp_of(self.raw) }
    }
    pub fn leader_epoch(&self) -> Option<i32> {
        // SAFETY: the message is alive.
        Some(unsafe { rd::rd_kafka_message_leader_epoch(self.raw) }).filter(|e| *e >= 0)
    }
    pub fn headers(&self) -> Vec<(String, Option<Vec<u8>>)> {
        // SAFETY: the message is alive and read by this thread alone.
        unsafe { headers_of(self.raw) }
    }
}

/// # Safety
/// `start` is null or points to `len` bytes that live for `'a`.
unsafe fn bytes<'a>(start: *mut c_void, len: usize) -> Option<&'a [u8]> {
    // SAFETY: as the caller promises.
    (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start.cast::<u8>(), len) })
}

/// # Safety
/// The message is whole.
unsafe fn timestamp_of(message: &rd::rd_kafka_message_t) -> (Option<i64>, &'static str) {
    use rd::rd_kafka_timestamp_type_t as T;
    let mut kind = T::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
    // SAFETY: as the caller promises.
    let at = unsafe { rd::rd_kafka_message_timestamp(message, &mut kind) };
    match kind {
        T::RD_KAFKA_TIMESTAMP_CREATE_TIME => (Some(at), "CreateTime"),
        T::RD_KAFKA_TIMESTAMP_LOG_APPEND_TIME => (Some(at), "LogAppendTime"),
        T::RD_KAFKA_TIMESTAMP_NOT_AVAILABLE => (None, "NoTimestampType"),
    }
}

/// # Safety
/// The message is whole and no other thread reads its headers (the first reading parses them).
unsafe fn headers_of(message: &rd::rd_kafka_message_t) -> Vec<(String, Option<Vec<u8>>)> {
    let mut list = std::ptr::null_mut();
    let mut headers = Vec::new();
    // SAFETY: as the caller promises; librdkafka fills the out parameters where it says so.
    unsafe {
        if rd::rd_kafka_message_headers(message, &mut list) as i32 != 0 {
            return headers;
        }
        let (mut name, mut value, mut len) = (std::ptr::null(), std::ptr::null(), 0usize);
        while rd::rd_kafka_header_get_all(list, headers.len(), &mut name, &mut value, &mut len) as i32 == 0 {
            headers.push((text_of(name), bytes(value.cast_mut(), len).map(<[u8]>::to_vec)));
        }
    }
    headers
}

/// # Safety
/// The message is whole and read by this thread alone.
pub(super) unsafe fn copy_of(message: &rd::rd_kafka_message_t) -> FailedRecord {
    // SAFETY: as the caller promises.
    unsafe {
        let topic = if message.rkt.is_null() { String::new() } else { text_of(rd::rd_kafka_topic_name(message.rkt)) };
        FailedRecord {
            topic,
            partition: message.partition,
            key: bytes(message.key, message.key_len).map(<[u8]>::to_vec),
            value: bytes(message.payload, message.len).map(<[u8]>::to_vec),
            headers: headers_of(message),
            timestamp: timestamp_of(message).0,
        }
    }
}
