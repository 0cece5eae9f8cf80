//! What a client says unasked: errors, log lines, delivery reports. librdkafka calls in from polls of ours and (for log
//! lines) from threads of its own.

use super::{code, describe, text_of};
use crate::metrics::OperatorMetrics;
use rdkafka::bindings as rd;
use std::ffi::{c_char, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Errors that pass by themselves are told not more often than this.
const WARN_EVERY: Duration = Duration::from_secs(5);

/// An error by its number and in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KafkaError {
    pub code: i32,
    pub reason: String,
}

impl KafkaError {
    pub fn of(code: i32) -> Self {
        Self { code, reason: describe(code) }
    }
}

/// A record that did not come to the broker.
#[derive(Debug)]
pub struct DeliveryFailure {
    pub tag: u64,
    pub error: KafkaError,
    pub record: FailedRecord,
}

/// The record again, so that it can be sent alone.
#[derive(Debug, Clone, Default)]
pub struct FailedRecord {
    pub topic: String,
    pub partition: i32,
    pub key: Option<Vec<u8>>,
    pub value: Option<Vec<u8>>,
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    pub timestamp: Option<i64>,
}

/// What the callbacks of one client write to.
pub struct Events {
    table: Arc<str>,
    metrics: Option<Arc<OperatorMetrics>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    warned: Option<Instant>,
    suppressed: u64,
    /// The latest error that passes by itself, to explain a time-out with.
    latest: Option<KafkaError>,
    /// The first error that does not.
    fatal: Option<KafkaError>,
    /// (batch, records of it that were delivered), in the order of their reports.
    delivered: Vec<(u32, u32)>,
    failed: Vec<DeliveryFailure>,
}

impl Events {
    pub fn new(table: Arc<str>, metrics: Option<Arc<OperatorMetrics>>) -> Arc<Self> {
        Arc::new(Self { table, metrics, state: Mutex::default() })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the first error that does not pass by itself.
    pub fn fatal(&self) -> Option<KafkaError> {
        self.state().fatal.take()
    }

    pub fn latest(&self) -> Option<KafkaError> {
        self.state().latest.clone()
    }

    /// Takes the delivery reports that have come.
    pub fn take_deliveries(&self) -> (Vec<(u32, u32)>, Vec<DeliveryFailure>) {
        let mut state = self.state();
        (std::mem::take(&mut state.delivered), std::mem::take(&mut state.failed))
    }

    /// Notes an error of the client as a whole.
    pub fn note(&self, error: KafkaError) {
        let mut state = self.state();
        if is_fatal(error.code) {
            state.fatal.get_or_insert(error);
            return;
        }
        if let Some(m) = &self.metrics {
            m.retries.add(1);
        }
        if state.warned.is_none_or(|at| at.elapsed() >= WARN_EVERY) {
            let more = match std::mem::take(&mut state.suppressed) {
                0 => String::new(),
                n => format!(" ({n} more like it since the last message)"),
            };
            tracing::warn!("table {}: Kafka: {}; trying again{more}", self.table, error.reason);
            state.warned = Some(Instant::now());
        } else {
            state.suppressed += 1;
        }
        // That all brokers are down is said again and again; why, only once.
        let vague = |e: &KafkaError| matches!(e.code, code::ALL_BROKERS_DOWN | code::OK);
        if !vague(&error) || state.latest.as_ref().is_none_or(vague) {
            state.latest = Some(error);
        }
    }
}

/// Errors of a client that no waiting heals.
fn is_fatal(error: i32) -> bool {
    matches!(
        error,
        code::AUTHENTICATION
            | code::SASL_AUTHENTICATION
            | code::UNSUPPORTED_SASL_MECHANISM
            | code::FATAL
            | code::FENCED
            | code::TOPIC_AUTHORIZATION
            | code::CLUSTER_AUTHORIZATION
    )
}

pub(super) fn install(conf: *mut rd::rd_kafka_conf_t, events: &Arc<Events>, deliveries: bool) {
    // SAFETY: the client keeps the pointer; its owner keeps the Arc longer than the client (see `Client`).
    unsafe {
        rd::rd_kafka_conf_set_opaque(conf, Arc::as_ptr(events).cast_mut().cast());
        rd::rd_kafka_conf_set_error_cb(conf, Some(on_error));
        rd::rd_kafka_conf_set_log_cb(conf, Some(on_log));
        rd::rd_kafka_conf_set_offset_commit_cb(conf, Some(on_commit));
        if deliveries {
            rd::rd_kafka_conf_set_dr_msg_cb(conf, Some(on_delivery));
        }
    }
}

/// # Safety
/// `opaque` is null or what `install` was given, still alive.
unsafe fn events<'a>(opaque: *mut c_void) -> Option<&'a Events> {
    // SAFETY: as the caller promises.
    unsafe { opaque.cast::<Events>().as_ref() }
}

unsafe extern "C" fn on_error(rk: *mut rd::rd_kafka_t, error: c_int, reason: *const c_char, opaque: *mut c_void) {
    // SAFETY: librdkafka passes our opaque and a text that lives during the call.
    let (Some(events), mut reason) = (unsafe { events(opaque) }, unsafe { text_of(reason) }) else { return };
    let mut error = error;
    if error == code::FATAL {
        let mut text = [0 as c_char; 512];
        // SAFETY: the buffer is as long as it says; the client is alive, it called.
        let cause = unsafe { rd::rd_kafka_fatal_error(rk, text.as_mut_ptr(), text.len()) } as i32;
        if cause != code::OK {
            error = code::FATAL;
            // SAFETY: the call ended the text with 0.
            reason = unsafe { text_of(text.as_ptr()) };
        }
    }
    events.note(KafkaError { code: error, reason });
}

unsafe extern "C" fn on_log(rk: *const rd::rd_kafka_t, level: c_int, facility: *const c_char, line: *const c_char) {
    // SAFETY: both texts live during the call.
    let (facility, line) = unsafe { (text_of(facility), text_of(line)) };
    // What matters of it comes as errors, too; offsets that are gone come only here.
    if level <= 4 && facility == "OFFSET" {
        // SAFETY: the client is alive, it called.
        let table = unsafe { events(rd::rd_kafka_opaque(rk)) }.map(|e| e.table.to_string()).unwrap_or_default();
        tracing::warn!("table {table}: Kafka: {line}");
    } else {
        tracing::debug!(target: "wasmill::kafka", "{facility}: {line}");
    }
}

unsafe extern "C" fn on_commit(
    _rk: *mut rd::rd_kafka_t,
    error: rd::rd_kafka_resp_err_t,
    _offsets: *mut rd::rd_kafka_topic_partition_list_t,
    opaque: *mut c_void,
) {
    let error = error as i32;
    // Nothing new to commit is no failure.
    if error == code::OK || error == rd::rd_kafka_resp_err_t::RD_KAFKA_RESP_ERR__NO_OFFSET as i32 {
        return;
    }
    // SAFETY: librdkafka passes our opaque.
    if let Some(events) = unsafe { events(opaque) } {
        let reason = format!("offsets were not committed: {}", describe(error));
        // The positions that count are in the checkpoint: never the end of a job.
        events.note(KafkaError { code: code::OK, reason });
    }
}

unsafe extern "C" fn on_delivery(
    _rk: *mut rd::rd_kafka_t,
    message: *const rd::rd_kafka_message_t,
    opaque: *mut c_void,
) {
    // SAFETY: librdkafka passes our opaque and a message that lives during the call.
    let (Some(events), Some(message)) = (unsafe { events(opaque) }, unsafe { message.as_ref() }) else { return };
    let tag = message._private as u64;
    // SAFETY: the field is an error code.
    let error = unsafe { super::number(&raw const message.err) };
    let mut state = events.state();
    if error == code::OK {
        let batch = (tag >> 32) as u32;
        match state.delivered.last_mut() {
            Some((b, n)) if *b == batch => *n += 1,
            _ => state.delivered.push((batch, 1)),
        }
        return;
    }
    // SAFETY: the message is whole during the call, and this is the thread that it was given to.
    let record = unsafe { super::message::copy_of(message) };
    // SAFETY: the text is the message's or a static one.
    let told = unsafe { text_of(rd::rd_kafka_message_produce_errstr(message)) };
    let reason = if told.is_empty() { describe(error) } else { told };
    state.failed.push(DeliveryFailure { tag, error: KafkaError { code: error, reason }, record });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::OperatorRole;

    #[test]
    fn passing_errors_are_counted_and_fatal_ones_are_kept() {
        let metrics = OperatorMetrics::new("k", OperatorRole::Source);
        let events = Events::new("t".into(), Some(metrics.clone()));
        events.note(KafkaError::of(code::ALL_BROKERS_DOWN));
        events.note(KafkaError::of(code::TRANSPORT));
        assert_eq!((metrics.retries.get(), events.fatal()), (2, None));
        assert_eq!(events.latest().map(|e| e.code), Some(code::TRANSPORT));
        events.note(KafkaError::of(code::AUTHENTICATION));
        events.note(KafkaError::of(code::FENCED));
        assert_eq!(events.fatal().map(|e| e.code), Some(code::AUTHENTICATION));
    }

    #[test]
    fn every_code_has_words() {
        assert!(KafkaError::of(code::TOPIC_AUTHORIZATION).reason.contains("authoriz"));
        assert_eq!(KafkaError::of(12345).reason, "error 12345");
        assert_eq!(KafkaError::of(-17).reason, "error -17");
    }
}
