//! The masters: which of them leads, and calls to that one.

use crate::StatusCode;
use crate::error::{Error, Result, RpcCode};
use crate::pb::kudu::consensus::raft_peer_pb::Role;
use crate::pb::kudu::master::{self as pb, MasterErrorPb, MasterFeatures, master_error_pb};
use crate::retry::{Deadline, Retry};
use crate::rpc::{Call, MASTER, Policy, Pool};
use futures::stream::{FuturesUnordered, StreamExt};
use prost::Message;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// An answer of a master, which may be an error.
pub trait Answer: Message + Default {
    fn take_error(&mut self) -> Option<MasterErrorPb>;
}

macro_rules! answers {
    ($($t:ident),* $(,)?) => { $(impl Answer for pb::$t {
        fn take_error(&mut self) -> Option<MasterErrorPb> { self.error.take() }
    })* };
}
answers!(
    ConnectToMasterResponsePb,
    CreateTableResponsePb,
    IsCreateTableDoneResponsePb,
    DeleteTableResponsePb,
    ListTablesResponsePb,
    GetTableStatisticsResponsePb,
    GetTableLocationsResponsePb,
    AlterTableResponsePb,
    IsAlterTableDoneResponsePb,
    GetTableSchemaResponsePb,
    ListTabletServersResponsePb,
);

impl Answer for pb::PingResponsePb {
    fn take_error(&mut self) -> Option<MasterErrorPb> {
        None
    }
}

pub struct Masters {
    pool: Arc<Pool>,
    addresses: Vec<(String, u16)>,
    rpc_timeout: Duration,
    /// Held while the leader is looked for, so that one at a time does that.
    leader: tokio::sync::Mutex<Option<(String, u16)>>,
    cluster: Mutex<Cluster>,
}

/// What the leader says of the cluster.
#[derive(Debug, Clone, Default)]
pub struct Cluster {
    pub id: String,
    /// Where the client is, by the cluster's rules of locations.
    pub location: String,
}

impl Masters {
    pub fn new(pool: Arc<Pool>, addresses: Vec<(String, u16)>, rpc_timeout: Duration) -> Self {
        Self { pool, addresses, rpc_timeout, leader: Default::default(), cluster: Mutex::default() }
    }

    pub fn cluster(&self) -> Cluster {
        self.cluster.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    /// A call to the leader, looked for again when it has changed.
    pub async fn call<R: Answer>(
        &self,
        method: &'static str,
        features: &[MasterFeatures],
        request: &impl Message,
        deadline: Deadline,
    ) -> Result<R> {
        let mut retry = Retry::new(method, deadline);
        loop {
            let generation = self.pool.secrets.generation();
            let failure = match self.attempt(method, features, request, deadline).await {
                Ok(answer) => return Ok(answer),
                Err(e) => e,
            };
            match &failure {
                Error::InvalidAuthnToken { .. } => self.renew_token(generation, deadline).await?,
                Error::Rpc { code: RpcCode::ErrorServerTooBusy, .. } => {}
                e if e.is_retryable() => *self.leader.lock().await = None,
                _ => return Err(failure),
            }
            retry.pause(failure).await?;
        }
    }

    async fn attempt<R: Answer>(
        &self,
        method: &'static str,
        features: &[MasterFeatures],
        request: &impl Message,
        deadline: Deadline,
    ) -> Result<R> {
        let (host, port) = self.leader(deadline).await?;
        let connection = self.pool.get(&host, port, Policy::Any).await?;
        let (mut answer, _) = connection.call::<R>(&self.describe(method, features, deadline), request).await?;
        match answer.take_error() {
            Some(e) => Err(Error::master(method, e)),
            None => Ok(answer),
        }
    }

    fn describe(&self, method: &'static str, features: &[MasterFeatures], deadline: Deadline) -> Call {
        Call {
            service: MASTER,
            method,
            features: features.iter().map(|f| *f as u32).collect(),
            request_id: None,
            timeout: deadline.attempt(self.rpc_timeout),
        }
    }

    async fn leader(&self, deadline: Deadline) -> Result<(String, u16)> {
        let mut leader = self.leader.lock().await;
        if let Some(known) = leader.as_ref() {
            return Ok(known.clone());
        }
        let policy = if self.pool.secrets.has_token() { Policy::Any } else { Policy::Primary };
        let found = self.find(policy, deadline).await?;
        Ok(leader.insert(found).clone())
    }

    /// Gets a new token with the first credentials, unless somebody has done so since `generation`.
    pub async fn renew_token(&self, generation: u64, deadline: Deadline) -> Result<()> {
        let mut leader = self.leader.lock().await;
        if self.pool.secrets.generation() != generation {
            return Ok(());
        }
        tracing::debug!("the authentication token is renewed");
        let mut retry = Retry::new("renewal of the authentication token", deadline);
        loop {
            match self.find(Policy::Primary, deadline).await {
                Ok(found) => {
                    *leader = Some(found);
                    return Ok(());
                }
                Err(e) if e.is_retryable() => retry.pause(e).await?,
                Err(e) => return Err(e),
            }
        }
    }

    /// Asks every master at once; the one that leads says what the cluster's authority is, and gives a token.
    async fn find(&self, policy: Policy, deadline: Deadline) -> Result<(String, u16)> {
        let mut asked: FuturesUnordered<_> =
            self.addresses.iter().map(|(host, port)| self.connect(host, *port, policy, deadline)).collect();
        let (mut failures, mut followers, mut configured_elsewhere) = (Vec::new(), 0, 0);
        while let Some((host, port, answer)) = asked.next().await {
            match answer {
                Ok(a) if a.role() == Role::Leader => {
                    self.learn(a);
                    return Ok((host.to_string(), port));
                }
                Ok(a) => {
                    followers += 1;
                    configured_elsewhere = configured_elsewhere.max(a.master_addrs.len());
                }
                Err(e) => failures.push(e),
            }
        }
        Err(self.no_leader(failures, followers, configured_elsewhere))
    }

    fn no_leader(&self, mut failures: Vec<Error>, followers: usize, real: usize) -> Error {
        let all: Vec<_> = self.addresses.iter().map(|(h, p)| format!("{h}:{p}")).collect();
        let all = all.join(", ");
        if real > self.addresses.len() {
            let message = format!("none of them leads, and the cluster has {real} masters: name all of them");
            return Error::Connection { server: all, message };
        }
        // A refusal does not go away by asking again.
        if followers == 0 {
            if let Some(i) = failures.iter().position(|e| !e.is_retryable()) {
                return failures.swap_remove(i);
            }
            // The caller gets a new token.
            let refused = failures.iter().all(|e| matches!(e, Error::InvalidAuthnToken { .. }));
            if let Some(e) = failures.pop_if(|_| refused) {
                return e;
            }
        }
        let told: Vec<_> = failures.iter().map(ToString::to_string).collect();
        let message = match told.is_empty() {
            true => "no master leads at the moment".to_string(),
            false => format!("no master leads: {}", told.join("; ")),
        };
        Error::Connection { server: all, message }
    }

    async fn connect<'a>(
        &self,
        host: &'a str,
        port: u16,
        policy: Policy,
        deadline: Deadline,
    ) -> (&'a str, u16, Result<pb::ConnectToMasterResponsePb>) {
        const METHOD: &str = "ConnectToMaster";
        let ask = async {
            let connection = self.pool.get(host, port, policy).await?;
            let call = self.describe(METHOD, &[MasterFeatures::ConnectToMaster], deadline);
            let request = pb::ConnectToMasterRequestPb {};
            let (mut answer, _) = connection.call::<pb::ConnectToMasterResponsePb>(&call, &request).await?;
            match answer.take_error() {
                Some(e) => Err(Error::master(METHOD, e)),
                None => Ok(answer),
            }
        };
        (host, port, ask.await)
    }

    fn learn(&self, answer: pb::ConnectToMasterResponsePb) {
        if !answer.ca_cert_der.is_empty() {
            self.pool.secrets.set_authorities(answer.ca_cert_der);
        }
        if let Some(token) = answer.authn_token {
            self.pool.secrets.set_token(token);
        }
        let cluster =
            Cluster { id: answer.cluster_id.unwrap_or_default(), location: answer.client_location.unwrap_or_default() };
        *self.cluster.lock().unwrap_or_else(|e| e.into_inner()) = cluster;
    }
}

/// A table that is being made or changed has no tablets for a moment.
pub fn is_not_yet_running(e: &Error) -> bool {
    matches!(e, Error::Master { code: master_error_pb::Code::TabletNotRunning, .. })
        || e.status() == Some(StatusCode::ServiceUnavailable)
}
