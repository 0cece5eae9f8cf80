//! The side channel for errors of single rows. An expression tree can only answer with values, so a function that
//! refuses a row answers NULL and reports the row here; the evaluation drains the reports afterwards. A task
//! evaluates synchronously on its own thread, hence a thread-local.

use crate::data::RowError;
use std::cell::RefCell;

thread_local! {
    static COLLECTOR: RefCell<Option<Vec<RowError>>> = const { RefCell::new(None) };
}

/// Runs `f` and gives what was reported meanwhile, in order. May nest: an inner call keeps its own reports.
pub fn collect<T>(f: impl FnOnce() -> T) -> (T, Vec<RowError>) {
    let _restore = Restore(COLLECTOR.replace(Some(Vec::new())));
    let value = f();
    let errors = COLLECTOR.take().unwrap_or_default();
    (value, errors)
}

/// Puts the outer collector back, also when `f` panics.
struct Restore(Option<Vec<RowError>>);

impl Drop for Restore {
    fn drop(&mut self) {
        COLLECTOR.replace(self.0.take());
    }
}

/// Reports a refused row; `error.row` counts in the batch under evaluation. Without a collector the report is lost,
/// so callers bind their row numbers only where one is active.
pub fn report(error: RowError) {
    COLLECTOR.with_borrow_mut(|c| {
        if let Some(errors) = c {
            errors.push(error);
        }
    });
}

/// One error per row, the first reported; sorted by row.
pub fn first_per_row(mut errors: Vec<RowError>) -> Vec<RowError> {
    errors.sort_by_key(|e| e.row);
    errors.dedup_by_key(|e| e.row);
    errors
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Reason;

    fn error(row: u32, message: &str) -> RowError {
        RowError::new(row, Reason::Cast, message)
    }

    #[test]
    fn collects_only_what_is_reported_inside() {
        report(error(0, "lost"));
        let ((), inner) = collect(|| report(error(1, "a")));
        assert_eq!(inner, vec![error(1, "a")]);
    }

    #[test]
    fn an_inner_collection_does_not_leak_into_the_outer() {
        let (inner, outer) = collect(|| {
            report(error(1, "outer"));
            let ((), inner) = collect(|| report(error(2, "inner")));
            report(error(3, "outer"));
            inner
        });
        assert_eq!(inner, vec![error(2, "inner")]);
        assert_eq!(outer, vec![error(1, "outer"), error(3, "outer")]);
    }

    #[test]
    fn the_first_error_of_a_row_is_kept() {
        let errors = first_per_row(vec![error(4, "x"), error(1, "first"), error(1, "second")]);
        assert_eq!(errors, vec![error(1, "first"), error(4, "x")]);
    }
}
