//! Connectors that our users' job files name and that are not here: their tables can be read, checked and rehearsed
//! with stand-ins, and are refused by name. What their options mean is not known here.

use super::api::{Capabilities, ConnectorFactory};
use crate::sql::options::{Dialect, OptionSpec, OptionType};

pub struct Absent {
    identifier: &'static str,
    dtstack: &'static [&'static str],
    legacy: &'static [&'static str],
    flink: &'static [&'static str],
}

/// The only option that a stand-in has a use for.
static OPTIONS: &[OptionSpec] = &[OptionSpec::new(
    "format",
    OptionType::Text,
    &[
        (Dialect::DtStack, "sourcedatatype"),
        (Dialect::DtStack, "sinkdatatype"),
        (Dialect::Legacy, "format.type"),
        (Dialect::Flink, "format"),
        (Dialect::Flink, "value.format"),
    ],
    "The format of the records, for stand-ins that hold such records.",
)];

impl ConnectorFactory for Absent {
    fn identifier(&self) -> &'static str {
        self.identifier
    }
    fn names(&self, dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::DtStack => self.dtstack,
            Dialect::Legacy => self.legacy,
            Dialect::Flink => self.flink,
        }
    }
    fn options(&self) -> &'static [OptionSpec] {
        OPTIONS
    }
    fn capabilities(&self) -> Capabilities {
        Capabilities { source: true, sink: true, lookup: true }
    }
    fn has_format(&self) -> bool {
        true
    }
    fn is_absent(&self) -> bool {
        true
    }
}

type Names = &'static [&'static str];

const fn absent(identifier: &'static str, dtstack: Names, legacy: Names, flink: Names) -> Absent {
    Absent { identifier, dtstack, legacy, flink }
}

/// By their names in flinkStreamSQL, legacy tables (Flink 1.10, DLI) and Flink's; docs/compatibility.md has the list.
pub static ABSENT: &[Absent] = &[
    absent("oracle", &["oracle"], &["oracle"], &["oracle"]),
    absent("sqlserver", &["sqlserver"], &["sqlserver"], &["sqlserver"]),
    absent("db2", &["db2"], &["db2"], &["db2"]),
    absent("clickhouse", &["clickhouse"], &["clickhouse"], &["clickhouse"]),
    absent("impala", &["impala"], &[], &["impala"]),
    absent("polardb", &["polardb"], &[], &[]),
    absent("kingbase", &["kingbase"], &[], &[]),
    absent("dws", &[], &["dws"], &["dws", "gaussdb"]),
    absent("rds", &[], &["rds"], &["rds", "adb3.0", "hologres"]),
    absent("hbase", &["hbase"], &["hbase", "cloudtable"], &["hbase", "hbase-1.4", "hbase-2.2", "cloudhbase"]),
    absent("cassandra", &["cassandra"], &["cassandra"], &["cassandra"]),
    absent("mongodb", &["mongo", "mongodb"], &["dds", "mongodb"], &["mongodb"]),
    absent("redis", &["redis"], &["redis"], &["redis"]),
    absent(
        "elasticsearch",
        &["elasticsearch", "elasticsearch5", "elasticsearch6", "elasticsearch7", "elasticsearch5-xh"],
        &["elasticsearch"],
        &["elasticsearch", "elasticsearch-6", "elasticsearch-7", "elasticsearch-8", "opensearch", "opensearch-2"],
    ),
    absent("solr", &["solr"], &[], &["solr"]),
    absent("opentsdb", &["opentsdb"], &["opentsdb"], &["opentsdb", "influxdb", "prometheus"]),
    absent("http", &["http"], &["http"], &["http", "http-sink", "rest-lookup"]),
    absent("aws", &["aws"], &[], &["dynamodb", "firehose"]),
    absent("kinesis", &[], &["kinesis"], &["kinesis", "kinesis-legacy"]),
    absent("pulsar", &[], &["pulsar"], &["pulsar", "upsert-pulsar"]),
    absent("rabbitmq", &["rabbitmq"], &["rabbitmq"], &["rabbitmq"]),
    absent("rocketmq", &["rocketmq"], &["rocketmq"], &["rocketmq", "mq"]),
    absent("pubsub", &[], &[], &["pubsub", "gcp-pubsub", "google-pubsub"]),
    absent("mqtt", &["emq", "mqtt"], &["edgehub"], &["mqtt", "nats"]),
    absent("dis", &[], &["dis"], &["dis"]),
    absent("smn", &[], &["smn"], &["smn"]),
    absent("obs", &[], &["obs"], &["obs"]),
    absent("sls", &[], &[], &["sls", "datahub", "odps", "ots"]),
    absent("hive", &["hive"], &["hive"], &["hive"]),
    absent("hudi", &[], &["hudi"], &["hudi"]),
    absent("iceberg", &[], &[], &["iceberg"]),
    absent("paimon", &[], &[], &["paimon", "table-store"]),
    absent("delta", &[], &[], &["delta"]),
    absent("doris", &["doris"], &["doris"], &["doris"]),
    absent("starrocks", &[], &[], &["starrocks"]),
    absent("tidb", &["tidb"], &[], &["tidb"]),
    absent("neo4j", &[], &[], &["neo4j"]),
    absent(
        "cdc",
        &[],
        &[],
        &[
            "mysql-cdc",
            "postgres-cdc",
            "oracle-cdc",
            "sqlserver-cdc",
            "mongodb-cdc",
            "tidb-cdc",
            "db2-cdc",
            "oceanbase-cdc",
            "vitess-cdc",
        ],
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECTS: [Dialect; 3] = [Dialect::DtStack, Dialect::Legacy, Dialect::Flink];

    #[test]
    fn a_name_is_absent_once_and_is_none_of_ours() {
        for d in DIALECTS {
            let ours: Vec<&str> = crate::connectors::CONNECTORS.iter().flat_map(|c| c.names(d)).copied().collect();
            let mut all: Vec<&str> = ABSENT.iter().flat_map(|c| c.names(d)).copied().collect();
            assert!(all.iter().all(|n| !ours.contains(n)), "{all:?}");
            let before = all.len();
            all.sort_unstable();
            all.dedup();
            assert_eq!(all.len(), before);
        }
    }

    #[test]
    fn the_docs_have_the_list() {
        let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/compatibility.md");
        let text = std::fs::read_to_string(path).expect("docs/compatibility.md");
        for c in ABSENT {
            let cell = |d: Dialect| match c.names(d) {
                [] => "-".to_string(),
                names => names.iter().map(|n| format!("`{n}`")).collect::<Vec<_>>().join(", "),
            };
            let [a, b, f] = DIALECTS.map(cell);
            let row = format!("| {} | {a} | {b} | {f} |\n", c.identifier);
            assert!(text.contains(&row), "docs/compatibility.md lacks the row\n{row}");
        }
    }
}
