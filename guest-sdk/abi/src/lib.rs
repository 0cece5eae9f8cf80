//! The guest ABI of Wasmill in Rust, for the host and for guests: names of exports and imports, status codes, and
//! the layouts of ABI.md (which is normative; this crate follows it). Nothing here depends on another crate.
//!
//! Every reader takes bytes of the other side: all numbers are checked, arithmetic is checked, nothing panics.

mod bundle;
mod bytes;
mod error;
mod frame;
mod schema;
mod types;
pub mod value;

pub use bundle::{Bundle, write_bundle};
pub use error::FrameError;
pub use frame::{Check, Column, Frame, FramePlan, FrameWriter, RowErrorEntry, row_errors_len, write_row_errors};
pub use schema::Schema;
pub use types::{Field, ParseTypeError, Type, UNBOUNDED, Wire};

/// Major and minor version. While the major is 0, a host takes exactly this minor.
pub const VERSION: (u8, u8) = (0, 1);
/// What the export [`names::MARKER`] returns: major * 65536 + minor.
pub const VERSION_MARKER: u32 = (VERSION.0 as u32) << 16 | VERSION.1 as u32;

/// Frames are shorter than this, so that offsets fit any guest's signed 32-bit numbers with room.
pub const MAX_FRAME_BYTES: usize = 1 << 28;
/// Nodes of a schema (columns and everything nested in them).
pub const MAX_NODES: usize = 4096;
/// Nesting depth of a type.
pub const MAX_DEPTH: usize = 32;
/// Status word and reserved word in front of a response's payload.
pub const RESPONSE_HEADER: usize = 8;
/// Handle and input index in front of the frame of a `wmprocess` request.
pub const PROCESS_HEADER: usize = 8;

/// Names of exports and imports.
pub mod names {
    pub const MEMORY: &str = "memory";
    pub const INITIALIZE: &str = "_initialize";
    pub const REALLOC: &str = "cabi_realloc";
    pub const MARKER: &str = "wmabi";
    pub const DESCRIBE: &str = "wmdescribe";
    pub const BIND: &str = "wmbind";
    pub const OPEN: &str = "wmopen";
    pub const PROCESS: &str = "wmprocess";
    pub const FIRE: &str = "wmfire";
    pub const CLOSE: &str = "wmclose";
    /// Optional global: address of (pointer, length) of the text of the last panic.
    pub const PANIC: &str = "wmpanic";
    /// The calls that every guest exports, besides [`MEMORY`], [`REALLOC`] and [`MARKER`].
    pub const REQUIRED_CALLS: [&str; 4] = [DESCRIBE, OPEN, PROCESS, CLOSE];
    /// The calls that a guest exports when it needs them.
    pub const OPTIONAL_CALLS: [&str; 2] = [BIND, FIRE];

    /// Module name of the host's imports.
    pub const HOST: &str = "wasmill:plugin/host@0.1.0";
    pub const LOG: &str = "log";
    /// Names in [`HOST`] that a later version fills; a module that imports one is refused until then.
    pub const RESERVED_IMPORTS: [&str; 13] = [
        "metric",
        "state-get",
        "state-put",
        "state-scan",
        "timer-set",
        "timer-clear",
        "clock",
        "config",
        "http",
        "random",
        "environment",
        "files",
        "lookup",
    ];
}

/// First word of every response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u32)]
pub enum Status {
    /// The payload is the call's answer.
    Ok = 0,
    /// The call cannot be done as asked (types, configuration); the payload is a text for the user.
    Refused = 1,
    /// The guest does not know the function or the call; the payload is a text.
    Unsupported = 2,
    /// A fault of the guest; the payload is a text.
    Internal = 3,
    /// Reserved: the same call may succeed later.
    Retry = 4,
}

impl Status {
    pub fn from_word(word: u32) -> Option<Status> {
        Some(match word {
            0 => Status::Ok,
            1 => Status::Refused,
            2 => Status::Unsupported,
            3 => Status::Internal,
            4 => Status::Retry,
            _ => return None,
        })
    }
}

/// Kinds of the sections of a frame.
pub mod section {
    /// Node table of the columns.
    pub const COLUMNS: u32 = 1;
    /// One byte a row: 0 `+I`, 1 `-U`, 2 `+U`, 3 `-D`.
    pub const ROW_KIND: u32 = 2;
    /// i64 microseconds a row.
    pub const EVENT_TIME: u32 = 3;
    /// u32 a row: ordinal of the row's key in this call.
    pub const KEY_ORDINAL: u32 = 4;
    /// Errors of single rows.
    pub const ROW_ERRORS: u32 = 5;
    /// u32 a row of an answer: the row of the request that it came from.
    pub const SOURCE_ROW: u32 = 6;
    /// Flag of a section: who does not know its kind must refuse the frame.
    pub const REQUIRED: u32 = 1;
}
