//! Watermarks of several inputs merged into one, pure.

/// The minimum over the inputs; never goes back, unknown until every unfinished input has spoken.
#[derive(Debug)]
pub struct WatermarkTracker {
    inputs: Vec<Option<i64>>,
    emitted: Option<i64>,
}

impl WatermarkTracker {
    pub fn new(inputs: usize) -> Self {
        Self { inputs: vec![None; inputs], emitted: None }
    }

    /// A watermark of one input; the merged one if it advanced. An input that goes back is held at its maximum.
    pub fn update(&mut self, input: usize, watermark: i64) -> Option<i64> {
        let held = self.inputs[input].map_or(watermark, |w| w.max(watermark));
        self.inputs[input] = Some(held);
        self.advance()
    }

    /// A finished input holds nobody back.
    pub fn finish(&mut self, input: usize) -> Option<i64> {
        self.update(input, i64::MAX)
    }

    fn advance(&mut self) -> Option<i64> {
        let merged = self.inputs.iter().copied().min().flatten()?;
        if self.emitted.is_none_or(|e| merged > e) {
            self.emitted = Some(merged);
            return Some(merged);
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_known_until_every_input_has_spoken() {
        let mut w = WatermarkTracker::new(2);
        assert_eq!(w.update(0, 10), None);
        assert_eq!(w.update(1, 5), Some(5));
        assert_eq!(w.update(1, 20), Some(10));
    }

    #[test]
    fn it_never_goes_back() {
        let mut w = WatermarkTracker::new(1);
        assert_eq!(w.update(0, 10), Some(10));
        assert_eq!(w.update(0, 3), None);
        assert_eq!(w.update(0, 11), Some(11));
    }

    #[test]
    fn a_finished_input_holds_nobody_back() {
        let mut w = WatermarkTracker::new(2);
        w.update(0, 10);
        assert_eq!(w.finish(1), Some(10));
        assert_eq!(w.finish(0), Some(i64::MAX));
    }
}
