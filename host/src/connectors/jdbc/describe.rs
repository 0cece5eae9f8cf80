//! What the server says of a table, and whether the job's declaration fits it.

use super::connection::{Arguments, Connection, Row, Server};
use super::error::DbError;
use super::types::{Direction, ServerColumn, fits};
use super::url::Product;
use super::{mysql, postgres};
use crate::data::{Column, PathStep, TableSchema};
use crate::error::{Error, Result};
use std::sync::Arc;

/// A table as the server describes it.
#[derive(Debug, Clone, Default)]
pub struct ServerTable {
    /// Quoted, with its schema where that is known.
    pub sql_name: String,
    pub columns: Vec<ServerColumn>,
    pub primary_key: Vec<String>,
    /// The primary key, too.
    pub unique_keys: Vec<Vec<String>>,
    /// False: what a statement wrote before it failed stays written.
    pub transactional: bool,
    /// The server takes no longer statements than this.
    pub statement_bytes_max: usize,
}

const STATEMENT_BYTES_MAX: usize = 8 << 20;

/// Asks for the table. An error of the job if it is not there.
pub async fn describe(server: &Arc<Server>, connection: &mut Connection) -> Result<ServerTable> {
    let described = match server.product() {
        Product::MySql => describe_mysql(server, connection).await,
        Product::Postgres => describe_postgres(server, connection).await,
    };
    let table = described.map_err(|e| server.error("look at", &e))?;
    if table.columns.is_empty() {
        let message = format!("table {}: there is no table {} in {}", server.table, server.name, server.url.place());
        return Err(Error::external(message).with_hint("create it, or see that the user may see it"));
    }
    Ok(table)
}

async fn describe_mysql(server: &Server, c: &mut Connection) -> Result<ServerTable, DbError> {
    let schema = server.schema.as_deref().unwrap_or_default();
    let arguments = || Arguments::texts(Product::MySql, &[schema, &server.name]);
    let here = "table_schema = COALESCE(NULLIF(?, ''), DATABASE()) AND table_name = ?";
    let text = |column: &str| format!("CAST({column} AS CHAR)");
    let columns = format!(
        "SELECT {}, {}, {}, {}, {}, {} FROM information_schema.columns WHERE {here} ORDER BY ordinal_position",
        text("column_name"),
        text("data_type"),
        text("column_type"),
        text("is_nullable"),
        text("extra"),
        text("column_default"),
    );
    let rows = c.fetch_all(&columns, arguments()?).await?;
    let columns = rows.iter().map(mysql_column).collect::<Result<Vec<_>, _>>()?;
    let engine = format!("SELECT {} FROM information_schema.tables WHERE {here}", text("engine"));
    let engine = match c.fetch_all(&engine, arguments()?).await?.first() {
        Some(row) => row.text(0)?.to_ascii_lowercase(),
        None => String::new(),
    };
    let keys = format!(
        "SELECT {}, {} FROM information_schema.statistics WHERE {here} AND non_unique = 0 ORDER BY index_name, seq_in_index",
        text("index_name"),
        text("column_name"),
    );
    let keys = grouped(&c.fetch_all(&keys, arguments()?).await?)?;
    let primary = keys.iter().find(|(name, _)| name == "PRIMARY").map(|(_, columns)| columns.clone());
    let packet = "SELECT CAST(@@max_allowed_packet AS CHAR)";
    let packet = c.fetch_all(packet, Arguments::none(Product::MySql)).await?;
    let packet: usize = packet.first().and_then(|r| r.text(0).ok()?.parse().ok()).unwrap_or(STATEMENT_BYTES_MAX);
    let name = mysql::quoted(&server.name);
    Ok(ServerTable {
        sql_name: server.schema.as_deref().map_or(name.clone(), |s| format!("{}.{name}", mysql::quoted(s))),
        columns,
        primary_key: primary.unwrap_or_default(),
        unique_keys: keys.into_iter().map(|(_, columns)| columns).collect(),
        // A view has no engine of its own.
        transactional: !["myisam", "aria", "memory", "csv", "archive", "mrg_myisam"].contains(&engine.as_str()),
        statement_bytes_max: STATEMENT_BYTES_MAX.min(packet / 10 * 9),
    })
}

fn mysql_column(row: &Row) -> Result<ServerColumn, DbError> {
    let type_name = row.text(2)?.to_ascii_lowercase();
    let extra = row.text(4)?.to_ascii_lowercase();
    let default = row.bytes(5).map_err(DbError::job)?.filter(|d| *d != b"NULL");
    let nullable = row.text(3)? == "YES";
    Ok(ServerColumn {
        name: row.text(0)?,
        kind: mysql::kind(&row.text(1)?.to_ascii_lowercase(), &type_name),
        cast: String::new(),
        has_default: nullable || default.is_some() || extra.contains("auto_increment"),
        // MySQL says `DEFAULT_GENERATED` of a default that is an expression.
        generated: extra.contains("virtual") || extra.contains("stored") || extra.contains("persistent"),
        nullable,
        type_name,
    })
}

async fn describe_postgres(server: &Server, c: &mut Connection) -> Result<ServerTable, DbError> {
    let name = postgres::quoted(&server.name);
    let sql_name = server.schema.as_deref().map_or(name.clone(), |s| format!("{}.{name}", postgres::quoted(s)));
    let arguments = || Arguments::texts(Product::Postgres, &[&sql_name]);
    let columns = "SELECT a.attname::text, format_type(COALESCE(NULLIF(t.typbasetype, 0), a.atttypid), NULL), \
                   format_type(a.atttypid, a.atttypmod), t.typcategory::text, a.attnotnull::text, \
                   (a.atthasdef OR a.attidentity <> '')::text, (a.attgenerated <> '' OR a.attidentity = 'a')::text \
                   FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid \
                   WHERE a.attrelid = to_regclass($1) AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum";
    let rows = c.fetch_all(columns, arguments()?).await?;
    let columns = rows.iter().map(postgres_column).collect::<Result<Vec<_>, _>>()?;
    let keys = "SELECT i.indexrelid::text, a.attname::text, i.indisprimary::text FROM pg_index i \
                CROSS JOIN LATERAL unnest(i.indkey::int2[]) WITH ORDINALITY AS k(attnum, n) \
                JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum \
                WHERE i.indrelid = to_regclass($1) AND i.indisunique AND i.indpred IS NULL AND i.indexprs IS NULL \
                AND i.indimmediate AND k.n <= i.indnkeyatts ORDER BY i.indexrelid, k.n";
    let rows = c.fetch_all(keys, arguments()?).await?;
    let mut primary_key = vec![];
    for row in &rows {
        if row.text(2)? == "true" {
            primary_key.push(row.text(1)?);
        }
    }
    let unique_keys = grouped(&rows)?.into_iter().map(|(_, columns)| columns).collect();
    Ok(ServerTable {
        sql_name,
        columns,
        primary_key,
        unique_keys,
        transactional: true,
        statement_bytes_max: STATEMENT_BYTES_MAX,
    })
}

fn postgres_column(row: &Row) -> Result<ServerColumn, DbError> {
    let (base, type_name) = (row.text(1)?, row.text(2)?);
    let (kind, cast) = postgres::kind(&base, &type_name, &row.text(3)?);
    let nullable = row.text(4)? == "false";
    Ok(ServerColumn {
        name: row.text(0)?,
        kind,
        cast,
        nullable,
        has_default: nullable || row.text(5)? == "true",
        generated: row.text(6)? == "true",
        type_name,
    })
}

/// Rows of (index, column) as the columns of each index.
fn grouped(rows: &[Row]) -> Result<Vec<(String, Vec<String>)>, DbError> {
    let mut keys: Vec<(String, Vec<String>)> = vec![];
    for row in rows {
        let (index, column) = (row.text(0)?, row.text(1)?);
        match keys.last_mut() {
            Some((last, columns)) if *last == index => columns.push(column),
            _ => keys.push((index, vec![column])),
        }
    }
    Ok(keys)
}

/// A column's name in the database.
fn physical(column: &Column) -> &str {
    match column.path.as_slice() {
        [PathStep::Member(name)] => name,
        _ => &column.name,
    }
}

impl ServerTable {
    fn find(&self, name: &str) -> Option<&ServerColumn> {
        let exact = self.columns.iter().find(|c| c.name == name);
        exact.or_else(|| self.columns.iter().find(|c| c.name.eq_ignore_ascii_case(name)))
    }

    /// The server's columns of the job's, in the job's order. The error shows both schemas.
    pub fn resolve(&self, server: &Server, schema: &TableSchema, direction: Direction) -> Result<Vec<ServerColumn>> {
        let (mut found, mut wrong) = (vec![], vec![]);
        for column in &schema.columns {
            match self.find(physical(column)) {
                None => wrong.push(format!("it has no column {}", physical(column))),
                Some(c) if !fits(&column.logical_type, c.kind, direction) => wrong.push(format!(
                    "column {} is {} in the job and {} in the database",
                    column.name, column.logical_type, c.type_name
                )),
                Some(c) if direction == Direction::Write && c.generated => {
                    wrong.push(format!("the database computes the column {} by itself", c.name));
                }
                Some(c) => found.push(c.clone()),
            }
        }
        if direction == Direction::Write {
            let written = |c: &ServerColumn| schema.columns.iter().any(|j| physical(j).eq_ignore_ascii_case(&c.name));
            let missing = self.columns.iter().filter(|c| !c.has_default && !c.generated && !written(c));
            wrong.extend(
                missing.map(|c| format!("its column {} is NOT NULL, has no default and is not written", c.name)),
            );
        }
        if wrong.is_empty() {
            return Ok(found);
        }
        let job: Vec<String> = schema.columns.iter().map(|c| format!("{} {}", c.name, c.logical_type)).collect();
        let ours: Vec<String> = self.columns.iter().map(|c| format!("{} {}", c.name, c.type_name)).collect();
        let message = format!(
            "table {}: table {} of {} does not fit: {}",
            server.table,
            server.name,
            server.url.place(),
            wrong.join("; ")
        );
        Err(Error::user(message).with_hint(format!("job: ({}); database: ({})", job.join(", "), ours.join(", "))))
    }

    /// Whether rows that agree in these columns are one row for the server.
    pub fn has_unique_key(&self, names: &[String]) -> bool {
        let same = |key: &Vec<String>| {
            key.len() == names.len() && key.iter().all(|k| names.iter().any(|n| n.eq_ignore_ascii_case(k)))
        };
        self.unique_keys.iter().any(same)
    }
}
