//! Connections to one server: hosts in order, session settings, time limits, and one face for both products.

use super::error::{Blame, DbError};
use super::types::Value;
use super::url::{Host, JdbcUrl, Product, TlsMode};
use super::{mysql, postgres};
use crate::connectors::api::TableContext;
use crate::error::{Error, Result};
use futures::stream::{BoxStream, StreamExt};
use sqlx::mysql::{MySqlArguments, MySqlConnectOptions, MySqlConnection, MySqlRow, MySqlSslMode};
use sqlx::postgres::{PgArguments, PgConnectOptions, PgConnection, PgRow, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection as _, Executor};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long to wait for a connection if the URL does not say.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);
/// A connection that was idle for this long may have been closed by the server: it is asked first.
const IDLE_MAX: Duration = Duration::from_secs(1);

/// Where a table lies and how to get there.
#[derive(Debug)]
pub struct Server {
    /// The SQL name of the job's table.
    pub table: Arc<str>,
    pub url: JdbcUrl,
    /// The table's name as the job writes it, and the schema or database it is in if that is said.
    pub name: String,
    pub schema: Option<String>,
    tls_ca: Option<PathBuf>,
    connect_timeout: Duration,
}

impl Server {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let option = |name: &str| cx.options.text(name).filter(|t| !t.is_empty());
        let missing = |name: &str| Error::user(format!("table {}: the option {name} is missing", cx.table));
        let mut url = JdbcUrl::parse(option("url").ok_or_else(|| missing("url"))?)
            .map_err(|e| Error::user(format!("table {}: {e}", cx.table)))?;
        if let Some(user) = option("username") {
            url.user = Some(user.to_string());
        }
        if let Some(password) = cx.options.text("password") {
            url.password = Some(super::url::Secret(password.to_string()));
        }
        let (schema, name) = table_name(option("schema"), option("table").ok_or_else(|| missing("table"))?);
        let limit = cx.options.duration("connection.max-retry-timeout").filter(|d| !d.is_zero());
        Ok(Self {
            table: cx.table.clone(),
            tls_ca: url.params.tls_ca.as_deref().map(|p| cx.base_dir.join(p)),
            connect_timeout: url.params.connect_timeout.or(limit).unwrap_or(CONNECT_TIMEOUT),
            name,
            schema: schema.or_else(|| url.params.current_schema.clone()),
            url,
        })
    }

    pub fn product(&self) -> Product {
        self.url.product
    }

    /// An error of the job: `doing` is a verb (`read`, `write`).
    pub fn error(&self, doing: &str, e: &DbError) -> Error {
        let message =
            format!("table {}: cannot {doing} table {} of {}: {}", self.table, self.name, self.url.place(), e.message);
        let error = Error::external(message);
        let error = if e.blame == Blame::Weather { error.retryable() } else { error };
        match e.hint {
            Some(hint) => error.with_hint(hint),
            None => error,
        }
    }

    /// The first host that answers.
    pub async fn connect(self: &Arc<Self>) -> Result<Connection, DbError> {
        let mut errors: Vec<(String, DbError)> = Vec::new();
        for host in &self.url.hosts {
            let attempt = tokio::time::timeout(self.connect_timeout, self.connect_to(host)).await;
            match attempt.unwrap_or_else(|_| Err(DbError::timed_out(self.connect_timeout, "connectTimeout"))) {
                Ok(inner) => return Ok(Connection { inner, server: self.clone(), used: Instant::now() }),
                Err(e) => errors.push((host.to_string(), e)),
            }
        }
        let message: Vec<String> = errors.iter().map(|(host, e)| format!("{host}: {}", e.message)).collect();
        // That one host refuses the password does not mean that the others are not worth another attempt.
        let blame = match errors.iter().any(|(_, e)| e.blame == Blame::Weather) {
            true => Blame::Weather,
            false => Blame::Job,
        };
        let hint = errors.iter().find_map(|(_, e)| e.hint);
        Err(DbError { blame, message: format!("no connection to {}", message.join("; ")), column: None, hint })
    }

    async fn connect_to(&self, host: &Host) -> Result<Inner, DbError> {
        Ok(match self.product() {
            Product::MySql => {
                let mut connection = self.mysql_options(host).connect().await?;
                connection.execute(mysql::SESSION).await?;
                Inner::MySql(Box::new(connection))
            }
            Product::Postgres => Inner::Postgres(Box::new(self.postgres_options(host).connect().await?)),
        })
    }

    fn mysql_options(&self, host: &Host) -> MySqlConnectOptions {
        let mut options = MySqlConnectOptions::new()
            .host(&host.name)
            .port(host.port)
            .pipes_as_concat(false)
            .ssl_mode(match self.url.params.tls {
                TlsMode::Disabled => MySqlSslMode::Disabled,
                TlsMode::Preferred => MySqlSslMode::Preferred,
                TlsMode::Required => MySqlSslMode::Required,
                TlsMode::VerifyCa => MySqlSslMode::VerifyCa,
                TlsMode::VerifyIdentity => MySqlSslMode::VerifyIdentity,
            })
            .disable_statement_logging();
        if let Some(user) = &self.url.user {
            options = options.username(user);
        }
        if let Some(password) = &self.url.password {
            options = options.password(&password.0);
        }
        if let Some(database) = &self.url.database {
            options = options.database(database);
        }
        match &self.tls_ca {
            Some(ca) => options.ssl_ca(ca),
            None => options,
        }
    }

    fn postgres_options(&self, host: &Host) -> PgConnectOptions {
        let mut options = PgConnectOptions::new_without_pgpass()
            .host(&host.name)
            .port(host.port)
            .ssl_mode(match self.url.params.tls {
                TlsMode::Disabled => PgSslMode::Disable,
                TlsMode::Preferred => PgSslMode::Prefer,
                TlsMode::Required => PgSslMode::Require,
                TlsMode::VerifyCa => PgSslMode::VerifyCa,
                TlsMode::VerifyIdentity => PgSslMode::VerifyFull,
            })
            .application_name(self.url.params.application_name.as_deref().unwrap_or("wasmill"))
            .disable_statement_logging();
        if let Some(user) = &self.url.user {
            options = options.username(user);
        }
        if let Some(password) = &self.url.password {
            options = options.password(&password.0);
        }
        if let Some(database) = self.url.database.as_ref().or(self.url.user.as_ref()) {
            options = options.database(database);
        }
        match &self.tls_ca {
            Some(ca) => options.ssl_root_cert(ca),
            None => options,
        }
    }
}

/// `database.table` and PostgreSQL's `schema.table`; an option for the schema leaves the name as it is.
fn table_name(schema: Option<&str>, name: &str) -> (Option<String>, String) {
    match (schema, name.split_once('.')) {
        (Some(schema), _) => (Some(schema.to_string()), name.to_string()),
        (None, Some((schema, table))) if !schema.is_empty() && !table.is_empty() => {
            (Some(schema.to_string()), table.to_string())
        }
        (None, _) => (None, name.to_string()),
    }
}

enum Inner {
    MySql(Box<MySqlConnection>),
    Postgres(Box<PgConnection>),
}

/// Parameters of a statement.
pub enum Arguments {
    MySql(MySqlArguments),
    Postgres(PgArguments),
}

impl Arguments {
    pub fn none(product: Product) -> Self {
        match product {
            Product::MySql => Self::MySql(MySqlArguments::default()),
            Product::Postgres => Self::Postgres(PgArguments::default()),
        }
    }

    /// Adds parameters behind those that are there.
    pub fn add(&mut self, values: &[Value<'_>]) -> Result<(), DbError> {
        match self {
            Self::MySql(arguments) => mysql::add(arguments, values),
            Self::Postgres(arguments) => postgres::add(arguments, values),
        }
    }

    /// Texts, one parameter each.
    pub fn texts(product: Product, texts: &[&str]) -> Result<Self, DbError> {
        let values: Vec<Value<'_>> = texts.iter().map(|t| Value::Text((*t).into())).collect();
        match product {
            Product::MySql => mysql::arguments(&values).map(Self::MySql),
            Product::Postgres => postgres::scalars(&values).map(Self::Postgres),
        }
    }
}

pub enum Row {
    MySql(MySqlRow),
    Postgres(PgRow),
}

impl Row {
    /// A value as it came; None: NULL.
    pub fn bytes(&self, index: usize) -> Result<Option<&[u8]>, String> {
        match self {
            Row::MySql(row) => mysql::bytes(row, index),
            Row::Postgres(row) => postgres::bytes(row, index),
        }
    }

    /// A text; empty for NULL.
    pub fn text(&self, index: usize) -> Result<String, DbError> {
        let bytes = self.bytes(index).map_err(DbError::job)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(bytes).into_owned())
    }
}

/// One connection. After an error that blames the weather it is not to be used again.
pub struct Connection {
    inner: Inner,
    server: Arc<Server>,
    used: Instant,
}

impl Connection {
    /// Whether it still works; cheap where it was used just now.
    pub async fn is_alive(&mut self) -> bool {
        if self.used.elapsed() < IDLE_MAX {
            return true;
        }
        let limit = self.server.connect_timeout;
        let ping = async {
            match &mut self.inner {
                Inner::MySql(c) => c.ping().await,
                Inner::Postgres(c) => c.ping().await,
            }
        };
        let alive = matches!(tokio::time::timeout(limit, ping).await, Ok(Ok(())));
        self.used = Instant::now();
        alive
    }

    /// A statement without parameters: BEGIN, COMMIT, ROLLBACK.
    pub async fn command(&mut self, sql: &'static str) -> Result<(), DbError> {
        let limit = self.server.url.params.socket_timeout;
        let run = async {
            match &mut self.inner {
                Inner::MySql(c) => c.execute(sql).await.map(|_| ()),
                Inner::Postgres(c) => c.execute(sql).await.map(|_| ()),
            }
        };
        let outcome = limited(limit, run).await;
        self.used = Instant::now();
        outcome
    }

    /// `keep`: the same text will come again.
    pub async fn execute(&mut self, sql: &str, arguments: Arguments, keep: bool) -> Result<(), DbError> {
        let limit = self.server.url.params.socket_timeout;
        let sql = AssertSqlSafe(sql);
        let run = async {
            match (&mut self.inner, arguments) {
                (Inner::MySql(c), Arguments::MySql(a)) => {
                    sqlx::query_with(sql, a).persistent(keep).execute(&mut **c).await.map(|_| ())
                }
                (Inner::Postgres(c), Arguments::Postgres(a)) => {
                    sqlx::query_with(sql, a).persistent(keep).execute(&mut **c).await.map(|_| ())
                }
                _ => Err(sqlx::Error::Protocol("parameters of the other product".into())),
            }
        };
        let outcome = limited(limit, run).await;
        self.used = Instant::now();
        outcome
    }

    /// The rows as they come from the server; it waits when nobody takes them.
    pub fn fetch(&mut self, sql: &str, arguments: Arguments) -> BoxStream<'_, Result<Row, DbError>> {
        let sql = AssertSqlSafe(sql);
        self.used = Instant::now();
        match (&mut self.inner, arguments) {
            (Inner::MySql(c), Arguments::MySql(a)) => {
                let rows = sqlx::query_with(sql, a).fetch(&mut **c);
                rows.map(|r| r.map(Row::MySql).map_err(DbError::from)).boxed()
            }
            (Inner::Postgres(c), Arguments::Postgres(a)) => {
                let rows = sqlx::query_with(sql, a).fetch(&mut **c);
                rows.map(|r| r.map(Row::Postgres).map_err(DbError::from)).boxed()
            }
            _ => futures::stream::once(async { Err(DbError::job("parameters of the other product")) }).boxed(),
        }
    }

    pub async fn fetch_all(&mut self, sql: &str, arguments: Arguments) -> Result<Vec<Row>, DbError> {
        let limit = self.server.url.params.socket_timeout;
        let rows = async {
            let mut found = Vec::new();
            let mut rows = self.fetch(sql, arguments);
            while let Some(row) = rows.next().await {
                found.push(row?);
            }
            Ok(found)
        };
        match limit {
            None => rows.await,
            Some(limit) => tokio::time::timeout(limit, rows).await.map_err(|_| DbError::timed_out(limit, SOCKET))?,
        }
    }

    pub async fn close(self) {
        // The server forgets a connection that is just dropped, too; this way it does so at once.
        let close = async {
            match self.inner {
                Inner::MySql(c) => c.close().await,
                Inner::Postgres(c) => c.close().await,
            }
        };
        let _ = tokio::time::timeout(Duration::from_secs(1), close).await;
    }
}

const SOCKET: &str = "socketTimeout of the URL";

async fn limited<T>(limit: Option<Duration>, run: impl Future<Output = sqlx::Result<T>>) -> Result<T, DbError> {
    match limit {
        None => Ok(run.await?),
        Some(limit) => Ok(tokio::time::timeout(limit, run).await.map_err(|_| DbError::timed_out(limit, SOCKET))??),
    }
}
