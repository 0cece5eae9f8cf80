//! What an error of the database means: a bad row, bad luck, or a job that cannot work.

use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blame {
    /// A row that the statement writes; others may well be written.
    Row,
    /// The connection, a lock, the server's load: the same attempt may succeed later.
    Weather,
    /// The table, the statement, the rights.
    Job,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DbError {
    pub blame: Blame,
    pub message: String,
    /// The server's column that it is about, if the server says so.
    pub column: Option<String>,
    pub hint: Option<&'static str>,
}

impl DbError {
    fn new(blame: Blame, message: impl Into<String>) -> Self {
        Self { blame, message: message.into(), column: None, hint: None }
    }

    pub fn job(message: impl Into<String>) -> Self {
        Self::new(Blame::Job, message)
    }

    pub fn timed_out(limit: Duration, what: &str) -> Self {
        Self::new(Blame::Weather, format!("no answer within {} ms ({what})", limit.as_millis()))
    }
}

impl From<sqlx::Error> for DbError {
    fn from(e: sqlx::Error) -> Self {
        match &e {
            sqlx::Error::Database(d) => {
                if let Some(mysql) = d.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
                    return mysql_error(mysql.number(), mysql.code().unwrap_or_default(), mysql.message());
                }
                if let Some(pg) = d.try_downcast_ref::<sqlx::postgres::PgDatabaseError>() {
                    return postgres_error(pg);
                }
                Self::new(Blame::Job, d.message())
            }
            // What the TLS library says of a certificate comes this way.
            sqlx::Error::Io(io) if io.kind() == std::io::ErrorKind::InvalidData => tls_error(&io.to_string()),
            sqlx::Error::Io(io) => Self::new(Blame::Weather, format!("the connection failed: {io}")),
            // Half a message: the server went away in the middle of it.
            sqlx::Error::Protocol(text) => Self::new(Blame::Weather, format!("the connection failed: {text}")),
            sqlx::Error::WorkerCrashed => Self::new(Blame::Weather, "the connection is gone"),
            sqlx::Error::Tls(text) => tls_error(&text.to_string()),
            other => Self::new(Blame::Job, other.to_string()),
        }
    }
}

fn tls_error(text: &str) -> DbError {
    let hint = "sslMode (useSSL, sslmode) of the URL says whether to verify, sslCa (sslrootcert) by whose certificates";
    DbError { hint: Some(hint), ..DbError::new(Blame::Job, format!("TLS: {text}")) }
}

/// Numbers: <https://mariadb.com/kb/en/mariadb-error-code-reference/>.
fn mysql_error(number: u16, state: &str, message: &str) -> DbError {
    let class = state.get(..2).unwrap_or_default();
    let blame = match number {
        // Too many connections (of a user), shutting down, lock wait timeout, deadlock, read-only, killed, timeouts,
        // a cluster node that is not ready, closed for being idle.
        1040 | 1203 | 1226 | 1053 | 1205 | 1213 | 1792 | 1836 | 1927 | 1317 | 1969 | 1047 | 4031 => Blame::Weather,
        1158..=1161 | 2006 | 2013 => Blame::Weather,
        1290 if message.contains("read-only") || message.contains("read only") => Blame::Weather,
        // No default, wrong value for a column, truncated, no partition for the value.
        1364 | 1366 | 1265 | 1526 => Blame::Row,
        _ if class == "08" => Blame::Weather,
        // Data exceptions, constraints, SIGNAL of a trigger.
        _ if class == "22" || class == "23" || state == "45000" => Blame::Row,
        _ => Blame::Job,
    };
    let hint = match number {
        1045 | 1698 => Some("the user name or the password is wrong, or the user may not connect from here"),
        1044 | 1142 | 1143 => Some("the user lacks a right on the table"),
        1049 => Some("the database is named at the end of the URL"),
        2061 => Some("the server wants the password over TLS only: sslMode=REQUIRED in the URL"),
        _ => None,
    };
    DbError { blame, message: message.to_string(), column: column_in(message), hint }
}

/// `.. for column 'pv' at row 1`, ``.. for column `d`.`t`.`pv` at row 1``, `Column 'pv' cannot be null`.
fn column_in(message: &str) -> Option<String> {
    let at = ["olumn ", "Field "].iter().find_map(|word| Some(message.find(word)? + word.len()))?;
    let rest = message.get(at..)?;
    let name = match rest.strip_prefix('\'') {
        Some(quoted) => quoted.split('\'').next()?,
        None => {
            let path = rest.strip_prefix('`')?;
            let end = path.find("` ").or_else(|| path.rfind('`'))?;
            path[..end].rsplit("`.`").next()?
        }
    };
    Some(name.to_string())
}

/// Codes: <https://www.postgresql.org/docs/current/errcodes-appendix.html>.
fn postgres_error(e: &sqlx::postgres::PgDatabaseError) -> DbError {
    let code = e.code();
    let blame = match (code.get(..2).unwrap_or_default(), code) {
        // Serialization, deadlock, lock not available, read-only.
        (_, "40001" | "40P01" | "55P03" | "25006") => Blame::Weather,
        ("08" | "53" | "57", _) => Blame::Weather,
        // Data exceptions, constraints, WITH CHECK OPTION, RAISE, two rows of one statement for one row of the table.
        ("22" | "23" | "44", _) | (_, "P0001" | "21000") => Blame::Row,
        _ => Blame::Job,
    };
    let hint = match code {
        "28P01" | "28000" => Some("the user name or the password is wrong, or the user may not connect from here"),
        "42501" => Some("the user lacks a right on the table"),
        "3D000" => Some("the database is named at the end of the URL"),
        _ => None,
    };
    let message = match e.detail() {
        Some(detail) => format!("{} ({detail})", e.message()),
        None => e.message().to_string(),
    };
    DbError { blame, message, column: e.column().map(str::to_string), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_weather_and_jobs_are_told_apart() {
        let blame = |number, state, message| mysql_error(number, state, message).blame;
        assert_eq!(blame(1406, "22001", "Data too long for column 'pv' at row 1"), Blame::Row);
        assert_eq!(blame(1062, "23000", "Duplicate entry '1' for key 'PRIMARY'"), Blame::Row);
        assert_eq!(blame(1364, "HY000", "Field 'a' doesn't have a default value"), Blame::Row);
        assert_eq!(blame(1213, "40001", "Deadlock found"), Blame::Weather);
        assert_eq!(blame(1290, "HY000", "running with the --read-only option"), Blame::Weather);
        assert_eq!(blame(1290, "HY000", "running with --secure-file-priv"), Blame::Job);
        assert_eq!(blame(1045, "28000", "Access denied"), Blame::Job);
        assert_eq!(blame(1146, "42S02", "Table 'test.x' doesn't exist"), Blame::Job);
        assert_eq!(DbError::from(sqlx::Error::Protocol("x".into())).blame, Blame::Weather);
    }

    #[test]
    fn the_column_is_found_in_the_servers_words() {
        let column = |m| column_in(m).unwrap_or_default();
        assert_eq!(column("Data too long for column 'pv' at row 1"), "pv");
        assert_eq!(column("Incorrect integer value: 'x' for column `test`.`t 1`.`a b` at row 1"), "a b");
        assert_eq!(column("Column 'id' cannot be null"), "id");
        assert_eq!(column("Field 'id' doesn't have a default value"), "id");
        assert_eq!(column_in("Duplicate entry '1' for key 'PRIMARY'"), None);
        assert_eq!(column_in("column "), None);
    }
}
