//! The time that PROCTIME(), CURRENT_TIMESTAMP and the like show: one value per batch and task, so that the rows of a
//! batch and the columns of a row agree.

use chrono::{DateTime, NaiveDateTime, Utc};
use std::cell::Cell;

thread_local! {
    static BATCH_TIME: Cell<Option<DateTime<Utc>>> = const { Cell::new(None) };
}

/// Runs `f` with the clock stopped at now (or, inside another call, at the outer one's time).
pub fn stopped<T>(f: impl FnOnce() -> T) -> T {
    let outer = BATCH_TIME.get();
    let _restore = Restore(outer);
    BATCH_TIME.set(outer.or_else(|| Some(Utc::now())));
    f()
}

struct Restore(Option<DateTime<Utc>>);

impl Drop for Restore {
    fn drop(&mut self) {
        BATCH_TIME.set(self.0);
    }
}

/// UTC now, or of the batch under evaluation.
pub fn now() -> NaiveDateTime {
    BATCH_TIME.get().unwrap_or_else(Utc::now).naive_utc()
}

#[cfg(test)]
mod tests {
    #[test]
    fn time_stands_still_within_a_batch() {
        super::stopped(|| {
            let first = super::now();
            std::thread::sleep(std::time::Duration::from_millis(2));
            assert_eq!(first, super::now());
            super::stopped(|| assert_eq!(first, super::now()));
        });
        let later = super::now();
        std::thread::sleep(std::time::Duration::from_millis(2));
        assert!(super::now() > later);
    }
}
