//! A table that was opened: its schema, its partitions, where its tablets are.

use crate::StatusCode;
use crate::client::{Client, connect};
use crate::error::{Error, Result, RpcCode};
use crate::partition::{PartitionSchema, Point};
use crate::pb::kudu::master::{self as pb, PartitionKeyPb, TableIdentifierPb};
use crate::pb::kudu::rpc::RequestIdPb;
use crate::pb::kudu::security::SignedTokenPb;
use crate::pb::kudu::tserver::{self, TabletServerErrorPb, tablet_server_error_pb::Code};
use crate::retry::{Deadline, Retry};
use crate::row::{OpKind, Row};
use crate::rpc::{Call, TABLET_SERVER};
use crate::scan::{LookupBuilder, ReplicaSelection, ScanBuilder};
use crate::schema::Schema;
use crate::tablets::{Found, Locations, Server, Tablet, read_answer};
use crate::write::Operation;
use bytes::Bytes;
use prost::Message;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Tablets asked for at once.
const PAGE: u32 = 1000;
/// For tables whose pages cannot be followed (ranges with buckets of their own).
const ALL: u32 = 100_000;
/// A gap may be closed by another client; so it is believed for a short time only.
const GAP_TTL: Duration = Duration::from_secs(10);

/// A table of a cluster, cheap to clone. Its schema is that of when it was opened.
#[derive(Clone)]
pub struct Table {
    pub(crate) client: Client,
    pub(crate) inner: Arc<Inner>,
}

pub(crate) struct Inner {
    pub id: Bytes,
    pub name: String,
    pub schema: Schema,
    pub partitions: PartitionSchema,
    replicas: i32,
    owner: String,
    comment: String,
    locations: Locations,
    /// Shown to tablet servers that check what the user may do with this table.
    token: Mutex<Option<SignedTokenPb>>,
}

impl Inner {
    pub fn forget(&self, tablet: &Tablet) {
        self.locations.forget(tablet);
    }
}

/// What came back from a tablet.
pub(crate) struct Answer<R> {
    pub message: R,
    pub sidecars: Vec<Bytes>,
    pub tablet: Arc<Tablet>,
    pub server: Arc<Server>,
}

/// A request to the tablet at one point of a table.
pub(crate) struct Request<'a> {
    pub method: &'static str,
    pub point: &'a Point,
    pub selection: ReplicaSelection,
    /// Whether a copy that is not known to lead may be tried: it refuses writes, but not scans.
    pub guess: bool,
    pub features: Vec<u32>,
    pub deadline: Deadline,
}

pub(crate) trait TabletAnswer: Message + Default {
    fn take_error(&mut self) -> Option<TabletServerErrorPb>;
}

macro_rules! answers {
    ($($t:ident),*) => { $(impl TabletAnswer for tserver::$t {
        fn take_error(&mut self) -> Option<TabletServerErrorPb> { self.error.take() }
    })* };
}
answers!(WriteResponsePb, ScanResponsePb, ScannerKeepAliveResponsePb);

impl Table {
    pub(crate) async fn open(client: &Client, table: TableIdentifierPb) -> Result<Self> {
        let request = pb::GetTableSchemaRequestPb { table };
        let answer: pb::GetTableSchemaResponsePb =
            client.shared.masters.call("GetTableSchema", &[], &request, client.deadline()).await?;
        let schema = Schema::from_pb(&answer.schema.unwrap_or_default())?;
        let partitions = PartitionSchema::from_pb(&answer.partition_schema.unwrap_or_default(), &schema)?;
        let inner = Inner {
            id: answer.table_id.unwrap_or_default(),
            name: answer.table_name.or(request.table.table_name).unwrap_or_default(),
            schema,
            partitions,
            replicas: answer.num_replicas.unwrap_or_default(),
            owner: answer.owner.unwrap_or_default(),
            comment: answer.comment.unwrap_or_default(),
            locations: Locations::default(),
            token: Mutex::new(answer.authz_token),
        };
        Ok(Self { client: client.clone(), inner: Arc::new(inner) })
    }

    /// The table by its name as it is now; with another id, if it was dropped and made again.
    pub async fn reopen(&self) -> Result<Self> {
        self.client.open_table(&self.inner.name).await
    }

    pub fn name(&self) -> &str {
        &self.inner.name
    }
    pub fn id(&self) -> String {
        String::from_utf8_lossy(&self.inner.id).into_owned()
    }
    pub fn schema(&self) -> &Schema {
        &self.inner.schema
    }
    pub fn partition_schema(&self) -> &PartitionSchema {
        &self.inner.partitions
    }
    pub fn replica_count(&self) -> i32 {
        self.inner.replicas
    }
    pub fn owner(&self) -> &str {
        &self.inner.owner
    }
    pub fn comment(&self) -> &str {
        &self.inner.comment
    }
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// A row with nothing set.
    pub fn row(&self) -> Row {
        Row::new(&self.inner.schema)
    }
    /// An operation for a session.
    pub fn operation(&self, kind: OpKind, row: Row) -> Operation {
        Operation::new(self, kind, row)
    }
    pub fn insert(&self, row: Row) -> Operation {
        self.operation(OpKind::Insert, row)
    }
    pub fn upsert(&self, row: Row) -> Operation {
        self.operation(OpKind::Upsert, row)
    }
    pub fn update(&self, row: Row) -> Operation {
        self.operation(OpKind::Update, row)
    }
    pub fn delete(&self, row: Row) -> Operation {
        self.operation(OpKind::Delete, row)
    }

    /// A scan of all columns and rows, to be narrowed.
    pub fn scan(&self) -> ScanBuilder {
        ScanBuilder::new(self)
    }
    /// Rows by the values of some columns, many at once.
    pub fn lookup(&self) -> LookupBuilder {
        LookupBuilder::new(self)
    }

    fn changes(&self) -> u64 {
        self.client.shared.partition_changes.load(Ordering::Acquire)
    }

    /// The tablet that holds a point.
    pub(crate) async fn tablet(&self, point: &Point, deadline: Deadline) -> Result<Arc<Tablet>> {
        let locations = &self.inner.locations;
        let known = || match locations.find(point, self.changes()) {
            Some(Found::Tablet(t)) => Some(Ok(t)),
            Some(Found::Gap) => Some(Err(self.not_covered(point))),
            None => None,
        };
        if let Some(known) = known() {
            return known;
        }
        let _one = locations.asking.lock().await;
        if let Some(known) = known() {
            return known;
        }
        let changes = self.changes();
        let (tablets, ttl) = self.ask_master(Some(point), 10, deadline).await?;
        locations.learn(&tablets, ttl, changes);
        match tablets.iter().find(|t| t.partition.covers(point)) {
            Some(t) => Ok(t.clone()),
            None => {
                locations.learn_gap(point, &tablets, ttl.min(GAP_TTL), changes);
                Err(self.not_covered(point))
            }
        }
    }

    fn not_covered(&self, point: &Point) -> Error {
        let key = point.range_key.iter().map(|b| format!("{b:02x}")).collect::<String>();
        Error::NonCoveredRange { table: self.inner.name.clone(), key: format!("with the range key 0x{key}") }
    }

    /// Every tablet, by bucket and range.
    pub(crate) async fn tablets(&self, deadline: Deadline) -> Result<Vec<Arc<Tablet>>> {
        let locations = &self.inner.locations;
        if let Some(all) = locations.all(self.changes()) {
            return Ok(all);
        }
        let _one = locations.asking.lock().await;
        let changes = self.changes();
        if let Some(all) = locations.all(changes) {
            return Ok(all);
        }
        let page = if self.inner.partitions.has_custom_hash() { ALL } else { PAGE };
        let mut all: Vec<Arc<Tablet>> = Vec::new();
        let mut from: Option<Point> = None;
        let shortest = loop {
            let (tablets, ttl) = self.ask_master(from.as_ref(), page, deadline).await?;
            let known = all.len();
            for t in &tablets {
                if all.last().is_none_or(|l| order(l) < order(t)) {
                    all.push(t.clone());
                }
            }
            if tablets.len() < page as usize || all.len() == known {
                break ttl;
            }
            from = all.last().map(|t| Point {
                buckets: t.partition.buckets.clone(),
                // Behind the last one, whether or not its range has an end.
                range_key: match t.partition.range_end.is_empty() {
                    true => vec![0xff; 64],
                    false => t.partition.range_end.clone(),
                },
            });
        };
        locations.learn_all(&all, shortest, changes);
        Ok(all)
    }

    async fn ask_master(
        &self,
        from: Option<&Point>,
        most: u32,
        deadline: Deadline,
    ) -> Result<(Vec<Arc<Tablet>>, Duration)> {
        let mut request = pb::GetTableLocationsRequestPb {
            table: self.identifier(),
            max_returned_locations: Some(most),
            intern_ts_infos_in_response: Some(true),
            ..Default::default()
        };
        match from {
            Some(p) if self.inner.partitions.has_custom_hash() => {
                let key =
                    PartitionKeyPb { hash_key: Some(p.hash_key().into()), range_key: Some(p.range_key.clone().into()) };
                request.key_start = Some(key);
            }
            Some(p) => request.partition_key_start = Some(p.partition_key().into()),
            None => {}
        }
        let mut retry = Retry::new(format!("looking for tablets of `{}`", self.inner.name), deadline);
        loop {
            let answer: Result<pb::GetTableLocationsResponsePb> =
                self.client.shared.masters.call("GetTableLocations", &[], &request, deadline).await;
            match answer {
                Ok(a) => return Ok((read_answer(&a)?, Duration::from_millis(a.ttl_millis().into()))),
                Err(e) if crate::master::is_not_yet_running(&e) => retry.pause(e).await?,
                Err(e) => return Err(e),
            }
        }
    }

    fn identifier(&self) -> TableIdentifierPb {
        TableIdentifierPb { table_id: Some(self.inner.id.clone()), table_name: None }
    }

    pub(crate) fn authz_token(&self) -> Option<SignedTokenPb> {
        self.inner.token.lock().unwrap_or_else(|e| e.into_inner()).clone()
    }

    async fn renew_authz_token(&self, deadline: Deadline) -> Result<()> {
        let request = pb::GetTableSchemaRequestPb { table: self.identifier() };
        let answer: pb::GetTableSchemaResponsePb =
            self.client.shared.masters.call("GetTableSchema", &[], &request, deadline).await?;
        *self.inner.token.lock().unwrap_or_else(|e| e.into_inner()) = answer.authz_token;
        Ok(())
    }

    /// Asks the tablet at a point, again and elsewhere until there is an answer or a refusal for good.
    pub(crate) async fn call<R: TabletAnswer, M: Message>(
        &self,
        request: &Request<'_>,
        request_id: impl Fn(u32) -> Option<RequestIdPb>,
        message: impl Fn(&Tablet) -> M,
    ) -> Result<Answer<R>> {
        let shared = &self.client.shared;
        let what = format!("{} of the table `{}`", request.method, self.inner.name);
        let mut retry = Retry::new(what, request.deadline);
        loop {
            let tablet = self.tablet(request.point, request.deadline).await?;
            let location = shared.masters.cluster().location;
            let Some(server) = tablet.pick(request.selection, request.guess, &location) else {
                self.inner.locations.forget(&tablet);
                let none = Error::connection(&format!("tablet {}", tablet.id), "none of its servers answers as leader");
                retry.pause(none).await?;
                continue;
            };
            let call = Call {
                service: TABLET_SERVER,
                method: request.method,
                features: request.features.clone(),
                request_id: request_id(retry.failed()),
                timeout: request.deadline.attempt(shared.rpc_timeout),
            };
            let generation = shared.pool.secrets.generation();
            let failure = match self.attempt(&call, &server, &tablet, &message(&tablet)).await {
                Ok((message, sidecars)) => return Ok(Answer { message, sidecars, tablet, server }),
                Err(e) => e,
            };
            match reaction(&failure) {
                Reaction::SameServer => {}
                Reaction::OtherServer => tablet.rule_out(&server),
                Reaction::LookAgain => self.inner.locations.forget(&tablet),
                Reaction::NewAuthnToken => shared.masters.renew_token(generation, request.deadline).await?,
                Reaction::NewAuthzToken => self.renew_authz_token(request.deadline).await?,
                Reaction::GiveUp => return Err(failure),
            }
            retry.pause(failure).await?;
        }
    }

    async fn attempt<R: TabletAnswer>(
        &self,
        call: &Call,
        server: &Server,
        tablet: &Tablet,
        message: &impl Message,
    ) -> Result<(R, Vec<Bytes>)> {
        let connection = connect(&self.client.shared.pool, server).await?;
        let (mut answer, sidecars) = connection.call::<R>(call, message).await?;
        match answer.take_error() {
            Some(e) => {
                let at = server.addresses.first().map(|(h, p)| format!("{h}:{p}")).unwrap_or_default();
                Err(Error::tablet(call.method, &tablet.id, &at, e))
            }
            None => Ok((answer, sidecars)),
        }
    }
}

fn order(t: &Tablet) -> (&[u32], &[u8]) {
    (&t.partition.buckets, &t.partition.range_start)
}

#[derive(Debug, PartialEq)]
pub(crate) enum Reaction {
    SameServer,
    OtherServer,
    LookAgain,
    NewAuthnToken,
    NewAuthzToken,
    GiveUp,
}

pub(crate) fn reaction(failure: &Error) -> Reaction {
    match failure {
        Error::Connection { .. } | Error::Timeout { .. } => Reaction::OtherServer,
        Error::InvalidAuthnToken { .. } => Reaction::NewAuthnToken,
        Error::Rpc { code, .. } => match code {
            RpcCode::ErrorServerTooBusy | RpcCode::ErrorUnavailable => Reaction::SameServer,
            RpcCode::ErrorInvalidAuthorizationToken => Reaction::NewAuthzToken,
            RpcCode::FatalServerShuttingDown => Reaction::OtherServer,
            _ => Reaction::GiveUp,
        },
        Error::Tablet { code: Code::TabletNotFound | Code::TabletNotRunning, .. } => Reaction::LookAgain,
        Error::Tablet { code: Code::NotTheLeader, .. } => Reaction::OtherServer,
        Error::Tablet { code: Code::Throttled, .. } => Reaction::SameServer,
        Error::Tablet { status, .. } => match status {
            StatusCode::ServiceUnavailable => Reaction::SameServer,
            StatusCode::IllegalState | StatusCode::Aborted => Reaction::OtherServer,
            _ => Reaction::GiveUp,
        },
        _ => Reaction::GiveUp,
    }
}

impl std::fmt::Debug for Table {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Table").field("name", &self.inner.name).field("id", &self.id()).finish_non_exhaustive()
    }
}
