//! `-confProp`: each key as a setting of ours, or named as having no meaning here.

use super::Launch;
use crate::error::{Error, Result};
use crate::plan::settings::JobSettings;
use crate::sql::codes;
use crate::sql::options::duration;
use crate::sql::suggest::did_you_mean;
use serde_json::{Map, Value};
use std::time::Duration;

pub const SAVEPOINT: &str = "savePointPath: savepoints of Flink cannot be read, the job starts anew; --from-checkpoint goes on from one of ours";

/// Keys without a counterpart, and why.
const WITHOUT_MEANING: &[(&str, &str)] = &[
    ("sql.max.env.parallelism", "state is not tied to a greatest parallelism"),
    ("time.characteristic", "a table with a WATERMARK has event time, all others have processing time"),
    ("autoWatermarkInterval", "watermarks go with the rows"),
    ("sql.buffer.timeout.millis", "a batch goes on when its source has nothing more to read"),
    ("sql.checkpoint.mode", "every sink gives the guarantee that its page in the docs names"),
    ("sql.checkpoint.cleanup.mode", "checkpoints stay in their folder, state.checkpoints.num-retained of them"),
    ("sql.max.concurrent.checkpoints", "there is one at a time"),
    ("state.backend.incremental", "there is one kind of checkpoint"),
    ("logLevel", "the environment variable WASMILL_LOG says what is logged"),
    ("early.trigger", "there are no windows yet"),
    ("sql.ttl.min", "no statement keeps rows that could grow old yet"),
    ("sql.ttl.max", "no statement keeps rows that could grow old yet"),
];

pub fn apply(conf: &Map<String, Value>, launch: &mut Launch) -> Result<()> {
    let conf: Vec<(&str, String)> = conf.iter().map(|(k, v)| (k.as_str(), text(v))).collect();
    let get = |key: &str| conf.iter().find(|(k, _)| *k == key).map(|(_, v)| v.as_str());
    check_ttl(get("sql.ttl.min"), get("sql.ttl.max"))?;
    check_trigger(get("early.trigger"))?;
    checkpoint_interval(get("sql.checkpoint.interval"), get("flink.checkpoint.interval"), launch)?;
    let has_folder = state_backend(get("state.backend"), get("state.checkpoints.dir"), launch)?;
    for (key, value) in &conf {
        match *key {
            "sql.checkpoint.interval" | "flink.checkpoint.interval" | "state.backend" => {}
            "state.checkpoints.dir" if !has_folder => {}
            "allowNonRestoredState" => launch.allow_non_restored_state |= value.eq_ignore_ascii_case("true"),
            "savePointPath" => launch.note(format!("-confProp: {SAVEPOINT}")),
            key => other(key, value, launch),
        }
    }
    Ok(())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(s) => s.trim().to_string(),
        v => v.to_string(),
    }
}

fn other(key: &str, value: &str, launch: &mut Launch) {
    if let Some((_, why)) = WITHOUT_MEANING.iter().find(|(k, _)| *k == key) {
        launch.note(format!("-confProp: {key} has no meaning here: {why}"));
        return;
    }
    let mut said = vec![];
    JobSettings::default().set(key, value, None, &mut said);
    if !said.iter().any(|d| d.code == codes::SETTING_UNKNOWN) {
        launch.set(key, value);
        return;
    }
    // The launcher takes any key without a word; a script of its must not fail for one.
    let near = did_you_mean(key, WITHOUT_MEANING.iter().map(|(k, _)| *k));
    let hint = near.or_else(|| said.iter().find_map(|d| d.hint.clone()).filter(|h| h.starts_with("did you mean")));
    let hint = hint.map(|h| format!(" ({h})")).unwrap_or_default();
    launch.note(format!("-confProp: unknown key {key} is ignored{hint}"));
}

fn bad(key: &str, value: &str, expects: &str) -> Error {
    Error::user(format!("-confProp: {key} is '{value}': expected {expects}"))
}

/// The larger one wins, as there.
fn checkpoint_interval(sql: Option<&str>, flink: Option<&str>, launch: &mut Launch) -> Result<()> {
    let mut longest = None;
    for (key, value) in [("sql.checkpoint.interval", sql), ("flink.checkpoint.interval", flink)] {
        let Some(value) = value else { continue };
        let interval = duration(value, Duration::from_millis(1)).ok_or_else(|| bad(key, value, "milliseconds"))?;
        longest = longest.max(Some(interval));
    }
    if let Some(interval) = longest {
        launch.set("sql.checkpoint.interval", &format!("{} ms", interval.as_millis()));
    }
    Ok(())
}

/// Whether checkpoints go into a folder.
fn state_backend(backend: Option<&str>, dir: Option<&str>, launch: &mut Launch) -> Result<bool> {
    let dir = dir.filter(|d| !d.is_empty());
    let Some(backend) = backend else { return Ok(dir.is_some()) };
    match backend.to_ascii_uppercase().as_str() {
        "MEMORY" => {
            if dir.is_some() {
                launch.note("-confProp: state.checkpoints.dir is not used with state.backend MEMORY");
            }
            Ok(false)
        }
        "FILESYSTEM" | "ROCKSDB" if dir.is_none() => {
            let message = format!("-confProp: state.backend {backend} needs state.checkpoints.dir");
            Err(Error::user(message).with_hint("it names the folder of the checkpoints"))
        }
        "FILESYSTEM" | "ROCKSDB" => Ok(true),
        _ => Err(bad("state.backend", backend, "MEMORY, FILESYSTEM or ROCKSDB")),
    }
}

/// Both or none, and the launcher's own bound.
fn check_ttl(min: Option<&str>, max: Option<&str>) -> Result<()> {
    let read = |key: &str, value: &str| {
        duration(value, Duration::from_millis(1)).ok_or_else(|| bad(key, value, "a duration such as 1h"))
    };
    match (min, max) {
        (Some(min), Some(max)) => {
            let (low, high) = (read("sql.ttl.min", min)?, read("sql.ttl.max", max)?);
            if high < low + Duration::from_secs(300) {
                return Err(bad("sql.ttl.max", max, "at least 5 minutes more than sql.ttl.min"));
            }
            Ok(())
        }
        (None, None) => Ok(()),
        (Some(_), None) => Err(Error::user("-confProp: sql.ttl.min needs sql.ttl.max")),
        (None, Some(_)) => Err(Error::user("-confProp: sql.ttl.max needs sql.ttl.min")),
    }
}

fn check_trigger(value: Option<&str>) -> Result<()> {
    match value {
        Some(v) if v.parse::<u32>().is_err() => Err(bad("early.trigger", v, "a number of seconds")),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn launch(json: &str) -> Result<Launch> {
        let Value::Object(conf) = serde_json::from_str(json).expect("JSON") else { panic!("no object") };
        let mut launch = Launch::default();
        apply(&conf, &mut launch).map(|()| launch)
    }

    #[test]
    fn each_key_is_a_setting_or_named() {
        let l = launch(
            r#"{"sql.env.parallelism":2, "timezone":"Asia/Shanghai", "restore.enable":"true", "failure.interval":"6",
                "sql.checkpoint.interval":"30000", "flink.checkpoint.interval":"60000", "sql.checkpoint.timeout":"1000",
                "state.backend":"FILESYSTEM", "state.checkpoints.dir":"file:///c", "time.characteristic":"EventTime",
                "logLevel":"info", "early.trigger":"2", "sql.ttl.min":"1h", "sql.ttl.max":"2h", "table.exec.x":"1",
                "allowNonRestoredState":"true", "own.key":"secret"}"#,
        )
        .expect("a launch");
        let mut settings = l.settings;
        settings.sort();
        assert_eq!(
            settings,
            [
                "failure.interval=6",
                "restore.enable=true",
                "sql.checkpoint.interval=60000 ms",
                "sql.checkpoint.timeout=1000",
                "sql.env.parallelism=2",
                "state.checkpoints.dir=file:///c",
                "table.exec.x=1",
                "timezone=Asia/Shanghai"
            ]
        );
        assert!(l.allow_non_restored_state);
        for key in ["time.characteristic", "logLevel", "early.trigger", "sql.ttl.min", "sql.ttl.max", "own.key"] {
            assert!(l.notes.iter().any(|n| n.contains(key)), "{key}: {:?}", l.notes);
        }
        assert!(!l.notes.iter().any(|n| n.contains("secret")));
    }

    #[test]
    fn what_the_launcher_refuses_is_refused() {
        for (json, part) in [
            (r#"{"state.backend":"ROCKSDB"}"#, "needs state.checkpoints.dir"),
            (r#"{"state.backend":"S3"}"#, "expected MEMORY, FILESYSTEM or ROCKSDB"),
            (r#"{"sql.ttl.min":"1h"}"#, "needs sql.ttl.max"),
            (r#"{"sql.ttl.min":"1h","sql.ttl.max":"61min"}"#, "at least 5 minutes"),
            (r#"{"early.trigger":"abc"}"#, "a number of seconds"),
            (r#"{"sql.checkpoint.interval":"often"}"#, "expected milliseconds"),
        ] {
            let e = launch(json).err().map(|e| e.message).unwrap_or_default();
            assert!(e.contains(part), "{json}: {e}");
        }
    }
}
