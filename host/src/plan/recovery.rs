//! Settings of checkpoints and restarts, under Flink's and flinkStreamSQL's names.

use super::settings::SettingSpec;
use crate::sql::options::duration;
use std::time::Duration;

/// When checkpoints are taken, and how many are kept.
#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointSettings {
    /// None: nothing was said. Zero: none but the first and the last.
    pub interval: Option<Duration>,
    pub timeout: Duration,
    pub min_pause: Duration,
    pub retained: usize,
    /// The folder, as it was written.
    pub dir: Option<String>,
}

impl Default for CheckpointSettings {
    fn default() -> Self {
        Self { interval: None, timeout: Duration::from_secs(600), min_pause: Duration::ZERO, retained: 3, dir: None }
    }
}

/// How a failed job is started anew. Defaults are Flink's.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RestartSettings {
    /// None: nothing was said.
    pub kind: Option<RestartKind>,
    pub fixed: FixedDelay,
    pub exponential: ExponentialDelay,
    pub rate: FailureRate,
    /// flinkStreamSQL's: as `rate`, with defaults and keys of its own.
    pub restore: Restore,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RestartKind {
    Never,
    FixedDelay,
    ExponentialDelay,
    FailureRate,
    /// flinkStreamSQL's `restore.enable`.
    Restore,
}

#[derive(Debug, Clone, PartialEq)]
pub struct FixedDelay {
    pub attempts: u32,
    pub delay: Duration,
}

impl Default for FixedDelay {
    fn default() -> Self {
        Self { attempts: 1, delay: Duration::from_secs(1) }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct ExponentialDelay {
    pub initial: Duration,
    pub max: Duration,
    pub multiplier: f64,
    /// After so long without a failure the delay is `initial` again.
    pub reset_after: Duration,
    /// Share of the delay by which it varies.
    pub jitter: f64,
    /// Failures before it gives up, counted from the last reset; None: never.
    pub attempts: Option<u32>,
}

impl Default for ExponentialDelay {
    fn default() -> Self {
        Self {
            initial: Duration::from_secs(1),
            max: Duration::from_secs(60),
            multiplier: 1.5,
            reset_after: Duration::from_secs(3600),
            jitter: 0.1,
            attempts: None,
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct FailureRate {
    pub max_failures: u32,
    pub interval: Duration,
    pub delay: Duration,
}

impl Default for FailureRate {
    fn default() -> Self {
        Self { max_failures: 1, interval: Duration::from_secs(60), delay: Duration::from_secs(1) }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Restore(pub FailureRate);

impl Default for Restore {
    fn default() -> Self {
        Self(FailureRate { max_failures: 3, interval: Duration::from_secs(360), delay: Duration::from_secs(10) })
    }
}

const DURATION: &str = "a duration such as 500 ms, 10 s, 5 min";

fn millis(text: &str) -> Option<Duration> {
    duration(text, Duration::from_millis(1))
}

pub(super) const RECOVERY: &[SettingSpec] = &[
    SettingSpec {
        names: &["execution.checkpointing.interval", "sql.checkpoint.interval", "flink.checkpoint.interval"],
        expects: DURATION,
        apply: |s, v| {
            s.checkpoints.interval = Some(millis(v)?);
            Some(())
        },
    },
    SettingSpec {
        names: &["execution.checkpointing.timeout", "sql.checkpoint.timeout"],
        expects: DURATION,
        apply: |s, v| {
            s.checkpoints.timeout = millis(v).filter(|t| !t.is_zero())?;
            Some(())
        },
    },
    SettingSpec {
        names: &["execution.checkpointing.min-pause"],
        expects: DURATION,
        apply: |s, v| {
            s.checkpoints.min_pause = millis(v)?;
            Some(())
        },
    },
    SettingSpec {
        names: &["execution.checkpointing.dir", "state.checkpoints.dir"],
        expects: "a local folder",
        apply: |s, v| {
            s.checkpoints.dir = Some(v.to_string()).filter(|d| !d.is_empty());
            s.checkpoints.dir.as_ref().map(|_| ())
        },
    },
    SettingSpec {
        names: &["state.checkpoints.num-retained", "execution.checkpointing.num-retained"],
        expects: "a number from 1 to 1000",
        apply: |s, v| {
            s.checkpoints.retained = v.parse().ok().filter(|n| (1..=1000).contains(n))?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.type", "restart-strategy"],
        expects: "none, fixed-delay, exponential-delay or failure-rate",
        apply: |s, v| {
            s.restart.kind = Some(match v.to_ascii_lowercase().as_str() {
                "none" | "off" | "disable" | "no-restart" => RestartKind::Never,
                "fixed-delay" | "fixeddelay" => RestartKind::FixedDelay,
                "exponential-delay" | "exponentialdelay" => RestartKind::ExponentialDelay,
                "failure-rate" | "failurerate" => RestartKind::FailureRate,
                _ => return None,
            });
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.fixed-delay.attempts"],
        expects: "a number from 0",
        apply: |s, v| {
            s.restart.fixed.attempts = v.parse().ok()?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.fixed-delay.delay"],
        expects: DURATION,
        apply: |s, v| {
            s.restart.fixed.delay = millis(v)?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.exponential-delay.initial-backoff"],
        expects: DURATION,
        apply: |s, v| {
            s.restart.exponential.initial = millis(v).filter(|d| !d.is_zero())?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.exponential-delay.max-backoff"],
        expects: DURATION,
        apply: |s, v| {
            s.restart.exponential.max = millis(v)?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.exponential-delay.backoff-multiplier"],
        expects: "a number from 1 to 100",
        apply: |s, v| {
            s.restart.exponential.multiplier = v.parse().ok().filter(|m| (1.0..=100.0).contains(m))?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.exponential-delay.reset-backoff-threshold"],
        expects: DURATION,
        apply: |s, v| {
            s.restart.exponential.reset_after = millis(v)?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.exponential-delay.jitter-factor"],
        expects: "a number from 0 to 1",
        apply: |s, v| {
            s.restart.exponential.jitter = v.parse().ok().filter(|j| (0.0..=1.0).contains(j))?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.exponential-delay.attempts-before-reset-backoff"],
        expects: "a number from 0",
        apply: |s, v| {
            s.restart.exponential.attempts = Some(v.parse().ok()?);
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.failure-rate.max-failures-per-interval"],
        expects: "a number from 0",
        apply: |s, v| {
            s.restart.rate.max_failures = v.parse().ok()?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.failure-rate.failure-rate-interval"],
        expects: DURATION,
        apply: |s, v| {
            s.restart.rate.interval = millis(v)?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restart-strategy.failure-rate.delay"],
        expects: DURATION,
        apply: |s, v| {
            s.restart.rate.delay = millis(v)?;
            Some(())
        },
    },
    SettingSpec {
        names: &["restore.enable"],
        expects: "true or false",
        apply: |s, v| {
            let enabled: bool = v.to_ascii_lowercase().parse().ok()?;
            s.restart.kind = Some(if enabled { RestartKind::Restore } else { RestartKind::Never });
            Some(())
        },
    },
    SettingSpec {
        names: &["failure.interval"],
        expects: "a duration; a number counts minutes",
        apply: |s, v| {
            s.restart.restore.0.interval = duration(v, Duration::from_secs(60))?;
            Some(())
        },
    },
    SettingSpec {
        names: &["delay.interval"],
        expects: "a duration; a number counts seconds",
        apply: |s, v| {
            s.restart.restore.0.delay = duration(v, Duration::from_secs(1))?;
            Some(())
        },
    },
];

#[cfg(test)]
mod tests {
    use super::super::settings::JobSettings;
    use super::*;

    fn set(pairs: &[(&str, &str)]) -> Result<JobSettings, String> {
        let (mut s, mut out) = (JobSettings::default(), vec![]);
        pairs.iter().for_each(|(k, v)| s.set(k, v, None, &mut out));
        match out.pop() {
            None => Ok(s),
            Some(d) => Err(d.message),
        }
    }

    #[test]
    fn flinks_and_flink_stream_sqls_intervals_are_read() {
        for (key, text) in [("execution.checkpointing.interval", "1 min"), ("sql.checkpoint.interval", "60000")] {
            assert_eq!(set(&[(key, text)]).unwrap().checkpoints.interval, Some(Duration::from_secs(60)));
        }
        let timing = set(&[("execution.checkpointing.timeout", "5s"), ("execution.checkpointing.min-pause", "0")]);
        assert_eq!(timing.unwrap().checkpoints.timeout, Duration::from_secs(5));
    }

    #[test]
    fn restart_strategies_have_their_old_and_new_names() {
        for key in ["restart-strategy", "restart-strategy.type"] {
            assert_eq!(set(&[(key, "fixed-delay")]).unwrap().restart.kind, Some(RestartKind::FixedDelay));
            assert_eq!(set(&[(key, "off")]).unwrap().restart.kind, Some(RestartKind::Never));
        }
        let s = set(&[("restart-strategy.fixed-delay.attempts", "4"), ("restart-strategy.fixed-delay.delay", "2 s")]);
        assert_eq!(s.unwrap().restart.fixed, FixedDelay { attempts: 4, delay: Duration::from_secs(2) });
    }

    #[test]
    fn restore_enable_is_flink_stream_sqls_failure_rate_whatever_comes_first() {
        let s = set(&[("failure.interval", "1"), ("restore.enable", "true")]).unwrap();
        assert_eq!(s.restart.kind, Some(RestartKind::Restore));
        let expected = FailureRate { interval: Duration::from_secs(60), ..Restore::default().0 };
        assert_eq!(s.restart.restore.0, expected);
        assert_eq!(set(&[("restore.enable", "false")]).unwrap().restart.kind, Some(RestartKind::Never));
    }

    #[test]
    fn a_wrong_value_says_what_is_expected() {
        for (key, value, expected) in [
            ("execution.checkpointing.interval", "soon", "a duration such as"),
            ("execution.checkpointing.timeout", "0", "a duration such as"),
            ("state.checkpoints.num-retained", "0", "a number from 1 to 1000"),
            ("restart-strategy.type", "sometimes", "none, fixed-delay, exponential-delay or failure-rate"),
            ("restart-strategy.exponential-delay.backoff-multiplier", "NaN", "a number from 1 to 100"),
        ] {
            let message = set(&[(key, value)]).unwrap_err();
            assert!(message.contains(expected), "{message}");
        }
    }
}
