//! Jobs that crash, as a simulation: the real coordinator, barrier alignment and split assignment under random graphs,
//! delays, time-outs, failing publications and crashes. All randomness comes from a seed; a failing one is in the
//! message. `WASMILL_SIMULATION_SEEDS=10000` runs more of them, `WASMILL_SIMULATION_SEED=n` one.

use super::barrier::{Alignment, BarrierAligner};
use super::coordinator::{Action, CheckpointTiming, Coordinator};
use crate::connectors::api::{SourceSplit, SplitAssignment};
use crate::data::Epoch;
use crate::operators::SplitAssigner;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

const CHANNEL_MAX: usize = 8;
/// After so many crashes there are no more, so that each run ends.
const CRASHES_MAX: usize = 12;
const STEPS_MAX: u64 = 200_000;

/// SplitMix64.
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
    fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }
}

/// A record: its split and offset.
type Record = (usize, u64);
type PartId = u64;

/// One INSERT: splits with so many records each, read by source tasks and written by sink tasks.
#[derive(Debug, Clone)]
struct Shape {
    assignment: SplitAssignment,
    splits: Vec<u64>,
    /// Splits that are there at the start; the others are discovered.
    at_start: usize,
    sources: usize,
    sinks: usize,
    /// Source and sink share a task.
    chained: bool,
}

/// What outlives a crash.
#[derive(Default)]
struct Disk {
    manifest: Option<Manifest>,
    newest_epoch: u64,
    next_part: PartId,
    /// Per INSERT: rows that an at-least-once sink has flushed.
    flushed: Vec<BTreeSet<Record>>,
    /// Parts of an exactly-once sink.
    hidden: BTreeMap<PartId, (usize, Vec<Record>)>,
    visible: BTreeMap<PartId, (usize, Vec<Record>)>,
}

#[derive(Debug, Clone)]
struct Manifest {
    inserts: Vec<InsertState>,
}

#[derive(Debug, Clone, Default)]
struct InsertState {
    splits: Vec<(usize, u64)>,
    unassigned: Vec<(usize, u64)>,
    parts: Vec<PartId>,
}

/// What a task gives for a checkpoint.
#[derive(Debug, Clone)]
struct Given {
    insert: usize,
    splits: Vec<(usize, u64)>,
    parts: Vec<PartId>,
}

enum Element {
    Row(Record),
    Barrier(Epoch),
    End,
}

enum Event {
    Ack(usize, Epoch, Given),
    Finished(usize, Given),
}

struct SourceTask {
    task: usize,
    held: Vec<(usize, u64)>,
    control: VecDeque<Epoch>,
    seen: Epoch,
    done: bool,
}

struct SinkTask {
    task: usize,
    aligner: BarrierAligner,
    ended: Vec<bool>,
    unflushed: Vec<Record>,
    /// The part that is being written.
    open: Vec<Record>,
    /// Parts that are not visible, with the epoch they belong to.
    closed: Vec<(PartId, Epoch)>,
    seen: Epoch,
    done: bool,
    frozen_until: u64,
}

struct Insert {
    shape: Shape,
    assigner: SplitAssigner,
    sources: Vec<SourceTask>,
    sinks: Vec<SinkTask>,
    /// From each source to each sink.
    channels: Vec<Vec<VecDeque<Element>>>,
}

struct Attempt<'a> {
    rng: &'a mut Rng,
    disk: &'a mut Disk,
    inserts: Vec<Insert>,
    /// Per task, in order; what the coordinator has not seen yet.
    events: Vec<VecDeque<Event>>,
    coordinator: Coordinator<Given>,
    now: u64,
    reading: bool,
    draining: bool,
    may_crash: bool,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Crashed,
    Ended,
}

fn split(id: usize, position: u64) -> SourceSplit {
    SourceSplit { id: format!("{id}").into(), position, detail: Default::default(), size: None }
}

fn plain(s: &SourceSplit) -> (usize, u64) {
    (s.id.parse().unwrap(), s.position)
}

impl SinkTask {
    fn new(task: usize, inputs: usize, seen: Epoch) -> Self {
        let (aligner, ended) = (BarrierAligner::new(inputs), vec![false; inputs]);
        let (unflushed, open, closed) = (vec![], vec![], vec![]);
        Self { task, aligner, ended, unflushed, open, closed, seen, done: false, frozen_until: 0 }
    }

    fn write(&mut self, row: Record) {
        self.unflushed.push(row);
        self.open.push(row);
    }

    fn flush(&mut self, insert: usize, disk: &mut Disk) {
        disk.flushed[insert].extend(self.unflushed.drain(..));
    }

    /// As `SinkWriter::snapshot`: flushes, ends the part, names all parts that are not visible.
    fn snapshot(&mut self, insert: usize, epoch: Epoch, disk: &mut Disk) -> Vec<PartId> {
        self.flush(insert, disk);
        if !self.open.is_empty() {
            disk.next_part += 1;
            disk.hidden.insert(disk.next_part, (insert, std::mem::take(&mut self.open)));
            self.closed.push((disk.next_part, epoch));
        }
        self.closed.iter().map(|(id, _)| *id).collect()
    }

    fn complete(&mut self, epoch: Epoch, disk: &mut Disk) {
        self.closed.retain(|(id, closed)| {
            let covered = *closed <= epoch;
            if covered && let Some(part) = disk.hidden.remove(id) {
                disk.visible.insert(*id, part);
            }
            !covered
        });
    }
}

impl Disk {
    /// As `Sink::prepare` after a restore.
    fn restore_parts(&mut self) {
        for id in self.manifest.iter().flat_map(|m| &m.inserts).flat_map(|i| &i.parts) {
            if let Some(part) = self.hidden.remove(id) {
                self.visible.insert(*id, part);
            }
        }
        self.hidden.clear();
    }
}

impl<'a> Attempt<'a> {
    fn start(rng: &'a mut Rng, disk: &'a mut Disk, shapes: &[Shape], may_crash: bool) -> Self {
        disk.restore_parts();
        let seen = Epoch(disk.newest_epoch);
        let mut tasks = 0;
        let mut task = || {
            tasks += 1;
            tasks - 1
        };
        let mut inserts = vec![];
        for (i, shape) in shapes.iter().enumerate() {
            let splits = match &disk.manifest {
                None => (0..shape.at_start).map(|s| split(s, 0)).collect(),
                Some(m) => {
                    m.inserts[i].splits.iter().chain(&m.inserts[i].unassigned).map(|s| split(s.0, s.1)).collect()
                }
            };
            let source = |task| SourceTask { task, held: vec![], control: VecDeque::new(), seen, done: false };
            let sources: Vec<SourceTask> = (0..shape.sources).map(|_| source(task())).collect();
            let sinks = (0..shape.sinks).map(|s| match shape.chained {
                true => SinkTask::new(sources[s].task, 0, seen),
                false => SinkTask::new(task(), shape.sources, seen),
            });
            let sinks = sinks.collect();
            let channels = (0..shape.sources).map(|_| (0..shape.sinks).map(|_| VecDeque::new()).collect()).collect();
            let assigner = SplitAssigner::new(shape.assignment, shape.sources, splits);
            inserts.push(Insert { shape: shape.clone(), assigner, sources, sinks, channels });
        }
        let ms = Duration::from_millis;
        let timing = CheckpointTiming {
            interval: Some(ms(20 + rng.below(200) as u64)),
            min_pause: ms(rng.below(50) as u64),
            timeout: ms(100 + rng.below(2000) as u64),
            at_start: true,
        };
        let coordinator = Coordinator::new(timing, tasks, Epoch(seen.0 + 1));
        let events = (0..tasks).map(|_| VecDeque::new()).collect();
        let (reading, draining) = (false, false);
        Self { rng, disk, inserts, events, coordinator, now: 0, reading, draining, may_crash }
    }

    fn now(&self) -> Duration {
        Duration::from_millis(self.now)
    }

    fn crashes(&mut self, one_in: usize) -> bool {
        self.may_crash && self.rng.one_in(one_in)
    }

    fn run(&mut self) -> Outcome {
        while self.now < STEPS_MAX {
            self.now += 1;
            if self.crashes(400) {
                return Outcome::Crashed;
            }
            let insert = self.rng.below(self.inserts.len());
            let actions = match self.rng.below(10) {
                0..=3 => self.source_step(insert),
                4..=6 => self.sink_step(insert),
                7 => self.coordinator.tick(self.now()),
                8 => self.discover_freeze_or_drain(insert),
                _ => self.deliver(),
            };
            match self.act(actions) {
                Some(outcome) => return outcome,
                None => continue,
            }
        }
        panic!("no end after {STEPS_MAX} steps");
    }

    fn discover_freeze_or_drain(&mut self, insert: usize) -> VecDeque<Action<Given>> {
        let all = self.inserts[insert].shape.splits.len();
        match self.rng.below(20) {
            0 => {
                let sinks = self.inserts[insert].sinks.len();
                let sink = self.rng.below(sinks);
                self.inserts[insert].sinks[sink].frozen_until = self.now + self.rng.below(3000) as u64;
            }
            1 if self.reading && self.rng.one_in(10) => self.draining = true,
            2..=9 if self.inserts[insert].shape.assignment == SplitAssignment::Spread => {
                let known = self.inserts[insert].assigner.known().len();
                self.inserts[insert].assigner.add((0..all.min(known + 1)).map(|s| split(s, 0)).collect());
            }
            _ => {}
        }
        VecDeque::new()
    }

    fn source_step(&mut self, insert: usize) -> VecDeque<Action<Given>> {
        let subtask = self.rng.below(self.inserts[insert].sources.len());
        let i = &mut self.inserts[insert];
        let source = &mut i.sources[subtask];
        if source.done {
            source.control.clear();
        } else if let Some(epoch) = source.control.pop_front_if(|_| self.rng.one_in(3)) {
            // A barrier may come while a poll is under way.
            self.source_barrier(insert, subtask, epoch);
        } else if self.draining {
            self.source_end(insert, subtask);
        } else if self.reading {
            self.source_poll(insert, subtask);
        }
        VecDeque::new()
    }

    fn source_poll(&mut self, insert: usize, subtask: usize) {
        let i = &mut self.inserts[insert];
        let source = &mut i.sources[subtask];
        if i.shape.assignment == SplitAssignment::Spread {
            source.held.extend(i.assigner.take(subtask).iter().map(plain));
        }
        let lens = &i.shape.splits;
        let unread: Vec<usize> =
            (0..source.held.len()).filter(|h| source.held[*h].1 < lens[source.held[*h].0]).collect();
        if unread.is_empty() {
            match i.shape.assignment {
                SplitAssignment::OnDemand => {
                    source.held = i.assigner.take(subtask).iter().map(plain).collect();
                    if source.held.is_empty() {
                        self.source_end(insert, subtask);
                    }
                }
                // Unbounded: ends when all splits were found and read, as a drain would end it.
                SplitAssignment::Spread if i.assigner.known().len() == lens.len() => self.source_end(insert, subtask),
                SplitAssignment::Spread => {}
            }
            return;
        }
        let held = &mut source.held[unread[self.rng.below(unread.len())]];
        if i.shape.chained {
            i.sinks[subtask].write(*held);
        } else {
            let to = self.rng.below(i.sinks.len());
            let channel = &mut i.channels[subtask][to];
            if channel.len() >= CHANNEL_MAX {
                return;
            }
            channel.push_back(Element::Row(*held));
        }
        held.1 += 1;
    }

    /// What `Task::barrier` gives for the head (and for the sink of a chain).
    fn given(&mut self, insert: usize, subtask: usize, epoch: Epoch) -> Given {
        let i = &mut self.inserts[insert];
        let splits = match i.shape.assignment {
            // Ended splits stay, so that they are not discovered again.
            SplitAssignment::Spread => i.sources[subtask].held.clone(),
            SplitAssignment::OnDemand => {
                i.sources[subtask].held.iter().filter(|(s, at)| *at < i.shape.splits[*s]).copied().collect()
            }
        };
        i.assigner.snapshotted(subtask, epoch);
        let parts = match i.shape.chained {
            true => i.sinks[subtask].snapshot(insert, epoch, self.disk),
            false => vec![],
        };
        Given { insert, splits, parts }
    }

    fn source_barrier(&mut self, insert: usize, subtask: usize, epoch: Epoch) {
        let given = self.given(insert, subtask, epoch);
        let i = &mut self.inserts[insert];
        let source = &mut i.sources[subtask];
        source.seen = epoch;
        self.events[source.task].push_back(Event::Ack(source.task, epoch, given));
        i.channels[subtask].iter_mut().for_each(|c| c.push_back(Element::Barrier(epoch)));
    }

    fn source_end(&mut self, insert: usize, subtask: usize) {
        let epoch = Epoch(self.inserts[insert].sources[subtask].seen.0 + 1);
        let given = self.given(insert, subtask, epoch);
        let i = &mut self.inserts[insert];
        let source = &mut i.sources[subtask];
        source.done = true;
        self.events[source.task].push_back(Event::Finished(source.task, given));
        i.channels[subtask].iter_mut().for_each(|c| c.push_back(Element::End));
    }

    fn sink_step(&mut self, insert: usize) -> VecDeque<Action<Given>> {
        let none = VecDeque::new();
        let i = &mut self.inserts[insert];
        let subtask = self.rng.below(i.sinks.len());
        let sink = &mut i.sinks[subtask];
        if sink.done || sink.frozen_until > self.now || i.shape.chained {
            return none;
        }
        if self.rng.one_in(20) {
            sink.flush(insert, self.disk);
        }
        let from = self.rng.below(i.shape.sources);
        if sink.ended[from] || sink.aligner.is_parked(from) {
            return none;
        }
        let alignment = match i.channels[from][subtask].pop_front() {
            None => return none,
            Some(Element::Row(row)) => {
                sink.write(row);
                return none;
            }
            Some(Element::Barrier(epoch)) => sink.aligner.on_barrier(from, epoch),
            Some(Element::End) => {
                sink.ended[from] = true;
                sink.aligner.on_finished(from)
            }
        };
        if let Alignment::Complete(epoch) = alignment {
            sink.seen = epoch;
            let parts = sink.snapshot(insert, epoch, self.disk);
            self.events[sink.task].push_back(Event::Ack(sink.task, epoch, Given { insert, splits: vec![], parts }));
        }
        if sink.ended.iter().all(|e| *e) {
            sink.done = true;
            let parts = sink.snapshot(insert, Epoch(sink.seen.0 + 1), self.disk);
            self.events[sink.task].push_back(Event::Finished(sink.task, Given { insert, splits: vec![], parts }));
        }
        none
    }

    fn deliver(&mut self) -> VecDeque<Action<Given>> {
        let task = self.rng.below(self.events.len());
        let now = self.now();
        match self.events[task].pop_front() {
            None => VecDeque::new(),
            Some(Event::Ack(task, epoch, given)) => self.coordinator.ack(now, task, epoch, given),
            Some(Event::Finished(task, given)) => self.coordinator.task_ended(now, task, given),
        }
    }

    fn act(&mut self, mut actions: VecDeque<Action<Given>>) -> Option<Outcome> {
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Trigger(epoch) => {
                    self.disk.newest_epoch = epoch.0;
                    for i in &mut self.inserts {
                        i.assigner.begin(epoch);
                        i.sources.iter_mut().for_each(|s| s.control.push_back(epoch));
                    }
                }
                Action::Publish { epoch, parts, last } => {
                    self.disk.newest_epoch = epoch.0;
                    if last {
                        self.inserts.iter_mut().for_each(|i| i.assigner.begin(epoch));
                    }
                    if self.crashes(10) {
                        return Some(Outcome::Crashed);
                    }
                    if self.may_crash && self.rng.one_in(10) {
                        actions.extend(self.coordinator.publish_failed(self.now(), epoch, "disk full".into()));
                        continue;
                    }
                    self.publish(epoch, parts);
                    if self.crashes(10) {
                        return Some(Outcome::Crashed);
                    }
                    actions.extend(self.coordinator.published(self.now(), epoch));
                }
                Action::Complete { epoch, last, .. } => {
                    for at in 0..self.inserts.len() {
                        for sink in &mut self.inserts[at].sinks {
                            sink.complete(epoch, self.disk);
                        }
                        if self.crashes(20) {
                            return Some(Outcome::Crashed);
                        }
                    }
                    self.reading = true;
                    if last {
                        return Some(Outcome::Ended);
                    }
                }
                // The job fails if there is nothing to go on from.
                Action::Abort { last, .. } if last || !self.reading => return Some(Outcome::Crashed),
                Action::Abort { .. } => {}
            }
        }
        None
    }

    fn publish(&mut self, epoch: Epoch, parts: Vec<Given>) {
        let mut inserts = vec![InsertState::default(); self.inserts.len()];
        for given in parts {
            inserts[given.insert].splits.extend(given.splits);
            inserts[given.insert].parts.extend(given.parts);
        }
        for (state, i) in inserts.iter_mut().zip(&self.inserts) {
            state.unassigned = i.assigner.unassigned_at(epoch).unwrap().iter().map(plain).collect();
        }
        let manifest = Manifest { inserts };
        self.check(&manifest);
        self.disk.manifest = Some(manifest);
    }

    /// Each record is before the positions of the manifest and flushed (and in parts that are visible or named), or will
    /// be read again.
    fn check(&self, manifest: &Manifest) {
        for (at, (i, state)) in self.inserts.iter().zip(&manifest.inserts).enumerate() {
            let mut places: BTreeMap<usize, u64> = BTreeMap::new();
            for (s, position) in state.splits.iter().chain(&state.unassigned) {
                assert_eq!(places.insert(*s, *position), None, "INSERT {at}: split {s} is twice in the manifest");
            }
            let there = match i.shape.assignment {
                SplitAssignment::OnDemand => i.shape.splits.len(),
                // One that nobody has discovered yet will be.
                SplitAssignment::Spread => 0,
            };
            let named: BTreeSet<Record> =
                (state.parts.iter().filter_map(|id| self.disk.hidden.get(id)).flat_map(|(_, rows)| rows))
                    .chain(self.disk.visible.values().filter(|(insert, _)| *insert == at).flat_map(|(_, rows)| rows))
                    .copied()
                    .collect();
            for (s, len) in i.shape.splits.iter().enumerate() {
                let read_to = match places.get(&s) {
                    Some(position) => *position,
                    None if s < there => *len,
                    None => 0,
                };
                for record in (0..read_to).map(|offset| (s, offset)) {
                    assert!(self.disk.flushed[at].contains(&record), "INSERT {at}: {record:?} is not flushed");
                    assert!(named.contains(&record), "INSERT {at}: {record:?} is in no part of the checkpoint");
                }
            }
        }
    }
}

fn shape(rng: &mut Rng) -> Shape {
    let spread = rng.one_in(2);
    let splits: Vec<u64> = (0..rng.below(7)).map(|_| rng.below(25) as u64).collect();
    let chained = rng.one_in(3);
    let sources = 1 + rng.below(3);
    Shape {
        assignment: if spread { SplitAssignment::Spread } else { SplitAssignment::OnDemand },
        at_start: if spread { rng.below(splits.len() + 1) } else { splits.len() },
        splits,
        sources,
        sinks: if chained { sources } else { 1 + rng.below(3) },
        chained,
    }
}

fn all_read(shapes: &[Shape], disk: &Disk) -> bool {
    let Some(manifest) = &disk.manifest else { return false };
    shapes.iter().zip(&manifest.inserts).all(|(shape, state)| {
        let read = |(s, at): &(usize, u64)| *at == shape.splits[*s];
        let found = shape.assignment == SplitAssignment::OnDemand
            || state.splits.len() + state.unassigned.len() == shape.splits.len();
        found && state.splits.iter().chain(&state.unassigned).all(read)
    })
}

fn simulate(seed: u64) {
    let mut rng = Rng(seed);
    let shapes: Vec<Shape> = (0..1 + rng.below(2)).map(|_| shape(&mut rng)).collect();
    let mut disk = Disk { flushed: vec![BTreeSet::new(); shapes.len()], ..Disk::default() };
    let mut attempts = 0;
    loop {
        attempts += 1;
        let outcome = Attempt::start(&mut rng, &mut disk, &shapes, attempts <= CRASHES_MAX).run();
        // A job that was drained before its input ended is resumed.
        if outcome == Outcome::Ended && all_read(&shapes, &disk) {
            break;
        }
        assert!(attempts < 200, "no end");
    }
    for (at, shape) in shapes.iter().enumerate() {
        let records = || shape.splits.iter().enumerate().flat_map(|(s, len)| (0..*len).map(move |o| (s, o)));
        assert!(records().all(|r| disk.flushed[at].contains(&r)), "INSERT {at}: a record is lost");
        let visible = disk.visible.values().filter(|(insert, _)| *insert == at);
        let mut visible: Vec<Record> = visible.flat_map(|(_, rows)| rows).copied().collect();
        visible.sort_unstable();
        assert_eq!(visible, records().collect::<Vec<_>>(), "INSERT {at}: each record once in visible parts");
    }
    assert!(disk.hidden.is_empty());
}

#[test]
fn no_record_is_lost_or_visible_twice_over_any_number_of_crashes() {
    let number = |name: &str| std::env::var(name).ok().map(|n| n.parse::<u64>().expect("a number"));
    let seeds = match number("WASMILL_SIMULATION_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("WASMILL_SIMULATION_SEEDS").unwrap_or(500),
    };
    for seed in seeds {
        if let Err(panic) = std::panic::catch_unwind(|| simulate(seed)) {
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default();
            panic!("seed {seed} (WASMILL_SIMULATION_SEED={seed} runs it alone): {text}");
        }
    }
}
