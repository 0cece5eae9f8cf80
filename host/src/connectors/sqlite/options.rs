//! Options of `sqlite`.

use crate::sql::options::OptionSpec;

pub static OPTIONS: &[OptionSpec] = &[];
