//! A client of a Confluent schema registry: schemas by their ids, and registration under a subject.

use crate::error::{Error, Result};
use base64::Engine as _;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Waits between attempts when the registry cannot be reached or answers that it cannot now.
const WAITS: [Duration; 3] = [Duration::from_millis(200), Duration::from_secs(1), Duration::from_secs(3)];
const TIMEOUT: Duration = Duration::from_secs(10);
/// Longer answers are refused.
const ANSWER_MAX: u64 = 8 << 20;
const CONTENT_TYPE: &str = "application/vnd.schemaregistry.v1+json";

/// Where a registry is and who asks.
#[derive(Debug, Clone, Default)]
pub(super) struct Settings {
    /// For messages.
    pub table: Arc<str>,
    /// Tried in turn.
    pub urls: Vec<String>,
    pub auth: Auth,
    /// PEM files of certificate authorities; None: the well-known ones.
    pub ca_file: Option<std::path::PathBuf>,
}

/// What stands in the header `Authorization`.
#[derive(Clone, Default)]
pub(super) struct Auth(Option<String>);

impl Auth {
    /// `user:password`
    pub fn basic(user_info: &str) -> Self {
        Self(Some(format!("Basic {}", base64::engine::general_purpose::STANDARD.encode(user_info))))
    }
    pub fn bearer(token: &str) -> Self {
        Self(Some(format!("Bearer {token}")))
    }
}

impl std::fmt::Debug for Auth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_some() { "Auth(******)" } else { "Auth(none)" })
    }
}

/// Why a schema cannot be had.
#[derive(Debug)]
pub(super) enum Refusal {
    /// The registry answered, and the answer is no: asking again changes nothing.
    Answer(String),
    /// It cannot be reached, or not like this: no fault of a record. The job may be restarted.
    Down(Error),
}

pub(super) struct Registry {
    settings: Settings,
    agent: ureq::Agent,
    /// Of [`Settings::urls`]: the one that answered last.
    current: usize,
}

impl Registry {
    pub fn new(settings: Settings) -> Result<Self> {
        let mut config = ureq::Agent::config_builder()
            .timeout_global(Some(TIMEOUT))
            .http_status_as_error(false)
            .max_redirects(3)
            // A registry is inside: no proxy of the environment.
            .proxy(None);
        if let Some(file) = &settings.ca_file {
            let roots = RootCerts::Specific(Arc::new(authorities(file, &settings.table)?));
            config = config.tls_config(TlsConfig::builder().root_certs(roots).build());
        }
        let agent = config.build().new_agent();
        Ok(Self { settings, agent, current: 0 })
    }

    /// The text of a schema.
    pub fn schema(&mut self, id: u32) -> std::result::Result<String, Refusal> {
        let answer = self.ask(&format!("schemas/ids/{id}"), None)?;
        match answer.get("schemaType").and_then(Value::as_str) {
            None | Some("AVRO") => {}
            Some(other) => return Err(Refusal::Answer(format!("the schema with the id {id} is {other}, not Avro"))),
        }
        if answer.get("references").and_then(Value::as_array).is_some_and(|r| !r.is_empty()) {
            let message = format!("the schema with the id {id} refers to other subjects, which is not supported");
            return Err(Refusal::Answer(message));
        }
        let text = answer.get("schema").and_then(Value::as_str);
        text.map(str::to_string).ok_or_else(|| Refusal::Answer(format!("no schema in the answer to the id {id}")))
    }

    /// The id of a schema under a subject, registered if it is new.
    pub fn register(&mut self, subject: &str, schema: &str) -> std::result::Result<u32, Refusal> {
        let body = serde_json::json!({ "schema": schema }).to_string();
        let answer = self.ask(&format!("subjects/{}/versions", encoded(subject)), Some(&body))?;
        let id = answer.get("id").and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| Refusal::Answer(format!("no id in the answer to the subject {subject}")))
    }

    fn ask(&mut self, path: &str, body: Option<&str>) -> std::result::Result<Value, Refusal> {
        let mut last = String::new();
        for wait in std::iter::once(Duration::ZERO).chain(WAITS) {
            std::thread::sleep(wait);
            for _ in 0..self.settings.urls.len() {
                match self.ask_once(path, body) {
                    Ok(answer) => return Ok(answer),
                    Err(Attempt::Final(why)) => return Err(Refusal::Answer(why)),
                    Err(Attempt::Denied(why)) => return Err(Refusal::Down(self.failed(&why))),
                    Err(Attempt::Again(why)) => {
                        last = why;
                        self.current = (self.current + 1) % self.settings.urls.len();
                    }
                }
            }
        }
        Err(Refusal::Down(self.failed(&last)))
    }

    fn failed(&self, why: &str) -> Error {
        let (table, urls) = (&self.settings.table, redacted(&self.settings.urls.join(", ")));
        Error::external(format!("table {table}: the schema registry at {urls} cannot be asked: {why}"))
            .with_hint("are url and password right, and does the registry run?")
    }

    fn ask_once(&self, path: &str, body: Option<&str>) -> std::result::Result<Value, Attempt> {
        let url = format!("{}/{path}", self.settings.urls[self.current].trim_end_matches('/'));
        let outcome = match body {
            None => {
                let mut request = self.agent.get(&url).header("Accept", CONTENT_TYPE);
                if let Some(auth) = &self.settings.auth.0 {
                    request = request.header("Authorization", auth);
                }
                request.call()
            }
            Some(body) => {
                let mut request = self.agent.post(&url).header("Accept", CONTENT_TYPE).content_type(CONTENT_TYPE);
                if let Some(auth) = &self.settings.auth.0 {
                    request = request.header("Authorization", auth);
                }
                request.send(body)
            }
        };
        let mut response = outcome.map_err(|e| Attempt::Again(redacted(&e.to_string())))?;
        let status = response.status().as_u16();
        let text = response.body_mut().with_config().limit(ANSWER_MAX).read_to_string();
        let text = text.map_err(|e| Attempt::Again(redacted(&e.to_string())))?;
        let answer: Option<Value> = serde_json::from_str(&text).ok();
        let error_code = answer.as_ref().and_then(|a| a.get("error_code")).and_then(Value::as_u64);
        let said = || {
            let message = answer.as_ref().and_then(|a| a.get("message")).and_then(Value::as_str);
            redacted(message.unwrap_or("").chars().take(500).collect::<String>().as_str())
        };
        match status {
            200..=299 => answer.ok_or_else(|| Attempt::Again("an answer that is no JSON".into())),
            // An id that nobody has; a schema that does not go with its subject's others, or is none.
            404 if error_code == Some(40403) => Err(Attempt::Final(said())),
            409 | 422 => Err(Attempt::Final(format!("the schema registry answers HTTP {status} {}", said()))),
            // Too many requests, and what proxies and registries say while they start or elect a leader.
            429 | 500..=599 => Err(Attempt::Again(format!("HTTP {status} {}", said()).trim_end().to_string())),
            _ => Err(Attempt::Denied(format!("it answers HTTP {status} {}", said()).trim_end().to_string())),
        }
    }
}

enum Attempt {
    /// An answer about what was asked.
    Final(String),
    /// Not asked like this: a wrong url or password.
    Denied(String),
    Again(String),
}

fn authorities(file: &std::path::Path, table: &str) -> Result<Vec<Certificate<'static>>> {
    let refuse = |what: String| Error::user(format!("table {table}: the file {}: {what}", file.display()));
    let pem = std::fs::read(file).map_err(|e| refuse(e.to_string()))?;
    let mut found = Vec::new();
    for item in parse_pem(&pem) {
        if let PemItem::Certificate(certificate) = item.map_err(|e| refuse(e.to_string()))? {
            found.push(certificate);
        }
    }
    match found.is_empty() {
        true => Err(refuse("it holds no certificate in PEM form".into())),
        false => Ok(found),
    }
}

/// A subject as a piece of a path.
fn encoded(subject: &str) -> String {
    let mut out = String::new();
    for byte in subject.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            other => out.push_str(&format!("%{other:02X}")),
        }
    }
    out
}

fn redacted(text: &str) -> String {
    crate::sql::options::redact(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_subject_is_one_piece_of_a_path() {
        assert_eq!(encoded("orders-value"), "orders-value");
        assert_eq!(encoded("a/b c?ü"), "a%2Fb%20c%3F%C3%BC");
    }

    #[test]
    fn a_password_is_never_shown() {
        assert_eq!(format!("{:?}", Auth::basic("ada:secret")), "Auth(******)");
        assert!(!redacted("http://ada:secret@host:8081").contains("secret"));
    }
}
