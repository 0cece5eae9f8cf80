//! The client: one per cluster, cheap to clone, shared by all that use the cluster.

use crate::clock::Clock;
use crate::ddl::{TableAlterer, TableCreator};
use crate::error::{Error, Result};
use crate::master::Masters;
use crate::pb::kudu::master::{self as pb, MasterFeatures, TableIdentifierPb};
use crate::retry::{Deadline, Retry};
use crate::rpc::{Policy, Pool, Settings};
use crate::schema::Schema;
use crate::security::{Credentials, EncryptionPolicy, Kerberos, host_port};
use crate::table::Table;
use crate::tracker::Tracker;
use crate::write::{Session, SessionBuilder};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Port of masters where an address names none.
pub const DEFAULT_MASTER_PORT: u16 = 7051;

/// A connection to a cluster. Clones share everything; connections close with the last one.
#[derive(Clone)]
pub struct Client {
    pub(crate) shared: Arc<Shared>,
}

pub(crate) struct Shared {
    pub pool: Arc<Pool>,
    pub masters: Masters,
    pub operation_timeout: Duration,
    pub rpc_timeout: Duration,
    pub clock: Clock,
    pub tracker: Tracker,
    /// Changes of partitions made through this client: what was known of gaps is void.
    pub partition_changes: AtomicU64,
    /// A server did not know the layout of scans by columns; rows are asked for then.
    pub no_columns: AtomicBool,
    features: Mutex<HashMap<i32, bool>>,
}

/// How to reach a cluster.
#[derive(Debug, Clone)]
pub struct ClientBuilder {
    masters: Vec<String>,
    operation_timeout: Duration,
    rpc_timeout: Duration,
    connect_timeout: Duration,
    max_message: usize,
    credentials: Option<Credentials>,
    encryption: EncryptionPolicy,
    require_authentication: bool,
}

impl Default for ClientBuilder {
    fn default() -> Self {
        Self {
            masters: vec![],
            operation_timeout: Duration::from_secs(30),
            rpc_timeout: Duration::from_secs(10),
            connect_timeout: Duration::from_secs(10),
            max_message: 128 * 1024 * 1024,
            credentials: None,
            encryption: EncryptionPolicy::default(),
            require_authentication: false,
        }
    }
}

impl ClientBuilder {
    /// All masters of the cluster, each `host` or `host:port`; commas may part them too.
    pub fn masters<S: AsRef<str>>(mut self, addresses: impl IntoIterator<Item = S>) -> Self {
        let parts = |a: S| a.as_ref().split(',').map(|p| p.trim().to_string()).collect::<Vec<_>>();
        self.masters.extend(addresses.into_iter().flat_map(parts).filter(|a| !a.is_empty()));
        self
    }
    /// The whole time of an operation, repetitions among it (30 s).
    pub fn operation_timeout(mut self, time: Duration) -> Self {
        self.operation_timeout = time;
        self
    }
    /// The time of one attempt (10 s): a server that does not answer within it is passed by.
    pub fn rpc_timeout(mut self, time: Duration) -> Self {
        self.rpc_timeout = time;
        self
    }
    /// The time to connect and to agree on security (10 s).
    pub fn connect_timeout(mut self, time: Duration) -> Self {
        self.connect_timeout = time;
        self
    }
    /// The longest answer that is taken (128 MiB).
    pub fn max_response_bytes(mut self, bytes: usize) -> Self {
        self.max_message = bytes;
        self
    }
    /// The name by which a cluster without authentication knows this client; else that of the process's user.
    pub fn user(mut self, name: impl Into<String>) -> Self {
        self.credentials = Some(Credentials::User(name.into()));
        self
    }
    /// A Kerberos principal with its keytab.
    pub fn kerberos(mut self, kerberos: Kerberos) -> Self {
        self.credentials = Some(Credentials::Kerberos(kerberos));
        self
    }
    /// Whether connections must be encrypted (as the server has it).
    pub fn encryption(mut self, policy: EncryptionPolicy) -> Self {
        self.encryption = policy;
        self
    }
    /// Do not talk to a cluster that does not check who the client is, nor proves who it is itself.
    pub fn require_authentication(mut self, required: bool) -> Self {
        self.require_authentication = required;
        self
    }

    /// Connects to the leading master.
    pub async fn build(self) -> Result<Client> {
        if self.masters.is_empty() {
            return Err(Error::invalid("no master is named"));
        }
        let addresses = self.masters.iter().map(|a| host_port(a, DEFAULT_MASTER_PORT));
        let addresses: Vec<_> = addresses.collect::<Result<_, _>>().map_err(Error::InvalidArgument)?;
        let credentials = match self.credentials {
            Some(Credentials::Kerberos(k)) => {
                let known = tokio::task::spawn_blocking(|| k.resolve()).await;
                let known = known.map_err(|e| Error::invalid(e.to_string()))?;
                Credentials::Kerberos(known.map_err(Error::InvalidArgument)?)
            }
            Some(user) => user,
            None => Credentials::User(std::env::var("USER").ok().filter(|u| !u.is_empty()).unwrap_or("kudu-rs".into())),
        };
        let pool = Arc::new(Pool::new(Settings {
            credentials,
            encryption: self.encryption,
            require_authentication: self.require_authentication,
            connect_timeout: self.connect_timeout.min(self.operation_timeout),
            max_message: self.max_message,
        }));
        let client = Client {
            shared: Arc::new(Shared {
                masters: Masters::new(pool.clone(), addresses, self.rpc_timeout),
                pool,
                operation_timeout: self.operation_timeout,
                rpc_timeout: self.rpc_timeout,
                clock: Clock::default(),
                tracker: Tracker::new(),
                partition_changes: AtomicU64::new(0),
                no_columns: AtomicBool::new(false),
                features: Mutex::default(),
            }),
        };
        let request = pb::PingRequestPb {};
        client.shared.masters.call::<pb::PingResponsePb>("Ping", &[], &request, client.deadline()).await?;
        Ok(client)
    }
}

/// One line of a list of tables.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct TableInfo {
    pub id: String,
    pub name: String,
    /// About how many rows there are, where the servers count them.
    pub live_rows: Option<u64>,
    pub tablets: Option<i32>,
    pub replicas: Option<i32>,
}

/// What the servers have counted.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct TableStatistics {
    pub on_disk_bytes: Option<i64>,
    pub live_rows: Option<i64>,
}

impl Client {
    pub fn builder() -> ClientBuilder {
        ClientBuilder::default()
    }

    pub(crate) fn deadline(&self) -> Deadline {
        Deadline::within(self.shared.operation_timeout)
    }

    /// Identifies the cluster; empty for old ones.
    pub fn cluster_id(&self) -> String {
        self.shared.masters.cluster().id
    }

    /// A table with its schema and partitions as they are now.
    #[tracing::instrument(skip(self))]
    pub async fn open_table(&self, name: &str) -> Result<Table> {
        Table::open(self, by_name(name)).await
    }

    /// Tables whose names contain `part`; all with an empty one.
    pub async fn list_tables(&self, part: &str) -> Result<Vec<TableInfo>> {
        let name_filter = (!part.is_empty()).then(|| part.to_string());
        let request = pb::ListTablesRequestPb { name_filter, ..Default::default() };
        let answer: pb::ListTablesResponsePb =
            self.shared.masters.call("ListTables", &[], &request, self.deadline()).await?;
        let tables = answer.tables.into_iter().map(|t| TableInfo {
            id: String::from_utf8_lossy(&t.id).into_owned(),
            name: t.name,
            live_rows: t.live_row_count,
            tablets: t.num_tablets,
            replicas: t.num_replicas,
        });
        Ok(tables.collect())
    }

    pub async fn table_exists(&self, name: &str) -> Result<bool> {
        let request = pb::GetTableSchemaRequestPb { table: by_name(name) };
        let answer: Result<pb::GetTableSchemaResponsePb> =
            self.shared.masters.call("GetTableSchema", &[], &request, self.deadline()).await;
        match answer {
            Ok(_) => Ok(true),
            Err(e) if e.is_not_found() => Ok(false),
            Err(e) => Err(e),
        }
    }

    /// A table to be made: `client.create_table("t", &schema)..create().await`.
    pub fn create_table(&self, name: impl Into<String>, schema: &Schema) -> TableCreator {
        TableCreator::new(self, name.into(), schema)
    }

    /// Changes to a table: `client.alter_table("t")..alter().await`.
    pub fn alter_table(&self, name: impl Into<String>) -> TableAlterer {
        TableAlterer::new(self, name.into())
    }

    /// The table is gone from the master at once; its tablets go a little later.
    #[tracing::instrument(skip(self))]
    pub async fn delete_table(&self, name: &str) -> Result<()> {
        let request = pb::DeleteTableRequestPb { table: by_name(name), ..Default::default() };
        let _: pb::DeleteTableResponsePb =
            self.shared.masters.call("DeleteTable", &[], &request, self.deadline()).await?;
        Ok(())
    }

    pub async fn table_statistics(&self, name: &str) -> Result<TableStatistics> {
        let request = pb::GetTableStatisticsRequestPb { table: by_name(name) };
        let answer: pb::GetTableStatisticsResponsePb =
            self.shared.masters.call("GetTableStatistics", &[], &request, self.deadline()).await?;
        Ok(TableStatistics { on_disk_bytes: answer.on_disk_size, live_rows: answer.live_row_count })
    }

    /// Count of the tablet servers that the master knows.
    pub async fn tablet_server_count(&self) -> Result<usize> {
        let request = pb::ListTabletServersRequestPb::default();
        let answer: pb::ListTabletServersResponsePb =
            self.shared.masters.call("ListTabletServers", &[], &request, self.deadline()).await?;
        Ok(answer.servers.len())
    }

    /// A session for writes with its settings; see [`SessionBuilder`].
    pub fn session(&self) -> SessionBuilder {
        SessionBuilder::new(self)
    }

    /// A session that flushes in the background.
    pub fn new_session(&self) -> Session {
        self.session().build()
    }

    /// Whether the masters have a feature; asked once.
    pub(crate) async fn supports(&self, feature: MasterFeatures) -> Result<bool> {
        let known =
            |c: &Self| c.shared.features.lock().unwrap_or_else(|e| e.into_inner()).get(&(feature as i32)).copied();
        if let Some(known) = known(self) {
            return Ok(known);
        }
        let request = pb::PingRequestPb {};
        let answer: Result<pb::PingResponsePb> =
            self.shared.masters.call("Ping", &[feature], &request, self.deadline()).await;
        let supported = match answer {
            Ok(_) => true,
            Err(Error::NotSupported(_)) => false,
            Err(e) => return Err(e),
        };
        self.shared.features.lock().unwrap_or_else(|e| e.into_inner()).insert(feature as i32, supported);
        Ok(supported)
    }

    /// Polls until a change of a table is done.
    pub(crate) async fn wait_until<F, T>(&self, what: &str, mut ask: F) -> Result<()>
    where
        F: FnMut(Deadline) -> T,
        T: Future<Output = Result<bool>>,
    {
        let mut retry = Retry::new(what, self.deadline());
        loop {
            let failure = match ask(retry.deadline).await {
                Ok(true) => return Ok(()),
                Ok(false) => Error::connection("master", "not done yet"),
                Err(e) if crate::master::is_not_yet_running(&e) => e,
                Err(e) => return Err(e),
            };
            retry.pause(failure).await?;
        }
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("Client").field("cluster", &self.cluster_id()).finish_non_exhaustive()
    }
}

pub(crate) fn by_name(name: &str) -> TableIdentifierPb {
    TableIdentifierPb { table_name: Some(name.to_string()), table_id: None }
}

/// A connection to a tablet server by the first of its addresses that answers.
pub(crate) async fn connect(pool: &Pool, server: &crate::tablets::Server) -> Result<Arc<crate::rpc::Connection>> {
    let mut last = Error::connection(&server.uuid, "this tablet server has no address");
    for (host, port) in &server.addresses {
        match pool.get(host, *port, Policy::Any).await {
            Ok(c) => return Ok(c),
            Err(e @ Error::InvalidAuthnToken { .. }) => return Err(e),
            Err(e) => last = e,
        }
    }
    Err(last)
}
