//! Runs a job graph: attempt after attempt, with checkpoints, to the end of its input or until it is told to end.

use super::attempt::Attempt;
use super::channel::ChannelLimits;
use super::checkpoint::Checkpoint;
use super::checkpoints::Checkpoints;
use super::coordinator::{Action, CheckpointTiming, Coordinator};
use super::output::DISCONNECTED;
use super::restart::{RestartPolicy, may_restart};
use super::task::{Control, Phase, TaskEvent};
use crate::data::Epoch;
use crate::error::{Error, Result};
use crate::metrics::{CheckpointMetrics, JobMetrics};
use crate::operators::{DeadLetters, FailureHandler, OperatorSnapshot};
use crate::plan::graph::JobGraph;
use crate::plan::recovery::{CheckpointSettings, RestartSettings};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What a task gives for a checkpoint: of each of its operators.
type Part = Vec<OperatorSnapshot>;

/// How long the tasks of a failed attempt may take to let go of what they do.
const LET_GO_MAX: Duration = Duration::from_secs(60);
/// How long the writing of a checkpoint may take before somebody is told, again and again.
const WRITE_WARNING: Duration = Duration::from_secs(30);

/// How to run it; what the job file cannot say.
pub struct RunOptions {
    pub batch_rows: usize,
    /// Operators that follow each other one to one share a task.
    pub chaining: bool,
    pub dead_letters: DeadLetters,
    pub channel_limits: ChannelLimits,
    /// Where they are kept, and the one to go on from.
    pub checkpoints: Checkpoints,
    pub timing: CheckpointSettings,
    pub restart: RestartSettings,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            batch_rows: 4096,
            chaining: true,
            dead_letters: DeadLetters::Printed,
            channel_limits: ChannelLimits::default(),
            checkpoints: Checkpoints::in_memory(),
            timing: CheckpointSettings::default(),
            restart: RestartSettings::default(),
        }
    }
}

/// What all attempts of a job share.
pub struct JobContext {
    pub graph: JobGraph,
    pub failures: Arc<FailureHandler>,
    pub metrics: Arc<JobMetrics>,
    pub batch_rows: usize,
    pub chaining: bool,
    pub channel_limits: ChannelLimits,
}

/// What somebody outside wants of the job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Request {
    Run,
    Drain,
    Cancel,
}

/// Lets others end a job.
#[derive(Clone)]
pub struct JobControl(watch::Sender<Request>);

impl JobControl {
    /// Sources end now; what is in flight is processed, flushed and committed.
    pub fn drain(&self) {
        self.0.send_if_modified(|r| {
            let running = *r == Request::Run;
            if running {
                *r = Request::Drain;
            }
            running
        });
    }
    pub fn is_draining(&self) -> bool {
        *self.0.borrow() == Request::Drain
    }
    pub fn cancel(&self) {
        self.0.send_replace(Request::Cancel);
    }
}

/// A job whose tasks are running. `wait` drives it.
pub struct RunningJob {
    pub metrics: Arc<JobMetrics>,
    cx: JobContext,
    control: JobControl,
    requests: watch::Receiver<Request>,
    /// The first attempt, or why it did not start, until `wait` takes it.
    first: Option<Result<Attempt>>,
    checkpoints: Checkpoints,
    /// The checkpoint that is being written.
    publishing: Option<Publishing>,
    settings: CheckpointSettings,
    timing: CheckpointTiming,
    policy: RestartPolicy,
    /// An attempt has started: the servers were there, and the tables.
    has_started: bool,
}

/// Opens the tables of the graph and starts its tasks. Returns as soon as they run, or when a server is not there that
/// the restart strategy waits for.
pub async fn start(graph: JobGraph, options: RunOptions) -> Result<RunningJob> {
    let metrics = Arc::new(JobMetrics::default());
    let cx = JobContext {
        failures: Arc::new(FailureHandler::new(graph.name.as_str(), options.dead_letters)),
        metrics: metrics.clone(),
        graph,
        batch_rows: options.batch_rows,
        chaining: options.chaining,
        channel_limits: options.channel_limits,
    };
    let checkpoints = options.checkpoints;
    let policy = RestartPolicy::new(&options.restart, checkpoints.is_durable());
    let first = match Attempt::start(&cx, checkpoints.last(), checkpoints.newest_epoch(), true).await {
        Err(e) if !e.retryable || matches!(policy, RestartPolicy::Never) => return Err(e),
        first => first,
    };
    let timing = timing(&options.timing, checkpoints.is_durable(), false);
    let (control, requests) = watch::channel(Request::Run);
    Ok(RunningJob {
        metrics,
        cx,
        control: JobControl(control),
        requests,
        has_started: first.is_ok(),
        first: Some(first),
        checkpoints,
        publishing: None,
        settings: options.timing,
        timing,
        policy,
    })
}

/// How often a job takes checkpoints if nothing is said.
const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);

/// Unbounded jobs take checkpoints in memory, too: sinks flush and sources commit their positions with them.
fn timing(settings: &CheckpointSettings, durable: bool, unbounded: bool) -> CheckpointTiming {
    let default = (durable || unbounded).then_some(DEFAULT_INTERVAL);
    // As in Flink, 0 means never.
    let interval = settings.interval.or(default).filter(|i| !i.is_zero());
    CheckpointTiming {
        interval,
        min_pause: settings.min_pause,
        timeout: settings.timeout,
        at_start: durable || interval.is_some(),
    }
}

impl RunningJob {
    pub fn control(&self) -> JobControl {
        self.control.clone()
    }

    /// Drives the job to its end. A failure that may pass starts it anew from its last checkpoint, as often as the
    /// restart strategy says; any other is returned.
    pub async fn wait(mut self) -> Result<Arc<JobMetrics>> {
        let started = Instant::now();
        let mut attempt = match self.first.take() {
            Some(Ok(attempt)) => attempt,
            Some(Err(failure)) => self.start_again(failure, started).await?,
            None => return Err(Error::internal("a job without an attempt")),
        };
        loop {
            self.timing = timing(&self.settings, self.checkpoints.is_durable(), attempt.opened.is_unbounded());
            let outcome = self.run_attempt(&mut attempt).await;
            let stuck: Vec<String> = attempt.running().map(str::to_string).collect();
            // The sinks of one attempt are gone before those of the next one are opened.
            drop(attempt);
            let Err(failure) = outcome else { return Ok(self.metrics) };
            if !stuck.is_empty() {
                return Err(failure.with_hint(format!("these tasks do not end: {}", stuck.join(", "))));
            }
            attempt = self.start_again(failure, started).await?;
        }
    }

    /// Waits as the restart strategy says, then starts the next attempt; as often as need be.
    async fn start_again(&mut self, mut failure: Error, started: Instant) -> Result<Attempt> {
        loop {
            if *self.requests.borrow() != Request::Run || !may_restart(&failure) {
                return Err(failure);
            }
            let Some(delay) = self.policy.on_failure(started.elapsed(), random_unit()) else { return Err(failure) };
            self.metrics.checkpoints.restarts.add(1);
            let from = match self.checkpoints.last() {
                Some(c) => format!("from checkpoint {}", c.epoch.0),
                None => "from the start".to_string(),
            };
            let count = self.metrics.checkpoints.restarts.get();
            tracing::warn!("restart {count} in {delay:.1?}, {from}, after: {failure}");
            tokio::select! {
                () = tokio::time::sleep(delay) => {}
                // Nothing that was read waits to be written: what the last checkpoint does not cover is undone.
                _ = self.requests.wait_for(|r| *r != Request::Run) => return Err(failure),
            }
            self.checkpoints.next_attempt();
            let (last, newest) = (self.checkpoints.last(), self.checkpoints.newest_epoch());
            match Attempt::start(&self.cx, last, newest, !self.has_started).await {
                Ok(attempt) => {
                    self.has_started = true;
                    return Ok(attempt);
                }
                Err(e) => failure = e,
            }
        }
    }

    /// To the end of all tasks. The first failure cancels the rest and is returned.
    async fn run_attempt(&mut self, attempt: &mut Attempt) -> Result<()> {
        let mut outcome = self.drive(attempt).await;
        if outcome.is_err() {
            if let Err(e) = self.end_publishing(attempt).await {
                outcome = Err(e);
            }
            attempt.set_phase(Phase::Cancelled);
        }
        let failure = let_go(attempt, outcome.is_err()).await;
        let flushed = self.cx.failures.flush();
        match outcome {
            Ok(()) => failure.map_or(flushed, Err),
            // A task that lost its neighbour tells of a consequence; the cause comes from the neighbour.
            Err(e) if is_consequence(&e) => Err(failure.unwrap_or(e)),
            Err(e) => Err(e),
        }
    }

    /// Takes checkpoints until the last one is complete. `Err` with the first failure.
    async fn drive(&mut self, attempt: &mut Attempt) -> Result<()> {
        let started = Instant::now();
        let first = Epoch(self.checkpoints.newest_epoch().0 + 1);
        let mut coordinator = Coordinator::new(self.timing.clone(), attempt.tasks, first);
        if !self.timing.at_start {
            attempt.set_phase(Phase::Running);
        }
        self.apply_request(attempt)?;
        loop {
            let wake = coordinator.wake_at().and_then(|at| started.checked_add(at));
            let actions = tokio::select! {
                event = attempt.next_event() => {
                    let now = started.elapsed();
                    match event {
                        None => return Err(self.ended_early()),
                        Some(TaskEvent::Ack { task, epoch, operators }) => coordinator.ack(now, task, epoch, operators),
                        Some(TaskEvent::Finished { task, operators }) => coordinator.task_ended(now, task, operators),
                        Some(TaskEvent::Ended { result: Ok(()), .. }) => continue,
                        Some(TaskEvent::Ended { result: Err(e), .. }) => return Err(e),
                    }
                }
                () = sleep_until(wake) => coordinator.tick(started.elapsed()),
                (epoch, outcome) = published(&mut self.publishing), if self.publishing.is_some() => {
                    self.publishing = None;
                    let now = started.elapsed();
                    match outcome {
                        Ok(checkpoint) => {
                            self.checkpoints.published(checkpoint);
                            coordinator.published(now, epoch)
                        }
                        Err(e) => coordinator.publish_failed(now, epoch, e.to_string()),
                    }
                }
                _ = self.requests.changed() => {
                    self.apply_request(attempt)?;
                    continue;
                }
            };
            if self.act(attempt, actions).await? {
                return Ok(());
            }
        }
    }

    /// After a failure: the checkpoint that is being written counts if it is, or the next attempt would go on from one
    /// before it. What it covers becomes visible while its sinks are still there: they tidy up when they go.
    async fn end_publishing(&mut self, attempt: &Attempt) -> Result<()> {
        if self.publishing.is_none() {
            return Ok(());
        }
        let outcome = tokio::time::timeout(LET_GO_MAX, published(&mut self.publishing)).await;
        self.publishing = None;
        match outcome {
            Ok((epoch, Ok(checkpoint))) => {
                self.checkpoints.published(checkpoint);
                for s in &attempt.opened.sinks {
                    if let Err(e) = s.sink.checkpoint_complete(epoch).await {
                        tracing::warn!("{}: checkpoint {}: {e}", s.name(), epoch.0);
                    }
                }
            }
            Ok((epoch, Err(e))) => tracing::warn!("checkpoint {} failed: {e}", epoch.0),
            Err(_) => {
                // It may still be published: what it covers must not be tidied up.
                attempt.opened.sinks.iter().for_each(|s| std::mem::forget(s.sink.clone()));
                return Err(Error::user("a checkpoint cannot be written: the disk of its folder does not answer"));
            }
        }
        Ok(())
    }

    fn apply_request(&mut self, attempt: &Attempt) -> Result<()> {
        let request = *self.requests.borrow_and_update();
        match request {
            Request::Run => Ok(()),
            Request::Drain => {
                attempt.set_phase(Phase::Draining);
                Ok(())
            }
            Request::Cancel => Err(cancelled()),
        }
    }

    fn ended_early(&self) -> Error {
        if *self.requests.borrow() == Request::Cancel {
            return cancelled();
        }
        Error::internal("the tasks ended without a last checkpoint")
    }

    /// Does what the coordinator says; true after the last checkpoint.
    async fn act(&mut self, attempt: &Attempt, mut actions: VecDeque<Action<Part>>) -> Result<bool> {
        while let Some(action) = actions.pop_front() {
            match action {
                Action::Trigger(epoch) => {
                    self.checkpoints.used(epoch);
                    attempt.trigger(epoch);
                }
                Action::Publish { epoch, parts, last } => {
                    self.checkpoints.used(epoch);
                    if last {
                        attempt.begin(epoch);
                    }
                    let checkpoint = attempt.assemble(&self.cx, epoch, parts)?;
                    if last {
                        self.commit(attempt, |has_state| !has_state, &checkpoint).await?;
                    }
                    let written = self.checkpoints.publish(&self.cx, checkpoint);
                    let warn_after = self.timing.timeout.min(WRITE_WARNING);
                    self.publishing =
                        Some(Publishing { epoch, written, warn_at: Instant::now() + warn_after, warn_after });
                }
                Action::Complete { epoch, took, last } => {
                    // Every sink is told, whatever another one says: the checkpoint is published.
                    let mut told = Ok(());
                    for s in &attempt.opened.sinks {
                        told = told.and(s.sink.checkpoint_complete(epoch).await.map_err(|e| e.in_operator(s.name())));
                    }
                    told?;
                    attempt.tell_sources(Control::Complete(epoch));
                    self.count(|m| m.completed.add(1));
                    self.count(|m| m.last_millis.set(took.as_millis() as u64));
                    if attempt.phase() == Phase::Starting {
                        attempt.set_phase(Phase::Running);
                    }
                    if last {
                        if let Some(checkpoint) = self.checkpoints.last().cloned() {
                            self.commit(attempt, |has_state| has_state, &checkpoint).await?;
                        }
                        attempt.tell_sources(Control::Close);
                        return Ok(true);
                    }
                }
                Action::Abort { epoch, reason, last } => {
                    self.count(|m| m.failed.add(1));
                    let message = format!("checkpoint {} failed: {reason}", epoch.0);
                    // Without the first or the last one there is nothing to go on from.
                    if last || attempt.phase() == Phase::Starting {
                        return Err(Error::external(message));
                    }
                    tracing::warn!("{message}; the job goes on");
                }
            }
        }
        Ok(false)
    }

    /// Only checkpoints that somebody asked for are worth a line.
    fn count(&self, count: impl Fn(&CheckpointMetrics)) {
        if self.timing.at_start {
            count(&self.metrics.checkpoints);
        }
    }

    /// Commits the sinks at the end of the job. A sink that gave states for the last checkpoint is committed after its
    /// publication: a crash between the two is made good by `prepare`, which gets the states, and before it the output
    /// would be visible though the job resumes from an earlier checkpoint. A sink that gave none has nothing but its
    /// commit, so that comes before: a crash between the two repeats rows rather than losing them (at least once).
    async fn commit(&self, attempt: &Attempt, which: impl Fn(bool) -> bool, last: &Checkpoint) -> Result<()> {
        for s in &attempt.opened.sinks {
            let states = s.operators.iter().filter_map(|name| last.operator(name)).flat_map(|o| &o.states);
            if which(states.count() > 0) {
                s.sink.commit().await.map_err(|e| e.in_operator(s.name()))?;
            }
        }
        Ok(())
    }
}

/// A checkpoint that is written on a thread of its own: a disk that hangs holds up nobody else.
struct Publishing {
    epoch: Epoch,
    written: JoinHandle<Result<Checkpoint>>,
    /// When to tell of it next.
    warn_at: Instant,
    warn_after: Duration,
}

/// Waits for the checkpoint that is being written; may be given up and asked again.
async fn published(publishing: &mut Option<Publishing>) -> (Epoch, Result<Checkpoint>) {
    let Some(p) = publishing else { return std::future::pending().await };
    loop {
        match tokio::time::timeout_at(p.warn_at.into(), &mut p.written).await {
            Ok(Ok(outcome)) => return (p.epoch, outcome),
            Ok(Err(e)) => return (p.epoch, Err(Error::internal(format!("writing a checkpoint: {e}")))),
            Err(_) => {
                p.warn_at += p.warn_after;
                tracing::warn!(
                    "checkpoint {} is still not written: does the disk of the checkpoint folder answer?",
                    p.epoch.0
                );
            }
        }
    }
}

/// Waits for the ends of the tasks, of failed ones not for ever; the first failure that is none of a neighbour.
async fn let_go(attempt: &mut Attempt, failed: bool) -> Option<Error> {
    let deadline = Instant::now() + LET_GO_MAX;
    let mut failure = None;
    loop {
        let event = match failed {
            false => attempt.next_event().await,
            true => match tokio::time::timeout_at(deadline.into(), attempt.next_event()).await {
                Ok(event) => event,
                Err(_) => return failure,
            },
        };
        match event {
            None => return failure,
            Some(TaskEvent::Ended { result: Err(e), .. }) if !is_consequence(&e) => {
                failure.get_or_insert(e);
            }
            Some(_) => {}
        }
    }
}

/// A task that lost its neighbour is a consequence (of a failure, or of being cancelled), not the cause.
fn is_consequence(e: &Error) -> bool {
    e.message == DISCONNECTED
}

fn cancelled() -> Error {
    Error::external("the job was cancelled")
}

async fn sleep_until(at: Option<Instant>) {
    match at {
        Some(at) => tokio::time::sleep_until(at.into()).await,
        None => std::future::pending().await,
    }
}

/// Uniform in 0..1, to spread the restarts of jobs that failed together.
fn random_unit() -> f64 {
    let mut bytes = [0u8; 4];
    // Without randomness of the system the delays are only less spread.
    let _ = getrandom::fill(&mut bytes);
    f64::from(u32::from_le_bytes(bytes)) / (f64::from(u32::MAX) + 1.0)
}

#[cfg(test)]
#[path = "flow_tests.rs"]
mod flow_tests;

#[cfg(test)]
#[path = "job_tests.rs"]
mod job_tests;
