use std::borrow::Cow;
use std::fmt;

/// Why bytes are not a frame, a schema or a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameError(pub Cow<'static, str>);

impl FrameError {
    pub(crate) fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self(what.into())
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FrameError {}
