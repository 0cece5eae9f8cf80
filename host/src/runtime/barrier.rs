//! Barrier alignment, pure: which inputs must wait, and when a barrier has come on all of them.

use crate::data::Epoch;

/// What a task does after an input delivered a barrier or finished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Alignment {
    /// Go on with the inputs that are not parked.
    Waiting,
    /// Every input has delivered it (or finished): snapshot, forward, all inputs run again.
    Complete(Epoch),
}

/// Aligned barriers of one task. A finished input counts as aligned. A newer barrier abandons an older one that never
/// completed (its checkpoint timed out); an older one than the current is stale and ignored.
#[derive(Debug)]
pub struct BarrierAligner {
    current: Option<Epoch>,
    last_completed: Option<Epoch>,
    arrived: Vec<bool>,
    finished: Vec<bool>,
}

impl BarrierAligner {
    pub fn new(inputs: usize) -> Self {
        Self { current: None, last_completed: None, arrived: vec![false; inputs], finished: vec![false; inputs] }
    }

    /// True while this input must not be read.
    pub fn is_parked(&self, input: usize) -> bool {
        self.current.is_some() && self.arrived[input]
    }

    pub fn on_barrier(&mut self, input: usize, epoch: Epoch) -> Alignment {
        let stale = self.current.is_some_and(|c| epoch < c) || self.last_completed.is_some_and(|l| epoch <= l);
        if stale {
            return Alignment::Waiting;
        }
        if self.current != Some(epoch) {
            self.arrived.fill(false);
            self.current = Some(epoch);
        }
        self.arrived[input] = true;
        self.check()
    }

    pub fn on_finished(&mut self, input: usize) -> Alignment {
        self.finished[input] = true;
        self.check()
    }

    fn check(&mut self) -> Alignment {
        match self.current {
            Some(epoch) if self.arrived.iter().zip(&self.finished).all(|(a, f)| *a || *f) => {
                self.current = None;
                self.last_completed = Some(epoch);
                self.arrived.fill(false);
                Alignment::Complete(epoch)
            }
            _ => Alignment::Waiting,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Alignment::*;
    use super::*;

    #[test]
    fn an_input_that_delivered_its_barrier_is_parked_until_all_have() {
        let mut a = BarrierAligner::new(3);
        assert_eq!(a.on_barrier(1, Epoch(1)), Waiting);
        assert!(a.is_parked(1) && !a.is_parked(0));
        assert_eq!(a.on_barrier(0, Epoch(1)), Waiting);
        assert_eq!(a.on_barrier(2, Epoch(1)), Complete(Epoch(1)));
        assert!((0..3).all(|i| !a.is_parked(i)));
    }

    #[test]
    fn a_finished_input_counts_as_aligned() {
        let mut a = BarrierAligner::new(2);
        assert_eq!(a.on_barrier(0, Epoch(4)), Waiting);
        assert_eq!(a.on_finished(1), Complete(Epoch(4)));
        assert_eq!(a.on_barrier(0, Epoch(5)), Complete(Epoch(5)));
    }

    #[test]
    fn a_newer_barrier_abandons_the_older_one() {
        let mut a = BarrierAligner::new(2);
        assert_eq!(a.on_barrier(0, Epoch(1)), Waiting);
        assert_eq!(a.on_barrier(1, Epoch(2)), Waiting);
        assert!(!a.is_parked(0) && a.is_parked(1));
        assert_eq!(a.on_barrier(0, Epoch(2)), Complete(Epoch(2)));
    }

    #[test]
    fn a_stale_barrier_is_ignored() {
        let mut a = BarrierAligner::new(2);
        a.on_barrier(0, Epoch(3));
        assert_eq!(a.on_barrier(1, Epoch(2)), Waiting);
        assert_eq!(a.on_barrier(1, Epoch(3)), Complete(Epoch(3)));
        assert_eq!(a.on_barrier(0, Epoch(3)), Waiting);
        assert!(!a.is_parked(0));
    }
}
