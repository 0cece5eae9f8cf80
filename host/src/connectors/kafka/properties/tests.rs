use super::*;

fn translate(pairs: &[(&str, &str)], role: Role) -> Properties {
    let given: IndexMap<String, String> = pairs.iter().map(|(k, v)| (k.to_string(), v.to_string())).collect();
    Properties::translate(Some(&given), role)
}

fn settings(p: &Properties) -> Vec<String> {
    p.settings.iter().map(|(k, v)| format!("{k}={v}")).collect()
}

#[test]
fn javas_names_become_librdkafkas() {
    let p = translate(
        &[
            ("fetch.max.wait.ms", "200"),
            ("isolation.level", "read_committed"),
            ("linger.ms", "9"),
            ("receive.buffer.bytes", "65536"),
            ("security.protocol", "SASL_SSL"),
            ("sasl.mechanism", "SCRAM-SHA-256"),
            ("sasl.jaas.config", "x.ScramLoginModule required username=\"a\" password=\"p\";"),
            ("ssl.endpoint.identification.algorithm", ""),
            ("queued.min.messages", "7"),
        ],
        Role::Consumer,
    );
    assert_eq!(p.findings, []);
    assert_eq!(
        settings(&p),
        [
            "fetch.wait.max.ms=200",
            "isolation.level=read_committed",
            "socket.receive.buffer.bytes=65536",
            "security.protocol=sasl_ssl",
            "sasl.mechanism=SCRAM-SHA-256",
            "sasl.username=a",
            "sasl.password=p",
            "ssl.endpoint.identification.algorithm=none",
            "queued.min.messages=7",
        ]
    );
    let p =
        translate(&[("acks", "all"), ("buffer.memory", "33554432"), ("max.request.size", "2000000")], Role::Producer);
    assert_eq!(settings(&p), ["acks=-1", "queue.buffering.max.kbytes=32768", "message.max.bytes=2000000"]);
}

#[test]
fn flink_1_9_numbers_its_pairs() {
    let pairs = [("0.key", "fetch.min.bytes"), ("0.value", "5"), ("1.value", "x"), ("2.key", "linger.ms")];
    let p = translate(&pairs, Role::Consumer);
    assert_eq!(settings(&p), ["fetch.min.bytes=5"]);
    let messages: Vec<&str> = p.findings.iter().map(|f| f.message.as_str()).collect();
    assert_eq!(messages, ["1.value has no 1.key beside it", "2.key has no 2.value beside it"]);
}

#[test]
fn what_has_no_effect_is_told_and_what_cannot_be_done_is_refused() {
    for (key, value, is_error, part) in [
        ("key.deserializer", "a.B", false, "records are bytes here"),
        ("enable.auto.commit", "true", false, "committed with checkpoints"),
        ("metrics.num.samples", "3", false, "metrics"),
        ("max.poll.records", "3", false, "batch size"),
        ("fetch.min.byte", "3", false, "did you mean"),
        ("fetch.min.bytes", "x", true, "fetch.min.bytes"),
        ("acks", "2", true, "one of all, -1, 0, 1"),
        ("plugin.library.paths", "/tmp/evil.so", true, "may not load libraries"),
        ("sasl.kerberos.kinit.cmd", "rm -rf /", true, "run programs"),
        ("sasl.login.callback.handler.class", "a.B", true, "Java callbacks"),
        ("sasl.kerberos.service.name", "kafka; rm", true, "letters, digits"),
        ("sasl.jaas.config", "x.PlainLoginModule required username=\"u\";", true, "needs password"),
    ] {
        let p = translate(&[(key, value)], Role::Consumer);
        let found = p.findings.first().unwrap_or_else(|| panic!("{key}: nothing said"));
        assert!(found.is_error == is_error && found.message.contains(part), "{key}: {found:?}");
    }
}

#[test]
fn mechanisms_need_what_they_log_in_with() {
    let sasl = |mechanism: &str| {
        translate(&[("security.protocol", "SASL_SSL"), ("sasl.mechanism", mechanism)], Role::Consumer)
    };
    assert!(sasl("PLAIN").findings[0].message.contains("needs a user name"));
    assert!(sasl("OAUTHBEARER").findings[0].message.contains("not supported"));
    assert_eq!(sasl("GSSAPI").findings, []);
}

#[test]
fn secrets_are_not_shown() {
    let p = translate(&[("ssl.key.password", "hush"), ("ssl.keystore.password", "hush")], Role::Consumer);
    assert!(!format!("{:?}", p.stores).contains("hush"));
}
