//! A table of a Kudu cluster: who to ask for it, and what is there.

use super::types::{Direction, fits};
use crate::connectors::api::TableContext;
use crate::data::TableSchema;
use crate::error::{Error, Result};
use crate::sql::options::Dialect;
use kudu_rs::{Client, ColumnSchema, Kerberos, Table};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::OnceCell;

/// Where a table is and how to log in there. Connects when it is first asked.
pub struct Cluster {
    /// The job's table.
    pub table: Arc<str>,
    /// The table in Kudu.
    pub name: String,
    /// flinkStreamSQL lower-cases the names of columns.
    lower_case: bool,
    masters: Vec<String>,
    timeout: Option<Duration>,
    kerberos: Option<Kerberos>,
    client: OnceCell<Client>,
}

impl Cluster {
    pub fn new(cx: &TableContext) -> Result<Self> {
        let masters: Vec<String> =
            cx.options.list("masters").unwrap_or_default().iter().filter(|m| !m.is_empty()).cloned().collect();
        if masters.is_empty() {
            return Err(Error::user(format!("table {}: no Kudu master is named", cx.table)));
        }
        Ok(Self {
            table: cx.table.clone(),
            name: cx.options.text("table").unwrap_or(&cx.table).to_string(),
            lower_case: cx.dialect == Dialect::DtStack,
            masters,
            timeout: cx.options.duration("operation-timeout").filter(|t| !t.is_zero()),
            kerberos: kerberos(cx),
            client: OnceCell::new(),
        })
    }

    pub async fn client(&self) -> Result<&Client> {
        self.client.get_or_try_init(|| self.connect()).await
    }

    async fn connect(&self) -> Result<Client> {
        let mut builder = Client::builder().masters(&self.masters);
        if let Some(timeout) = self.timeout {
            builder = builder.operation_timeout(timeout);
        }
        if let Some(kerberos) = &self.kerberos {
            builder = builder.kerberos(kerberos.clone());
        }
        builder.build().await.map_err(|e| self.error("connect to", &e))
    }

    /// The table as it is now; None if there is none.
    pub async fn find(&self) -> Result<Option<Table>> {
        match self.client().await?.open_table(&self.name).await {
            Ok(table) => Ok(Some(table)),
            Err(e) if e.is_not_found() => Ok(None),
            Err(e) => Err(self.error("open", &e)),
        }
    }

    pub async fn open(&self) -> Result<Table> {
        self.find().await?.ok_or_else(|| self.missing())
    }

    pub fn missing(&self) -> Error {
        Error::external(format!("table {}: Kudu has no table {}", self.table, self.name))
            .with_hint(format!("it was looked for at {}; names are case-sensitive", self.masters.join(", ")))
    }

    /// What a failure of the cluster means for the job.
    pub fn error(&self, what: &str, e: &kudu_rs::Error) -> Error {
        let error = Error::external(format!("table {}: cannot {what} Kudu table {}: {e}", self.table, self.name));
        match e {
            e if e.is_authorization() => error.with_hint(match &self.kerberos {
                Some(k) => format!("the job logs in as {}", k.principal),
                None => "a secured cluster needs principal, keytab and krb5conf".to_string(),
            }),
            e if e.is_retryable() => error.retryable(),
            _ => error,
        }
    }

    /// The columns of the job's table among those of Kudu's table, by their places there.
    pub fn resolve(&self, table: &Table, schema: &TableSchema, direction: Direction) -> Result<Vec<usize>> {
        let theirs = table.schema().columns();
        let mut places = Vec::with_capacity(schema.columns.len());
        for c in &schema.columns {
            let Some(at) = self.place(theirs, &c.name) else {
                let names: Vec<&str> = theirs.iter().map(|c| c.name.as_str()).collect();
                let message = format!("table {}: Kudu table {} has no column {}", self.table, self.name, c.name);
                return Err(Error::user(message).with_hint(format!("its columns are: {}", names.join(", "))));
            };
            let column = &theirs[at];
            if !fits(&c.logical_type, column.data_type, direction) {
                let (from, to) = match direction {
                    Direction::Write => (c.logical_type.to_string(), column.data_type.to_string()),
                    Direction::Read => (column.data_type.to_string(), c.logical_type.to_string()),
                };
                let message = format!(
                    "table {}: column {}: {from} does not go into {to} (it is {} in Kudu, {} in the job)",
                    self.table, c.name, column.data_type, c.logical_type
                );
                return Err(Error::user(message).with_hint("docs/connectors/kudu.md lists which types go together"));
            }
            places.push(at);
        }
        Ok(places)
    }

    /// By its name as it is written, else in lower case for flinkStreamSQL, else whatever the case.
    fn place(&self, theirs: &[ColumnSchema], name: &str) -> Option<usize> {
        let exact = |name: &str| theirs.iter().position(|c| c.name == name);
        let lower = || if self.lower_case { exact(&name.to_lowercase()) } else { None };
        exact(name).or_else(lower).or_else(|| theirs.iter().position(|c| c.name.eq_ignore_ascii_case(name)))
    }
}

/// All three options are there, or none (the option table sees to it).
fn kerberos(cx: &TableContext) -> Option<Kerberos> {
    let option = |name: &str| cx.options.text(name).map(str::trim).filter(|t| !t.is_empty());
    let path = |name: &str| option(name).map(|p| cx.base_dir.join(p));
    let (principal, keytab, conf) = (option("principal")?, path("keytab")?, path("krb5conf")?);
    let conf: PathBuf = conf;
    Some(Kerberos::new(principal, keytab.display().to_string()).krb5_conf(conf))
}
