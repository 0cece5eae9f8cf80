//! JSON: `json` as Flink has it, and `dt_nest`, flinkStreamSQL's name for the same with paths; `debezium-json` and
//! `canal-json`, changes with rows inside. All follow path columns.

mod canal;
#[cfg(test)]
mod change_tests;
mod debezium;
mod decode;
mod encode;
mod envelope;
pub(in crate::formats) mod pieces;
mod plan;
mod scan;
#[cfg(test)]
mod tests;

pub use canal::CanalJson;
pub use debezium::DebeziumJson;
pub use encode::{JsonEncoder, KindMember, write_string};

use super::{Decoder, Encoder, FormatContext, FormatFactory, Framing, options};
use crate::error::Result;
use crate::sql::options::{OptionSpec, ResolvedOptions};

/// `json`
pub struct Json;

/// `dt_nest`: dates and timestamps may also be milliseconds since 1970.
pub struct DtNest;

/// Whether a format's records are JSON objects that the decoders here read.
pub fn is_json(identifier: &str) -> bool {
    matches!(identifier, "json" | "dt_nest")
}

impl FormatFactory for Json {
    fn identifier(&self) -> &'static str {
        "json"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::JSON
    }
    fn framing(&self, _options: &ResolvedOptions) -> Result<Framing> {
        Ok(Framing::Lines)
    }
    fn is_text(&self) -> bool {
        true
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(decode::JsonDecoder::new(cx, false)?))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(JsonEncoder::new(cx)?))
    }
}

impl FormatFactory for DtNest {
    fn identifier(&self) -> &'static str {
        "dt_nest"
    }
    fn options(&self) -> &'static [OptionSpec] {
        options::JSON
    }
    fn framing(&self, _options: &ResolvedOptions) -> Result<Framing> {
        Ok(Framing::Lines)
    }
    fn is_text(&self) -> bool {
        true
    }
    fn decoder(&self, cx: &FormatContext) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(decode::JsonDecoder::new(cx, true)?))
    }
    fn encoder(&self, cx: &FormatContext) -> Result<Box<dyn Encoder>> {
        Ok(Box::new(JsonEncoder::new(cx)?))
    }
}
