//! Whether a failed job is started anew, and after which delay. Pure: time and randomness come in as arguments.

use crate::error::{Domain, Error};
use crate::plan::recovery::{ExponentialDelay, FailureRate, FixedDelay, RestartKind, RestartSettings};
use std::collections::VecDeque;
use std::time::Duration;

/// Whether a failure may pass. What is outside may come back, and a fault of ours may have been set off by what is
/// there only now. Flink restarts after every failure of a task; here a row that fails under the policy `fail` and a
/// job that asks for the impossible are not tried again: the same rows come again and fail again.
pub fn may_restart(failure: &Error) -> bool {
    matches!(failure.domain, Domain::External | Domain::Internal)
}

/// Decides about one failure after the other.
#[derive(Debug)]
pub enum RestartPolicy {
    Never,
    FixedDelay { settings: FixedDelay, failures: u32 },
    ExponentialDelay { settings: ExponentialDelay, next: Duration, last_failure: Option<Duration>, failures: u32 },
    FailureRate { settings: FailureRate, recent: VecDeque<Duration> },
}

impl RestartPolicy {
    /// `durable`: checkpoints are kept in a folder. As in Flink a job with checkpoints is restarted unless it says no.
    pub fn new(settings: &RestartSettings, durable: bool) -> Self {
        let default = if durable { RestartKind::ExponentialDelay } else { RestartKind::Never };
        match settings.kind.unwrap_or(default) {
            RestartKind::Never => Self::Never,
            RestartKind::FixedDelay => Self::FixedDelay { settings: settings.fixed.clone(), failures: 0 },
            RestartKind::ExponentialDelay => Self::ExponentialDelay {
                next: settings.exponential.initial,
                settings: settings.exponential.clone(),
                last_failure: None,
                failures: 0,
            },
            RestartKind::FailureRate => Self::FailureRate { settings: settings.rate.clone(), recent: VecDeque::new() },
            RestartKind::Restore => Self::FailureRate { settings: settings.restore.0.clone(), recent: VecDeque::new() },
        }
    }

    /// A failure `now` (since the job's start): when to start anew, or None to give up. `unit`: random, in 0..1.
    pub fn on_failure(&mut self, now: Duration, unit: f64) -> Option<Duration> {
        match self {
            Self::Never => None,
            Self::FixedDelay { settings, failures } => {
                *failures += 1;
                (*failures <= settings.attempts).then_some(settings.delay)
            }
            Self::ExponentialDelay { settings, next, last_failure, failures } => {
                let quiet = last_failure
                    .is_some_and(|last| now.saturating_sub(last) >= settings.reset_after.saturating_add(*next));
                if quiet {
                    *next = settings.initial;
                    *failures = 0;
                }
                *last_failure = Some(now);
                *failures = failures.saturating_add(1);
                if settings.attempts.is_some_and(|max| *failures > max) {
                    return None;
                }
                let delay = *next;
                *next = scaled(delay, settings.multiplier, settings.max);
                // Evenly on both sides of the delay, never beyond the longest one.
                let jitter = 1.0 + settings.jitter * (2.0 * unit - 1.0);
                Some(scaled(delay, jitter, settings.max))
            }
            Self::FailureRate { settings, recent } => {
                recent.push_back(now);
                while recent.front().is_some_and(|f| now.saturating_sub(*f) > settings.interval) {
                    recent.pop_front();
                }
                (recent.len() <= settings.max_failures as usize).then_some(settings.delay)
            }
        }
    }
}

/// `factor` times the delay, at most `max`.
fn scaled(delay: Duration, factor: f64, max: Duration) -> Duration {
    Duration::try_from_secs_f64(delay.as_secs_f64() * factor).map_or(max, |d| d.min(max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secs(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    fn policy(kind: Option<RestartKind>, durable: bool) -> RestartPolicy {
        RestartPolicy::new(&RestartSettings { kind, ..RestartSettings::default() }, durable)
    }

    #[test]
    fn without_a_setting_only_jobs_with_a_checkpoint_folder_are_restarted() {
        assert_eq!(policy(None, false).on_failure(secs(0), 0.5), None);
        assert_eq!(policy(None, true).on_failure(secs(0), 0.5), Some(secs(1)));
        assert_eq!(policy(Some(RestartKind::Never), true).on_failure(secs(0), 0.5), None);
    }

    #[test]
    fn a_fixed_delay_ends_after_its_attempts() {
        let mut p = RestartPolicy::FixedDelay { settings: FixedDelay { attempts: 2, delay: secs(3) }, failures: 0 };
        let given: Vec<_> = (0..3).map(|i| p.on_failure(secs(i), 0.0)).collect();
        assert_eq!(given, [Some(secs(3)), Some(secs(3)), None]);
    }

    #[test]
    fn an_exponential_delay_grows_to_its_maximum_and_starts_over_after_a_quiet_time() {
        let mut p = policy(Some(RestartKind::ExponentialDelay), false);
        let given: Vec<f64> = (0..12).map(|i| p.on_failure(secs(i), 0.5).unwrap().as_secs_f64()).collect();
        assert_eq!(given[..4], [1.0, 1.5, 2.25, 3.375]);
        assert_eq!(given[11], 60.0);
        assert_eq!(p.on_failure(secs(11 + 3600), 0.5).unwrap(), secs(60), "the time of the delay is not quiet time");
        assert_eq!(p.on_failure(secs(11 + 2 * 3600 + 60), 0.5).unwrap(), secs(1));
    }

    #[test]
    fn absurd_delays_do_not_overflow() {
        let settings = ExponentialDelay { initial: Duration::MAX, max: Duration::MAX, ..ExponentialDelay::default() };
        let settings = RestartSettings {
            kind: Some(RestartKind::ExponentialDelay),
            exponential: ExponentialDelay { reset_after: Duration::MAX, ..settings },
            ..RestartSettings::default()
        };
        let mut p = RestartPolicy::new(&settings, true);
        assert!((0..3).all(|i| p.on_failure(secs(i), 1.0) == Some(Duration::MAX)));
    }

    #[test]
    fn jitter_stays_in_its_bounds() {
        for (unit, expected) in [(0.0, 0.9), (0.5, 1.0), (1.0, 1.1)] {
            let mut p = policy(Some(RestartKind::ExponentialDelay), false);
            assert_eq!(p.on_failure(secs(0), unit).unwrap().as_secs_f64(), expected);
        }
    }

    #[test]
    fn a_failure_rate_counts_what_is_recent() {
        let settings = FailureRate { max_failures: 2, interval: secs(60), delay: secs(10) };
        let mut p = RestartPolicy::FailureRate { settings, recent: VecDeque::new() };
        assert_eq!(p.on_failure(secs(0), 0.0), Some(secs(10)));
        assert_eq!(p.on_failure(secs(30), 0.0), Some(secs(10)));
        assert_eq!(p.on_failure(secs(61), 0.0), Some(secs(10)), "the first one is long ago");
        assert_eq!(p.on_failure(secs(62), 0.0), None);
    }

    #[test]
    fn what_the_user_has_to_change_is_not_tried_again() {
        for (error, restarts) in [
            (Error::external("x"), true),
            (Error::internal("x"), true),
            (Error::data("x"), false),
            (Error::user("x"), false),
        ] {
            assert_eq!(may_restart(&error), restarts, "{:?}", error.domain);
        }
    }
}
