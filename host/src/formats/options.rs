//! Option tables of the formats.

use crate::sql::options::OptionSpec;

pub static JSON: &[OptionSpec] = &[];
pub static CSV: &[OptionSpec] = &[];
pub static RAW: &[OptionSpec] = &[];
