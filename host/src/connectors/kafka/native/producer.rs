//! A producer. Records go into librdkafka's queue in batches; a tag per record comes back with its delivery report.

use super::client::{Client, TopicHandle};
use super::conf::Conf;
use super::events::{Events, FailedRecord, KafkaError};
use super::{code, number};
use rdkafka::bindings as rd;
use std::ffi::{CString, c_void};
use std::ops::Deref;
use std::sync::Arc;

/// The partition is chosen by the producer's partitioner.
const UNASSIGNED: i32 = -1;

pub struct Producer {
    topics: Vec<(String, TopicHandle)>,
    messages: Vec<rd::rd_kafka_message_t>,
    client: Client,
}

// SAFETY: `messages` holds pointers only during `send`.
unsafe impl Send for Producer {}

/// A record to send.
#[derive(Debug, Clone, Copy)]
pub struct Outgoing<'a> {
    pub key: Option<&'a [u8]>,
    pub value: Option<&'a [u8]>,
    pub partition: Option<i32>,
    pub tag: u64,
}

/// A record that was not taken into the queue.
#[derive(Debug)]
pub struct Refusal {
    pub index: usize,
    pub error: KafkaError,
}

impl Deref for Producer {
    type Target = Client;
    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Producer {
    pub fn new(conf: Conf, events: Arc<Events>) -> Result<Self, String> {
        let client = Client::start(rd::rd_kafka_type_t::RD_KAFKA_PRODUCER, conf, events)?;
        Ok(Self { topics: Vec::new(), messages: Vec::new(), client })
    }

    fn topic(&mut self, name: &str) -> Result<*mut rd::rd_kafka_topic_t, KafkaError> {
        if let Some((_, handle)) = self.topics.iter().find(|(n, _)| n == name) {
            return Ok(handle.0);
        }
        let handle = TopicHandle::new(&self.client, name)?;
        let ptr = handle.0;
        self.topics.push((name.to_string(), handle));
        Ok(ptr)
    }

    /// Copies records into the queue. Gives how many were handled, taken or refused; the others find it full.
    pub fn send(
        &mut self,
        topic: &str,
        records: &[Outgoing<'_>],
        refused: &mut Vec<Refusal>,
    ) -> Result<usize, KafkaError> {
        let handle = self.topic(topic)?;
        self.messages.clear();
        self.messages.extend(records.iter().map(|r| message_of(r, handle)));
        let count = i32::try_from(self.messages.len()).unwrap_or(i32::MAX);
        let flags = rd::RD_KAFKA_MSG_F_COPY | rd::RD_KAFKA_MSG_F_PARTITION;
        // SAFETY: the messages point to the caller's bytes, which live during the call; it copies them.
        unsafe { rd::rd_kafka_produce_batch(handle, UNASSIGNED, flags, self.messages.as_mut_ptr(), count) };
        let mut handled = 0;
        for (index, message) in self.messages.iter().enumerate().take(count as usize) {
            // SAFETY: the field is an error code.
            match unsafe { number(&raw const message.err) } {
                code::OK => {}
                code::QUEUE_FULL => break,
                other => refused.push(Refusal { index, error: KafkaError::of(other) }),
            }
            handled = index + 1;
        }
        self.messages.clear();
        Ok(handled)
    }

    /// As `send`, for one record with headers and a time of its own.
    pub fn send_whole(&mut self, record: &FailedRecord, tag: u64) -> Result<(), KafkaError> {
        use rd::rd_kafka_vtype_t as V;
        let handle = self.topic(&record.topic)?;
        let names: Vec<CString> =
            record.headers.iter().map(|(n, _)| CString::new(n.as_str()).unwrap_or_default()).collect();
        let mut fields = vec![
            field(V::RD_KAFKA_VTYPE_RKT, |u| u.rkt = handle),
            field(V::RD_KAFKA_VTYPE_PARTITION, |u| u.i32_ = record.partition),
            field(V::RD_KAFKA_VTYPE_MSGFLAGS, |u| u.i = rd::RD_KAFKA_MSG_F_COPY),
            field(V::RD_KAFKA_VTYPE_OPAQUE, |u| u.ptr = tag as *mut c_void),
            bytes_field(V::RD_KAFKA_VTYPE_KEY, record.key.as_deref()),
            bytes_field(V::RD_KAFKA_VTYPE_VALUE, record.value.as_deref()),
        ];
        if let Some(at) = record.timestamp {
            fields.push(field(V::RD_KAFKA_VTYPE_TIMESTAMP, |u| u.i64_ = at));
        }
        for (name, (_, value)) in names.iter().zip(&record.headers) {
            fields.push(field(V::RD_KAFKA_VTYPE_HEADER, |u| {
                u.header = rd::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_2 {
                    name: name.as_ptr(),
                    val: value.as_ref().map_or(std::ptr::null(), |v| v.as_ptr().cast()),
                    size: value.as_ref().map_or(0, Vec::len) as isize,
                }
            }));
        }
        // SAFETY: everything that the fields point to lives during the call, which copies it.
        let error = unsafe { rd::rd_kafka_produceva(self.client.ptr(), fields.as_ptr(), fields.len()) };
        if error.is_null() {
            return Ok(());
        }
        // SAFETY: the error is ours and freed once.
        let failed = unsafe {
            let failed = KafkaError {
                code: rd::rd_kafka_error_code(error) as i32,
                reason: super::text_of(rd::rd_kafka_error_string(error)),
            };
            rd::rd_kafka_error_destroy(error);
            failed
        };
        Err(failed)
    }
}

fn message_of(record: &Outgoing<'_>, handle: *mut rd::rd_kafka_topic_t) -> rd::rd_kafka_message_t {
    // An empty slice's pointer is not null, so an empty value stays one.
    let raw = |bytes: Option<&[u8]>| match bytes {
        Some(b) => (b.as_ptr().cast_mut().cast::<c_void>(), b.len()),
        None => (std::ptr::null_mut(), 0),
    };
    let ((payload, len), (key, key_len)) = (raw(record.value), raw(record.key));
    rd::rd_kafka_message_t {
        err: rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR_NO_ERROR,
        rkt: handle,
        partition: record.partition.unwrap_or(UNASSIGNED),
        payload,
        len,
        key,
        key_len,
        offset: 0,
        _private: record.tag as *mut c_void,
    }
}

fn field(kind: rd::rd_kafka_vtype_t, set: impl FnOnce(&mut rd::rd_kafka_vu_s__bindgen_ty_1)) -> rd::rd_kafka_vu_t {
    let mut u = rd::rd_kafka_vu_s__bindgen_ty_1 { _pad: [0; 64] };
    set(&mut u);
    rd::rd_kafka_vu_t { vtype: kind, u }
}

fn bytes_field(kind: rd::rd_kafka_vtype_t, bytes: Option<&[u8]>) -> rd::rd_kafka_vu_t {
    field(kind, |u| {
        u.mem = rd::rd_kafka_vu_s__bindgen_ty_1__bindgen_ty_1 {
            ptr: bytes.map_or(std::ptr::null_mut(), |b| b.as_ptr().cast_mut().cast()),
            size: bytes.map_or(0, <[u8]>::len),
        }
    })
}
