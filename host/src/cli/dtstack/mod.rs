//! `wasmill dtstack`: a job as flinkStreamSQL's launcher starts it, so that a launch script changes in one word.

mod conf_prop;
mod flags;

use super::{RunArgs, run};
use crate::error::{Error, Result};
use clap::Parser;
use flags::Flags;
use std::process::ExitCode;

const USAGE: &str = "Run a job with the flags of flinkStreamSQL's launcher

Usage: wasmill dtstack -sql JOB.sql [-name NAME] [-confProp JSON] [-dirtyProperties JSON] [-mode MODE] ..
       wasmill dtstack LAUNCH.json

  -sql FILE              the job file
  -name NAME             the job's name
  -confProp JSON         settings of the job, such as {\"sql.env.parallelism\":\"2\"}
  -dirtyProperties JSON  what is to be done with refused records
  -mode, -addjar, -addShipfile and the launcher's other flags are accepted; what has no meaning here is named

LAUNCH.json is one object with these names. The options of `wasmill run` (see `wasmill run --help`) may be given, too.
";

/// What the launcher was told, as far as it means something here.
#[derive(Default)]
struct Launch {
    /// `key=value`, for `--set`.
    settings: Vec<String>,
    allow_non_restored_state: bool,
    /// What has no meaning here.
    notes: Vec<String>,
}

impl Launch {
    fn set(&mut self, key: &str, value: &str) {
        self.settings.push(format!("{key}={value}"));
    }
    fn note(&mut self, text: impl Into<String>) {
        self.notes.push(text.into());
    }
}

/// The options of `wasmill run`.
#[derive(Parser)]
#[command(name = "wasmill dtstack", no_binary_name = true)]
struct Rest {
    #[command(flatten)]
    run: RunArgs,
}

pub fn dtstack(args: &[String]) -> Result<ExitCode> {
    if args.is_empty() || args.iter().any(|a| matches!(a.as_str(), "-h" | "-help" | "--help")) {
        super::print(USAGE)?;
        return Ok(ExitCode::from(if args.is_empty() { 2 } else { 0 }));
    }
    let flags = Flags::read(args)?;
    let sql = flags.text("sql").ok_or_else(|| {
        Error::user("-sql is missing").with_hint("it names the job file: wasmill dtstack -sql job.sql -name job")
    })?;
    let launch = launch(&flags)?;
    let mut rest = flags.rest.clone();
    rest.extend(["--".to_string(), sql.to_string()]);
    let mut run_args = Rest::parse_from(rest).run;
    // What the command line says beside the launcher's flags wins.
    let own = std::mem::replace(&mut run_args.job.settings, launch.settings);
    run_args.job.settings.extend(own);
    run_args.allow_non_restored_state |= launch.allow_non_restored_state;
    if !run_args.quiet {
        launch.notes.iter().for_each(|n| eprintln!("warning: {n}"));
    }
    run::run(&run_args)
}

fn launch(flags: &Flags) -> Result<Launch> {
    let mut launch = Launch::default();
    if let Some(name) = flags.text("name") {
        launch.set("pipeline.name", name);
    }
    if let Some(mode) = flags.text("mode").filter(|m| !m.eq_ignore_ascii_case("local")) {
        launch.note(format!("-mode {mode}: no cluster is asked, the job runs in this process"));
    }
    if let Some(conf) = flags.object("confProp")? {
        conf_prop::apply(&conf, &mut launch)?;
    }
    if flags.text("allowNonRestoredState").is_some_and(|v| v.eq_ignore_ascii_case("true")) {
        launch.allow_non_restored_state = true;
    }
    if flags.given("savePointPath") {
        launch.note(conf_prop::SAVEPOINT);
    }
    if let Some(dirty) = flags.object("dirtyProperties")? {
        dirty_properties(&dirty, &mut launch);
    }
    if flags.given("addjar") {
        launch.note("-addjar has no meaning here: functions are WebAssembly plugins, which plugins.toml beside the job file names");
    }
    if flags.given("addShipfile") {
        launch.note("-addShipfile has no meaning here: files are read where the paths in the job file say");
    }
    let cluster: Vec<String> = flags::CLUSTER.iter().filter(|f| flags.given(f)).map(|f| format!("-{f}")).collect();
    if !cluster.is_empty() {
        launch.note(format!("no meaning here: {}", cluster.join(", ")));
    }
    Ok(launch)
}

/// Values are not shown: they hold the password of a database.
fn dirty_properties(dirty: &serde_json::Map<String, serde_json::Value>, launch: &mut Launch) {
    let kind = dirty.get("type").and_then(|v| v.as_str()).unwrap_or("console");
    if !kind.eq_ignore_ascii_case("console") {
        launch.note(
            "-dirtyProperties: refused records are not written to a database; --dead-letters PATH or \
             kafka://BROKERS/TOPIC keeps them, without it the first few are printed and all are counted",
        );
    }
    let limits: Vec<&str> = ["errorLimit", "errorLimitRate"].into_iter().filter(|k| dirty.contains_key(*k)).collect();
    if !limits.is_empty() {
        let limits = limits.join(" and ");
        launch.note(format!(
            "-dirtyProperties: {limits} has no effect for the whole job; the option errorLimit of a table has"
        ));
    }
    let known =
        ["type", "errorLimit", "errorLimitRate", "url", "userName", "password", "dirtyTableName", "isCreatedTable"];
    let others: Vec<&str> = dirty.keys().map(String::as_str).filter(|k| !known.contains(k)).collect();
    if !others.is_empty() {
        launch.note(format!("-dirtyProperties: no meaning here: {}", others.join(", ")));
    }
}
