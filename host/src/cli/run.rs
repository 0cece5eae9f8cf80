//! `wasmill run`.

use super::{RunArgs, check::print_diagnostics, log};
use crate::data::Epoch;
use crate::error::{Error, Result};
use crate::metrics::JobMetrics;
use crate::operators::DeadLetters;
use crate::plan::graph::JobGraph;
use crate::plan::settings::JobSettings;
use crate::runtime::checkpoint::Resume;
use crate::runtime::checkpoints::Checkpoints;
use crate::runtime::job::{JobControl, RunOptions, start};
use crate::session::{DeadLetterTarget, compile};
use crate::sql::options::duration;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// How often the progress line is drawn on a terminal, and a plain line is logged elsewhere.
const DRAW_EVERY: Duration = Duration::from_millis(250);
const LOG_EVERY: Duration = Duration::from_secs(10);
/// How long a cancelled job may take to let go.
const CANCEL_MAX: Duration = Duration::from_millis(500);

pub fn run(args: &RunArgs) -> Result<ExitCode> {
    let mut job = compile(&args.job.request(args.dead_letters.clone())?)?;
    job.pass_over_questions();
    if job.has_errors() || !args.quiet {
        print_diagnostics(&job, !args.quiet);
    }
    if job.has_errors() {
        return Ok(ExitCode::from(2));
    }
    let graph = job.graph.take().ok_or_else(|| Error::internal("job without graph"))?;
    if graph.operators.is_empty() {
        return Err(Error::user(format!("{}: no INSERT, so there is nothing to run", job.file.name))
            .with_hint("`wasmill check` shows what the file declares"));
    }
    let options = options(args, job.settings, &graph)?;
    let resumed_from = options.checkpoints.last().map(|c| c.epoch.0);
    if let (Some(epoch), false) = (resumed_from, args.quiet) {
        log::say(&format!("going on from checkpoint {epoch}"));
    }
    // The tasks have threads of their own; this runtime carries their I/O.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|e| Error::external(format!("cannot start the I/O runtime: {e}")))?;
    let result = runtime.block_on(drive(graph, options, args.quiet));
    // A task may be stuck in a blocking read (stdin); the process does not wait for it.
    runtime.shutdown_background();
    match result {
        Ok(Ok(())) => Ok(ExitCode::SUCCESS),
        Ok(Err(e)) => {
            // What is the user's fault at submit is, once the job runs, a fault of what it met outside.
            let code = e.domain.exit_code().max(3);
            log::report(&e.context("job failed"));
            Ok(ExitCode::from(code))
        }
        Err(e) => {
            let code = e.domain.exit_code();
            log::report(&e.context("job failed to start"));
            Ok(ExitCode::from(code))
        }
    }
}

fn options(args: &RunArgs, settings: JobSettings, graph: &JobGraph) -> Result<RunOptions> {
    let checkpoint_dir = match (&args.checkpoint_dir, &settings.checkpoints.dir) {
        (Some(dir), _) => Some(dir.clone()),
        (None, Some(text)) => Some(checkpoint_dir(&args.job.job, text)?),
        (None, None) => None,
    };
    let resume = resume(args.from_checkpoint.as_deref(), checkpoint_dir.is_some())?;
    let mut timing = settings.checkpoints;
    if let Some(text) = &args.checkpoint_interval {
        let interval = duration(text, Duration::from_millis(1)).ok_or_else(|| {
            Error::user(format!("--checkpoint-interval {text}: expected a duration such as 500ms, 10s, 5min"))
        })?;
        timing.interval = Some(interval);
    }
    let checkpoints = match &checkpoint_dir {
        Some(dir) => Checkpoints::in_folder(dir, timing.retained, resume, args.allow_non_restored_state, graph)?,
        None => Checkpoints::in_memory(),
    };
    let dead_letters = match &args.dead_letters {
        Some(DeadLetterTarget::File(path)) => DeadLetters::to_file(path, resume != Resume::Anew)?,
        Some(DeadLetterTarget::Kafka(url)) => DeadLetters::to_output(crate::connectors::kafka::dead_letters(url)?),
        None => DeadLetters::Printed,
    };
    Ok(RunOptions {
        batch_rows: settings.batch_rows,
        chaining: settings.chaining,
        dead_letters,
        checkpoints,
        timing,
        restart: settings.restart,
        ..RunOptions::default()
    })
}

/// The folder that a setting names: as in Flink an URI, else a path that starts at the folder of the job file.
fn checkpoint_dir(job: &Path, text: &str) -> Result<PathBuf> {
    let local = match text.split_once("://") {
        None => text.strip_prefix("file:").unwrap_or(text),
        Some(("file", path)) => path,
        Some((scheme, _)) => {
            return Err(Error::user(format!("checkpoints are kept in local folders, not in {scheme}://"))
                .with_hint("--checkpoint-dir DIR wins over the setting in the job file"));
        }
    };
    Ok(job.parent().unwrap_or(Path::new("")).join(local))
}

fn resume(from: Option<&str>, durable: bool) -> Result<Resume> {
    let resume = match from {
        None => return Ok(Resume::Anew),
        Some("latest") => Resume::Latest,
        Some(epoch) => Resume::Epoch(Epoch(epoch.parse().map_err(|_| {
            Error::user(format!("--from-checkpoint={epoch}: expected latest or the number of a checkpoint"))
        })?)),
    };
    if !durable {
        return Err(Error::user("--from-checkpoint: there is no checkpoint folder")
            .with_hint("--checkpoint-dir DIR says where the checkpoints are"));
    }
    Ok(resume)
}

/// The outer error: nothing was run.
async fn drive(graph: JobGraph, options: RunOptions, quiet: bool) -> Result<Result<()>> {
    let started = Instant::now();
    let name = graph.name.clone();
    // From here on no signal is lost, however early it comes.
    let mut signals = Signals::listen()?;
    let job = tokio::select! {
        biased;
        job = start(graph, options) => job?,
        () = signals.next() => {
            log::say("stopped by a signal before anything was read");
            return Ok(Ok(()));
        }
    };
    let metrics = job.metrics.clone();
    let control = job.control();
    let signals = tokio::spawn(end_on_signal(signals, job.control()));
    let progress = (!quiet).then(|| tokio::spawn(show_progress(metrics.clone(), started)));
    let result = job.wait().await;
    signals.abort();
    if let Some(p) = progress {
        p.abort();
        let _ = p.await;
        let ended = match (&result, control.is_draining()) {
            (Err(_), _) => Ended::Failed,
            (Ok(_), true) => Ended::Stopped,
            (Ok(_), false) => Ended::Finished,
        };
        log::summary(&name, &metrics, started.elapsed(), ended);
    }
    Ok(result.map(|_| ()))
}

/// SIGINT and SIGTERM.
struct Signals {
    int: Signal,
    term: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).map_err(|e| Error::external(format!("cannot listen to signals: {e}")));
        Ok(Self { int: listen(SignalKind::interrupt())?, term: listen(SignalKind::terminate())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.int.recv() => {}
            _ = self.term.recv() => {}
        }
    }
}

/// The first signal drains, the second cancels.
async fn end_on_signal(mut signals: Signals, control: JobControl) {
    signals.next().await;
    log::say("draining: the job ends when what it has read is written; a second signal stops it at once");
    control.drain();
    signals.next().await;
    control.cancel();
    tokio::time::sleep(CANCEL_MAX).await;
    // A task is stuck where nothing can reach it, in a write to a pipe that nobody reads, say.
    log::report(&Error::external("job failed: stopped by a second signal; what no checkpoint covers is not committed"));
    std::process::exit(3);
}

async fn show_progress(metrics: Arc<JobMetrics>, started: Instant) {
    let every = if log::draws() { DRAW_EVERY } else { LOG_EVERY };
    loop {
        tokio::time::sleep(every).await;
        log::progress(&metrics, started.elapsed());
    }
}

/// How a job came to its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    Finished,
    Stopped,
    Failed,
}

impl Ended {
    pub fn in_words(self) -> &'static str {
        match self {
            Ended::Finished => "finished",
            Ended::Stopped => "stopped by a signal",
            Ended::Failed => "failed",
        }
    }
}
