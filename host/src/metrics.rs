//! Counters of a running job: per operator rows in, out and dropped by reason; per source what was read.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

/// A counter. Relaxed: figures for people, no ordering between them is promised.
#[derive(Debug, Default)]
pub struct Counter(AtomicU64);

impl Counter {
    pub fn add(&self, n: u64) {
        self.0.fetch_add(n, Relaxed);
    }
    /// Takes back what was counted too early (rows that a sink refused at its flush).
    pub fn sub(&self, n: u64) {
        self.0.fetch_sub(n, Relaxed);
    }
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

/// A figure that goes up and down; None until it was set.
#[derive(Debug, Default)]
pub struct Gauge(AtomicU64);

impl Gauge {
    pub fn set(&self, n: u64) {
        self.0.store(n.saturating_add(1), Relaxed);
    }
    pub fn get(&self) -> Option<u64> {
        self.0.load(Relaxed).checked_sub(1)
    }
}

/// Where an operator stands, which decides what its figures mean in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperatorRole {
    /// `rows_in` counts records read; read = decoded + dead + skipped.
    Source,
    /// As `Source`, for the rows of a side table; not part of the job's totals.
    SideTable,
    Transform,
    /// `rows_out` counts rows written; received = written + dead + skipped.
    Sink,
}

/// Figures of one operator, over all its subtasks.
#[derive(Debug)]
pub struct OperatorMetrics {
    pub name: String,
    pub role: OperatorRole,
    pub rows_in: Counter,
    pub rows_out: Counter,
    /// Source: records that gave rows (an exploded record counts once).
    pub decoded: Counter,
    pub filtered: Counter,
    pub no_match: Counter,
    pub dead: Counter,
    pub skipped: Counter,
    /// Values that a failure turned into NULL.
    pub nulled: Counter,
    /// Bytes of records read or written, as the outside counts them.
    pub bytes: Counter,
    /// Attempts beyond the first one, at whatever the outside refused for a while.
    pub retries: Counter,
    /// Side table: keys whose rows were in the cache, keys that were not, and the queries for those.
    pub hits: Counter,
    pub misses: Counter,
    pub queries: Counter,
    pub flushes: Counter,
    pub flush_micros: Counter,
    /// Records that wait outside, if the source knows (Kafka: high watermark less position).
    pub lag: Gauge,
}

impl OperatorMetrics {
    pub fn new(name: impl Into<String>, role: OperatorRole) -> Arc<Self> {
        Arc::new(Self {
            name: name.into(),
            role,
            rows_in: Counter::default(),
            rows_out: Counter::default(),
            decoded: Counter::default(),
            filtered: Counter::default(),
            no_match: Counter::default(),
            dead: Counter::default(),
            skipped: Counter::default(),
            nulled: Counter::default(),
            bytes: Counter::default(),
            retries: Counter::default(),
            hits: Counter::default(),
            misses: Counter::default(),
            queries: Counter::default(),
            flushes: Counter::default(),
            flush_micros: Counter::default(),
            lag: Gauge::default(),
        })
    }

    /// By name, for machines; those of which there is nothing to say are left out.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        let all = [
            ("rows_in", self.rows_in.get()),
            ("rows_out", self.rows_out.get()),
            ("decoded", self.decoded.get()),
            ("filtered", self.filtered.get()),
            ("no_match", self.no_match.get()),
            ("dead", self.dead.get()),
            ("skipped", self.skipped.get()),
            ("nulled", self.nulled.get()),
            ("bytes", self.bytes.get()),
            ("hits", self.hits.get()),
            ("misses", self.misses.get()),
            ("queries", self.queries.get()),
            ("retries", self.retries.get()),
            ("flushes", self.flushes.get()),
            ("flush_micros", self.flush_micros.get()),
            ("lag", self.lag.get().unwrap_or(0)),
        ];
        all.into_iter().filter(|(name, n)| *n > 0 || matches!(*name, "rows_in" | "rows_out")).collect()
    }

    /// `12 in, 10 out, 1 filtered, 1 dead`
    fn line(&self) -> String {
        let (first, second) = match self.role {
            OperatorRole::Source | OperatorRole::SideTable => ("read", "decoded"),
            OperatorRole::Transform => ("in", "out"),
            OperatorRole::Sink => ("received", "written"),
        };
        let reads = matches!(self.role, OperatorRole::Source | OperatorRole::SideTable);
        let out = if reads { &self.decoded } else { &self.rows_out };
        let mut s = format!("{} {first}, {} {second}", self.rows_in.get(), out.get());
        if reads && self.rows_out.get() != self.decoded.get() {
            s += &format!(" into {} rows", self.rows_out.get());
        }
        for (counter, word) in [
            (&self.filtered, "filtered"),
            (&self.no_match, "without match"),
            (&self.dead, "dead"),
            (&self.skipped, "skipped"),
            (&self.nulled, "values nulled"),
            (&self.bytes, "bytes"),
            (&self.hits, "hits"),
            (&self.misses, "misses"),
            (&self.queries, "queries"),
            (&self.retries, "retries"),
        ] {
            if counter.get() > 0 {
                s += &format!(", {} {word}", counter.get());
            }
        }
        if self.flushes.get() > 0 {
            let average = self.flush_micros.get() as f64 / self.flushes.get() as f64 / 1000.0;
            s += &format!(", {} flushes of {average:.1} ms", self.flushes.get());
        }
        if let Some(lag) = self.lag.get() {
            s += &format!(", {lag} behind");
        }
        s
    }
}

/// Of how much of the input a reader is through.
#[derive(Debug, Default)]
pub struct Progress {
    pub done: AtomicU64,
    pub total: AtomicU64,
}

/// All figures of a job, in the order of its operators.
#[derive(Debug, Default)]
pub struct JobMetrics {
    operators: Mutex<Vec<Arc<OperatorMetrics>>>,
    readers: Mutex<Vec<Arc<Progress>>>,
    pub checkpoints: CheckpointMetrics,
}

/// Figures of the job's checkpoints and restarts.
#[derive(Debug, Default)]
pub struct CheckpointMetrics {
    pub completed: Counter,
    pub failed: Counter,
    /// From trigger to durable.
    pub last_millis: Gauge,
    pub restarts: Counter,
}

impl CheckpointMetrics {
    /// (name, figures) of the lines that have something to say.
    fn lines(&self) -> Vec<(&'static str, String)> {
        let mut lines = vec![];
        let (completed, failed) = (self.completed.get(), self.failed.get());
        if completed + failed > 0 {
            let last = self.last_millis.get().map_or(String::new(), |ms| format!(", {ms} ms for the last"));
            lines.push(("Checkpoints", format!("{completed} completed, {failed} failed{last}")));
        }
        if self.restarts.get() > 0 {
            lines.push(("Restarts", self.restarts.get().to_string()));
        }
        lines
    }
}

/// Sums over the job's sources and sinks, for the progress line.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Totals {
    pub rows_in: u64,
    pub rows_out: u64,
    pub dead: u64,
    pub skipped: u64,
    /// 0..=1, if every reader knows its size.
    pub share_read: Option<f64>,
}

impl JobMetrics {
    /// The figures of the operator; they go on where an earlier attempt of the job has left them.
    pub fn operator(&self, name: &str, role: OperatorRole) -> Arc<OperatorMetrics> {
        let mut operators = self.operators.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(there) = operators.iter().find(|o| o.name == name) {
            return there.clone();
        }
        let new = OperatorMetrics::new(name, role);
        operators.push(new.clone());
        new
    }
    /// A new attempt has new readers.
    pub fn forget_readers(&self) {
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
    pub fn register_reader(&self) -> Arc<Progress> {
        let p = Arc::new(Progress::default());
        self.readers.lock().unwrap_or_else(PoisonError::into_inner).push(p.clone());
        p
    }
    pub fn operators(&self) -> Vec<Arc<OperatorMetrics>> {
        self.operators.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub fn totals(&self) -> Totals {
        let mut t = Totals::default();
        for o in self.operators() {
            match o.role {
                OperatorRole::Source => t.rows_in += o.rows_in.get(),
                OperatorRole::Sink => t.rows_out += o.rows_out.get(),
                OperatorRole::SideTable | OperatorRole::Transform => {}
            }
            t.dead += o.dead.get();
            t.skipped += o.skipped.get();
        }
        let readers = self.readers.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut done, mut total) = (0, 0);
        for r in readers.iter() {
            done += r.done.load(Relaxed);
            total += r.total.load(Relaxed);
        }
        t.share_read = (total > 0).then(|| (done as f64 / total as f64).min(1.0));
        t
    }

    /// One line per operator, aligned.
    pub fn summary(&self) -> String {
        let operators = self.operators();
        let operators = operators.iter().map(|o| (o.name.as_str(), o.line()));
        let lines: Vec<(&str, String)> = operators.chain(self.checkpoints.lines()).collect();
        let width = lines.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
        lines.iter().map(|(name, line)| format!("  {name:width$}  {line}\n")).collect()
    }
}
