//! A native format, bound to a table.

use super::api::FormatBinding;
use crate::data::ChangelogMode;
use crate::error::{Error, Result};
use crate::formats::{self, Decoder, Encoder, FormatContext, FormatFactory, Framing, RetractEncoder};
use std::sync::Arc;

pub struct NativeFormat {
    factory: &'static dyn FormatFactory,
    cx: FormatContext,
    framing: Framing,
}

impl NativeFormat {
    /// A user error if there is no such format or its options make no sense.
    pub fn bind(identifier: &str, cx: FormatContext) -> Result<Arc<dyn FormatBinding>> {
        let factory = formats::find(identifier)
            .ok_or_else(|| Error::user(format!("table {}: there is no format {identifier}", cx.table)))?;
        let framing = factory.framing(&cx.options).map_err(|e| e.context(format!("table {}", cx.table)))?;
        Ok(Arc::new(Self { factory, cx, framing }))
    }
}

impl FormatBinding for NativeFormat {
    fn identifier(&self) -> &str {
        self.factory.identifier()
    }
    fn framing(&self) -> Framing {
        self.framing
    }
    fn changelog_mode(&self) -> ChangelogMode {
        self.factory.changelog_mode()
    }
    fn decoder(&self) -> Result<Box<dyn Decoder>> {
        self.factory.decoder(&self.cx)
    }
    fn encoder(&self) -> Result<Box<dyn Encoder>> {
        self.factory.encoder(&self.cx)
    }
    fn retract_encoder(&self) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(RetractEncoder::new(self.factory, &self.cx)?))
    }
}
