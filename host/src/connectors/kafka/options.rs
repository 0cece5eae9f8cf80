//! Options of the Kafka connectors: flinkStreamSQL, legacy (Flink 1.9/1.10, DLI), Flink's `kafka` and `upsert-kafka`.

use crate::sql::options::Dialect::{DtStack, Flink, Legacy};
use crate::sql::options::{OptionSpec, OptionType};
use std::time::Duration;

const MS: OptionType = OptionType::Duration { bare: Duration::from_millis(1) };
const MILLIS: OptionType = OptionType::Int { min: 0, max: i64::MAX };

const STARTUP_MODES: OptionType =
    OptionType::Enum(&["group-offsets", "earliest-offset", "latest-offset", "timestamp", "specific-offsets"]);

const SERVERS: OptionSpec = OptionSpec::new(
    "bootstrap.servers",
    OptionType::List,
    &[
        (DtStack, "bootstrapServers"),
        (Legacy, "connector.properties.bootstrap.servers"),
        (Flink, "properties.bootstrap.servers"),
    ],
    "The brokers to connect to first: host:port, separated by commas.",
)
.required(&[DtStack, Legacy, Flink]);

const PROPERTIES: OptionSpec = OptionSpec::new(
    "properties",
    OptionType::Prefix,
    &[(DtStack, "kafka."), (Legacy, "connector.properties."), (Flink, "properties.")],
    "Handed to the Kafka client.",
);

const VALUE_FORMAT_DOC: &str = "The format of a record's value.";

const KEY_FIELDS_PREFIX: OptionSpec = OptionSpec::new(
    "key.fields-prefix",
    OptionType::Text,
    &[(Flink, "key.fields-prefix")],
    "What the names of key columns begin with, beyond the names in the record's key.",
);

const VALUE_FIELDS_INCLUDE: OptionSpec = OptionSpec::new(
    "value.fields-include",
    OptionType::Enum(&["ALL", "EXCEPT_KEY"]),
    &[(Flink, "value.fields-include")],
    "Whether the key columns are in the value, too.",
)
.default(&[(Flink, "ALL")]);

const BOUNDED_MODE: OptionSpec = OptionSpec::new(
    "scan.bounded.mode",
    OptionType::Enum(&["unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"]),
    &[(Flink, "scan.bounded.mode")],
    "Where reading ends.",
)
.default(&[(Flink, "unbounded")]);

const BOUNDED_OFFSETS: OptionSpec = OptionSpec::new(
    "scan.bounded.specific-offsets",
    OptionType::Text,
    &[(Flink, "scan.bounded.specific-offsets"), (DtStack, "offsetEnd")],
    "The offsets at which reading ends, not included.",
);

const BOUNDED_TIMESTAMP: OptionSpec = OptionSpec::new(
    "scan.bounded.timestamp-millis",
    MILLIS,
    &[(Flink, "scan.bounded.timestamp-millis")],
    "The record time at which reading ends, in milliseconds.",
);

pub static KAFKA: &[OptionSpec] = &[
    SERVERS,
    PROPERTIES,
    OptionSpec::new(
        "topic",
        OptionType::List,
        &[(DtStack, "topic"), (Legacy, "connector.topic")],
        "The topics, separated by commas.",
    )
    .required(&[DtStack]),
    OptionSpec::new("topic", OptionType::ListBy(';'), &[(Flink, "topic")], "The topics, separated by semicolons."),
    OptionSpec::new(
        "topic-pattern",
        OptionType::Text,
        &[(Legacy, "connector.topic-pattern"), (Flink, "topic-pattern")],
        "A regular expression that whole topic names match.",
    ),
    OptionSpec::new(
        "topic-is-pattern",
        OptionType::Bool,
        &[(DtStack, "topicIsPattern")],
        "The topic is a regular expression.",
    )
    .default(&[(DtStack, "false")]),
    OptionSpec::new("group.id", OptionType::Text, &[(DtStack, "groupId")], "The consumer group."),
    OptionSpec::new(
        "scan.startup.mode",
        STARTUP_MODES,
        &[(Legacy, "connector.startup-mode"), (Flink, "scan.startup.mode")],
        "Where reading begins.",
    )
    .default(&[(Legacy, "group-offsets"), (Flink, "group-offsets")]),
    OptionSpec::new(
        "offset-reset",
        OptionType::Text,
        &[(DtStack, "offsetReset")],
        "Where reading begins: latest, earliest, group-offsets, timestamp, or offsets such as {\"0\":12,\"1\":7}.",
    )
    .default(&[(DtStack, "latest")]),
    OptionSpec::new(
        "scan.startup.timestamp-millis",
        MILLIS,
        &[
            (DtStack, "timestampOffset"),
            (Legacy, "connector.startup-timestamp-millis"),
            (Flink, "scan.startup.timestamp-millis"),
        ],
        "With start mode timestamp: the record time in milliseconds.",
    ),
    OptionSpec::new(
        "scan.startup.specific-offsets",
        OptionType::Text,
        &[(Legacy, "connector.specific-offsets"), (Flink, "scan.startup.specific-offsets")],
        "With start mode specific-offsets: partition:0,offset:42;partition:1,offset:300",
    ),
    OptionSpec::new(
        "scan.startup.specific-offsets.indexed",
        OptionType::Prefix,
        &[(Legacy, "connector.specific-offsets.")],
        "With start mode specific-offsets, Flink 1.9's form: 0.partition, 0.offset ..",
    ),
    BOUNDED_MODE,
    BOUNDED_OFFSETS,
    BOUNDED_TIMESTAMP,
    OptionSpec::new("sample-size", MILLIS, &[(DtStack, "sampleSize")], "Records to read, then the source ends."),
    OptionSpec::new(
        "scan.topic-partition-discovery.interval",
        MS,
        &[(Flink, "scan.topic-partition-discovery.interval")],
        "How often to look for new partitions.",
    )
    .default(&[(Flink, "5 min")]),
    OptionSpec::new(
        "format",
        OptionType::Text,
        &[
            (DtStack, "sourcedatatype"),
            (DtStack, "sinkdatatype"),
            (Legacy, "format.type"),
            (Flink, "format"),
            (Flink, "value.format"),
        ],
        VALUE_FORMAT_DOC,
    )
    .required(&[Legacy, Flink]),
    OptionSpec::new("key.format", OptionType::Text, &[(Flink, "key.format")], "The format of a record's key."),
    OptionSpec::new(
        "key.fields",
        OptionType::ListBy(';'),
        &[(Flink, "key.fields")],
        "The columns that make up the record's key, separated by semicolons.",
    ),
    KEY_FIELDS_PREFIX,
    VALUE_FIELDS_INCLUDE,
    OptionSpec::new("charset", OptionType::Text, &[(DtStack, "charsetName")], "The encoding of text.")
        .default(&[(DtStack, "UTF-8")]),
    OptionSpec::new(
        "timezone",
        OptionType::Text,
        &[(DtStack, "timezone")],
        "The zone that the table's event time is counted in.",
    ),
    OptionSpec::new(
        "update-mode",
        OptionType::Enum(&["append", "upsert", "retract"]),
        &[(DtStack, "updateMode"), (Legacy, "update-mode")],
        "Sink: append leaves retractions out, upsert adds a boolean field retract.",
    )
    .default(&[(DtStack, "append")]),
    OptionSpec::new(
        "partition-keys",
        OptionType::List,
        &[(DtStack, "partitionKeys")],
        "Sink: the columns that decide the partition.",
    ),
    OptionSpec::new(
        "enable-key-partitions",
        OptionType::Bool,
        &[(DtStack, "enableKeyPartitions")],
        "Sink: choose the partition by partitionKeys.",
    )
    .default(&[(DtStack, "false")]),
    OptionSpec::new(
        "sink.partitioner",
        OptionType::Text,
        &[(Legacy, "connector.sink-partitioner"), (Flink, "sink.partitioner")],
        "Sink: default, fixed or round-robin.",
    ),
    OptionSpec::new(
        "sink.delivery-guarantee",
        OptionType::Enum(&["none", "at-least-once", "exactly-once"]),
        &[(Flink, "sink.delivery-guarantee")],
        "Sink: what holds after a failure.",
    )
    .default(&[(Flink, "at-least-once")]),
    OptionSpec::new(
        "sink.transactional-id-prefix",
        OptionType::Text,
        &[(Flink, "sink.transactional-id-prefix")],
        "Sink, exactly-once: what the transaction ids begin with.",
    ),
    OptionSpec::new(
        "zookeeper",
        OptionType::Ignored("the brokers are found through bootstrapServers"),
        &[(DtStack, "zookeeperQuorum"), (Legacy, "connector.properties.zookeeper.connect")],
        "Not needed by Kafka clients since 0.9.",
    ),
    OptionSpec::new(
        "version",
        OptionType::Enum(&["0.8", "0.9", "0.10", "0.11", "universal"]),
        &[(Legacy, "connector.version")],
        "Accepted; one client speaks to every broker.",
    ),
    OptionSpec::new(
        "property-version",
        OptionType::Ignored("there is one version"),
        &[(Legacy, "connector.property-version")],
        "1",
    ),
];

pub static UPSERT_KAFKA: &[OptionSpec] = &[
    SERVERS,
    PROPERTIES,
    OptionSpec::new("topic", OptionType::ListBy(';'), &[(Flink, "topic")], "The topic.").required(&[Flink]),
    OptionSpec::new("key.format", OptionType::Text, &[(Flink, "key.format")], "The format of a record's key.")
        .required(&[Flink]),
    OptionSpec::new("format", OptionType::Text, &[(Flink, "value.format")], VALUE_FORMAT_DOC).required(&[Flink]),
    KEY_FIELDS_PREFIX,
    VALUE_FIELDS_INCLUDE,
    BOUNDED_MODE,
    BOUNDED_OFFSETS,
    BOUNDED_TIMESTAMP,
    OptionSpec::new(
        "sink.buffer-flush.max-rows",
        MILLIS,
        &[(Flink, "sink.buffer-flush.max-rows")],
        "Sink: keys that are held back to send only the last change of each; 0 is none.",
    )
    .default(&[(Flink, "0")]),
    OptionSpec::new(
        "sink.buffer-flush.interval",
        MS,
        &[(Flink, "sink.buffer-flush.interval")],
        "Sink: how long changes are held back; 0 is not at all.",
    )
    .default(&[(Flink, "0")]),
    OptionSpec::new(
        "sink.delivery-guarantee",
        OptionType::Enum(&["none", "at-least-once", "exactly-once"]),
        &[(Flink, "sink.delivery-guarantee")],
        "Sink: what holds after a failure.",
    )
    .default(&[(Flink, "at-least-once")]),
    OptionSpec::new(
        "sink.transactional-id-prefix",
        OptionType::Text,
        &[(Flink, "sink.transactional-id-prefix")],
        "Sink, exactly-once: what the transaction ids begin with.",
    ),
];
