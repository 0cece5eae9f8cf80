//! Which subtask reads which split of a source, and which splits nobody has taken as of a checkpoint. Pure.

use crate::connectors::api::{SourceSplit, SplitAssignment};
use crate::data::Epoch;
use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// The splits of one source that no subtask has taken yet.
///
/// A split belongs to the snapshot of the subtask that took it before that subtask's own barrier; else to what is
/// unassigned at that epoch. So the list is copied when a checkpoint begins, and a subtask that takes a split strikes
/// it off the copy unless it has taken its snapshot already: a split that is read to its end between the begin and the
/// barrier is then in neither, as it has to be.
#[derive(Debug)]
pub struct SplitAssigner {
    assignment: SplitAssignment,
    /// On demand: one queue for all. Spread: one for each subtask.
    queues: Vec<VecDeque<SourceSplit>>,
    /// Spread: how many splits each subtask has been given.
    given: Vec<usize>,
    /// Ids of all splits there ever were, for discovery.
    known: BTreeSet<Arc<str>>,
    open: Option<OpenEpoch>,
}

/// The checkpoint that is being taken; there is one at a time.
#[derive(Debug)]
struct OpenEpoch {
    epoch: Epoch,
    unassigned: Vec<SourceSplit>,
    snapshotted: Vec<bool>,
}

impl SplitAssigner {
    pub fn new(assignment: SplitAssignment, subtasks: usize, splits: Vec<SourceSplit>) -> Self {
        let queues = match assignment {
            SplitAssignment::OnDemand => 1,
            SplitAssignment::Spread => subtasks,
        };
        let mut new = Self {
            assignment,
            queues: vec![VecDeque::new(); queues],
            given: vec![0; subtasks],
            known: BTreeSet::new(),
            open: None,
        };
        new.add(splits);
        new
    }

    /// Adds splits, also while the source is being read. One whose id is known already is left out.
    pub fn add(&mut self, mut splits: Vec<SourceSplit>) {
        if self.assignment == SplitAssignment::Spread {
            // The same set is spread in the same way, in whatever order it was listed.
            splits.sort_by(|a, b| a.id.cmp(&b.id));
        }
        for split in splits {
            if !self.known.insert(split.id.clone()) {
                continue;
            }
            if let Some(open) = &mut self.open {
                open.unassigned.push(split.clone());
            }
            let queue = match self.assignment {
                SplitAssignment::OnDemand => 0,
                SplitAssignment::Spread => self.owner(&split.id),
            };
            self.queues[queue].push_back(split);
        }
    }

    /// The subtask with the fewest splits; among equals the id decides, so that small topics do not all land on the
    /// first one.
    fn owner(&mut self, id: &str) -> usize {
        let rank = |subtask: &usize| (self.given[*subtask], xxh3_64_with_seed(id.as_bytes(), *subtask as u64));
        let owner = (0..self.given.len()).min_by_key(rank).unwrap_or(0);
        self.given[owner] += 1;
        owner
    }

    /// What the subtask reads next. On demand: at most one split. Spread: all that wait for it.
    pub fn take(&mut self, subtask: usize) -> Vec<SourceSplit> {
        let taken: Vec<SourceSplit> = match self.assignment {
            SplitAssignment::OnDemand => self.queues[0].pop_front().into_iter().collect(),
            SplitAssignment::Spread => self.queues[subtask].drain(..).collect(),
        };
        if let Some(open) = &mut self.open
            && !open.snapshotted[subtask]
        {
            open.unassigned.retain(|s| taken.iter().all(|t| t.id != s.id));
        }
        taken
    }

    /// A checkpoint begins; called before any subtask can see its barrier.
    pub fn begin(&mut self, epoch: Epoch) {
        let unassigned = self.queues.iter().flatten().cloned().collect();
        self.open = Some(OpenEpoch { epoch, unassigned, snapshotted: vec![false; self.given.len()] });
    }

    /// The subtask has taken its snapshot: what it takes from now on is unassigned at this epoch.
    pub fn snapshotted(&mut self, subtask: usize, epoch: Epoch) {
        if let Some(open) = &mut self.open
            && open.epoch == epoch
        {
            open.snapshotted[subtask] = true;
        }
    }

    /// The unassigned splits as of this epoch, once all subtasks have taken their snapshots or ended.
    pub fn unassigned_at(&self, epoch: Epoch) -> Option<Vec<SourceSplit>> {
        self.open.as_ref().filter(|o| o.epoch == epoch).map(|o| o.unassigned.clone())
    }

    pub fn known(&self) -> Vec<Arc<str>> {
        self.known.iter().cloned().collect()
    }
}

/// An assigner that the subtasks of a source share.
pub struct SplitPool {
    assignment: SplitAssignment,
    assigner: Mutex<SplitAssigner>,
}

impl SplitPool {
    pub fn new(assignment: SplitAssignment, subtasks: usize, splits: Vec<SourceSplit>) -> Self {
        Self { assignment, assigner: Mutex::new(SplitAssigner::new(assignment, subtasks, splits)) }
    }
    pub fn assignment(&self) -> SplitAssignment {
        self.assignment
    }
    /// No call leaves it half changed, so a panic of another subtask does no harm.
    pub fn lock(&self) -> MutexGuard<'_, SplitAssigner> {
        self.assigner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    fn split(id: usize) -> SourceSplit {
        SourceSplit { id: format!("s{id:03}").into(), position: 0, detail: Default::default(), size: None }
    }
    fn splits(n: usize) -> Vec<SourceSplit> {
        (0..n).map(split).collect()
    }
    fn ids(splits: &[SourceSplit]) -> Vec<&str> {
        splits.iter().map(|s| &*s.id).collect()
    }

    #[test]
    fn on_demand_gives_one_at_a_time_in_order() {
        let mut a = SplitAssigner::new(SplitAssignment::OnDemand, 2, splits(3));
        assert_eq!(ids(&a.take(1)), ["s000"]);
        assert_eq!(ids(&a.take(0)), ["s001"]);
        assert_eq!(ids(&a.take(1)), ["s002"]);
        assert!(a.take(0).is_empty());
    }

    #[test]
    fn spread_is_balanced_and_the_same_for_every_order_of_the_list() {
        let spread = |list: Vec<SourceSplit>| {
            let mut a = SplitAssigner::new(SplitAssignment::Spread, 4, list);
            (0..4).map(|i| a.take(i)).collect::<Vec<_>>()
        };
        let all = spread(splits(11));
        let mut sizes: Vec<usize> = all.iter().map(Vec::len).collect();
        sizes.sort_unstable();
        assert_eq!(sizes, [2, 3, 3, 3]);
        assert_eq!(spread(splits(11).into_iter().rev().collect()), all);
    }

    #[test]
    fn single_splits_of_many_sources_do_not_all_go_to_the_first_subtask() {
        let owner = |i| {
            let mut a = SplitAssigner::new(SplitAssignment::Spread, 4, vec![split(i)]);
            (0..4).position(|s| !a.take(s).is_empty()).unwrap()
        };
        let owners: BTreeSet<usize> = (0..20).map(owner).collect();
        assert_eq!(owners.len(), 4);
    }

    #[test]
    fn what_is_known_is_not_added_again() {
        let mut a = SplitAssigner::new(SplitAssignment::Spread, 1, splits(2));
        a.take(0);
        a.add(splits(3));
        assert_eq!(ids(&a.take(0)), ["s002"]);
        assert_eq!(a.known().len(), 3);
    }

    #[test]
    fn a_split_read_to_its_end_before_the_barrier_does_not_come_back() {
        let mut a = SplitAssigner::new(SplitAssignment::OnDemand, 2, splits(3));
        a.begin(Epoch(1));
        // Subtask 0 reads s000 to its end, then sees the barrier, then takes s001; subtask 1 takes s002 before its own.
        a.take(0);
        a.snapshotted(0, Epoch(1));
        a.take(0);
        a.take(1);
        a.snapshotted(1, Epoch(1));
        assert_eq!(ids(&a.unassigned_at(Epoch(1)).unwrap()), ["s001"]);
    }

    #[test]
    fn a_checkpoint_that_was_given_up_leaves_no_trace() {
        let mut a = SplitAssigner::new(SplitAssignment::OnDemand, 1, splits(2));
        a.begin(Epoch(1));
        a.take(0);
        a.begin(Epoch(2));
        a.snapshotted(0, Epoch(1));
        a.take(0);
        assert_eq!(a.unassigned_at(Epoch(1)), None);
        assert_eq!(a.unassigned_at(Epoch(2)), Some(vec![]));
    }

    #[derive(Debug, Clone)]
    enum Step {
        Take(usize),
        Finish(usize),
        Snapshot(usize),
        Begin,
        Discover,
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            4 => (0..3usize).prop_map(Step::Take),
            3 => (0..3usize).prop_map(Step::Finish),
            3 => (0..3usize).prop_map(Step::Snapshot),
            1 => Just(Step::Begin),
            1 => Just(Step::Discover),
        ]
    }

    proptest! {
        /// Every split is, as of each complete checkpoint, in exactly one place: read to its end before the barrier of
        /// the subtask that read it, in that subtask's snapshot, or unassigned.
        #[test]
        fn each_split_is_in_one_place_of_a_checkpoint(
            spread: bool,
            count in 0..8usize,
            steps in proptest::collection::vec(step(), 0..80),
        ) {
            let kind = if spread { SplitAssignment::Spread } else { SplitAssignment::OnDemand };
            let mut a = SplitAssigner::new(kind, 3, splits(count));
            let mut next = count;
            let mut held: Vec<Vec<SourceSplit>> = vec![vec![]; 3];
            let mut done: Vec<Vec<SourceSplit>> = vec![vec![]; 3];
            let mut epoch = 0;
            // Per subtask what it held and had finished at its barrier; and how many splits there were at the begin.
            let mut at_barrier: HashMap<usize, Vec<SourceSplit>> = HashMap::new();
            let mut there = 0;
            let mut open = false;
            for step in steps {
                match step {
                    Step::Take(s) => held[s].extend(a.take(s)),
                    Step::Finish(s) => {
                        if let Some(split) = held[s].pop() {
                            done[s].push(split);
                        }
                    }
                    Step::Begin => {
                        epoch += 1;
                        a.begin(Epoch(epoch));
                        at_barrier.clear();
                        there = next;
                        open = true;
                    }
                    Step::Discover => {
                        a.add(vec![split(next)]);
                        next += 1;
                    }
                    Step::Snapshot(s) if open && !at_barrier.contains_key(&s) => {
                        a.snapshotted(s, Epoch(epoch));
                        at_barrier.insert(s, held[s].iter().chain(&done[s]).cloned().collect());
                    }
                    Step::Snapshot(_) => {}
                }
                if open && at_barrier.len() == 3 {
                    let unassigned = a.unassigned_at(Epoch(epoch)).unwrap();
                    let mut places: Vec<&str> = ids(&unassigned);
                    places.extend(at_barrier.values().flat_map(|v| ids(v)));
                    places.sort_unstable();
                    let mut once = places.clone();
                    once.dedup();
                    prop_assert_eq!(&once, &places, "a split is in two places");
                    prop_assert!(places.len() >= there, "a split is lost: {:?} of {}", places, there);
                    open = false;
                }
            }
        }
    }
}
