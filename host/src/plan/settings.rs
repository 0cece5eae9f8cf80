//! Options of the job as a whole: `SET 'k' = 'v'` and `--set k=v`, under flinkStreamSQL's and Flink's names.

use super::graph::Asking;
use super::recovery::{CheckpointSettings, RECOVERY, RestartSettings};
use crate::diagnostic::{Diagnostic, Span};
use crate::sql::codes;
use crate::sql::options::Dialect;
use chrono_tz::Tz;

#[derive(Debug, Clone, PartialEq)]
pub struct JobSettings {
    pub name: Option<String>,
    pub parallelism: usize,
    pub time_zone: Tz,
    /// False: every operator is a task of its own.
    pub chaining: bool,
    pub max_record_bytes: usize,
    pub batch_rows: usize,
    /// Warnings about unknown options of flinkStreamSQL tables become errors.
    pub strict_options: bool,
    /// How INSERT maps columns, whatever the sink's dialect.
    pub dialect: Option<Dialect>,
    /// How side tables of Flink's dialect are asked.
    pub asking: Asking,
    pub checkpoints: CheckpointSettings,
    pub restart: RestartSettings,
}

impl Default for JobSettings {
    fn default() -> Self {
        Self {
            name: None,
            parallelism: 1,
            time_zone: process_time_zone(),
            chaining: true,
            max_record_bytes: 16 << 20,
            batch_rows: 4096,
            strict_options: false,
            dialect: None,
            asking: Asking::default(),
            checkpoints: CheckpointSettings::default(),
            restart: RestartSettings::default(),
        }
    }
}

/// A setting with its spellings.
pub(super) struct SettingSpec {
    pub names: &'static [&'static str],
    pub expects: &'static str,
    pub apply: fn(&mut JobSettings, &str) -> Option<()>,
}

fn all() -> impl Iterator<Item = &'static SettingSpec> {
    SETTINGS.iter().chain(RECOVERY)
}

const SETTINGS: &[SettingSpec] = &[
    SettingSpec {
        names: &["parallelism.default", "sql.env.parallelism", "table.exec.resource.default-parallelism"],
        expects: "a number from 1 to 1024",
        apply: |s, v| {
            s.parallelism = v.parse().ok().filter(|p| (1..=1024).contains(p))?;
            Some(())
        },
    },
    SettingSpec {
        names: &["table.local-time-zone", "timezone"],
        expects: "a zone such as Asia/Shanghai or UTC",
        apply: |s, v| {
            s.time_zone = v.parse().ok()?;
            Some(())
        },
    },
    SettingSpec {
        names: &["pipeline.name"],
        expects: "a name",
        apply: |s, v| {
            s.name = Some(v.to_string()).filter(|n| !n.is_empty());
            s.name.as_ref().map(|_| ())
        },
    },
    SettingSpec {
        names: &["pipeline.operator-chaining.enabled", "pipeline.operator-chaining"],
        expects: "true or false",
        apply: |s, v| {
            s.chaining = v.parse().ok()?;
            Some(())
        },
    },
    SettingSpec {
        names: &["job.strict-options"],
        expects: "true or false",
        apply: |s, v| {
            s.strict_options = v.parse().ok()?;
            Some(())
        },
    },
    SettingSpec {
        names: &["job.dialect"],
        expects: "flinkStreamSQL, legacy or flink",
        apply: |s, v| {
            let all = [Dialect::DtStack, Dialect::Legacy, Dialect::Flink];
            s.dialect = Some(*all.iter().find(|d| d.as_str().eq_ignore_ascii_case(v))?);
            Some(())
        },
    },
    SettingSpec {
        names: &["table.exec.async-lookup.buffer-capacity"],
        expects: "a number from 1 to 1000000",
        apply: |s, v| {
            s.asking.capacity = Some(v.parse().ok().filter(|n| (1..=1_000_000).contains(n))?);
            Some(())
        },
    },
    SettingSpec {
        names: &["table.exec.async-lookup.timeout"],
        expects: "a duration such as 3 min",
        apply: |s, v| {
            let limit = crate::sql::options::duration(v, std::time::Duration::from_millis(1))?;
            s.asking.timeout = Some(limit).filter(|l| !l.is_zero());
            Some(())
        },
    },
    SettingSpec {
        names: &["table.exec.async-lookup.output-mode"],
        expects: "ORDERED or ALLOW_UNORDERED",
        apply: |s, v| {
            s.asking.unordered = match v.to_ascii_uppercase().as_str() {
                "ORDERED" => false,
                "ALLOW_UNORDERED" => true,
                _ => return None,
            };
            Some(())
        },
    },
    SettingSpec {
        names: &["job.batch-rows"],
        expects: "a number from 1 to 65536",
        apply: |s, v| {
            s.batch_rows = v.parse().ok().filter(|r| (1..=65536).contains(r))?;
            Some(())
        },
    },
    SettingSpec {
        names: &["job.max-record-size"],
        expects: "a size such as 16mb, at most 1gb",
        apply: |s, v| {
            s.max_record_bytes = crate::sql::options::parse_size(v).filter(|b| (1..=1 << 30).contains(b))? as usize;
            Some(())
        },
    },
];

/// Families that Flink and flinkStreamSQL job files set and that mean nothing to this run.
const WITHOUT_EFFECT: &[&str] = &[
    "akka.",
    "blob.",
    "classloader.",
    "cluster.",
    "deployment.",
    "env.",
    "execution.",
    "fs.",
    "heartbeat.",
    "high-availability.",
    "io.",
    "jobmanager.",
    "kubernetes.",
    "metrics.",
    "pipeline.",
    "process.",
    "queryable-state.",
    "rest.",
    "restart-strategy",
    "resourcemanager.",
    "security.",
    "sql-client.",
    "state.",
    "table.",
    "taskmanager.",
    "web.",
    "yarn.",
    "zookeeper.",
    "sql.",
    "flink.",
    "autoWatermarkInterval",
    "time.characteristic",
    "logLevel",
    "savePointPath",
    "allowNonRestoredState",
    "early.trigger",
];

impl JobSettings {
    /// Applies one setting; `place` is where it stands in the job file, or the flag that gave it.
    pub fn set(&mut self, key: &str, value: &str, place: Option<Span>, out: &mut Vec<Diagnostic>) {
        let spec = all().find(|s| s.names.iter().any(|n| n.eq_ignore_ascii_case(key)));
        match spec {
            Some(spec) => {
                if (spec.apply)(self, value.trim()).is_none() {
                    out.push(Diagnostic::error(
                        codes::SETTING_VALUE,
                        place,
                        format!("setting '{key}' = '{value}': expected {}", spec.expects),
                    ));
                }
            }
            // A misspelt setting of ours is not one of Flink's without effect.
            None if near(key).is_none() && WITHOUT_EFFECT.iter().any(|p| key.starts_with(p)) => {
                out.push(Diagnostic::warning(
                    codes::SETTING_NO_EFFECT,
                    place,
                    format!("setting '{key}' has no effect here"),
                ));
            }
            None => {
                let d = Diagnostic::error(codes::SETTING_UNKNOWN, place, format!("unknown setting '{key}'"));
                out.push(match near(key) {
                    Some(n) => d.hint(format!("did you mean '{n}'?")),
                    None => {
                        d.hint(format!("settings are {}", all().map(|s| s.names[0]).collect::<Vec<_>>().join(", ")))
                    }
                });
            }
        }
    }
}

/// The setting that the key was meant to be.
fn near(key: &str) -> Option<&'static str> {
    let known = all().flat_map(|s| s.names.iter().copied());
    known.map(|n| (strsim::damerau_levenshtein(n, key), n)).filter(|(d, _)| *d <= 2).min().map(|(_, n)| n)
}

/// `TZ`, else the system's zone, else UTC.
fn process_time_zone() -> Tz {
    let from_env = std::env::var("TZ").ok().and_then(|z| z.trim_start_matches(':').parse().ok());
    let from_link = || {
        let target = std::fs::read_link("/etc/localtime").ok()?;
        let target = target.to_str()?;
        target.split_once("zoneinfo/")?.1.parse().ok()
    };
    from_env.or_else(from_link).unwrap_or(Tz::UTC)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(key: &str, value: &str) -> (JobSettings, Vec<Diagnostic>) {
        let mut s = JobSettings::default();
        let mut out = vec![];
        s.set(key, value, None, &mut out);
        (s, out)
    }

    #[test]
    fn flinks_and_flink_stream_sqls_names_mean_the_same() {
        assert_eq!(set("parallelism.default", "2").0, set("sql.env.parallelism", "2").0);
        assert_eq!(set("timezone", "Asia/Shanghai").0.time_zone, Tz::Asia__Shanghai);
    }

    #[test]
    fn a_bad_value_says_what_is_expected() {
        let (_, out) = set("parallelism.default", "parllNum");
        assert_eq!(out[0].message, "setting 'parallelism.default' = 'parllNum': expected a number from 1 to 1024");
    }

    #[test]
    fn an_unknown_setting_is_an_error_and_a_flink_one_without_meaning_a_warning() {
        assert_eq!(set("paralelism.default", "2").1[0].hint.as_deref(), Some("did you mean 'parallelism.default'?"));
        assert!(!set("state.backend", "rocksdb").1[0].is_error());
    }
}
