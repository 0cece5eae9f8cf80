//! Connections by server, made when they are needed and made again when they are gone.

use super::connection::Connection;
use super::negotiate::{self, Terms};
use crate::error::{Error, Result};
use crate::security::{Credentials, EncryptionPolicy, Secrets};
use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpStream;
use tracing::Instrument;

/// Addresses remembered at most; closed connections go first, then any.
const MAX_SERVERS: usize = 4096;

/// By what a connection may be authenticated. To get a new token the old one must not be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    Any,
    Primary,
}

#[derive(Debug, Clone)]
pub struct Settings {
    pub credentials: Credentials,
    pub encryption: EncryptionPolicy,
    pub require_authentication: bool,
    pub connect_timeout: Duration,
    pub max_message: usize,
}

/// One at a time connects; the others wait for what comes of it.
type Slot = Arc<tokio::sync::Mutex<Option<Arc<Connection>>>>;

pub struct Pool {
    pub settings: Settings,
    pub secrets: Secrets,
    slots: Mutex<HashMap<(String, u16, Policy), Slot>>,
}

impl Pool {
    pub fn new(settings: Settings) -> Self {
        Self { settings, secrets: Secrets::default(), slots: Mutex::default() }
    }

    pub async fn get(&self, host: &str, port: u16, policy: Policy) -> Result<Arc<Connection>> {
        let slot = self.slot((host.to_string(), port, policy));
        let mut slot = slot.lock().await;
        if let Some(open) = slot.as_ref().filter(|c| !c.is_closed()) {
            return Ok(open.clone());
        }
        *slot = None;
        let server: Arc<str> = format!("{host}:{port}").into();
        let span = tracing::debug_span!("kudu_connect", %server, ?policy);
        let within = self.settings.connect_timeout;
        let opened = tokio::time::timeout(within, self.open(&server, host, port, policy).instrument(span)).await;
        let connection =
            opened.map_err(|_| Error::connection(&server, format!("no connection within {within:?}")))??;
        Ok(slot.insert(Arc::new(connection)).clone())
    }

    fn slot(&self, key: (String, u16, Policy)) -> Slot {
        let mut slots = self.slots.lock().unwrap_or_else(|e| e.into_inner());
        if slots.len() >= MAX_SERVERS && !slots.contains_key(&key) {
            slots.retain(|_, s| s.try_lock().map(|s| s.as_ref().is_some_and(|c| !c.is_closed())).unwrap_or(true));
            if slots.len() >= MAX_SERVERS {
                slots.clear();
            }
        }
        slots.entry(key).or_default().clone()
    }

    async fn open(&self, server: &Arc<str>, host: &str, port: u16, policy: Policy) -> Result<Connection> {
        let socket = TcpStream::connect((host, port)).await.map_err(|e| Error::connection(server, e))?;
        let s = &self.settings;
        let terms = Terms {
            credentials: s.credentials.clone(),
            encryption: s.encryption,
            require_authentication: s.require_authentication,
            token: if policy == Policy::Any { self.secrets.token() } else { None },
            max_message: s.max_message,
        };
        let agreed = negotiate::negotiate(socket, server.clone(), host, &terms).await?;
        Ok(Connection::start(server.clone(), agreed))
    }
}
