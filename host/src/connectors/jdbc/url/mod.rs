//! JDBC URLs of MySQL, MariaDB and PostgreSQL, read without their drivers. Pure: opens nothing.

mod params;

pub use params::{Params, TlsMode, ZeroDates};

use std::fmt;

/// What speaks at the other end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// MySQL or MariaDB: the same protocol and SQL, as far as we use them.
    MySql,
    Postgres,
}

impl Product {
    pub fn name(self) -> &'static str {
        match self {
            Product::MySql => "MySQL",
            Product::Postgres => "PostgreSQL",
        }
    }
    fn default_port(self) -> u16 {
        match self {
            Product::MySql => 3306,
            Product::Postgres => 5432,
        }
    }
}

/// A text that no message may show.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(pub String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("******")
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    pub name: String,
    pub port: u16,
}

impl fmt::Display for Host {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.contains(':') {
            true => write!(f, "[{}]:{}", self.name, self.port),
            false => write!(f, "{}:{}", self.name, self.port),
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct JdbcUrl {
    pub product: Product,
    /// To be tried in this order; never empty.
    pub hosts: Vec<Host>,
    pub database: Option<String>,
    pub user: Option<String>,
    pub password: Option<Secret>,
    pub params: Params,
    /// What is accepted but has no (or another) effect here.
    pub warnings: Vec<String>,
}

/// The databases that people have JDBC URLs of, to refuse them by name.
const OTHERS: &[(&str, &str)] = &[
    ("oracle", "Oracle"),
    ("sqlserver", "SQL Server"),
    ("jtds", "SQL Server"),
    ("db2", "Db2"),
    ("clickhouse", "ClickHouse"),
    ("hive2", "Hive"),
    ("impala", "Impala"),
    ("phoenix", "Phoenix"),
    ("presto", "Presto"),
    ("trino", "Trino"),
    ("derby", "Derby"),
    ("h2", "H2"),
    ("polardb", "PolarDB"),
    ("dm", "DM"),
    ("sqlite", "SQLite"),
    ("oceanbase", "OceanBase"),
    ("snowflake", "Snowflake"),
    ("redshift", "Redshift"),
];

impl JdbcUrl {
    /// The error says what is wrong without repeating the URL, which may hold a password.
    pub fn parse(url: &str) -> Result<Self, String> {
        let url = url.trim();
        let rest = strip_prefix_ignoring_case(url, "jdbc:")
            .ok_or("the URL must begin with jdbc:mysql:, jdbc:mariadb: or jdbc:postgresql:")?;
        let (scheme, rest) = rest.split_once(':').ok_or("the URL has no database after jdbc:")?;
        let product = match scheme.to_ascii_lowercase().as_str() {
            "mysql" | "mariadb" => Product::MySql,
            "postgresql" => Product::Postgres,
            other => {
                let known = OTHERS.iter().find(|(s, _)| *s == other).map(|(_, name)| format!(" ({name})"));
                return Err(format!(
                    "jdbc:{}:{} is not supported; only jdbc:mysql:, jdbc:mariadb: and jdbc:postgresql: are",
                    printable(other),
                    known.unwrap_or_default()
                ));
            }
        };
        let mut warnings = Vec::new();
        let rest = sub_protocol(product, rest, &mut warnings)?;
        let (rest, query) = match rest.split_once('?') {
            Some((rest, query)) => (rest, Some(query)),
            None => (rest, None),
        };
        let (authority, database) = split_authority(product, rest)?;
        let (user, password, authority) = user_info(authority)?;
        let mut parsed = Self {
            product,
            hosts: hosts(product, authority)?,
            database: non_empty(percent_decoded(database)?),
            user,
            password: password.map(Secret),
            params: Params::default(),
            warnings,
        };
        for pair in query.unwrap_or_default().split('&').filter(|p| !p.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parsed.parameter(&percent_decoded(name)?, percent_decoded(value)?)?;
        }
        Ok(parsed)
    }

    fn parameter(&mut self, name: &str, value: String) -> Result<(), String> {
        match name.to_ascii_lowercase().as_str() {
            "user" => self.user = non_empty(value),
            "password" => self.password = Some(Secret(value)),
            _ => {
                if let Some(warning) = self.params.set(self.product, name, &value)? {
                    self.warnings.push(warning);
                }
            }
        }
        Ok(())
    }

    /// `127.0.0.1:3306/test`, for messages.
    pub fn place(&self) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(Host::to_string).collect();
        format!("{}/{}", hosts.join(","), self.database.as_deref().unwrap_or_default())
    }
}

fn strip_prefix_ignoring_case<'a>(text: &'a str, prefix: &str) -> Option<&'a str> {
    let head = text.get(..prefix.len())?;
    head.eq_ignore_ascii_case(prefix).then(|| &text[prefix.len()..])
}

/// What may stand in a message: a short word.
fn printable(word: &str) -> String {
    word.chars().filter(|c| c.is_alphanumeric() || "-_.".contains(*c)).take(30).collect()
}

fn non_empty(text: String) -> Option<String> {
    (!text.is_empty()).then_some(text)
}

/// `loadbalance:`, `replication:` and the like before `//`: ways to choose among hosts, of which we have one.
fn sub_protocol<'a>(product: Product, rest: &'a str, warnings: &mut Vec<String>) -> Result<&'a str, String> {
    if rest.starts_with("//") {
        return Ok(rest);
    }
    match (product, rest.split_once("://")) {
        (Product::MySql, Some((mode, after))) if mode.chars().all(|c| c.is_ascii_alphanumeric()) => {
            warnings.push(format!("{mode}: the hosts are tried in the order in which they are written"));
            Ok(&rest[rest.len() - after.len() - 2..])
        }
        // PostgreSQL's short forms: jdbc:postgresql:database, jdbc:postgresql:/
        (Product::Postgres, None) => Ok(rest),
        _ => Err("the URL has no // before its host".to_string()),
    }
}

/// Hosts (with user and password) and the name of the database.
fn split_authority(product: Product, rest: &str) -> Result<(&str, &str), String> {
    let Some(rest) = rest.strip_prefix("//") else {
        return Ok(("", rest.strip_prefix('/').unwrap_or(rest)));
    };
    if rest.starts_with('(') || rest.to_ascii_lowercase().starts_with("address=") {
        return Err("hosts in brackets (address=(host=..)) are not supported: write host:port,host:port".to_string());
    }
    // A password may hold a slash; what follows it holds an @.
    let at = rest.rfind('@').unwrap_or(0);
    let (authority, database) = match rest[at..].find('/') {
        Some(slash) => (&rest[..at + slash], &rest[at + slash + 1..]),
        None => (rest, ""),
    };
    if database.contains('/') {
        return Err(format!("the name of the {} database holds a slash", product.name()));
    }
    Ok((authority, database))
}

type UserInfo<'a> = (Option<String>, Option<String>, &'a str);

fn user_info(authority: &str) -> Result<UserInfo<'_>, String> {
    let Some((info, hosts)) = authority.rsplit_once('@') else { return Ok((None, None, authority)) };
    let (user, password) = match info.split_once(':') {
        Some((user, password)) => (user, Some(percent_decoded(password)?)),
        None => (info, None),
    };
    Ok((non_empty(percent_decoded(user)?), password, hosts))
}

fn hosts(product: Product, authority: &str) -> Result<Vec<Host>, String> {
    authority.split(',').map(|h| host(product, h.trim())).collect()
}

/// `host`, `host:port`, `[::1]:port`; nothing is localhost.
fn host(product: Product, text: &str) -> Result<Host, String> {
    let (name, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (name, after) = rest.split_once(']').ok_or("an IPv6 address of the URL has no closing bracket")?;
            match after {
                "" => (name, None),
                _ => (name, Some(after.strip_prefix(':').ok_or("there must be a : before the port")?)),
            }
        }
        None => match text.split_once(':') {
            Some((_, port)) if port.contains(':') => {
                return Err("an IPv6 address must stand in brackets: [::1]:3306".to_string());
            }
            Some((name, port)) => (name, Some(port)),
            None => (text, None),
        },
    };
    let port = match port {
        None | Some("") => product.default_port(),
        Some(port) => port.parse::<u16>().ok().filter(|p| *p > 0).ok_or("the port is not a number from 1 to 65535")?,
    };
    let name = if name.is_empty() { "localhost" } else { name };
    Ok(Host { name: name.to_string(), port })
}

fn percent_decoded(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(b) = rest.next() {
        if b != b'%' {
            bytes.push(b);
            continue;
        }
        let digit = |b: Option<u8>| b.and_then(|b| (b as char).to_digit(16));
        match (digit(rest.next()), digit(rest.next())) {
            (Some(high), Some(low)) => bytes.push((high * 16 + low) as u8),
            _ => return Err("a % in the URL is not followed by two hexadecimal digits (a % itself is %25)".to_string()),
        }
    }
    String::from_utf8(bytes).map_err(|_| "a part of the URL is not UTF-8 once its %.. are decoded".to_string())
}

#[cfg(test)]
mod tests;
