//! A client's configuration.

use super::text_of;
use rdkafka::bindings as rd;
use std::ffi::{CString, c_char};

#[derive(Debug, PartialEq, Eq)]
pub enum ConfError {
    /// librdkafka has no such property.
    Unknown,
    /// The value is none of the property's; what librdkafka says (it quotes the value, so keep it from logs of secrets).
    Invalid(String),
}

pub struct Conf(*mut rd::rd_kafka_conf_t);

// SAFETY: a configuration belongs to one owner and has no ties to a thread.
unsafe impl Send for Conf {}

pub(super) const ERROR_TEXT: usize = 512;

impl Conf {
    pub fn new() -> Self {
        // SAFETY: it allocates; it aborts rather than return null.
        Self(unsafe { rd::rd_kafka_conf_new() })
    }

    pub fn set(&mut self, name: &str, value: &str) -> Result<(), ConfError> {
        let (Ok(c_name), Ok(c_value)) = (CString::new(name), CString::new(value)) else {
            return Err(ConfError::Invalid("holds a zero byte".into()));
        };
        let mut text = [0 as c_char; ERROR_TEXT];
        // SAFETY: the pointers live during the call, which copies what it keeps.
        let outcome =
            unsafe { rd::rd_kafka_conf_set(self.0, c_name.as_ptr(), c_value.as_ptr(), text.as_mut_ptr(), text.len()) };
        match outcome {
            rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_OK => Ok(()),
            rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_UNKNOWN => Err(ConfError::Unknown),
            rd::rd_kafka_conf_res_t::RD_KAFKA_CONF_INVALID => {
                // SAFETY: the call ended the text with 0.
                Err(ConfError::Invalid(unsafe { text_of(text.as_ptr()) }))
            }
        }
    }

    pub(super) fn ptr(&self) -> *mut rd::rd_kafka_conf_t {
        self.0
    }

    /// Gives it up to a client, which frees it.
    pub(super) fn release(mut self) {
        self.0 = std::ptr::null_mut();
    }
}

impl Drop for Conf {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: it is ours and was not given to a client.
            unsafe { rd::rd_kafka_conf_destroy(self.0) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_are_checked_without_a_connection() {
        let mut conf = Conf::new();
        assert_eq!(conf.set("linger.ms", "7"), Ok(()));
        assert_eq!(conf.set("linger.mss", "7"), Err(ConfError::Unknown));
        assert!(matches!(conf.set("linger.ms", "x"), Err(ConfError::Invalid(_))));
        assert!(matches!(conf.set("client.id", "a\0b"), Err(ConfError::Invalid(_))));
    }
}
