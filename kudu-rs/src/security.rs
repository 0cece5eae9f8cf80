//! Who the client is, what it insists on, and what the cluster has given it to prove that.

use crate::pb::kudu::security::SignedTokenPb;
use bytes::Bytes;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard};

/// Whether connections must be encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncryptionPolicy {
    /// Never. For servers whose OpenSSL is too old for any cipher of rustls (1.0.1, in Kudu's own archives of 1.13); a
    /// server that requires encryption refuses such a client, and there are no tokens.
    Off,
    /// As the server has it.
    #[default]
    Optional,
    /// Always, but not to servers on this machine.
    RequiredRemote,
    /// Always.
    Required,
}

/// The first credentials. With them the client gets an authentication token, which it uses from then on.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Credentials {
    /// A name that nobody checks; clusters without authentication take it.
    User(String),
    /// A principal of a Kerberos realm and its keytab.
    Kerberos(Kerberos),
}

/// A principal and where its key and its KDC are.
#[derive(Debug, Clone)]
pub struct Kerberos {
    /// `user@REALM`
    pub principal: String,
    /// Path of a keytab with the principal's key.
    pub keytab: String,
    /// First part of the servers' principals; `kudu` unless the cluster has another (`sasl_protocol_name`).
    pub service: String,
    /// `host:port` of a KDC of the principal's realm; else it is looked for in `krb5_conf`.
    pub kdc: Option<String>,
    /// Else `KRB5_CONFIG`, else `/etc/krb5.conf`.
    pub krb5_conf: Option<PathBuf>,
}

impl Kerberos {
    /// A principal (`user@REALM`; the realm may be left to krb5.conf) and its keytab.
    pub fn new(principal: impl Into<String>, keytab: impl Into<String>) -> Self {
        Self { principal: principal.into(), keytab: keytab.into(), service: "kudu".into(), kdc: None, krb5_conf: None }
    }
    pub fn service(mut self, service: impl Into<String>) -> Self {
        self.service = service.into();
        self
    }
    pub fn kdc(mut self, address: impl Into<String>) -> Self {
        self.kdc = Some(address.into());
        self
    }
    pub fn krb5_conf(mut self, path: impl Into<PathBuf>) -> Self {
        self.krb5_conf = Some(path.into());
        self
    }

    fn conf_path(&self) -> PathBuf {
        self.krb5_conf
            .clone()
            .or_else(|| std::env::var_os("KRB5_CONFIG").map(PathBuf::from))
            .unwrap_or_else(|| "/etc/krb5.conf".into())
    }

    /// Completes the principal by the default realm of krb5.conf.
    pub(crate) fn resolve(mut self) -> Result<Self, String> {
        if !self.principal.contains('@') {
            let path = self.conf_path();
            let text = std::fs::read_to_string(&path).map_err(|e| {
                format!("the principal `{}` has no realm and {} cannot be read: {e}", self.principal, path.display())
            })?;
            let realm = Krb5Conf::parse(&text).default_realm.ok_or_else(|| {
                format!("the principal `{}` has no realm and {} no default_realm", self.principal, path.display())
            })?;
            self.principal = format!("{}@{realm}", self.principal);
        }
        Ok(self)
    }
}

/// What krb5.conf and the settings say of realms.
#[cfg_attr(not(feature = "kerberos"), allow(dead_code))]
pub(crate) struct Realms {
    /// Of the principal's own realm.
    kdc: Option<String>,
    own: String,
    path: PathBuf,
    conf: Result<Krb5Conf, String>,
}

#[cfg_attr(not(feature = "kerberos"), allow(dead_code))]
impl Realms {
    pub fn load(kerberos: &Kerberos) -> Self {
        let path = kerberos.conf_path();
        let conf = std::fs::read_to_string(&path).map(|t| Krb5Conf::parse(&t));
        let own = kerberos.principal.rsplit_once('@').map(|(_, r)| r.to_string()).unwrap_or_default();
        Self { kdc: kerberos.kdc.clone(), own, conf: conf.map_err(|e| format!("{}: {e}", path.display())), path }
    }
    /// The realm that a server is of, where `domain_realm` says so.
    pub fn of_host(&self, host: &str) -> Option<String> {
        let conf = self.conf.as_ref().ok()?;
        let host = host.to_lowercase();
        let exact = std::iter::once(host.as_str());
        let domains = host.match_indices('.').map(|(i, _)| &host[i..]);
        exact.chain(domains).find_map(|name| conf.domains.iter().find(|(d, _)| d == name)).map(|(_, r)| r.clone())
    }
    pub fn kdcs(&self, realm: &str) -> Result<Vec<(String, u16)>, String> {
        if let Some(kdc) = self.kdc.as_ref().filter(|_| realm == self.own) {
            return Ok(vec![host_port(kdc, 88)?]);
        }
        let kdcs = self.conf.as_ref().map_err(Clone::clone)?.kdcs(realm);
        if kdcs.is_empty() {
            let path = self.path.display();
            return Err(format!("{path} names no kdc of the realm {realm} (its includes are not followed)"));
        }
        kdcs.iter().map(|k| host_port(k, 88)).collect()
    }
}

/// What is needed of a krb5.conf.
#[derive(Debug, Default, PartialEq)]
struct Krb5Conf {
    default_realm: Option<String>,
    kdcs: Vec<(String, String)>,
    /// Hosts and domains (with a dot before) by realm.
    domains: Vec<(String, String)>,
}

impl Krb5Conf {
    fn parse(text: &str) -> Self {
        let (mut section, mut realm, mut conf) = (String::new(), None::<String>, Self::default());
        for line in text.lines().map(str::trim) {
            if line.starts_with(['#', ';']) || line.is_empty() {
                continue;
            }
            if let Some(name) = line.strip_prefix('[').and_then(|l| l.split_once(']')) {
                (section, realm) = (name.0.trim().to_string(), None);
                continue;
            }
            let (key, value) = line.split_once('=').map(|(k, v)| (k.trim(), v.trim())).unwrap_or((line, ""));
            match (section.as_str(), key) {
                ("libdefaults", "default_realm") => conf.default_realm = Some(value.to_string()),
                ("realms", "}") => realm = None,
                ("realms", name) if value.starts_with('{') => realm = Some(name.to_string()),
                ("realms", "kdc") => conf.kdcs.extend(realm.clone().map(|r| (r, value.to_string()))),
                ("domain_realm", name) => conf.domains.push((name.to_lowercase(), value.to_string())),
                _ => {}
            }
        }
        conf
    }
    fn kdcs(&self, realm: &str) -> Vec<String> {
        self.kdcs.iter().filter(|(r, _)| r == realm).map(|(_, k)| k.clone()).collect()
    }
}

/// `host`, `host:port`, `[v6]:port`; also with a protocol before it, as krb5.conf may have it.
pub(crate) fn host_port(address: &str, default: u16) -> Result<(String, u16), String> {
    let text = address.trim();
    let text = text.strip_prefix("tcp/").unwrap_or(text);
    let wrong = || format!("`{address}` is no address: host or host:port");
    let (host, port) = match text.strip_prefix('[') {
        Some(v6) => {
            let (host, rest) = v6.split_once(']').ok_or_else(wrong)?;
            (host, rest.strip_prefix(':'))
        }
        None => match text.split_once(':') {
            Some((h, p)) if !p.contains(':') => (h, Some(p)),
            Some(_) => (text, None),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err(wrong());
    }
    let port = port.map(|p| p.parse().map_err(|_| wrong())).transpose()?.unwrap_or(default);
    Ok((host.to_string(), port))
}

/// What the leading master gave: the cluster's certificate authority and a token that stands for our credentials.
#[derive(Debug, Default)]
pub(crate) struct Secrets {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default, Clone)]
struct Inner {
    authorities: Vec<Bytes>,
    token: Option<SignedTokenPb>,
    generation: u64,
}

impl Secrets {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(|e| e.into_inner())
    }
    pub fn set_authorities(&self, certificates: Vec<Bytes>) {
        self.lock().authorities = certificates;
    }
    pub fn set_token(&self, token: SignedTokenPb) {
        let mut inner = self.lock();
        inner.token = Some(token);
        inner.generation += 1;
    }
    /// Changes with each new token.
    pub fn generation(&self) -> u64 {
        self.lock().generation
    }
    pub fn has_token(&self) -> bool {
        self.lock().token.is_some()
    }
    /// The token, and the authorities without which it must not be shown to anybody.
    pub fn token(&self) -> Option<(SignedTokenPb, Vec<Bytes>)> {
        let inner = self.lock();
        let token = inner.token.clone()?;
        (!inner.authorities.is_empty()).then(|| (token, inner.authorities.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kdcs_are_found_in_krb5_conf_by_realm() {
        let conf = Krb5Conf::parse(
            "# comment\n[libdefaults]\n default_realm = A\n[realms]\nA = {\n kdc = one\n kdc = tcp/two:1088\n}\n\
             B = {\n admin_server = x\n kdc = [::1]:99\n}\n[domain_realm]\n .b.org = B\n one.b.org = A\n",
        );
        assert_eq!(conf.default_realm.as_deref(), Some("A"));
        assert_eq!(conf.kdcs("A"), ["one", "tcp/two:1088"]);
        assert_eq!(conf.kdcs("B"), ["[::1]:99"]);
        assert!(conf.kdcs("C").is_empty());
        let realms = Realms { kdc: Some("k:1".into()), own: "A".into(), path: "f".into(), conf: Ok(conf) };
        assert_eq!(realms.of_host("Two.B.org").as_deref(), Some("B"));
        assert_eq!(realms.of_host("one.b.org").as_deref(), Some("A"));
        assert_eq!(realms.of_host("org"), None);
        assert_eq!(realms.kdcs("A"), Ok(vec![("k".into(), 1)]));
        assert!(realms.kdcs("C").expect_err("not there").contains("names no kdc of the realm C"));
    }

    #[test]
    fn addresses_with_and_without_ports() {
        let of = |a: &str| host_port(a, 7051);
        assert_eq!(of("h"), Ok(("h".into(), 7051)));
        assert_eq!(of(" h:1 "), Ok(("h".into(), 1)));
        assert_eq!(of("[::1]:2"), Ok(("::1".into(), 2)));
        assert_eq!(of("::1"), Ok(("::1".into(), 7051)));
        assert_eq!(of("tcp/two:1088"), Ok(("two".into(), 1088)));
        for wrong in ["", ":1", "h:x", "h:70000", "[::1"] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
    }
}
