//! Key and trust stores as Java's clients name them: PEM, JKS and PKCS#12, from files or as text. What librdkafka gets
//! is PEM text in memory; nothing secret is written to disk.

use super::super::keystore;
use crate::error::{Error, Result};
use std::path::Path;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Store {
    location: Option<String>,
    password: Option<String>,
    kind: Option<String>,
}

#[derive(Clone, Default, PartialEq, Eq)]
pub struct Stores {
    trust: Store,
    key: Store,
    key_password: Option<String>,
    /// PEM as text: (certificates to trust, certificate chain, private key).
    pem: (Option<String>, Option<String>, Option<String>),
}

impl std::fmt::Debug for Stores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stores").field("trust", &self.trust.location).field("key", &self.key.location).finish()
    }
}

impl Stores {
    /// Takes a property about stores; false: it is none.
    pub(super) fn take(&mut self, key: &str, value: &str) -> bool {
        let to = match key {
            "ssl.truststore.location" => &mut self.trust.location,
            "ssl.truststore.password" => &mut self.trust.password,
            "ssl.truststore.type" => &mut self.trust.kind,
            "ssl.truststore.certificates" => &mut self.pem.0,
            "ssl.keystore.location" => &mut self.key.location,
            "ssl.keystore.password" => &mut self.key.password,
            "ssl.keystore.type" => &mut self.key.kind,
            "ssl.keystore.certificate.chain" => &mut self.pem.1,
            "ssl.keystore.key" => &mut self.pem.2,
            "ssl.key.password" => &mut self.key_password,
            _ => return false,
        };
        *to = Some(value.to_string()).filter(|v| !v.is_empty());
        true
    }

    /// librdkafka's settings for them. Reads the files; paths that are not absolute start at `base`.
    pub fn load(&self, base: &Path) -> Result<Vec<(&'static str, String)>> {
        let mut settings = Vec::new();
        if let Some(location) = &self.trust.location {
            let material = self.open("truststore", &self.trust, location, base)?;
            if material.trusted.is_empty() {
                return Err(Error::user(format!("ssl.truststore.location {location}: no certificate is in it")));
            }
            settings.push(("ssl.ca.pem", material.trusted));
        }
        if let Some(location) = &self.key.location {
            let material = self.open("keystore", &self.key, location, base)?;
            let (Some(key), false) = (material.key, material.chain.is_empty()) else {
                return Err(Error::user(format!("ssl.keystore.location {location}: no private key is in it")));
            };
            settings.push(("ssl.certificate.pem", material.chain));
            settings.push(("ssl.key.pem", key));
        }
        let texts = [("ssl.ca.pem", &self.pem.0), ("ssl.certificate.pem", &self.pem.1), ("ssl.key.pem", &self.pem.2)];
        settings.extend(texts.into_iter().filter_map(|(name, text)| Some((name, text.clone()?))));
        if let Some(password) = &self.key_password {
            settings.push(("ssl.key.password", password.clone()));
        }
        Ok(settings)
    }

    fn open(&self, what: &str, store: &Store, location: &str, base: &Path) -> Result<keystore::Material> {
        let path = base.join(location);
        let at = format!("ssl.{what}.location {location}");
        let bytes = std::fs::read(&path).map_err(|e| Error::user(format!("{at}: {e}")))?;
        let passwords = keystore::Passwords { store: store.password.as_deref(), key: self.key_password.as_deref() };
        keystore::read(&bytes, &passwords).map_err(|e| {
            let named = store.kind.as_deref().map(|k| format!(" (ssl.{what}.type = {k})")).unwrap_or_default();
            Error::user(format!("{at}{named}: {e}"))
        })
    }
}
