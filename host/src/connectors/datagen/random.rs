//! Random numbers by place: the values of a row depend on the seed, the column and the number of the row alone, so that a
//! restored job makes the rows that it would have made.

/// SplitMix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators).
pub(super) struct Random(u64);

impl Random {
    pub fn of(seed: u64, column: u64, row: u64) -> Self {
        let mut at_row = Self(seed ^ row.wrapping_mul(0xD1B5_4A32_D192_ED03));
        let mixed = at_row.next();
        Self(mixed ^ column.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// From 0 up to, but not, 1.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Of all whole numbers from `min` to `max`.
    pub fn between(&mut self, min: i128, max: i128) -> i128 {
        let span = max.wrapping_sub(min) as u128;
        let wide = (u128::from(self.next()) << 64) | u128::from(self.next());
        match span.checked_add(1) {
            Some(count) => min.wrapping_add((wide % count) as i128),
            None => wide as i128,
        }
    }
}
