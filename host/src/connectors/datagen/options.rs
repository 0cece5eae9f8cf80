//! Options of `datagen`, Flink's, and `seed`.

use crate::sql::options::Dialect::Flink;
use crate::sql::options::{OptionSpec, OptionType};

pub static OPTIONS: &[OptionSpec] = &[
    OptionSpec::new(
        "rows-per-second",
        OptionType::Int { min: 1, max: i64::MAX },
        &[(Flink, "rows-per-second")],
        "How many rows are made in a second, by all subtasks together.",
    )
    .default(&[(Flink, "10000")]),
    OptionSpec::new(
        "number-of-rows",
        OptionType::Int { min: 0, max: i64::MAX },
        &[(Flink, "number-of-rows")],
        "The table ends after so many rows. Without it, it ends with its shortest sequence, or never.",
    ),
    OptionSpec::new(
        "seed",
        OptionType::Int { min: i64::MIN, max: i64::MAX },
        &[(Flink, "seed")],
        "Random values that are the same in every run (timestamps aside).",
    ),
    OptionSpec::new(
        "fields",
        OptionType::Prefix,
        &[(Flink, "fields.")],
        "What a column holds: `fields.<column>.<setting>`.",
    ),
];
