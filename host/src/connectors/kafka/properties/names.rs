//! What each property of Java's clients is to librdkafka.

use super::Role;

/// Which clients have a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Whose {
    Both,
    Consumer,
    Producer,
}

impl Whose {
    pub fn is(self, role: Role) -> bool {
        match self {
            Whose::Both => true,
            Whose::Consumer => role == Role::Consumer,
            Whose::Producer => role == Role::Producer,
        }
    }
}

/// (Java's word, librdkafka's word)
type Words = &'static [(&'static str, &'static str)];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    Same(Whose),
    Renamed(&'static str, Whose),
    /// Renamed, the value in lower case.
    Lower(&'static str),
    /// Java counts bytes.
    Kibibytes(&'static str, Whose),
    Words(&'static str, Words, Whose),
    /// The connector itself reads it.
    Own,
    Ignored(&'static str),
    Refused(&'static str),
}

use Meaning::{Ignored, Kibibytes, Lower, Own, Refused, Renamed, Same};
use Whose::{Both, Consumer, Producer};

const BYTES_HERE: &str = "records are bytes here; the table's format reads and writes them";
const OFFSETS_HERE: &str = "offsets are committed with checkpoints";
const TLS_OPENSSL: &str = "OpenSSL chooses";
const NO_JAVA: &str = "there are no Java classes here";
const NO_CODE: &str = "a job may not load libraries or run programs on this machine";

const ISOLATION: Words = &[("read_uncommitted", "read_uncommitted"), ("read_committed", "read_committed")];
/// `none` and `error` are the same answer to a position that is gone.
const IDENTIFICATION: Words = &[("https", "https"), ("", "none"), ("none", "none")];
const DNS: Words = &[
    ("use_all_dns_ips", "use_all_dns_ips"),
    ("default", "use_all_dns_ips"),
    ("resolve_canonical_bootstrap_servers_only", "resolve_canonical_bootstrap_servers_only"),
];
const PARTITIONERS: Words = &[
    ("org.apache.kafka.clients.producer.internals.DefaultPartitioner", "murmur2_random"),
    ("org.apache.kafka.clients.producer.UniformStickyPartitioner", "random"),
    ("org.apache.kafka.clients.producer.RoundRobinPartitioner", "random"),
];
const ACKS: Words = &[("all", "-1"), ("-1", "-1"), ("0", "0"), ("1", "1")];

static NAMES: &[(&str, Meaning)] = &[
    ("acks", Meaning::Words("acks", ACKS, Producer)),
    ("allow.auto.create.topics", Same(Consumer)),
    ("auto.commit.interval.ms", Ignored(OFFSETS_HERE)),
    ("auto.offset.reset", Own),
    ("batch.size", Same(Producer)),
    ("bootstrap.servers", Own),
    ("buffer.memory", Kibibytes("queue.buffering.max.kbytes", Producer)),
    ("check.crcs", Same(Consumer)),
    ("client.dns.lookup", Meaning::Words("client.dns.lookup", DNS, Both)),
    ("client.id", Own),
    ("client.rack", Same(Both)),
    ("compression.gzip.level", Renamed("compression.level", Producer)),
    ("compression.lz4.level", Renamed("compression.level", Producer)),
    ("compression.type", Same(Producer)),
    ("compression.zstd.level", Renamed("compression.level", Producer)),
    ("connections.max.idle.ms", Same(Both)),
    ("default.api.timeout.ms", Ignored("questions at start have a limit of their own")),
    ("delivery.timeout.ms", Same(Producer)),
    ("enable.auto.commit", Ignored(OFFSETS_HERE)),
    ("enable.idempotence", Same(Producer)),
    ("exclude.internal.topics", Ignored("patterns never match internal topics")),
    ("fetch.max.bytes", Same(Consumer)),
    ("fetch.max.wait.ms", Renamed("fetch.wait.max.ms", Consumer)),
    ("fetch.min.bytes", Same(Consumer)),
    ("flink.partition-discovery.interval-millis", Own),
    ("group.id", Own),
    ("group.instance.id", Ignored("partitions are assigned here, no group is joined")),
    ("heartbeat.interval.ms", Ignored("partitions are assigned here, no group is joined")),
    ("interceptor.classes", Ignored(NO_JAVA)),
    ("isolation.level", Meaning::Words("isolation.level", ISOLATION, Consumer)),
    ("key.deserializer", Ignored(BYTES_HERE)),
    ("key.serializer", Ignored(BYTES_HERE)),
    ("linger.ms", Same(Producer)),
    ("max.block.ms", Ignored("a full queue holds up the job until there is room")),
    ("max.in.flight.requests.per.connection", Same(Producer)),
    ("max.partition.fetch.bytes", Same(Consumer)),
    ("max.poll.interval.ms", Ignored("partitions are assigned here, no group is joined")),
    ("max.poll.records", Ignored("the job's batch size decides")),
    ("max.request.size", Renamed("message.max.bytes", Producer)),
    ("metadata.max.age.ms", Same(Both)),
    ("metadata.max.idle.ms", Ignored("librdkafka has no such limit")),
    ("metric.reporters", Ignored(NO_JAVA)),
    ("partition.assignment.strategy", Ignored("partitions are assigned here, no group is joined")),
    ("partitioner.class", Meaning::Words("partitioner", PARTITIONERS, Producer)),
    ("receive.buffer.bytes", Renamed("socket.receive.buffer.bytes", Both)),
    ("reconnect.backoff.max.ms", Same(Both)),
    ("reconnect.backoff.ms", Same(Both)),
    ("retries", Same(Producer)),
    ("retry.backoff.max.ms", Same(Both)),
    ("retry.backoff.ms", Same(Both)),
    ("sasl.kerberos.kinit.cmd", Refused(NO_CODE)),
    ("sasl.kerberos.min.time.before.relogin", Same(Both)),
    ("sasl.kerberos.service.name", Same(Both)),
    ("sasl.kerberos.ticket.renew.jitter", Ignored("librdkafka renews by a fixed time")),
    ("sasl.kerberos.ticket.renew.window.factor", Ignored("librdkafka renews by a fixed time")),
    (
        "sasl.client.callback.handler.class",
        Refused("Java callbacks cannot run here; use a user name and password, or a keytab, in sasl.jaas.config"),
    ),
    (
        "sasl.login.callback.handler.class",
        Refused("Java callbacks cannot run here; use a user name and password, or a keytab, in sasl.jaas.config"),
    ),
    ("sasl.login.class", Refused("Java classes cannot run here")),
    ("sasl.mechanism", Same(Both)),
    ("security.protocol", Lower("security.protocol")),
    ("security.providers", Ignored(NO_JAVA)),
    ("send.buffer.bytes", Renamed("socket.send.buffer.bytes", Both)),
    ("session.timeout.ms", Ignored("partitions are assigned here, no group is joined")),
    ("socket.connection.setup.timeout.max.ms", Ignored("socket.connection.setup.timeout.ms is the limit")),
    ("socket.connection.setup.timeout.ms", Same(Both)),
    ("ssl.cipher.suites", Ignored("Java's names of cipher suites are not OpenSSL's, which chooses")),
    ("ssl.enabled.protocols", Ignored(TLS_OPENSSL)),
    (
        "ssl.endpoint.identification.algorithm",
        Meaning::Words("ssl.endpoint.identification.algorithm", IDENTIFICATION, Both),
    ),
    ("ssl.engine.factory.class", Refused("Java classes cannot run here")),
    ("ssl.engine.id", Refused(NO_CODE)),
    ("ssl.engine.location", Refused(NO_CODE)),
    ("ssl.keymanager.algorithm", Ignored(NO_JAVA)),
    ("ssl.protocol", Ignored(TLS_OPENSSL)),
    ("ssl.provider", Ignored(NO_JAVA)),
    ("ssl.providers", Refused(NO_CODE)),
    ("ssl.secure.random.implementation", Ignored(NO_JAVA)),
    ("ssl.trustmanager.algorithm", Ignored(NO_JAVA)),
    ("transaction.timeout.ms", Ignored("exactly-once is not supported yet")),
    ("transactional.id", Refused("the connector chooses it; exactly-once is not supported yet")),
    ("value.deserializer", Ignored(BYTES_HERE)),
    ("value.serializer", Ignored(BYTES_HERE)),
    // librdkafka's own.
    ("debug", Same(Both)),
    ("delivery.report.only.error", Refused("the connector needs every report")),
    ("enable.auto.offset.store", Ignored(OFFSETS_HERE)),
    ("enable.partition.eof", Refused("the connector decides it")),
    ("metadata.broker.list", Refused("bootstrap.servers is the property")),
    ("plugin.library.paths", Refused(NO_CODE)),
    ("sasl.mechanisms", Renamed("sasl.mechanism", Both)),
    ("test.mock.num.brokers", Same(Both)),
    ("zookeeper.connect", Ignored("the brokers are found through bootstrap.servers")),
];

pub fn meaning(key: &str) -> Option<Meaning> {
    if let Some((_, meaning)) = NAMES.iter().find(|(name, _)| *name == key) {
        return Some(*meaning);
    }
    Some(match key {
        "request.timeout.ms" => Renamed("socket.timeout.ms", Both),
        k if k.starts_with("metrics.") || k.starts_with("auto.include.jmx") => {
            Ignored("the job's own metrics tell of the client")
        }
        k if k.starts_with("sasl.oauthbearer.") || k.starts_with("sasl.login.") => {
            Refused("OAUTHBEARER is not supported; PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and GSSAPI are")
        }
        _ => return None,
    })
}

pub fn all() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name).chain(["request.timeout.ms", "sasl.jaas.config", "ssl.truststore.location"])
}
