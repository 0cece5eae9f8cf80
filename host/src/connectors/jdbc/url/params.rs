//! Parameters of JDBC URLs. Those of the drivers that mean nothing here are known, so that a slip is told from them.

use super::Product;
use crate::sql::suggest::nearest;
use std::time::Duration;

/// Whether and how the connection is encrypted, and what of the server's certificate is verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TlsMode {
    Disabled,
    /// If the server offers it; nothing is verified.
    #[default]
    Preferred,
    /// Nothing is verified.
    Required,
    VerifyCa,
    /// The certificate's names, too.
    VerifyIdentity,
}

/// What MySQL's dates without a day or month become.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ZeroDates {
    /// The row is refused.
    #[default]
    Refuse,
    Null,
    /// 0001-01-01.
    Round,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Params {
    /// The one that `sslMode`, `sslmode` or a combination of older parameters says.
    pub tls: TlsMode,
    /// A file of PEM certificates; relative to the job file.
    pub tls_ca: Option<String>,
    /// The zone of wall clocks that stand for instants; None: the job's.
    pub server_zone: Option<chrono_tz::Tz>,
    /// A TINYINT(1) read as BOOLEAN may be any number: all but 0 are true.
    pub tiny_int_is_bit: bool,
    pub zero_dates: ZeroDates,
    pub connect_timeout: Option<Duration>,
    /// The longest time that a statement waits for its answer.
    pub socket_timeout: Option<Duration>,
    /// PostgreSQL: where unqualified tables are looked for.
    pub current_schema: Option<String>,
    pub application_name: Option<String>,
    use_ssl: Option<bool>,
    require_ssl: bool,
    verify_certificate: bool,
    explicit_mode: Option<TlsMode>,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            tls: TlsMode::default(),
            tls_ca: None,
            server_zone: None,
            tiny_int_is_bit: true,
            zero_dates: ZeroDates::default(),
            connect_timeout: None,
            socket_timeout: None,
            current_schema: None,
            application_name: None,
            use_ssl: None,
            require_ssl: false,
            verify_certificate: false,
            explicit_mode: None,
        }
    }
}

/// Parameters of Connector/J and MariaDB's driver that have a meaning here.
const MYSQL: &[&str] = &[
    "useSSL",
    "requireSSL",
    "verifyServerCertificate",
    "sslMode",
    "trustCertificateKeyStoreUrl",
    "sslCa",
    "serverSslCert",
    "serverTimezone",
    "connectionTimeZone",
    "tinyInt1isBit",
    "zeroDateTimeBehavior",
    "connectTimeout",
    "socketTimeout",
];

/// Those that need nothing done: they are about the drivers' own ways, or say what we do anyway.
const MYSQL_WITHOUT_EFFECT: &[&str] = &[
    "allowLoadLocalInfile",
    "allowMultiQueries",
    "allowPublicKeyRetrieval",
    "autoReconnect",
    "autoReconnectForPools",
    "cachePrepStmts",
    "cacheServerConfiguration",
    "characterEncoding",
    "characterSetResults",
    "connectionCollation",
    "defaultFetchSize",
    "dontTrackOpenResources",
    "elideSetAutoCommits",
    "failOverReadOnly",
    "forceConnectionTimeZoneToSession",
    "initialTimeout",
    "maintainTimeStats",
    "maxReconnects",
    "netTimeoutForStreamingResults",
    "noAccessToProcedureBodies",
    "nullCatalogMeansCurrent",
    "nullDatabaseMeansCurrent",
    "paranoid",
    "prepStmtCacheSize",
    "prepStmtCacheSqlLimit",
    "preserveInstants",
    "rewriteBatchedStatements",
    "tcpKeepAlive",
    "tcpNoDelay",
    "trustCertificateKeyStoreType",
    "useCompression",
    "useConfigs",
    "useCursorFetch",
    "useInformationSchema",
    "useJDBCCompliantTimezoneShift",
    "useLegacyDatetimeCode",
    "useLocalSessionState",
    "useOldAliasMetadataBehavior",
    "useServerPrepStmts",
    "useTimezone",
    "useUnicode",
    "yearIsDateType",
];

const POSTGRES: &[&str] = &[
    "sslmode",
    "ssl",
    "sslrootcert",
    "currentSchema",
    "ApplicationName",
    "connectTimeout",
    "loginTimeout",
    "socketTimeout",
];

const POSTGRES_WITHOUT_EFFECT: &[&str] = &[
    "adaptiveFetch",
    "allowEncodingChanges",
    "assumeMinServerVersion",
    "autosave",
    "binaryTransfer",
    "charSet",
    "cleanupSavepoints",
    "databaseMetadataCacheFields",
    "defaultRowFetchSize",
    "gssEncMode",
    "hostRecheckSeconds",
    "loadBalanceHosts",
    "loggerLevel",
    "prepareThreshold",
    "preparedStatementCacheQueries",
    "preparedStatementCacheSizeMiB",
    "readOnly",
    "reWriteBatchedInserts",
    "stringtype",
    "targetServerType",
    "tcpKeepAlive",
    "useUnicode",
    "characterEncoding",
];

impl Params {
    /// Takes one parameter; a warning if it means nothing. The error never repeats the value.
    pub(super) fn set(&mut self, product: Product, name: &str, value: &str) -> Result<Option<String>, String> {
        let (with_effect, without_effect) = match product {
            Product::MySql => (MYSQL, MYSQL_WITHOUT_EFFECT),
            Product::Postgres => (POSTGRES, POSTGRES_WITHOUT_EFFECT),
        };
        let find = |names: &[&'static str]| names.iter().copied().find(|n| n.eq_ignore_ascii_case(name));
        if let Some(canonical) = find(with_effect) {
            match product {
                Product::MySql => self.set_mysql(canonical, value)?,
                Product::Postgres => self.set_postgres(canonical, value)?,
            }
            self.settle_tls(product);
            return Ok(None);
        }
        if find(without_effect).is_some() {
            return Ok(None);
        }
        let shown = super::printable(name);
        let all = with_effect.iter().chain(without_effect).copied();
        Ok(Some(match nearest(name, all) {
            Some(near) => {
                format!("the parameter {shown} of the URL is not known and has no effect: did you mean {near}?")
            }
            None => format!("the parameter {shown} of the URL is not known and has no effect"),
        }))
    }

    fn set_mysql(&mut self, name: &'static str, value: &str) -> Result<(), String> {
        match name {
            "useSSL" => self.use_ssl = Some(boolean(name, value)?),
            "requireSSL" => self.require_ssl = boolean(name, value)?,
            "verifyServerCertificate" => self.verify_certificate = boolean(name, value)?,
            "sslMode" => self.explicit_mode = Some(mysql_tls_mode(value)?),
            "trustCertificateKeyStoreUrl" | "sslCa" | "serverSslCert" => self.tls_ca = Some(pem_file(name, value)?),
            "serverTimezone" | "connectionTimeZone" => self.server_zone = zone(name, value)?,
            "tinyInt1isBit" => self.tiny_int_is_bit = boolean(name, value)?,
            "zeroDateTimeBehavior" => self.zero_dates = zero_dates(value)?,
            "connectTimeout" => self.connect_timeout = duration(name, value, Duration::from_millis(1))?,
            "socketTimeout" => self.socket_timeout = duration(name, value, Duration::from_millis(1))?,
            _ => {}
        }
        Ok(())
    }

    fn set_postgres(&mut self, name: &'static str, value: &str) -> Result<(), String> {
        match name {
            "sslmode" => self.explicit_mode = Some(postgres_tls_mode(value)?),
            "ssl" => self.use_ssl = Some(value.is_empty() || boolean(name, value)?),
            "sslrootcert" => self.tls_ca = Some(pem_file(name, value)?),
            "currentSchema" => self.current_schema = super::non_empty(value.to_string()),
            "ApplicationName" => self.application_name = super::non_empty(value.to_string()),
            "connectTimeout" | "loginTimeout" => {
                self.connect_timeout = duration(name, value, Duration::from_secs(1))?;
            }
            "socketTimeout" => self.socket_timeout = duration(name, value, Duration::from_secs(1))?,
            _ => {}
        }
        Ok(())
    }

    /// The mode that the parameters given so far mean together; an explicit one wins.
    fn settle_tls(&mut self, product: Product) {
        self.tls = match (self.explicit_mode, self.use_ssl) {
            (Some(mode), _) => mode,
            (None, Some(false)) => TlsMode::Disabled,
            // As pgJDBC.
            (None, Some(true)) if product == Product::Postgres => TlsMode::VerifyIdentity,
            (None, _) if self.verify_certificate => TlsMode::VerifyCa,
            (None, _) if self.require_ssl => TlsMode::Required,
            (None, _) => TlsMode::Preferred,
        };
    }
}

fn boolean(name: &str, value: &str) -> Result<bool, String> {
    match value.trim().to_ascii_lowercase().as_str() {
        "true" | "yes" | "1" => Ok(true),
        "false" | "no" | "0" => Ok(false),
        _ => Err(format!("the parameter {name} of the URL must be true or false")),
    }
}

fn mysql_tls_mode(value: &str) -> Result<TlsMode, String> {
    // MariaDB's driver spells them with hyphens, and `trust` is encryption without verification.
    Ok(match value.trim().to_ascii_uppercase().replace('-', "_").as_str() {
        "DISABLED" | "DISABLE" => TlsMode::Disabled,
        "PREFERRED" => TlsMode::Preferred,
        "REQUIRED" | "TRUST" => TlsMode::Required,
        "VERIFY_CA" => TlsMode::VerifyCa,
        "VERIFY_IDENTITY" | "VERIFY_FULL" => TlsMode::VerifyIdentity,
        _ => {
            return Err("the parameter sslMode of the URL must be DISABLED, PREFERRED, REQUIRED, VERIFY_CA or \
                        VERIFY_IDENTITY"
                .to_string());
        }
    })
}

fn postgres_tls_mode(value: &str) -> Result<TlsMode, String> {
    Ok(match value.trim().to_ascii_lowercase().as_str() {
        "disable" => TlsMode::Disabled,
        "allow" | "prefer" => TlsMode::Preferred,
        "require" => TlsMode::Required,
        "verify-ca" => TlsMode::VerifyCa,
        "verify-full" => TlsMode::VerifyIdentity,
        _ => {
            return Err("the parameter sslmode of the URL must be disable, allow, prefer, require, verify-ca or \
                        verify-full"
                .to_string());
        }
    })
}

fn zero_dates(value: &str) -> Result<ZeroDates, String> {
    Ok(match value.trim().to_ascii_lowercase().replace('_', "").as_str() {
        "exception" => ZeroDates::Refuse,
        "converttonull" => ZeroDates::Null,
        "round" => ZeroDates::Round,
        _ => {
            return Err(
                "the parameter zeroDateTimeBehavior of the URL must be exception, convertToNull or round".into()
            );
        }
    })
}

/// A path or `file:` URL of PEM certificates. Java's key stores are told at once: their names say so.
fn pem_file(name: &str, value: &str) -> Result<String, String> {
    let path = value.trim();
    let path = path.strip_prefix("file:").map_or(path, |p| match p.strip_prefix("//") {
        Some(rest) => rest,
        None => p,
    });
    let lower = path.to_ascii_lowercase();
    if path.is_empty() || [".jks", ".p12", ".pfx", ".keystore", ".truststore"].iter().any(|end| lower.ends_with(end)) {
        return Err(format!(
            "the parameter {name} of the URL must be a file of PEM certificates; a Java key store is read with \
             keytool -exportcert -rfc"
        ));
    }
    Ok(path.to_string())
}

/// 0 is no limit.
fn duration(name: &str, value: &str, unit: Duration) -> Result<Option<Duration>, String> {
    let n: u32 = value.trim().parse().map_err(|_| format!("the parameter {name} of the URL must be a whole number"))?;
    Ok((n > 0).then(|| unit * n))
}

/// A zone's name or a whole number of hours (`GMT+8`, `+08:00`). LOCAL and SERVER are the job's zone.
fn zone(name: &str, value: &str) -> Result<Option<chrono_tz::Tz>, String> {
    // An unescaped + of the URL is a blank to some.
    let text = value.trim();
    if ["LOCAL", "SERVER", ""].contains(&text.to_ascii_uppercase().as_str()) {
        return Ok(None);
    }
    if let Some(zone) = chrono_tz::TZ_VARIANTS.iter().find(|z| z.name().eq_ignore_ascii_case(text)) {
        return Ok(Some(*zone));
    }
    let offset = text.strip_prefix("GMT").or_else(|| text.strip_prefix("UTC")).unwrap_or(text);
    let (sign, digits) = match offset.split_at_checked(1) {
        Some(("+" | " ", digits)) => ('-', digits),
        // The names of these zones have the sign the other way round.
        Some(("-", digits)) => ('+', digits),
        _ => ('-', "x"),
    };
    let hours = digits.strip_suffix(":00").unwrap_or(digits).trim_start_matches('0');
    let hours = if hours.is_empty() { "0" } else { hours };
    format!("Etc/GMT{sign}{hours}").parse().map(Some).map_err(|_| {
        format!("the parameter {name} of the URL is not a known time zone: write one such as Asia/Shanghai or GMT%2B8")
    })
}
