//! The one error type of the host: whose fault it is decides the exit code and whether a retry makes sense.

use std::fmt;

/// Whose fault a failure is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Domain {
    /// The job text, an option, a plugin: the user changes something and submits again. Exit code 2.
    User,
    /// A record or value that the job was told to fail on. Exit code 3.
    Data,
    /// A server, a file, the network. Exit code 3.
    External,
    /// A fault of ours. Exit code 70.
    Internal,
}

impl Domain {
    pub fn exit_code(self) -> u8 {
        match self {
            Domain::User => 2,
            Domain::Data | Domain::External => 3,
            Domain::Internal => 70,
        }
    }
}

/// A failure that ends a job (or keeps it from starting).
///
/// `operator` is set by the first operator that sees the error and never overwritten on the way out, so the
/// innermost one is blamed.
#[derive(Debug)]
pub struct Error {
    pub domain: Domain,
    pub message: String,
    pub operator: Option<String>,
    /// What to do about it, when we know.
    pub hint: Option<String>,
    /// Whether the same attempt may succeed later (used by restart policies).
    pub retryable: bool,
}

pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub fn new(domain: Domain, message: impl Into<String>) -> Self {
        Self { domain, message: message.into(), operator: None, hint: None, retryable: false }
    }
    pub fn user(message: impl Into<String>) -> Self {
        Self::new(Domain::User, message)
    }
    pub fn data(message: impl Into<String>) -> Self {
        Self::new(Domain::Data, message)
    }
    pub fn external(message: impl Into<String>) -> Self {
        Self::new(Domain::External, message)
    }
    pub fn internal(message: impl Into<String>) -> Self {
        Self::new(Domain::Internal, message)
    }
    pub fn retryable(mut self) -> Self {
        self.retryable = true;
        self
    }
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint.get_or_insert_with(|| hint.into());
        self
    }
    /// Names the operator unless an inner one already did.
    pub fn in_operator(mut self, name: &str) -> Self {
        self.operator.get_or_insert_with(|| name.to_string());
        self
    }
    /// Puts `what` in front of the message: `what: message`.
    pub fn context(mut self, what: impl fmt::Display) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.operator {
            Some(op) => write!(f, "{} (operator {op})", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<arrow::error::ArrowError> for Error {
    fn from(e: arrow::error::ArrowError) -> Self {
        Error::internal(format!("arrow: {e}"))
    }
}
