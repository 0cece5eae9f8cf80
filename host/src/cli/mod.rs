//! The command line.

mod check;
mod connect;
mod dtstack;
mod log;
mod plugin;
mod run;

use crate::connectors::stand_in::StandIn;
use crate::error::{Domain, Error, Result};
use crate::session::{DeadLetterTarget, JobRequest};
use clap::{Args, Parser, Subcommand};
use log::{LogFormat, report};
use std::path::PathBuf;
use std::process::ExitCode;

/// Runs job SQL: connectors in the host, user code in WebAssembly.
#[derive(Parser)]
#[command(name = "wasmill", version, disable_help_subcommand = true, arg_required_else_help = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Read a job file and say what it declares and what is wrong with it; no connection is made without --connect
    Check(CheckArgs),
    /// Show the operator graph of a job file
    Explain(JobArgs),
    /// Run a job file to its end (or until SIGINT/SIGTERM, which drains and flushes)
    Run(RunArgs),
    /// Run a job with the flags of flinkStreamSQL's launcher: -sql FILE -name NAME -confProp JSON ..
    #[command(disable_help_flag = true)]
    Dtstack {
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "FLAGS")]
        flags: Vec<String>,
    },
    /// Work with WebAssembly plugins
    Plugin {
        #[command(subcommand)]
        command: plugin::PluginCommand,
    },
}

/// What says which job, and with what.
#[derive(Args)]
pub struct JobArgs {
    /// The job file
    pub job: PathBuf,
    /// A job option, such as parallelism.default=2; wins over SET in the file
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub settings: Vec<String>,
    /// A local file in place of a declared table: .jsonl, .csv (with header) or records of the table's format, one a
    /// line; `-` is stdin or stdout as .jsonl
    #[arg(long = "stand-in", value_name = "TABLE=PATH")]
    pub stand_ins: Vec<String>,
    /// Where class names of functions are mapped to plugins [default: plugins.toml beside the job file]
    #[arg(long, value_name = "FILE")]
    pub plugins: Option<PathBuf>,
}

#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub job: JobArgs,
    /// Also ask the servers whether the tables are there and fit their declarations; nothing is changed there
    #[arg(long)]
    pub connect: bool,
}

#[derive(Args)]
pub struct RunArgs {
    #[command(flatten)]
    pub job: JobArgs,
    /// Write refused records here, one JSON object a line, or to a Kafka topic, and go on; without it they are counted
    /// and the first few printed
    #[arg(long, value_name = "PATH|kafka://BROKERS/TOPIC")]
    pub dead_letters: Option<DeadLetterTarget>,
    /// Keep checkpoints in this folder, to go on from after a crash or a stop [default: in memory]
    #[arg(long, value_name = "DIR")]
    pub checkpoint_dir: Option<PathBuf>,
    /// How often, such as 10s [default: 10s for jobs with a checkpoint folder or without end]
    #[arg(long, value_name = "DURATION")]
    pub checkpoint_interval: Option<String>,
    /// Go on from the newest complete checkpoint of the folder, or from the one of this number
    #[arg(long, value_name = "latest|EPOCH", num_args = 0..=1, require_equals = true, default_missing_value = "latest")]
    pub from_checkpoint: Option<String>,
    /// Drop what the checkpoint holds of tables that the job no longer has
    #[arg(long)]
    pub allow_non_restored_state: bool,
    /// No progress and no summary
    #[arg(long)]
    pub quiet: bool,
    /// How standard error is written: text, or a JSON object a line (logs, diagnostics, progress, summary)
    #[arg(long, value_enum, default_value_t)]
    pub log: LogFormat,
}

impl JobArgs {
    /// What the session needs; `dead_letters` is the output for them.
    fn request(&self, dead_letters: Option<DeadLetterTarget>) -> Result<JobRequest> {
        let settings = self
            .settings
            .iter()
            .map(|s| key_value("set", s).map(|(k, v)| (k.trim().to_string(), v.to_string())))
            .collect::<Result<_>>()?;
        let stand_ins = self.stand_ins.iter().map(|s| StandIn::parse(s)).collect::<Result<_>>()?;
        Ok(JobRequest { job: self.job.clone(), settings, stand_ins, plugins: self.plugins.clone(), dead_letters })
    }
}

fn key_value<'a>(flag: &str, text: &'a str) -> Result<(&'a str, &'a str)> {
    text.split_once('=')
        .filter(|(k, _)| !k.trim().is_empty())
        .ok_or_else(|| Error::user(format!("--{flag} {text}: expected the form KEY=VALUE")))
}

/// Walks over a job's text and plan are recursive; the limits on nesting of the parser and of views, multiplied, need
/// more than the usual 8 MiB. Only what is touched takes memory.
const STACK_BYTES: usize = 256 << 20;

pub fn main() -> ExitCode {
    let main = std::thread::Builder::new().name("main".into()).stack_size(STACK_BYTES).spawn(command);
    match main.map(std::thread::JoinHandle::join) {
        Ok(Ok(code)) => code,
        // The panic has been printed; it is a fault of ours, as in a task.
        Ok(Err(_)) => ExitCode::from(Domain::Internal.exit_code()),
        Err(e) => {
            report(&Error::external(format!("cannot start a thread: {e}")));
            ExitCode::from(Domain::External.exit_code())
        }
    }
}

fn command() -> ExitCode {
    let cli = Cli::parse();
    log::init(match &cli.command {
        Command::Run(args) => args.log,
        _ => LogFormat::Text,
    });
    let result = match cli.command {
        Command::Check(args) => check::check(&args),
        Command::Explain(args) => check::explain(&args),
        Command::Run(args) => run::run(&args),
        Command::Dtstack { flags } => dtstack::dtstack(&flags),
        Command::Plugin { command } => plugin::plugin(command),
    };
    match result {
        Ok(code) => code,
        Err(e) => {
            report(&e);
            ExitCode::from(e.domain.exit_code())
        }
    }
}

/// To standard output. A reader that has seen enough (`| head`) is no failure, a full disk is.
fn print(text: &str) -> Result<()> {
    use std::io::Write;
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Error::external(format!("cannot write to standard output: {e}")))
        }
        _ => Ok(()),
    }
}
