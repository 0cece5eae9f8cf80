//! Errors of single rows and what a job does about them.

/// Why a record was refused; the stable word in dead letters and in the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Reason {
    /// The bytes are not a record of the table's format, or a member does not fit its column.
    Decode,
    /// A record longer than the limit.
    TooLarge,
    /// NULL (or a missing member) for a NOT NULL column.
    NotNull,
    /// A record without a value (a tombstone) where one is needed.
    NoValue,
    Cast,
    Arithmetic,
    /// A plugin answered with an error for this row.
    Plugin,
    /// A plugin trapped, spun or broke a limit on this row.
    PluginTrap,
    /// The side table gave no answer in time.
    Lookup,
    /// The sink's format cannot express the row.
    Encode,
    /// The sink refused the row.
    Sink,
}

impl Reason {
    pub fn as_str(self) -> &'static str {
        match self {
            Reason::Decode => "decode",
            Reason::TooLarge => "too-large",
            Reason::NotNull => "not-null",
            Reason::NoValue => "no-value",
            Reason::Cast => "cast",
            Reason::Arithmetic => "arithmetic",
            Reason::Plugin => "plugin",
            Reason::PluginTrap => "plugin-trap",
            Reason::Lookup => "lookup",
            Reason::Encode => "encode",
            Reason::Sink => "sink",
        }
    }
}

/// One row that could not be processed. `row` counts in the batch (or chunk) at hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    pub row: u32,
    pub reason: Reason,
    pub column: Option<String>,
    pub function: Option<String>,
    pub message: String,
    /// `on-error` of the function that refused the row; None: the job's or the table's policy applies.
    pub policy: Option<FailurePolicy>,
}

impl RowError {
    pub fn new(row: u32, reason: Reason, message: impl Into<String>) -> Self {
        Self { row, reason, column: None, function: None, message: message.into(), policy: None }
    }
    pub fn column(mut self, column: impl Into<String>) -> Self {
        self.column = Some(column.into());
        self
    }
    pub fn function(mut self, function: impl Into<String>) -> Self {
        self.function = Some(function.into());
        self
    }
    pub fn policy(mut self, policy: Option<FailurePolicy>) -> Self {
        self.policy = policy;
        self
    }
}

/// `on-error` of a table or function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FailurePolicy {
    /// The row goes to the dead letters, the job goes on.
    DeadLetter,
    /// The job fails.
    #[default]
    Fail,
    /// The value becomes NULL, the row goes on.
    Null,
    /// The row is dropped and counted.
    Skip,
}

impl FailurePolicy {
    pub fn parse(s: &str) -> Option<Self> {
        Some(match s.to_ascii_lowercase().as_str() {
            "dead-letter" => Self::DeadLetter,
            "fail" => Self::Fail,
            "null" => Self::Null,
            "skip" => Self::Skip,
            _ => return None,
        })
    }
}
