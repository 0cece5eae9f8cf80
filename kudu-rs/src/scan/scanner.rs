//! The scan of one tablet: opened, read on, kept alive, closed, and opened elsewhere when its server is lost.

use super::decode::Target;
use super::{ReadMode, RowLayout, Spec};
use crate::client::connect;
use crate::clock;
use crate::error::{Error, Result};
use crate::partition::Point;
use crate::pb::kudu::security::SignedTokenPb;
use crate::pb::kudu::tserver::{
    NewScanRequestPb, RowFormatFlags, ScanRequestPb, ScanResponsePb, ScannerKeepAliveRequestPb,
    ScannerKeepAliveResponsePb, TabletServerFeatures,
};
use crate::pb::kudu::{OrderMode, ReadMode as WireReadMode};
use crate::retry::{Deadline, Retry};
use crate::rpc::{Call, Pool, TABLET_SERVER};
use crate::table::{Answer, Reaction, Request, TabletAnswer, reaction};
use crate::tablets::{Server, Tablet};
use arrow::array::RecordBatch;
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::task::AbortHandle;

pub struct Scanner {
    spec: Arc<Spec>,
    point: Point,
    tablet: String,
    /// Rows that may still come of this tablet.
    left: Option<u64>,
    snapshot: Option<u64>,
    last_key: Option<Bytes>,
    delivered: bool,
    state: State,
}

enum State {
    Unopened,
    Open(Open),
    Done,
}

/// A scanner that a server keeps for us; closed there when this is dropped.
struct Open {
    pool: Arc<Pool>,
    server: Arc<Server>,
    tablet: Arc<Tablet>,
    id: Bytes,
    seq: u32,
    timeout: Duration,
    keep_alive: Option<AbortHandle>,
}

impl Scanner {
    pub fn new(spec: Arc<Spec>, tablet: &Tablet, left: Option<u64>, snapshot: Option<u64>) -> Self {
        let point =
            Point { buckets: tablet.partition.buckets.clone(), range_key: tablet.partition.range_start.clone() };
        let tablet = tablet.id.clone();
        Self { spec, point, tablet, left, snapshot, last_key: None, delivered: false, state: State::Unopened }
    }

    pub fn snapshot(&self) -> Option<u64> {
        self.snapshot
    }

    /// The next rows, maybe none yet; None at the end.
    pub async fn next(&mut self) -> Result<Option<RecordBatch>> {
        let deadline = Deadline::within(self.spec.options.timeout);
        let mut retry = Retry::new(format!("scan of tablet {}", self.tablet), deadline);
        loop {
            if self.left == Some(0) {
                self.state = State::Done;
            }
            let answer = match &mut self.state {
                State::Done => return Ok(None),
                State::Open(open) if open.id.is_empty() => return Ok(None),
                State::Unopened => self.open(deadline).await,
                State::Open(open) => open.read(&self.spec, deadline).await,
            };
            match answer {
                Ok(Some((message, sidecars))) => return self.take(message, &sidecars).map(Some),
                Ok(None) => self.state = State::Done,
                Err(e) => self.failed(e, &mut retry).await?,
            }
        }
    }

    /// Decides whether there is a next attempt, and how it begins.
    async fn failed(&mut self, failure: Error, retry: &mut Retry) -> Result<()> {
        // Opening has its own repetitions.
        let State::Open(open) = &self.state else { return Err(failure) };
        match reaction(&failure) {
            Reaction::SameServer => {}
            Reaction::NewAuthnToken => {
                let shared = &self.spec.table.client().shared;
                shared.masters.renew_token(shared.pool.secrets.generation(), retry.deadline).await?;
            }
            _ if self.spec.options.fault_tolerant || !self.delivered => {
                tracing::debug!(tablet = self.tablet, %failure, "the scan is opened again");
                match reaction(&failure) {
                    Reaction::OtherServer => open.tablet.rule_out(&open.server),
                    Reaction::LookAgain => self.spec.table.inner.forget(&open.tablet),
                    // The server has lost the scanner, and nothing else.
                    _ => {}
                }
                self.state = State::Unopened;
            }
            _ => return Err(Error::ScanLost { tablet: self.tablet.clone(), reason: Box::new(failure) }),
        }
        retry.pause(failure).await
    }

    async fn open(&mut self, deadline: Deadline) -> Result<Option<(ScanResponsePb, Vec<Bytes>)>> {
        let no_columns = &self.spec.table.client().shared.no_columns;
        let columnar = self.spec.options.layout == RowLayout::Columnar && !no_columns.load(Ordering::Relaxed);
        let answer = match self.ask(columnar, deadline).await {
            Err(Error::NotSupported(_)) if columnar => {
                no_columns.store(true, Ordering::Relaxed);
                self.ask(false, deadline).await
            }
            answer => answer,
        };
        let Answer { mut message, sidecars, tablet, server } = match answer {
            // The range was dropped since the tablets were listed: its rows are gone.
            Err(Error::NonCoveredRange { .. }) => return Ok(None),
            answer => answer?,
        };
        self.state = State::Done;
        if message.has_more_results() {
            let id = message.scanner_id.take().unwrap_or_default();
            let pool = self.spec.table.client().shared.pool.clone();
            let timeout = self.spec.table.client().shared.rpc_timeout;
            let mut open = Open { pool, server, tablet, id, seq: 1, timeout, keep_alive: None };
            open.keep_alive = Some(open.spawn_keep_alive(self.spec.options.keep_alive));
            self.state = State::Open(open);
        }
        Ok(Some((message, sidecars)))
    }

    async fn ask(&self, columnar: bool, deadline: Deadline) -> Result<Answer<ScanResponsePb>> {
        let mut features = vec![TabletServerFeatures::ColumnPredicates as u32];
        if columnar {
            features.push(TabletServerFeatures::ColumnarLayoutFeature as u32);
        }
        let request = Request {
            method: "Scan",
            point: &self.point,
            selection: self.spec.options.selection,
            guess: false,
            features,
            deadline,
        };
        let table = &self.spec.table;
        let batch = self.spec.options.batch_bytes;
        let message = |tablet: &Tablet| ScanRequestPb {
            new_scan_request: Some(self.new_scan(tablet, columnar, table.authz_token())),
            call_seq_id: Some(0),
            batch_size_bytes: Some(batch),
            ..Default::default()
        };
        table.call(&request, |_| None, message).await
    }

    fn new_scan(&self, tablet: &Tablet, columnar: bool, authz_token: Option<SignedTokenPb>) -> NewScanRequestPb {
        let spec = &self.spec;
        let bytes = |b: &[u8]| (!b.is_empty()).then(|| Bytes::copy_from_slice(b));
        let ordered = spec.options.fault_tolerant;
        let read_mode = match spec.options.read_mode {
            ReadMode::Snapshot(_) => WireReadMode::ReadAtSnapshot,
            _ if ordered => WireReadMode::ReadAtSnapshot,
            ReadMode::Latest => WireReadMode::ReadLatest,
            ReadMode::YourWrites => WireReadMode::ReadYourWrites,
        };
        let asked = match spec.options.read_mode {
            ReadMode::Snapshot(micros) => micros.map(clock::from_micros),
            _ => None,
        };
        let columns = spec.table.schema().columns().iter();
        NewScanRequestPb {
            tablet_id: tablet.id.clone().into_bytes().into(),
            limit: self.left,
            column_predicates: columns.zip(&spec.predicates).filter_map(|(c, p)| p.to_pb(c)).collect(),
            start_primary_key: bytes(&spec.start_key),
            stop_primary_key: bytes(&spec.stop_key),
            projected_columns: spec.projection.iter().map(|c| c.to_pb_projected()).collect(),
            read_mode: Some(read_mode as i32),
            snap_timestamp: asked.or(self.snapshot.filter(|_| read_mode == WireReadMode::ReadAtSnapshot)),
            propagated_timestamp: spec.table.client().shared.clock.latest(),
            cache_blocks: Some(spec.options.cache_blocks),
            order_mode: Some(if ordered { OrderMode::Ordered } else { OrderMode::Unordered } as i32),
            last_primary_key: self.last_key.clone().filter(|_| ordered),
            row_format_flags: columnar.then_some(RowFormatFlags::ColumnarLayout as u64),
            authz_token,
            ..Default::default()
        }
    }

    /// What a good answer means for the rest of the scan, and its rows.
    fn take(&mut self, message: ScanResponsePb, sidecars: &[Bytes]) -> Result<RecordBatch> {
        let clock = &self.spec.table.client().shared.clock;
        match self.spec.options.read_mode {
            ReadMode::YourWrites => clock.observe(message.snap_timestamp),
            _ => clock.observe(message.propagated_timestamp.max(message.snap_timestamp)),
        }
        self.snapshot = self.snapshot.or(message.snap_timestamp);
        if message.last_primary_key.is_some() {
            self.last_key = message.last_primary_key.clone();
        }
        let target = Target { schema: &self.spec.arrow, columns: &self.spec.projection, sidecars };
        let batch = match (&message.columnar_data, &message.data) {
            (Some(block), _) => target.columnar(block)?,
            (None, Some(block)) => target.rowwise(block)?,
            (None, None) => RecordBatch::new_empty(self.spec.arrow.clone()),
        };
        self.delivered |= batch.num_rows() > 0;
        self.left = self.left.map(|left| left.saturating_sub(batch.num_rows() as u64));
        Ok(batch)
    }
}

impl Open {
    fn call(&self, method: &'static str, timeout: Duration) -> Call {
        Call { service: TABLET_SERVER, method, features: vec![], request_id: None, timeout }
    }

    async fn read(&mut self, spec: &Spec, deadline: Deadline) -> Result<Option<(ScanResponsePb, Vec<Bytes>)>> {
        let request = ScanRequestPb {
            scanner_id: Some(self.id.clone()),
            call_seq_id: Some(self.seq),
            batch_size_bytes: Some(spec.options.batch_bytes),
            ..Default::default()
        };
        let connection = connect(&self.pool, &self.server).await?;
        let call = self.call("Scan", deadline.attempt(self.timeout));
        let (mut message, sidecars) = connection.call::<ScanResponsePb>(&call, &request).await?;
        if let Some(e) = message.take_error() {
            return Err(Error::tablet("Scan", &self.tablet.id, &self.server.uuid, e));
        }
        self.seq += 1;
        if !message.has_more_results() {
            self.ended();
        }
        Ok(Some((message, sidecars)))
    }

    /// The server has closed the scanner by itself.
    fn ended(&mut self) {
        self.id = Bytes::new();
        if let Some(k) = self.keep_alive.take() {
            k.abort();
        }
    }

    fn spawn_keep_alive(&self, period: Duration) -> AbortHandle {
        let (pool, server) = (self.pool.clone(), self.server.clone());
        let call = self.call("ScannerKeepAlive", self.timeout);
        let request = ScannerKeepAliveRequestPb { scanner_id: self.id.clone() };
        let task = async move {
            loop {
                tokio::time::sleep(period).await;
                let Ok(connection) = connect(&pool, &server).await else { continue };
                // If the scanner is gone, the next read says so.
                let _ = connection.call::<ScannerKeepAliveResponsePb>(&call, &request).await;
            }
        };
        tokio::spawn(task).abort_handle()
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(k) = self.keep_alive.take() {
            k.abort();
        }
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if self.id.is_empty() {
            return;
        }
        let request = ScanRequestPb {
            scanner_id: Some(std::mem::take(&mut self.id)),
            call_seq_id: Some(self.seq),
            batch_size_bytes: Some(0),
            close_scanner: Some(true),
            ..Default::default()
        };
        let (pool, server, call) = (self.pool.clone(), self.server.clone(), self.call("Scan", self.timeout));
        runtime.spawn(async move {
            if let Ok(connection) = connect(&pool, &server).await {
                let _ = connection.call::<ScanResponsePb>(&call, &request).await;
            }
        });
    }
}
