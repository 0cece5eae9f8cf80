//! What can go wrong, and what a caller may do about it.

use crate::pb::kudu::app_status_pb::ErrorCode as StatusCode;
use crate::pb::kudu::master::{MasterErrorPb, master_error_pb};
use crate::pb::kudu::rpc::error_status_pb::RpcErrorCodePb;
use crate::pb::kudu::tserver::{TabletServerErrorPb, tablet_server_error_pb};
use std::time::Duration;

pub type Result<T, E = Error> = std::result::Result<T, E>;

/// An error of the client. It is cheap to clone: the rows of a batch that failed as a whole share one.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A value, name or setting that cannot be right; found before anything was sent.
    #[error("{0}")]
    InvalidArgument(String),
    /// No connection to a server, or a connection that was lost.
    #[error("{server}: {message}")]
    Connection { server: String, message: String },
    /// A server was reached, but the two sides could not agree who is who.
    #[error("{server}: {message}")]
    Authentication { server: String, message: String },
    /// The authentication token was refused; the client gets a new one by itself.
    #[error("{server}: the authentication token was refused: {message}")]
    InvalidAuthnToken { server: String, message: String },
    /// A refusal below the services: too busy, no such method, ..
    #[error("{server}: {method}: {message}")]
    Rpc { server: String, method: String, code: RpcCode, message: String },
    /// The master refused.
    #[error("{method}: {message} ({code:?}, {status:?})")]
    Master { method: &'static str, code: master_error_pb::Code, status: StatusCode, message: String },
    /// A tablet server refused a whole request.
    #[error("{method} of tablet {tablet} at {server}: {message} ({code:?}, {status:?})")]
    Tablet {
        method: &'static str,
        tablet: String,
        server: String,
        code: tablet_server_error_pb::Code,
        status: StatusCode,
        message: String,
    },
    /// One row was refused; the others of its batch were not touched by that.
    #[error("{message} ({status:?})")]
    Row { status: StatusCode, message: String },
    /// No range partition covers this row.
    #[error("no partition of table `{table}` covers the row {key}: add a range partition or leave the row out")]
    NonCoveredRange { table: String, key: String },
    /// The time for an operation was over before it was done.
    #[error("{what} was not done within {after:?}{}", .last.as_ref().map(|l| format!("; the last failure: {l}")).unwrap_or_default())]
    Timeout { what: String, after: Duration, last: Option<Box<Error>> },
    /// A server said something that cannot be understood.
    #[error("{0}")]
    Protocol(String),
    /// The cluster cannot do this; mostly it is too old.
    #[error("{0}")]
    NotSupported(String),
    /// The buffer of a session with manual flushes is full: the row was not taken. Flush, then apply it again.
    #[error("the session's buffer is full ({rows} rows, {bytes} bytes): flush it, then apply the row again")]
    BufferFull { rows: usize, bytes: usize },
    /// A scan lost its place and may not start again, since rows were delivered already.
    #[error("the scan of tablet {tablet} cannot go on: {reason}. A fault tolerant scan would go on elsewhere")]
    ScanLost { tablet: String, reason: Box<Error> },
}

/// Codes of `kudu.rpc.ErrorStatusPB`.
pub type RpcCode = RpcErrorCodePb;

impl Error {
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::InvalidArgument(message.into())
    }
    pub(crate) fn protocol(message: impl Into<String>) -> Self {
        Self::Protocol(message.into())
    }
    pub(crate) fn connection(server: &str, message: impl ToString) -> Self {
        Self::Connection { server: server.to_string(), message: message.to_string() }
    }
    pub(crate) fn authentication(server: &str, message: impl Into<String>) -> Self {
        Self::Authentication { server: server.to_string(), message: message.into() }
    }
    pub(crate) fn master(method: &'static str, error: MasterErrorPb) -> Self {
        Self::Master {
            method,
            code: error.code(),
            status: error.status.code(),
            message: error.status.message.unwrap_or_default(),
        }
    }
    pub(crate) fn tablet(method: &'static str, tablet: &str, server: &str, error: TabletServerErrorPb) -> Self {
        Self::Tablet {
            method,
            tablet: tablet.to_string(),
            server: server.to_string(),
            code: error.code(),
            status: error.status.code(),
            message: error.status.message.unwrap_or_default(),
        }
    }

    /// What the servers call the status of this error, if a service said it.
    pub fn status(&self) -> Option<StatusCode> {
        match self {
            Self::Master { status, .. } | Self::Tablet { status, .. } | Self::Row { status, .. } => Some(*status),
            _ => None,
        }
    }
    /// A table, row or tablet is not there.
    pub fn is_not_found(&self) -> bool {
        self.status() == Some(StatusCode::NotFound)
            || matches!(self, Self::NonCoveredRange { .. })
            || matches!(self, Self::Master { code: master_error_pb::Code::TableNotFound, .. })
    }
    /// A table or row is there already.
    pub fn is_already_present(&self) -> bool {
        self.status() == Some(StatusCode::AlreadyPresent)
            || matches!(self, Self::Master { code: master_error_pb::Code::TableAlreadyPresent, .. })
    }
    /// The user is not known, or may not do this.
    pub fn is_authorization(&self) -> bool {
        match self {
            Self::Authentication { .. } | Self::InvalidAuthnToken { .. } => true,
            // What a method's own check of rights says comes without a code.
            Self::Rpc { code: RpcCode::ErrorApplication, message, .. } => message.starts_with("Not authorized"),
            Self::Rpc { code, .. } => {
                matches!(code, RpcCode::FatalUnauthorized | RpcCode::ErrorInvalidAuthorizationToken)
            }
            _ => self.status() == Some(StatusCode::NotAuthorized),
        }
    }
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Timeout { .. })
    }
    /// The cluster may do it when asked again later. The client has asked again already, up to the operation's timeout.
    pub fn is_retryable(&self) -> bool {
        match self {
            Self::Connection { .. } | Self::Timeout { .. } | Self::InvalidAuthnToken { .. } => true,
            Self::Rpc { code, .. } => matches!(
                code,
                RpcCode::ErrorServerTooBusy
                    | RpcCode::ErrorUnavailable
                    | RpcCode::FatalServerShuttingDown
                    | RpcCode::ErrorInvalidAuthorizationToken
            ),
            Self::Master { code, status, .. } => {
                use master_error_pb::Code::*;
                matches!(code, NotTheLeader | CatalogManagerNotInitialized | TabletNotRunning)
                    || matches!(status, StatusCode::ServiceUnavailable)
            }
            Self::Tablet { code, status, .. } => {
                use tablet_server_error_pb::Code::*;
                matches!(code, TabletNotFound | TabletNotRunning | NotTheLeader | Throttled)
                    || matches!(status, StatusCode::ServiceUnavailable | StatusCode::IllegalState | StatusCode::Aborted)
            }
            Self::ScanLost { .. } => true,
            _ => false,
        }
    }
    /// Whether a write that ended so may have been done all the same.
    pub fn is_outcome_unknown(&self) -> bool {
        match self {
            Self::Timeout { .. } | Self::Connection { .. } => true,
            Self::Rpc { code, .. } => matches!(code, RpcCode::ErrorRequestStale),
            _ => false,
        }
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(e: arrow::error::ArrowError) -> Self {
        Self::Protocol(format!("rows that make no Arrow batch: {e}"))
    }
}
