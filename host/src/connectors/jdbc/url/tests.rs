use super::*;
use std::time::Duration;

fn parsed(url: &str) -> JdbcUrl {
    JdbcUrl::parse(url).unwrap_or_else(|e| panic!("{url}: {e}"))
}

fn refused(url: &str) -> String {
    JdbcUrl::parse(url).expect_err(url)
}

fn places(url: &str) -> Vec<String> {
    parsed(url).hosts.iter().map(Host::to_string).collect()
}

#[test]
fn the_usual_forms_are_read() {
    let url = parsed("jdbc:mysql://172.16.10.134:3306/test");
    assert_eq!((url.product, url.place().as_str()), (Product::MySql, "172.16.10.134:3306/test"));
    assert_eq!(url.database.as_deref(), Some("test"));
    assert_eq!((url.user, url.password, url.warnings.len()), (None, None, 0));
    assert_eq!(parsed("JDBC:MariaDB://h/d").product, Product::MySql);
    let url = parsed("jdbc:postgresql://db.example/shop?currentSchema=s1&ApplicationName=job%201");
    assert_eq!((url.product, url.place().as_str()), (Product::Postgres, "db.example:5432/shop"));
    assert_eq!(url.params.current_schema.as_deref(), Some("s1"));
    assert_eq!(url.params.application_name.as_deref(), Some("job 1"));
    assert_eq!(parsed("jdbc:postgresql:shop").place(), "localhost:5432/shop");
    assert_eq!(parsed("jdbc:mysql://h").database, None);
    assert_eq!(parsed("jdbc:mysql:///d").place(), "localhost:3306/d");
}

#[test]
fn several_hosts_and_ipv6_keep_their_order_and_ports() {
    assert_eq!(
        places("jdbc:mysql://a,b:3307,[::1],[fe80::1]:3308/d"),
        ["a:3306", "b:3307", "[::1]:3306", "[fe80::1]:3308"]
    );
    assert_eq!(places("jdbc:postgresql://a:1,b/d"), ["a:1", "b:5432"]);
    let url = parsed("jdbc:mysql:loadbalance://a,b/d");
    assert_eq!((url.hosts.len(), url.warnings.len()), (2, 1));
    assert!(refused("jdbc:mysql://::1:3306/d").contains("brackets"));
    assert!(refused("jdbc:mysql://h:99999/d").contains("65535"));
    assert!(refused("jdbc:mysql://[::1/d").contains("closing bracket"));
    assert!(refused("jdbc:mysql://address=(host=h)(port=1)/d").contains("brackets"));
}

#[test]
fn user_and_password_may_stand_in_front_or_behind_and_be_escaped() {
    let secret = |url: &str| {
        let url = parsed(url);
        (url.user, url.password.map(|p| p.0))
    };
    let is = |u: &str, p: &str| (Some(u.to_string()), Some(p.to_string()));
    assert_eq!(secret("jdbc:mysql://u:p%40%2Fs@h:1/d"), is("u", "p@/s"));
    assert_eq!(secret("jdbc:mysql://u:p@ss/w@h:1/d"), is("u", "p@ss/w"));
    assert_eq!(secret("jdbc:mysql://h/d?user=u&password=p%26q"), is("u", "p&q"));
    assert_eq!(secret("jdbc:postgresql://h/d?password=&user=u"), is("u", ""));
}

#[test]
fn no_secret_is_shown() {
    let url = parsed("jdbc:mysql://u:hush1@h/d?password=hush2&pasword=hush3");
    assert!(!format!("{url:?}").contains("hush"), "{url:?}");
    for url in ["jdbc:mysql://u:hush%ZZ@h/d", "jdbc:oracle:thin:hush/hush@h", "hush", "jdbc:mysql://h:hush/d"] {
        assert!(!refused(url).contains("hush"), "{}", refused(url));
    }
}

#[test]
fn other_databases_are_refused_by_name() {
    assert!(refused("jdbc:oracle:thin:@h:1521:x").contains("jdbc:oracle: (Oracle) is not supported"));
    assert!(refused("jdbc:sqlserver://h;databaseName=d").contains("SQL Server"));
    assert!(refused("jdbc:foo://h/d").contains("jdbc:foo: is not supported"));
    assert!(refused("mysql://h/d").contains("must begin with jdbc:mysql:"));
    assert!(refused("u").contains("must begin"));
}

#[test]
fn tls_parameters_of_every_driver_generation_give_one_mode() {
    for (query, mode) in [
        ("", TlsMode::Preferred),
        ("useSSL=false", TlsMode::Disabled),
        ("useSSL=true", TlsMode::Preferred),
        ("useSSL=true&requireSSL=true", TlsMode::Required),
        ("verifyServerCertificate=true&useSSL=true", TlsMode::VerifyCa),
        ("useSSL=false&sslMode=VERIFY_IDENTITY", TlsMode::VerifyIdentity),
        ("sslMode=verify-ca", TlsMode::VerifyCa),
        ("sslMode=trust", TlsMode::Required),
    ] {
        assert_eq!(parsed(&format!("jdbc:mysql://h/d?{query}")).params.tls, mode, "{query}");
    }
    for (query, mode) in [
        ("", TlsMode::Preferred),
        ("ssl=true", TlsMode::VerifyIdentity),
        ("ssl", TlsMode::VerifyIdentity),
        ("sslmode=require&ssl=true", TlsMode::Required),
        ("sslmode=disable", TlsMode::Disabled),
        ("sslmode=verify-full", TlsMode::VerifyIdentity),
    ] {
        assert_eq!(parsed(&format!("jdbc:postgresql://h/d?{query}")).params.tls, mode, "{query}");
    }
    assert!(refused("jdbc:mysql://h/d?sslMode=maybe").contains("sslMode"));
    assert!(refused("jdbc:postgresql://h/d?sslmode=maybe").contains("verify-full"));
    let ca = |query: &str| parsed(&format!("jdbc:mysql://h/d?{query}")).params.tls_ca;
    assert_eq!(ca("trustCertificateKeyStoreUrl=file:///a/ca.pem").as_deref(), Some("/a/ca.pem"));
    assert_eq!(ca("serverSslCert=ca.pem").as_deref(), Some("ca.pem"));
    assert!(refused("jdbc:mysql://h/d?trustCertificateKeyStoreUrl=file:a.jks").contains("keytool"));
}

#[test]
fn zones_and_values_are_checked() {
    let zone = |z: &str| parsed(&format!("jdbc:mysql://h/d?serverTimezone={z}")).params.server_zone;
    assert_eq!(zone("Asia/Shanghai"), Some(chrono_tz::Asia::Shanghai));
    assert_eq!(zone("asia/shanghai"), Some(chrono_tz::Asia::Shanghai));
    assert_eq!(zone("GMT%2B8"), Some(chrono_tz::Etc::GMTMinus8));
    assert_eq!(zone("%2B08:00"), Some(chrono_tz::Etc::GMTMinus8));
    assert_eq!(zone("-05:00"), Some(chrono_tz::Etc::GMTPlus5));
    assert_eq!(zone("UTC"), Some(chrono_tz::UTC));
    assert_eq!(zone("LOCAL"), None);
    assert!(refused("jdbc:mysql://h/d?serverTimezone=Mars").contains("serverTimezone"));
    let params = |q: &str| parsed(&format!("jdbc:mysql://h/d?{q}")).params;
    assert_eq!(params("zeroDateTimeBehavior=convertToNull").zero_dates, ZeroDates::Null);
    assert_eq!(params("zeroDateTimeBehavior=CONVERT_TO_NULL").zero_dates, ZeroDates::Null);
    assert_eq!(params("zeroDateTimeBehavior=round").zero_dates, ZeroDates::Round);
    assert!(!params("tinyInt1isBit=false").tiny_int_is_bit);
    assert_eq!(params("connectTimeout=5000").connect_timeout, Some(Duration::from_secs(5)));
    assert_eq!(params("socketTimeout=0").socket_timeout, None);
    let postgres = parsed("jdbc:postgresql://h/d?connectTimeout=5").params;
    assert_eq!(postgres.connect_timeout, Some(Duration::from_secs(5)));
    assert!(refused("jdbc:mysql://h/d?tinyInt1isBit=perhaps").contains("true or false"));
}

#[test]
fn unknown_parameters_warn_with_the_nearest_known_one() {
    let url = parsed(
        "jdbc:mysql://h/d?useUnicode=true&characterEncoding=utf8&rewriteBatchedStatements=true&serverTimeZoone=UTC",
    );
    assert_eq!(url.warnings.len(), 1, "{:?}", url.warnings);
    assert!(url.warnings[0].contains("did you mean serverTimezone?"), "{:?}", url.warnings);
    let url = parsed("jdbc:postgresql://h/d?curentSchema=x&whatever=1");
    assert!(url.warnings[0].contains("currentSchema") && url.warnings[1].contains("whatever"), "{:?}", url.warnings);
}

proptest::proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in "\\PC*", tail in "[a-z:/@\\[\\],.?&=%0-9]{0,60}") {
        let _ = JdbcUrl::parse(&text);
        for scheme in ["jdbc:mysql:", "jdbc:postgresql:", "jdbc:mysql://"] {
            let _ = JdbcUrl::parse(&format!("{scheme}{tail}"));
        }
    }
}
