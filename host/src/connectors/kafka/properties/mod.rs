//! Properties as Java's Kafka clients name them, for librdkafka. Everything that can be wrong with them is found without
//! a connection.

mod jaas;
mod names;
mod stores;

pub(super) use stores::Stores;

use super::native::{Conf, ConfError};
use crate::sql::suggest::did_you_mean;
use indexmap::IndexMap;
use names::Meaning;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    Consumer,
    Producer,
}

/// Something that the user should know of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub message: String,
    pub is_error: bool,
}

/// Properties in librdkafka's names.
#[derive(Debug, Clone, Default)]
pub struct Properties {
    pub settings: IndexMap<String, String>,
    pub stores: Stores,
    pub findings: Vec<Finding>,
}

impl Properties {
    /// `given`: the rest of each key after the dialect's prefix, with its value.
    pub fn translate(given: Option<&IndexMap<String, String>>, role: Role) -> Self {
        let mut found = Properties::default();
        for (key, value) in paired(given, &mut found.findings) {
            found.take(&key, value.trim(), role);
        }
        found.check_sasl();
        found
    }

    fn error(&mut self, message: String) {
        self.findings.push(Finding { message, is_error: true });
    }

    fn warn(&mut self, message: String) {
        self.findings.push(Finding { message, is_error: false });
    }

    fn set(&mut self, name: &str, value: &str) {
        self.settings.insert(name.to_string(), value.to_string());
    }

    fn take(&mut self, key: &str, value: &str, role: Role) {
        if key == "sasl.jaas.config" {
            match jaas::parse(value) {
                Ok(login) => login.settings.into_iter().for_each(|(name, value)| self.set(name, &value)),
                Err(message) => self.error(format!("sasl.jaas.config: {message}")),
            }
            return;
        }
        if self.stores.take(key, value) {
            return;
        }
        let Some(meaning) = names::meaning(key) else { return self.take_unknown(key, value) };
        match meaning {
            Meaning::Same(whose) if whose.is(role) => self.checked(key, key, value),
            Meaning::Renamed(name, whose) if whose.is(role) => self.checked(key, name, value),
            Meaning::Same(_) | Meaning::Renamed(..) => {}
            Meaning::Lower(name) => self.checked(key, name, &value.to_lowercase()),
            Meaning::Kibibytes(name, whose) => match value.parse::<u64>() {
                Ok(bytes) if whose.is(role) => self.checked(key, name, &bytes.div_ceil(1024).max(1).to_string()),
                Ok(_) => {}
                Err(_) => self.error(format!("{key}: a number of bytes is needed")),
            },
            Meaning::Words(name, words, whose) => {
                let found = words.iter().find(|(java, _)| java.eq_ignore_ascii_case(value)).map(|(_, ours)| *ours);
                let listed = || words.iter().map(|(java, _)| *java).filter(|w| !w.is_empty()).collect::<Vec<_>>();
                match found {
                    Some(ours) if whose.is(role) => self.checked(key, name, ours),
                    Some(_) => {}
                    None => self.error(format!("{key}: one of {} is needed", listed().join(", "))),
                }
            }
            Meaning::Ignored(why) => self.warn(format!("{key} has no effect here: {why}")),
            Meaning::Own => {}
            Meaning::Refused(why) => self.error(format!("{key}: {why}")),
        }
    }

    /// Not one of Java's names that we know: librdkafka may have it.
    fn take_unknown(&mut self, key: &str, value: &str) {
        let known = match Conf::new().set(key, value) {
            Ok(()) => return self.set(key, value),
            Err(ConfError::Unknown) => false,
            Err(ConfError::Invalid(_)) => true,
        };
        if known {
            return self.checked(key, key, value);
        }
        let near = did_you_mean(key, names::all()).map(|h| format!("; {h}")).unwrap_or_default();
        self.warn(format!("the Kafka client has no property {key}: it is ignored{near}"));
    }

    fn checked(&mut self, key: &str, name: &str, value: &str) {
        match Conf::new().set(name, value) {
            Ok(()) => self.set(name, value),
            Err(ConfError::Unknown) => self.warn(format!("{key} has no effect here")),
            // librdkafka's words quote the value.
            Err(ConfError::Invalid(_)) if is_secret(key) => self.error(format!("{key}: the value is refused")),
            Err(ConfError::Invalid(why)) => self.error(format!("{key}: {why}")),
        }
    }

    fn check_sasl(&mut self) {
        let settings = self.settings.clone();
        let get = |name: &str| settings.get(name).map(String::as_str).unwrap_or_default();
        let mechanism = get("sasl.mechanism").to_uppercase();
        let is_sasl = get("security.protocol").starts_with("sasl_");
        let gssapi = mechanism.is_empty() || mechanism == "GSSAPI";
        if is_sasl && mechanism == "OAUTHBEARER" {
            self.error(
                "sasl.mechanism OAUTHBEARER is not supported: its tokens come from Java callbacks; \
                 PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and GSSAPI are"
                    .into(),
            );
        } else if is_sasl && !gssapi && (get("sasl.username").is_empty() || get("sasl.password").is_empty()) {
            self.error(format!("sasl.mechanism {mechanism} needs a user name and a password in sasl.jaas.config"));
        } else if is_sasl && gssapi && get("sasl.kerberos.keytab").is_empty() {
            // Without a keytab the ticket is somebody else's to renew: librdkafka must not run kinit for one.
            self.set("sasl.kerberos.min.time.before.relogin", "0");
        }
        if !is_sasl && !get("sasl.username").is_empty() {
            let message = "sasl.jaas.config has no effect: security.protocol is not SASL_PLAINTEXT or SASL_SSL";
            self.warn(message.into());
        }
        for name in ["sasl.kerberos.keytab", "sasl.kerberos.principal", "sasl.kerberos.service.name"] {
            // They become part of a shell command (kinit).
            if !get(name).chars().all(|c| c.is_ascii_alphanumeric() || "/._@-+:=,".contains(c)) {
                self.error(format!("{name} may hold letters, digits and / . _ @ - + : = , only"));
                self.settings.shift_remove(name);
            }
        }
    }
}

/// librdkafka's words about such a value would show it.
fn is_secret(key: &str) -> bool {
    ["password", "secret", "key", "pem", "token"].iter().any(|word| key.contains(word))
}

/// Flink 1.9 writes `properties.0.key` = 'group.id', `properties.0.value` = 'g'; later `properties.group.id` = 'g'.
fn paired(given: Option<&IndexMap<String, String>>, findings: &mut Vec<Finding>) -> Vec<(String, String)> {
    let Some(given) = given else { return vec![] };
    let number = |n: &str| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit());
    let mut pairs = Vec::new();
    for (key, value) in given {
        match key.rsplit_once('.') {
            Some((n, "key")) if number(n) => match given.get(&format!("{n}.value")) {
                Some(v) => pairs.push((value.trim().to_string(), v.clone())),
                None => findings.push(Finding { message: format!("{key} has no {n}.value beside it"), is_error: true }),
            },
            Some((n, "value")) if number(n) => {
                if !given.contains_key(&format!("{n}.key")) {
                    findings.push(Finding { message: format!("{key} has no {n}.key beside it"), is_error: true });
                }
            }
            _ => pairs.push((key.clone(), value.clone())),
        }
    }
    pairs
}

/// One property, whichever way it is written.
pub(super) fn property(given: Option<&IndexMap<String, String>>, name: &str) -> Option<String> {
    let found = paired(given, &mut Vec::new()).into_iter().find(|(k, _)| k == name);
    found.map(|(_, v)| v.trim().to_string()).filter(|v| !v.is_empty())
}

#[cfg(test)]
mod tests;
