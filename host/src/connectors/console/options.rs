//! Options of `console` (flinkStreamSQL) and `print` (Flink).

use crate::sql::options::OptionSpec;

pub static OPTIONS: &[OptionSpec] = &[];
