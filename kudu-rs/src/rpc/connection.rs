//! One connection with many calls on it: each has a number, answers come in any order.

use super::frame::{self, Response};
use super::negotiate::Agreed;
use super::transport::{ReadSide, WriteSide};
use crate::error::{Error, Result};
use crate::pb::kudu::rpc::{ErrorStatusPb, RemoteMethodPb, RequestHeader, RequestIdPb};
use bytes::Bytes;
use prost::Message;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Calls under way on one connection; more wait for their turn.
const MAX_CALLS: usize = 1024;

/// A call that waited shorter than this says nothing of its connection.
const SILENCE: Duration = Duration::from_secs(1);

/// What a call is, without its message.
#[derive(Debug, Clone)]
pub struct Call {
    pub service: &'static str,
    pub method: &'static str,
    pub features: Vec<u32>,
    pub request_id: Option<RequestIdPb>,
    pub timeout: Duration,
}

pub const MASTER: &str = "kudu.master.MasterService";
pub const TABLET_SERVER: &str = "kudu.tserver.TabletServerService";

/// A handle; the connection ends when the last one is dropped.
pub struct Connection {
    server: Arc<str>,
    shared: Arc<Shared>,
    outgoing: mpsc::Sender<Bytes>,
    permits: Semaphore,
    tasks: [tokio::task::AbortHandle; 2],
}

struct Shared {
    state: Mutex<State>,
}

struct State {
    next_call: i32,
    /// Calls that somebody waits for. The answer of a call that is not here (it timed out) is dropped.
    calls: HashMap<i32, oneshot::Sender<Result<Response>>>,
    closed: Option<Error>,
    /// When something last came.
    heard: Instant,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|e| e.into_inner())
    }
    /// Every waiting call learns of it; later ones are refused.
    fn close(&self, error: Error) {
        let mut state = self.lock();
        for (_, waiting) in state.calls.drain() {
            let _ = waiting.send(Err(error.clone()));
        }
        state.closed.get_or_insert(error);
    }
}

impl Connection {
    pub fn start(server: Arc<str>, agreed: Agreed) -> Self {
        let state = State { next_call: 0, calls: HashMap::new(), closed: None, heard: Instant::now() };
        let shared = Arc::new(Shared { state: Mutex::new(state) });
        let (outgoing, queue) = mpsc::channel(64);
        let writer = tokio::spawn(write(agreed.write, queue, shared.clone())).abort_handle();
        let reader = tokio::spawn(read(agreed.read, shared.clone())).abort_handle();
        Self { server, shared, outgoing, permits: Semaphore::new(MAX_CALLS), tasks: [reader, writer] }
    }

    pub fn is_closed(&self) -> bool {
        self.shared.lock().closed.is_some()
    }

    /// One call. The error is one of the connection or of the RPC layer; what the service says is in the answer.
    pub async fn call<R: Message + Default>(&self, call: &Call, request: &impl Message) -> Result<(R, Vec<Bytes>)> {
        let start = Instant::now();
        match tokio::time::timeout(call.timeout, self.exchange(call, request)).await {
            Ok(answer) => {
                let response = answer?;
                let message = R::decode(response.body).map_err(|e| {
                    Error::protocol(format!("{}: the answer to {} cannot be read: {e}", self.server, call.method))
                })?;
                Ok((message, response.sidecars))
            }
            Err(_) => {
                // Not a sign of life in all that time, of no call: the way to the server may be gone without a word.
                let silent = self.shared.lock().heard < start;
                if silent && call.timeout >= SILENCE {
                    self.shared.close(Error::connection(&self.server, "the server does not answer any more"));
                }
                let what = format!("{} at {}", call.method, self.server);
                Err(Error::Timeout { what, after: call.timeout, last: None })
            }
        }
    }

    async fn exchange(&self, call: &Call, request: &impl Message) -> Result<Response> {
        let gone = || Error::connection(&self.server, "the connection was closed");
        let _permit = self.permits.acquire().await.map_err(|_| gone())?;
        // A place in the queue first: what is registered is sent, and numbers go up on the wire.
        let place = self.outgoing.reserve().await.map_err(|_| gone())?;
        let (waiting, answer) = {
            let mut state = self.shared.lock();
            if let Some(e) = &state.closed {
                return Err(e.clone());
            }
            let id = state.next_call;
            let message = frame::encode(&self.header(id, call), request)?;
            state.next_call = id.checked_add(1).unwrap_or(0);
            let (send, answer) = oneshot::channel();
            state.calls.insert(id, send);
            place.send(message);
            (Waiting { shared: &self.shared, id }, answer)
        };
        let response = answer.await.map_err(|_| gone())??;
        drop(waiting);
        if !response.header.is_error() {
            return Ok(response);
        }
        let status = ErrorStatusPb::decode(response.body)
            .map_err(|e| Error::protocol(format!("{}: an error that cannot be read: {e}", self.server)))?;
        let (server, code, message) = (self.server.to_string(), status.code(), status.message);
        if !status.unsupported_feature_flags.is_empty() || message.contains("unsupported feature flags") {
            let (method, asked) = (call.method, &call.features);
            return Err(Error::NotSupported(format!(
                "{server}: the server is too old for this {method}: {message} (asked for: {asked:?})"
            )));
        }
        Err(Error::Rpc { server, method: call.method.to_string(), code, message })
    }

    fn header(&self, call_id: i32, call: &Call) -> RequestHeader {
        RequestHeader {
            call_id,
            remote_method: Some(RemoteMethodPb { service_name: call.service.into(), method_name: call.method.into() }),
            timeout_millis: Some(u32::try_from(call.timeout.as_millis()).unwrap_or(u32::MAX).max(1)),
            required_feature_flags: call.features.clone(),
            request_id: call.request_id.clone(),
            sidecar_offsets: vec![],
        }
    }
}

/// Strikes a call off the list when nobody waits for it any more.
struct Waiting<'a> {
    shared: &'a Shared,
    id: i32,
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.shared.lock().calls.remove(&self.id);
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.tasks.iter().for_each(tokio::task::AbortHandle::abort);
    }
}

async fn write(mut socket: WriteSide, mut queue: mpsc::Receiver<Bytes>, shared: Arc<Shared>) {
    while let Some(message) = queue.recv().await {
        if let Err(e) = socket.send(&message).await {
            shared.close(e);
            return;
        }
    }
}

async fn read(mut socket: ReadSide, shared: Arc<Shared>) {
    let error = loop {
        match socket.frame().await {
            Ok(Some(message)) => {
                if let Err(e) = dispatch(message, &shared, &socket.server) {
                    break e;
                }
            }
            // Servers close connections that were idle for a minute: nothing is wrong.
            Ok(None) => break Error::connection(&socket.server, "the server has closed the connection"),
            Err(e) => break e,
        }
    };
    tracing::debug!(server = %socket.server, %error, "connection ended");
    shared.close(error);
}

fn dispatch(message: Bytes, shared: &Shared, server: &str) -> Result<()> {
    let response = frame::decode(message)?;
    let id = response.header.call_id;
    let waiting = {
        let mut state = shared.lock();
        state.heard = Instant::now();
        match state.calls.remove(&id) {
            Some(w) => w,
            // Late: the caller has given up.
            None if (0..state.next_call).contains(&id) => return Ok(()),
            None => return Err(Error::protocol(format!("{server}: an answer to call {id}, which was not made"))),
        }
    };
    // A fatal error is followed by the end of the connection, which the reader sees by itself.
    let _ = waiting.send(Ok(response));
    Ok(())
}
