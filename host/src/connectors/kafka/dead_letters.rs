//! Dead letters to a topic: the record as it came, and in headers where it came from and why it is here.

use super::connection::{ANSWER_TIME, Connection};
use super::native::{FailedRecord, KafkaError, Producer, code};
use super::properties::{Properties, Role};
use super::topics::split_name;
use crate::connectors::api::{DeadLetter, DeadLetterOutput};
use crate::error::{Error, Result};
use indexmap::IndexMap;
use std::path::Path;
use std::time::Duration;

const EXAMPLE: &str = "it looks like kafka://host:9092,host2:9092/topic?security.protocol=SASL_SSL&..";
const POLL: Duration = Duration::from_millis(20);

/// Opens `kafka://brokers/topic?property=value&..`; the properties are those of a table. Asks for the topic.
pub fn dead_letters(url: &str) -> Result<Box<dyn DeadLetterOutput>> {
    let (brokers, topic, properties) = take_apart(url)?;
    let properties = Properties::translate(Some(&properties), Role::Producer);
    for f in properties.findings.iter().filter(|f| !f.is_error) {
        tracing::warn!("--dead-letters: {}", f.message);
    }
    let connection = Connection::with("--dead-letters".into(), brokers, properties, Role::Producer, Path::new("."))?;
    let producer = connection.producer(None)?;
    let failed = |e: KafkaError| connection.error(&format!("topic {topic}"), &e);
    let metadata = producer.metadata(Some(&topic), ANSWER_TIME).map_err(failed)?;
    if let Some(t) = metadata.topics.iter().find(|t| t.name == topic)
        && !matches!(t.error, code::OK | code::LEADER_NOT_AVAILABLE)
    {
        return Err(failed(KafkaError::of(t.error)));
    }
    Ok(Box::new(DeadLetterTopic { producer, connection, topic, outstanding: 0 }))
}

type Parts = (String, String, IndexMap<String, String>);

/// The messages do not repeat the URL: it may hold a password.
fn take_apart(url: &str) -> Result<Parts> {
    let wrong = |what: &str| Error::user(format!("--dead-letters kafka://..: {what}")).with_hint(EXAMPLE);
    let rest = url.strip_prefix("kafka://").ok_or_else(|| wrong("the URL does not begin with kafka://"))?;
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (brokers, topic) = place.split_once('/').ok_or_else(|| wrong("the topic is missing"))?;
    if brokers.is_empty() {
        return Err(wrong("the brokers are missing"));
    }
    if brokers.contains('@') {
        return Err(wrong("users and passwords are properties: sasl.jaas.config"));
    }
    let topic = topic.trim_end_matches('/');
    if topic.is_empty() || topic.contains('/') {
        return Err(wrong("one topic is needed"));
    }
    let mut properties = IndexMap::new();
    for pair in query.split('&').filter(|p| !p.is_empty()) {
        let (key, value) = pair.split_once('=').ok_or_else(|| wrong("a property looks like name=value"))?;
        let decode = |text: &str| percent_decoded(text).ok_or_else(|| wrong("a %XX in it is no character"));
        properties.insert(decode(key)?, decode(value)?);
    }
    Ok((brokers.to_string(), topic.to_string(), properties))
}

/// `%20` and the like; a plus stays one (passwords hold them).
fn percent_decoded(text: &str) -> Option<String> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes();
    while let Some(b) = bytes.next() {
        if b != b'%' {
            out.push(b);
            continue;
        }
        let digit = |b: Option<u8>| char::from(b?).to_digit(16);
        let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
        out.push((high * 16 + low) as u8);
    }
    String::from_utf8(out).ok()
}

struct DeadLetterTopic {
    producer: Producer,
    connection: Connection,
    topic: String,
    outstanding: usize,
}

impl DeadLetterTopic {
    /// Serves delivery reports. A dead letter that is lost ends the job: nothing may vanish.
    fn serve(&mut self, wait: Duration) -> Result<()> {
        self.producer.poll(wait);
        let (delivered, failed) = self.producer.events().take_deliveries();
        let delivered: usize = delivered.iter().map(|(_, n)| *n as usize).sum();
        self.outstanding = self.outstanding.saturating_sub(delivered + failed.len());
        let fatal = || self.producer.events().fatal();
        match failed.into_iter().next().map(|f| f.error).or_else(fatal) {
            Some(error) => Err(self.connection.error("a dead letter cannot be written", &error)),
            None => Ok(()),
        }
    }
}

impl DeadLetterOutput for DeadLetterTopic {
    fn write(&mut self, letter: &DeadLetter<'_>) -> Result<()> {
        let record = record_of(letter, &self.topic);
        loop {
            match self.producer.send_whole(&record, 0) {
                Ok(()) => break,
                Err(e) if e.code == code::QUEUE_FULL => self.serve(POLL)?,
                Err(e) => return Err(self.connection.error("a dead letter cannot be written", &e)),
            }
        }
        self.outstanding += 1;
        self.serve(Duration::ZERO)
    }

    fn flush(&mut self) -> Result<()> {
        while self.outstanding > 0 {
            self.serve(POLL)?;
        }
        Ok(())
    }
}

fn record_of(letter: &DeadLetter<'_>, topic: &str) -> FailedRecord {
    let (origin, error) = (letter.origin, letter.error);
    let position = origin.position.to_string();
    let mut headers: Vec<(&str, String)> = vec![("job", letter.job.into()), ("table", letter.table.into())];
    match split_name(&origin.split).filter(|_| origin.unit == "offset") {
        Some((topic, partition)) => {
            headers.push(("topic", topic.into()));
            headers.push(("partition", partition.to_string()));
            headers.push(("offset", position));
        }
        None if origin.split.is_empty() => {}
        None => {
            headers.push(("split", origin.split.to_string()));
            headers.push(("position", position));
        }
    }
    headers.push(("reason", error.reason.as_str().into()));
    headers.extend(error.column.clone().map(|c| ("column", c)));
    headers.extend(error.function.clone().map(|f| ("function", f)));
    headers.push(("message", error.message.clone()));
    FailedRecord {
        topic: topic.into(),
        partition: -1,
        key: None,
        value: origin.raw.clone(),
        headers: headers.into_iter().map(|(k, v)| (format!("wasmill.{k}"), Some(v.into_bytes()))).collect(),
        timestamp: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::{Reason, RowError, RowOrigin};

    #[test]
    fn urls_are_taken_apart() {
        let (brokers, topic, properties) =
            take_apart("kafka://a:1,b:2/dead?security.protocol=SASL_SSL&sasl.jaas.config=x%20y%3D%22z+%22;").unwrap();
        assert_eq!((brokers.as_str(), topic.as_str()), ("a:1,b:2", "dead"));
        assert_eq!(properties["sasl.jaas.config"], "x y=\"z+\";");
        for url in [
            "file://x",
            "kafka://h:1",
            "kafka:///t",
            "kafka://h:1/",
            "kafka://h/t?secret",
            "kafka://u:secret@h/t",
            "kafka://h/t?a=secret%zz",
        ] {
            let e = take_apart(url).unwrap_err();
            assert!(!e.message.contains("secret") && e.hint.is_some(), "{url}: {e}");
        }
    }

    #[test]
    fn letters_say_where_they_come_from() {
        let error = RowError::new(0, Reason::Cast, "'x' is no INT").column("n");
        let mut origin = RowOrigin {
            table: "src".into(),
            split: "a-b-3".into(),
            unit: "offset",
            position: 42,
            raw: Some(b"\xff".to_vec()),
        };
        let headers = |origin: &RowOrigin| {
            let record = record_of(&DeadLetter { job: "j", table: "src", origin, error: &error }, "dead");
            assert_eq!(record.value.as_deref(), Some(b"\xff".as_slice()));
            let text = |v: Option<Vec<u8>>| String::from_utf8(v.unwrap()).unwrap();
            record.headers.into_iter().map(|(k, v)| format!("{k}={}", text(v))).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(
            headers(&origin),
            "wasmill.job=j wasmill.table=src wasmill.topic=a-b wasmill.partition=3 wasmill.offset=42 \
             wasmill.reason=cast wasmill.column=n wasmill.message='x' is no INT"
        );
        (origin.split, origin.unit) = ("in-1".into(), "line");
        assert!(headers(&origin).contains("wasmill.split=in-1 wasmill.position=42"));
    }
}
