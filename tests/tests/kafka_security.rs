//! Brokers that want TLS and a login, with Java's properties and key stores.

use crate::kafka_support::{Running, flink_table, until};
use std::path::PathBuf;
use wasmill_tests::services::{Kafka, client, service};
use wasmill_tests::{Run, Sandbox};

fn tls(file: &str) -> String {
    PathBuf::from(service("WASMILL_KAFKA_TLS")).join(file).display().to_string()
}

/// Reads one record from the shared broker through another listener, with these lines of the WITH clause.
fn read_through(listener: &str, s: &Sandbox, options: &str) -> (Run, String) {
    let kafka = Kafka::shared();
    let topic = kafka.topic("secure", 1);
    kafka.produce(&topic, 0, "{\"n\":1}\n");
    let through = Kafka { brokers: service(listener) };
    let options = format!(
        "'scan.startup.mode' = 'earliest-offset', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json', {options}"
    );
    let source = flink_table(&through, "src", "n INT", &topic, &options);
    // The sink logs in with the same properties.
    let out = kafka.topic("secure_out", 1);
    let sink = source.replace("TABLE src", "TABLE o").replace(&topic, &out);
    s.write("job.sql", format!("{source}{sink}INSERT INTO o SELECT n FROM src;"));
    (s.wasmill(&["run", "job.sql"]), kafka.consume(&out, "%s"))
}

#[track_caller]
fn expect_read(listener: &str, options: &str) {
    let (run, written) = read_through(listener, &Sandbox::new(), options);
    run.expect_code(0);
    assert_eq!(written, "{\"n\":1}");
}

fn scram(mechanism: &str, module: &str, password: &str) -> String {
    format!(
        "'properties.security.protocol' = 'SASL_SSL', 'properties.sasl.mechanism' = '{mechanism}', \
         'properties.sasl.jaas.config' = 'org.apache.kafka.common.security.{module} required username=\"alice\" \
         password=\"{password}\";', 'properties.ssl.truststore.type' = 'PEM', \
         'properties.ssl.truststore.location' = '{}'",
        tls("ca.pem")
    )
}

#[test]
fn logins_with_a_password() {
    for (mechanism, module) in [
        ("PLAIN", "plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "scram.ScramLoginModule"),
    ] {
        expect_read("WASMILL_KAFKA_SASL", &scram(mechanism, module, "alice-secret"));
    }
}

#[test]
fn a_wrong_password_ends_the_job_and_is_not_shown() {
    let options = scram("PLAIN", "plain.PlainLoginModule", "wrong-hush-hush");
    let (run, _) = read_through("WASMILL_KAFKA_SASL", &Sandbox::new(), &options);
    let run = run.expect_code(2).expect_stderr("sasl.jaas.config");
    assert!(!run.stderr.contains("hush"), "{}", run.stderr);
}

#[test]
fn a_broker_that_is_not_trusted_is_not_talked_to() {
    let options = "'properties.security.protocol' = 'SSL'";
    let (run, _) = read_through("WASMILL_KAFKA_SSL", &Sandbox::new(), options);
    run.expect_code(2).expect_stderr("ssl.truststore");
}

#[test]
fn java_key_stores_of_every_kind_are_read() {
    let s = Sandbox::new();
    let path = |name: &str| s.path(name).display().to_string();
    // The client's key and certificate, to PKCS#12, and from there to JKS.
    let p12 = path("client.p12");
    let (key, cert, ca) = (tls("client.key"), tls("client.pem"), tls("ca.pem"));
    client(
        "openssl",
        &[
            "pkcs12",
            "-export",
            "-inkey",
            &key,
            "-in",
            &cert,
            "-certfile",
            &ca,
            "-name",
            "c",
            "-out",
            &p12,
            "-passout",
            "pass:store-hush",
        ],
        b"",
    );
    let jks = path("client.jks");
    client(
        "keytool",
        &[
            "-importkeystore",
            "-noprompt",
            "-srckeystore",
            &p12,
            "-srcstoretype",
            "PKCS12",
            "-srcstorepass",
            "store-hush",
            "-destkeystore",
            &jks,
            "-deststoretype",
            "JKS",
            "-deststorepass",
            "store-hush",
            "-destkeypass",
            "key-hush",
            "-srcalias",
            "c",
        ],
        b"",
    );
    for kind in ["JKS", "PKCS12"] {
        let trust = path(&format!("trust.{kind}"));
        client(
            "keytool",
            &[
                "-importcert",
                "-noprompt",
                "-alias",
                "ca",
                "-file",
                &ca,
                "-keystore",
                &trust,
                "-storetype",
                kind,
                "-storepass",
                "trust-hush",
            ],
            b"",
        );
        let (store, key_password) =
            if kind == "JKS" { (&jks, ", 'properties.ssl.key.password' = 'key-hush'") } else { (&p12, "") };
        let options = |password: &str| {
            format!(
                "'properties.security.protocol' = 'SSL', 'properties.ssl.truststore.location' = '{trust}', \
                 'properties.ssl.truststore.password' = '{password}', 'properties.ssl.keystore.location' = '{store}', \
                 'properties.ssl.keystore.password' = 'store-hush'{key_password}"
            )
        };
        expect_read("WASMILL_KAFKA_SSL", &options("trust-hush"));
        let (run, _) = read_through("WASMILL_KAFKA_SSL", &Sandbox::new(), &options("not-hush"));
        let run = run.expect_code(2).expect_stderr("the password is wrong, or the store is damaged");
        assert!(!run.stderr.contains("hush"), "{}", run.stderr);
    }
}

#[test]
fn a_keytab_logs_in_by_kerberos() {
    let kafka = Kafka::shared();
    let topic = kafka.topic("kerberos", 1);
    kafka.produce(&topic, 0, "{\"n\":1}\n");
    let out = kafka.topic("kerberos_out", 1);
    let through = Kafka { brokers: service("WASMILL_KAFKA_GSS") };
    let kdc = service("WASMILL_KDC");
    let login = format!(
        "'properties.security.protocol' = 'SASL_PLAINTEXT', 'properties.sasl.mechanism' = 'GSSAPI', \
         'properties.sasl.kerberos.service.name' = 'kafka', 'properties.sasl.jaas.config' = \
         'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true \
         keyTab=\"{kdc}/alice.keytab\" principal=\"alice@WASMILL.TEST\";'"
    );
    let source = flink_table(
        &through,
        "src",
        "n INT",
        &topic,
        &format!("'scan.startup.mode' = 'earliest-offset', 'format' = 'json', {login}"),
    );
    let sink = flink_table(&kafka, "o", "n INT", &out, "'format' = 'json'");
    let s = Sandbox::new();
    let cache = format!("FILE:{}", s.path("ccache").display());
    let config = format!("{kdc}/krb5.conf");
    let environment = [("KRB5_CONFIG", config.as_str()), ("KRB5CCNAME", cache.as_str())];
    let sql = format!("{source}{sink}INSERT INTO o SELECT n FROM src;");
    let job = Running::start_with(&sql, &[], &environment);
    until("the record", || kafka.values(&out).len() == 1);
    job.end().expect_code(0);
}

/// A topic on which alice may not do this.
fn forbidden(kafka: &Kafka, operation: &str) -> String {
    let topic = kafka.topic("forbidden", 1);
    kafka.tool("AclCommand", &["--add", "--deny-principal", "User:alice", "--operation", operation, "--topic", &topic]);
    topic
}

#[test]
fn what_the_user_may_not_do_is_said_with_the_topic_and_ends_the_start() {
    let kafka = Kafka::shared();
    let through = Kafka { brokers: service("WASMILL_KAFKA_SASL") };
    let login = scram("SCRAM-SHA-256", "scram.ScramLoginModule", "alice-secret");
    let s = Sandbox::new();
    s.write("in.jsonl", "{\"n\":1}\n");
    let read = |topic: &str, mode: &str, more: &str| {
        let options = format!(
            "'scan.startup.mode' = '{mode}', 'scan.bounded.mode' = 'latest-offset', 'format' = 'json'{more}, {login}"
        );
        let source = flink_table(&through, "src", "n INT", topic, &options);
        s.write(
            "job.sql",
            source + "CREATE TABLE o (n INT) WITH ('connector' = 'print');\nINSERT INTO o SELECT n FROM src;",
        );
        s.wasmill(&["run", "job.sql"])
    };
    for operation in ["Read", "Describe"] {
        let topic = forbidden(&kafka, operation);
        kafka.produce(&topic, 0, "{\"n\":1}\n");
        read(&topic, "earliest-offset", "").expect_code(2).expect_stderr(&topic).expect_stderr("uthoriz");
    }
    let topic = kafka.topic("allowed", 1);
    kafka.produce(&topic, 0, "{\"n\":1}\n");
    let group = wasmill_tests::services::unique("group");
    kafka.tool("AclCommand", &["--add", "--deny-principal", "User:alice", "--operation", "Read", "--group", &group]);
    // Where to start is the group's to say: a start without the right to ask it is in vain.
    let run = read(&topic, "group-offsets", &format!(", 'properties.group.id' = '{group}'"));
    assert_ne!(run.code, 0);
    run.expect_stderr("uthoriz").expect_stderr(&group);

    let topic = forbidden(&kafka, "Write");
    let sink = flink_table(&through, "o", "n INT", &topic, &format!("'format' = 'json', {login}"));
    s.write(
        "job.sql",
        "CREATE TABLE f (n INT) WITH ('connector' = 'filesystem', 'path' = 'in.jsonl', 'format' = 'json');\n"
            .to_string()
            + &sink
            + "INSERT INTO o SELECT n FROM f;",
    );
    let run = s.wasmill(&["run", "job.sql"]);
    assert!([2, 3].contains(&run.code), "{}", run.stderr);
    run.expect_stderr(&topic).expect_stderr("uthoriz");
}
