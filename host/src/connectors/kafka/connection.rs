//! Which brokers a table talks to, and how: clients with our defaults and the table's properties, and errors that say
//! where and what to do.

use super::native::{Conf, ConfError, Consumer, Events, KafkaError, Producer, code};
use super::properties::{Properties, Role, property};
use crate::connectors::api::TableContext;
use crate::error::{Error, Result};
use crate::metrics::OperatorMetrics;
use std::sync::Arc;
use std::time::Duration;

/// How long the brokers may take to answer what is asked before a job starts.
pub const ANSWER_TIME: Duration = Duration::from_secs(20);

/// librdkafka needs a group to assign partitions; nothing joins it and nothing is committed to it.
const NO_GROUP: &str = "wasmill-no-group";

const CLIENT_ID: &str = "wasmill";

/// Where we differ from librdkafka's defaults. What is in flight is bounded: 16 MiB of records to read and to write.
const CONSUMER_DEFAULTS: &[(&str, &str)] = &[
    ("enable.auto.commit", "false"),
    ("enable.auto.offset.store", "false"),
    // Java's default; librdkafka's is read_committed.
    ("isolation.level", "read_uncommitted"),
    // The default of 1000 ms makes a fast reader wait for its own queue.
    ("fetch.queue.backoff.ms", "5"),
    ("queued.min.messages", "50000"),
    ("queued.max.messages.kbytes", "16384"),
];
const PRODUCER_DEFAULTS: &[(&str, &str)] = &[
    ("enable.idempotence", "true"),
    ("linger.ms", "5"),
    ("batch.size", "1000000"),
    ("queue.buffering.max.messages", "100000"),
    ("queue.buffering.max.kbytes", "16384"),
    // Records with keys go where Java's clients put them.
    ("partitioner", "murmur2_random"),
];
const BOTH_DEFAULTS: &[(&str, &str)] = &[
    ("client.id", CLIENT_ID),
    ("log.connection.close", "false"),
    ("socket.keepalive.enable", "true"),
    // Errors of unreachable brokers come soon, not after half a minute.
    ("socket.connection.setup.timeout.ms", "10000"),
    ("reconnect.backoff.max.ms", "2000"),
];

#[derive(Clone)]
pub struct Connection {
    pub table: Arc<str>,
    /// As the table says them, for messages.
    pub brokers: String,
    /// The table's consumer group.
    pub group: Option<String>,
    settings: Vec<(String, String)>,
    kerberos: bool,
}

impl Connection {
    /// A user error for properties that make no sense.
    pub fn new(cx: &TableContext, role: Role) -> Result<Self> {
        let given = cx.options.prefixed.get("properties");
        let properties = Properties::translate(given, role);
        let brokers = cx.options.list("bootstrap.servers").unwrap_or_default().join(",");
        let group = cx.options.text("group.id").map(str::to_string).or_else(|| property(given, "group.id"));
        let client = property(given, "client.id");
        let mut connection = Self::with(cx.table.clone(), brokers, properties, role, &cx.base_dir)?;
        connection.group = group.map(|g| g.trim().to_string()).filter(|g| !g.is_empty());
        if let Some(id) = client {
            connection.put("client.id", &id);
        }
        if role == Role::Consumer {
            let group = connection.group.clone();
            connection.put("group.id", group.as_deref().unwrap_or(NO_GROUP));
        }
        Ok(connection)
    }

    pub fn with(
        table: Arc<str>,
        brokers: String,
        properties: Properties,
        role: Role,
        base: &std::path::Path,
    ) -> Result<Self> {
        if let Some(f) = properties.findings.iter().find(|f| f.is_error) {
            return Err(Error::user(format!("table {table}: {}", f.message)));
        }
        let own = if role == Role::Consumer { CONSUMER_DEFAULTS } else { PRODUCER_DEFAULTS };
        let settings = BOTH_DEFAULTS.iter().chain(own).map(|(k, v)| (k.to_string(), v.to_string())).collect();
        let mut connection = Self { table, brokers, group: None, settings, kerberos: false };
        for (name, value) in &properties.settings {
            connection.put(name, value);
        }
        for (name, value) in
            properties.stores.load(base).map_err(|e| e.context(format!("table {}", connection.table)))?
        {
            connection.put(name, &value);
        }
        if role == Role::Producer && !properties.settings.contains_key("enable.idempotence") {
            connection.settle_idempotence();
        }
        connection.kerberos = connection.get("security.protocol").is_some_and(|p| p.starts_with("sasl_"))
            && connection.get("sasl.mechanism").is_none_or(|m| m == "GSSAPI");
        let brokers = connection.brokers.clone();
        connection.put("bootstrap.servers", &brokers);
        Ok(connection)
    }

    /// Settings that exclude idempotence turn it off where it was not asked for, as Java's producer does.
    fn settle_idempotence(&mut self) {
        let acks = self.get("acks").is_some_and(|a| a != "-1" && a != "all");
        let retries = self.get("retries") == Some("0");
        let in_flight = self
            .get("max.in.flight.requests.per.connection")
            .and_then(|n| n.parse::<u32>().ok())
            .is_some_and(|n| n > 5);
        if acks || retries || in_flight {
            self.put("enable.idempotence", "false");
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.settings.iter().rev().find(|(n, _)| n == name).map(|(_, v)| v.as_str())
    }

    fn put(&mut self, name: &str, value: &str) {
        match self.settings.iter_mut().find(|(n, _)| n == name) {
            Some((_, v)) => *v = value.to_string(),
            None => self.settings.push((name.to_string(), value.to_string())),
        }
    }

    fn conf(&self, extra: &[(&str, &str)]) -> Result<Conf> {
        let mut conf = Conf::new();
        let all = self.settings.iter().map(|(k, v)| (k.as_str(), v.as_str()));
        for (name, value) in all.chain(extra.iter().copied()) {
            conf.set(name, value).map_err(|e| {
                let why = match e {
                    ConfError::Unknown => "librdkafka has no such property".to_string(),
                    // Its words may quote a secret.
                    ConfError::Invalid(_) if name.contains("password") || name.contains("pem") => {
                        "it is refused".into()
                    }
                    ConfError::Invalid(why) => why,
                };
                Error::user(format!("table {}: Kafka property {name}: {why}", self.table))
            })?;
        }
        Ok(conf)
    }

    pub fn consumer(&self, extra: &[(&str, &str)], metrics: Option<Arc<OperatorMetrics>>) -> Result<Consumer> {
        let events = Events::new(self.table.clone(), metrics);
        Consumer::new(self.conf(extra)?, events).map_err(|e| self.refused(e))
    }

    pub fn producer(&self, metrics: Option<Arc<OperatorMetrics>>) -> Result<Producer> {
        let events = Events::new(self.table.clone(), metrics);
        Producer::new(self.conf(&[])?, events).map_err(|e| self.refused(e))
    }

    /// librdkafka looks at properties together only when a client is made.
    fn refused(&self, why: String) -> Error {
        Error::user(format!("table {}: the Kafka client refuses its properties: {why}", self.table))
    }

    /// The error that ends a job: which table and brokers, what was tried, why it failed, what to do.
    pub fn error(&self, what: &str, error: &KafkaError) -> Error {
        let message = format!("table {}: Kafka at {}: {what}: {}", self.table, self.brokers, error.reason);
        let failed = Error::external(message);
        let failed = if retryable(error.code) { failed.retryable() } else { failed };
        match self.hint(error) {
            Some(hint) if error.code == code::GROUP_AUTHORIZATION => {
                failed.with_hint(format!("{hint} {}", self.group.as_deref().unwrap_or(NO_GROUP)))
            }
            Some(hint) => failed.with_hint(hint),
            None => failed,
        }
    }

    fn hint(&self, error: &KafkaError) -> Option<&'static str> {
        Some(match error.code {
            code::TRANSPORT | code::ALL_BROKERS_DOWN | code::TIMED_OUT | code::MSG_TIMED_OUT => {
                "is a broker listening there, with this security.protocol, and can it be reached from here?"
            }
            code::RESOLVE => "the host's name is not known here",
            code::SSL => {
                "check security.protocol against the broker's listener, ssl.truststore.* for the broker's certificate \
                 and ssl.keystore.* if the broker wants one"
            }
            code::AUTHENTICATION | code::SASL_AUTHENTICATION if self.kerberos => {
                "check keyTab and principal in sasl.jaas.config, sasl.kerberos.service.name, and that kinit is installed"
            }
            code::AUTHENTICATION | code::SASL_AUTHENTICATION | code::UNSUPPORTED_SASL_MECHANISM => {
                "check sasl.mechanism and the user name and password in sasl.jaas.config"
            }
            code::TOPIC_AUTHORIZATION => "the user needs READ (for a source) or WRITE (for a sink) on the topic",
            code::GROUP_AUTHORIZATION => "the user needs READ on the consumer group",
            code::UNKNOWN_TOPIC_OR_PARTITION | code::UNKNOWN_TOPIC | code::UNKNOWN_PARTITION => {
                "create the topic first, or correct its name"
            }
            code::AUTO_OFFSET_RESET | code::OFFSET_OUT_OF_RANGE => {
                "records there were deleted (retention) or the topic was made anew; start at other offsets, or set \
                 the property auto.offset.reset to earliest or latest to go on without them"
            }
            code::FENCED | code::FATAL => "start the job again; two of it may be running",
            _ => return None,
        })
    }
}

/// Whether the same job may succeed later without anybody changing something.
fn retryable(error: i32) -> bool {
    !matches!(
        error,
        code::AUTHENTICATION
            | code::SASL_AUTHENTICATION
            | code::UNSUPPORTED_SASL_MECHANISM
            | code::TOPIC_AUTHORIZATION
            | code::GROUP_AUTHORIZATION
            | code::CLUSTER_AUTHORIZATION
            | code::AUTO_OFFSET_RESET
            | code::OFFSET_OUT_OF_RANGE
            | code::INVALID_TOPIC
            | code::SSL
            | code::UNKNOWN_TOPIC
            | code::UNKNOWN_TOPIC_OR_PARTITION
            | code::UNKNOWN_PARTITION
            | code::UNSUPPORTED_FOR_MESSAGE_FORMAT
    )
}
