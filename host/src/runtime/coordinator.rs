//! When checkpoints begin, when they are complete and when they are given up. Pure: time comes in as an argument, what
//! is to be done goes out as actions.

use crate::data::Epoch;
use std::collections::VecDeque;
use std::time::Duration;

/// Time since the coordinator was made.
pub type Now = Duration;

#[derive(Debug, Clone, PartialEq)]
pub struct CheckpointTiming {
    /// From the start of one to the start of the next; None: only the first one (`at_start`) and the last one.
    pub interval: Option<Duration>,
    /// At least this much from the end of one to the start of the next.
    pub min_pause: Duration,
    /// One that takes longer is given up.
    pub timeout: Duration,
    /// The first one begins at once.
    pub at_start: bool,
}

/// What is to be done now. `P` is what a task gives for a checkpoint.
#[derive(Debug, PartialEq)]
pub enum Action<P> {
    /// Barriers to all sources.
    Trigger(Epoch),
    /// Every task has given its part: make it durable, then say `published` or `publish_failed`. `last`: all tasks have
    /// ended, nothing follows.
    Publish { epoch: Epoch, parts: Vec<P>, last: bool },
    /// It is durable: sinks make visible what it covers, sources commit their positions.
    Complete { epoch: Epoch, took: Duration, last: bool },
    /// It will not complete. The job goes on, unless it was the last one.
    Abort { epoch: Epoch, reason: String, last: bool },
}

#[derive(Debug)]
struct Pending<P> {
    epoch: Epoch,
    started: Now,
    parts: Vec<Option<P>>,
    publishing: bool,
    last: bool,
}

/// One checkpoint at a time. A task that has ended counts with the part it gave at its end, in this and all later
/// checkpoints.
#[derive(Debug)]
pub struct Coordinator<P> {
    timing: CheckpointTiming,
    /// What each ended task gave at its end.
    ended: Vec<Option<P>>,
    next: Epoch,
    pending: Option<Pending<P>>,
    last_start: Option<Now>,
    last_end: Option<Now>,
    /// The last one was published or given up.
    closed: bool,
}

impl<P: Clone> Coordinator<P> {
    /// `first`: the epoch of the first checkpoint.
    pub fn new(timing: CheckpointTiming, tasks: usize, first: Epoch) -> Self {
        let ended = std::iter::repeat_with(|| None).take(tasks).collect();
        Self { timing, ended, next: first, pending: None, last_start: None, last_end: None, closed: false }
    }

    /// When `tick` has something to do next.
    pub fn wake_at(&self) -> Option<Now> {
        if self.closed {
            return None;
        }
        match &self.pending {
            Some(p) if p.publishing => None,
            Some(p) => Some(p.started.saturating_add(self.timing.timeout)),
            None => self.due(),
        }
    }

    fn due(&self) -> Option<Now> {
        let Some(last_start) = self.last_start else {
            return if self.timing.at_start { Some(Duration::ZERO) } else { self.timing.interval };
        };
        let after_start = last_start.saturating_add(self.timing.interval?);
        let after_end = self.last_end.map(|end| end.saturating_add(self.timing.min_pause));
        Some(after_end.map_or(after_start, |e| e.max(after_start)))
    }

    pub fn tick(&mut self, now: Now) -> VecDeque<Action<P>> {
        let mut actions = VecDeque::new();
        let overdue = |p: &Pending<P>| !p.publishing && now >= p.started.saturating_add(self.timing.timeout);
        if self.pending.as_ref().is_some_and(overdue) {
            let missing = self.pending.iter().flat_map(|p| &p.parts).filter(|part| part.is_none()).count();
            let reason = format!(
                "{missing} of {} tasks did not take part within {:?} (a sink that does not accept rows, or rows that \
                 take long)",
                self.ended.len(),
                self.timing.timeout
            );
            actions.extend(self.abort(now, reason));
        }
        if !self.closed && self.pending.is_none() && self.due().is_some_and(|due| now >= due) {
            actions.push_back(self.begin(now));
        }
        self.advance(now, &mut actions);
        actions
    }

    fn begin(&mut self, now: Now) -> Action<P> {
        let epoch = self.open(now, false);
        Action::Trigger(epoch)
    }

    fn open(&mut self, now: Now, last: bool) -> Epoch {
        let epoch = self.next;
        self.next = Epoch(epoch.0 + 1);
        self.last_start = Some(now);
        self.pending = Some(Pending { epoch, started: now, parts: self.ended.clone(), publishing: false, last });
        epoch
    }

    /// A task has given its part. One of a checkpoint that was given up comes too late and is ignored.
    pub fn ack(&mut self, now: Now, task: usize, epoch: Epoch, part: P) -> VecDeque<Action<P>> {
        let mut actions = VecDeque::new();
        if let Some(p) = &mut self.pending
            && p.epoch == epoch
            && !p.publishing
        {
            p.parts[task] = Some(part);
        }
        self.advance(now, &mut actions);
        actions
    }

    /// A task has ended well, with this as its state from now on.
    pub fn task_ended(&mut self, now: Now, task: usize, part: P) -> VecDeque<Action<P>> {
        let mut actions = VecDeque::new();
        if let Some(p) = &mut self.pending
            && !p.publishing
        {
            p.parts[task].get_or_insert_with(|| part.clone());
        }
        self.ended[task] = Some(part);
        self.advance(now, &mut actions);
        actions
    }

    pub fn published(&mut self, now: Now, epoch: Epoch) -> VecDeque<Action<P>> {
        let mut actions = VecDeque::new();
        if let Some(p) = self.pending.take_if(|p| p.epoch == epoch) {
            self.last_end = Some(now);
            self.closed |= p.last;
            let took = now.saturating_sub(p.started);
            actions.push_back(Action::Complete { epoch, took, last: p.last });
        }
        self.advance(now, &mut actions);
        actions
    }

    pub fn publish_failed(&mut self, now: Now, epoch: Epoch, reason: String) -> VecDeque<Action<P>> {
        let mut actions = VecDeque::new();
        if self.pending.as_ref().is_some_and(|p| p.epoch == epoch) {
            actions.extend(self.abort(now, reason));
        }
        self.advance(now, &mut actions);
        actions
    }

    fn abort(&mut self, now: Now, reason: String) -> Option<Action<P>> {
        let p = self.pending.take()?;
        self.last_end = Some(now);
        self.closed |= p.last;
        Some(Action::Abort { epoch: p.epoch, reason, last: p.last })
    }

    /// Publishes what is complete; once all tasks have ended and nothing is pending, the last checkpoint.
    fn advance(&mut self, now: Now, actions: &mut VecDeque<Action<P>>) {
        if !self.closed && self.pending.is_none() && !self.ended.is_empty() && self.ended.iter().all(Option::is_some) {
            self.open(now, true);
        }
        if let Some(p) = &mut self.pending
            && !p.publishing
            && p.parts.iter().all(Option::is_some)
        {
            p.publishing = true;
            let parts = p.parts.iter_mut().filter_map(Option::take).collect();
            actions.push_back(Action::Publish { epoch: p.epoch, parts, last: p.last });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Action::*;
    use super::*;

    fn secs(s: u64) -> Duration {
        Duration::from_secs(s)
    }

    fn coordinator(tasks: usize) -> Coordinator<&'static str> {
        let timing =
            CheckpointTiming { interval: Some(secs(10)), min_pause: secs(0), timeout: secs(60), at_start: true };
        Coordinator::new(timing, tasks, Epoch(1))
    }

    fn one<P>(mut actions: VecDeque<Action<P>>) -> Action<P> {
        assert_eq!(actions.len(), 1);
        actions.pop_front().unwrap()
    }

    /// Checkpoint 1, from 0 s to 3 s.
    fn after_the_first(tasks: usize) -> Coordinator<&'static str> {
        let mut c = coordinator(tasks);
        assert_eq!(one(c.tick(secs(0))), Trigger(Epoch(1)));
        for task in 0..tasks - 1 {
            assert!(c.ack(secs(1), task, Epoch(1), "a").is_empty());
        }
        let parts = vec!["a"; tasks];
        assert_eq!(one(c.ack(secs(2), tasks - 1, Epoch(1), "a")), Publish { epoch: Epoch(1), parts, last: false });
        assert_eq!(one(c.published(secs(3), Epoch(1))), Complete { epoch: Epoch(1), took: secs(3), last: false });
        c
    }

    #[test]
    fn the_interval_counts_from_start_to_start() {
        let mut c = after_the_first(2);
        assert_eq!(c.wake_at(), Some(secs(10)));
        assert!(c.tick(secs(9)).is_empty());
        assert_eq!(one(c.tick(secs(10))), Trigger(Epoch(2)));
        assert!(c.tick(secs(25)).is_empty(), "one at a time");
        c.ack(secs(26), 0, Epoch(2), "b");
        c.ack(secs(26), 1, Epoch(2), "b");
        c.published(secs(27), Epoch(2));
        assert_eq!(one(c.tick(secs(27))), Trigger(Epoch(3)));
    }

    #[test]
    fn the_pause_counts_from_end_to_start() {
        let mut c = after_the_first(1);
        c.timing.min_pause = secs(9);
        assert_eq!(c.wake_at(), Some(secs(12)));
        assert!(c.tick(secs(11)).is_empty());
        assert_eq!(one(c.tick(secs(12))), Trigger(Epoch(2)));
    }

    #[test]
    fn a_checkpoint_that_takes_too_long_is_given_up_and_the_next_one_succeeds() {
        let mut c = after_the_first(2);
        c.tick(secs(10));
        c.ack(secs(11), 0, Epoch(2), "late");
        assert_eq!(c.wake_at(), Some(secs(70)));
        let actions: Vec<_> = c.tick(secs(70)).into();
        assert!(
            matches!(&actions[..], [Abort { epoch: Epoch(2), reason, .. }, Trigger(Epoch(3))] if reason.contains("1 of 2"))
        );
        // The part of the old one is not taken for the new one's.
        assert!(c.ack(secs(71), 1, Epoch(2), "late").is_empty());
        assert!(c.ack(secs(72), 0, Epoch(3), "b").is_empty());
        let publish = Publish { epoch: Epoch(3), parts: vec!["b", "c"], last: false };
        assert_eq!(one(c.ack(secs(73), 1, Epoch(3), "c")), publish);
    }

    #[test]
    fn an_ended_task_takes_part_with_its_last_state() {
        let mut c = after_the_first(2);
        c.tick(secs(10));
        assert!(c.task_ended(secs(11), 0, "end").is_empty());
        assert_eq!(
            one(c.ack(secs(12), 1, Epoch(2), "b")),
            Publish { epoch: Epoch(2), parts: vec!["end", "b"], last: false }
        );
        c.published(secs(13), Epoch(2));
        c.tick(secs(20));
        assert_eq!(
            one(c.ack(secs(21), 1, Epoch(3), "c")),
            Publish { epoch: Epoch(3), parts: vec!["end", "c"], last: false }
        );
    }

    #[test]
    fn when_all_have_ended_the_last_checkpoint_follows_the_pending_one() {
        let mut c = after_the_first(2);
        c.tick(secs(10));
        c.ack(secs(11), 0, Epoch(2), "a");
        c.task_ended(secs(12), 0, "end a");
        let pending = one(c.task_ended(secs(13), 1, "end b"));
        assert_eq!(pending, Publish { epoch: Epoch(2), parts: vec!["a", "end b"], last: false });
        let actions: Vec<_> = c.published(secs(14), Epoch(2)).into();
        let last = Publish { epoch: Epoch(3), parts: vec!["end a", "end b"], last: true };
        assert_eq!(actions, [Complete { epoch: Epoch(2), took: secs(4), last: false }, last]);
        assert_eq!(one(c.published(secs(15), Epoch(3))), Complete { epoch: Epoch(3), took: secs(1), last: true });
        assert_eq!(c.wake_at(), None);
        assert!(c.tick(secs(100)).is_empty());
    }

    #[test]
    fn without_an_interval_there_is_only_the_last_one() {
        let mut c = coordinator(1);
        c.timing = CheckpointTiming { interval: None, at_start: false, ..c.timing };
        assert_eq!(c.wake_at(), None);
        assert!(c.tick(secs(1000)).is_empty());
        assert!(matches!(one(c.task_ended(secs(1001), 0, "end")), Publish { last: true, .. }));
    }

    #[test]
    fn a_publication_that_fails_leaves_the_job_running_unless_it_is_the_last() {
        let mut c = after_the_first(1);
        c.tick(secs(10));
        c.ack(secs(11), 0, Epoch(2), "b");
        assert_eq!(c.wake_at(), None, "nobody gives up a checkpoint that is being written");
        let aborted = one(c.publish_failed(secs(12), Epoch(2), "disk full".into()));
        assert_eq!(aborted, Abort { epoch: Epoch(2), reason: "disk full".into(), last: false });
        assert_eq!(c.wake_at(), Some(secs(20)));
        c.task_ended(secs(13), 0, "end");
        assert!(matches!(one(c.publish_failed(secs(14), Epoch(3), "disk full".into())), Abort { last: true, .. }));
        assert_eq!(c.wake_at(), None);
    }
}
