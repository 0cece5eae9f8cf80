//! A schema registry: a small one of this file's own for what a real one does not do on demand, and a real one.

use super::*;
use crate::data::{Batch, Column, LogicalType as T, Origin};
use crate::formats::testing::{chunk, column, context, rows_as_json};
use openssl::ssl::{SslAcceptor, SslMethod};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

/// What a request was, and what the answer is.
#[derive(Debug, Clone)]
struct Request {
    line: String,
    authorization: Option<String>,
    body: String,
}

type Handler = dyn Fn(&Request) -> (u16, String) + Send + Sync;

struct Server {
    url: String,
    asked: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    fn start(handler: impl Fn(&Request) -> (u16, String) + Send + Sync + 'static) -> Self {
        Self::start_with(None, handler)
    }

    fn start_with(
        tls: Option<SslAcceptor>,
        handler: impl Fn(&Request) -> (u16, String) + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let scheme = if tls.is_some() { "https" } else { "http" };
        let url = format!("{scheme}://localhost:{}", listener.local_addr().unwrap().port());
        let asked = Arc::new(Mutex::new(vec![]));
        let kept = asked.clone();
        // Ends with the test's process.
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                match &tls {
                    None => answer(stream, &kept, &handler),
                    Some(acceptor) => {
                        if let Ok(stream) = acceptor.accept(stream) {
                            answer(stream, &kept, &handler);
                        }
                    }
                }
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> Vec<Request> {
        self.asked.lock().unwrap().clone()
    }
}

fn answer(mut stream: impl Read + Write, asked: &Mutex<Vec<Request>>, handler: &Handler) {
    let mut bytes = vec![];
    let mut buffer = [0; 4096];
    let head_end = loop {
        if let Some(at) = bytes.windows(4).position(|w| w == b"\r\n\r\n") {
            break at + 4;
        }
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return,
        }
    };
    let head = String::from_utf8_lossy(&bytes[..head_end]).into_owned();
    let header = |name: &str| {
        head.lines().find_map(|l| {
            l.split_once(':').filter(|(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v.trim().to_string())
        })
    };
    let length: usize = header("content-length").map_or(0, |l| l.parse().unwrap());
    while bytes.len() < head_end + length {
        match stream.read(&mut buffer) {
            Ok(n) if n > 0 => bytes.extend_from_slice(&buffer[..n]),
            _ => return,
        }
    }
    let request = Request {
        line: head.lines().next().unwrap_or_default().trim_end_matches(" HTTP/1.1").to_string(),
        authorization: header("authorization"),
        body: String::from_utf8_lossy(&bytes[head_end..]).into_owned(),
    };
    asked.lock().unwrap().push(request.clone());
    let (status, body) = handler(&request);
    let _ = write!(stream, "HTTP/1.1 {status} x\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len());
    let _ = stream.flush();
}

/// A registry as simple as can be: every text gets the next id.
fn registry_of(schemas: &[&str]) -> impl Fn(&Request) -> (u16, String) + Send + Sync + use<> {
    let known: Mutex<Vec<String>> = Mutex::new(schemas.iter().map(|s| s.to_string()).collect());
    move |request| {
        let mut known = known.lock().unwrap();
        if let Some(id) = request.line.strip_prefix("GET /schemas/ids/") {
            return match known.get(id.parse::<usize>().unwrap() - 1) {
                Some(text) => (200, serde_json::json!({ "schema": text }).to_string()),
                None => (404, r#"{"error_code":40403,"message":"Schema not found"}"#.into()),
            };
        }
        let body: serde_json::Value = serde_json::from_str(&request.body).unwrap();
        let text = body["schema"].as_str().unwrap().to_string();
        let id = known.iter().position(|k| *k == text).unwrap_or_else(|| {
            known.push(text);
            known.len() - 1
        });
        (200, serde_json::json!({ "id": id + 1 }).to_string())
    }
}

fn table(columns: Vec<Column>, url: &str, more: &[(&'static str, &str)]) -> FormatContext {
    use crate::sql::options::{OptionEntry, OptionValue};
    let mut cx = context(columns, more);
    let value = OptionValue::List(url.split(',').map(str::to_string).collect());
    let entry = OptionEntry { value, text: url.into(), key: "url".into(), span: None, sensitive: false };
    cx.options.entries.insert("url", entry);
    cx
}

fn framed(id: u32, schema: &str, value: apache_avro::types::Value) -> Vec<u8> {
    let schema = apache_avro::Schema::parse_str(schema).unwrap();
    let mut out = vec![0];
    out.extend_from_slice(&id.to_be_bytes());
    out.extend(apache_avro::to_avro_datum(&schema, value).unwrap());
    out
}

fn record(fields: &[(&str, apache_avro::types::Value)]) -> apache_avro::types::Value {
    apache_avro::types::Value::Record(fields.iter().map(|(n, v)| (n.to_string(), v.clone())).collect())
}

const OLD: &str = r#"{"type":"record","name":"o","fields":[{"name":"id","type":"int"}]}"#;
const NEW: &str = r#"{"type":"record","name":"o","fields":[{"name":"more","type":"string"},{"name":"name","type":"string"},{"name":"id","type":"long"}]}"#;

#[test]
fn records_are_read_with_the_schema_they_were_written_with_and_each_is_asked_for_once() {
    use apache_avro::types::Value;
    let server = Server::start(registry_of(&[
        OLD,
        NEW,
        "\"string\"",
        r#"{"type":"record","name":"x","fields":[{"name":"id","type":"string"}]}"#,
    ]));
    let columns = vec![Column::new("id", T::BigInt, false), column("name", T::STRING)];
    let mut decoder = AvroConfluent.decoder(&table(columns, &server.url, &[])).unwrap();
    let new = |n: i64| framed(2, NEW, record(&[("more", "m".into()), ("name", "n".into()), ("id", Value::Long(n))]));
    let records = [
        framed(1, OLD, record(&[("id", Value::Int(1))])),
        new(2),
        vec![1, 0, 0, 0, 1, 2],
        vec![0, 0, 0],
        vec![],
        vec![0, 0, 0, 0, 3, 2, b'x'],
        vec![0, 0, 0, 0, 4, 2, b'x'],
        vec![0, 0, 0, 0, 9, 2],
        [new(3), vec![7]].concat(),
        new(4),
    ];
    let d = decoder.decode(&chunk(&records)).unwrap();
    assert_eq!(
        rows_as_json(&d.columns),
        [r#"{"id":1,"name":null}"#, r#"{"id":2,"name":"n"}"#, r#"{"id":4,"name":"n"}"#]
    );
    assert_eq!(
        d.errors.iter().map(|e| e.message.as_str()).collect::<Vec<_>>(),
        [
            "the record begins with the byte 1, not with 0 and a schema's id",
            "the record has 3 bytes, too few for a schema's id",
            "the record is empty",
            "the schema with the id 3 does not fit the table: the Avro schema is no record but string",
            "the schema with the id 4 does not fit the table: column id: Avro's string cannot become BIGINT",
            "no schema with the id 9: Schema not found",
            "not Avro of the table's schema: 1 bytes follow the record",
        ]
    );
    decoder.decode(&chunk(&records)).unwrap();
    let lines: Vec<String> = server.asked().into_iter().map(|r| r.line).collect();
    assert_eq!(lines, [1, 2, 3, 4, 9].map(|id| format!("GET /schemas/ids/{id}")));
}

#[test]
fn what_a_record_lacks_takes_the_default_of_the_tables_schema() {
    let server = Server::start(registry_of(&[OLD]));
    let own = r#"{"type":"record","name":"o","fields":[{"name":"id","type":"long"},
        {"name":"name","type":"string","default":"nobody"},{"name":"n","type":["null","int"],"default":null},
        {"name":"p","type":{"type":"bytes","logicalType":"decimal","precision":4,"scale":2},"default":"\u0001"}]}"#;
    let columns =
        vec![column("id", T::BigInt), column("name", T::STRING), column("n", T::Int), column("p", T::Decimal(4, 2))];
    let mut decoder = AvroConfluent.decoder(&table(columns, &server.url, &[("schema", own)])).unwrap();
    let d = decoder.decode(&chunk(&[framed(1, OLD, record(&[("id", apache_avro::types::Value::Int(7))]))])).unwrap();
    assert!(d.errors.is_empty(), "{:?}", d.errors);
    assert_eq!(rows_as_json(&d.columns), [r#"{"id":7,"name":"nobody","n":null,"p":0.01}"#]);
}

fn batch(columns: &[Column], lines: &[&str]) -> Batch {
    let decoded = crate::formats::json::Json.decoder(&context(columns.to_vec(), &[])).unwrap().decode(&chunk(lines));
    Batch::new(decoded.unwrap().columns, Origin::unknown())
}

fn written(encoder: &mut dyn Encoder, batch: &Batch) -> Result<Vec<Vec<u8>>> {
    let (mut out, mut errors) = (Encoded::default(), vec![]);
    encoder.encode(batch, &mut out, &mut errors)?;
    assert!(errors.is_empty(), "{errors:?}");
    let mut start = 0;
    Ok(out.records.iter().map(|(end, _)| out.bytes[std::mem::replace(&mut start, *end)..*end].to_vec()).collect())
}

#[test]
fn the_schema_is_registered_once_under_its_subject_with_the_password() {
    let server = Server::start(registry_of(&[OLD]));
    let columns = vec![column("a", T::Int)];
    let options = [("subject", "shop/a-value"), ("basic-auth.user-info", "ada:secret")];
    let cx = table(columns.clone(), &server.url, &options);
    let mut encoder = AvroConfluent.encoder(&cx).unwrap();
    assert_eq!(server.asked().len(), 0, "nothing is registered before a row is written");
    let rows = batch(&columns, &[r#"{"a":5}"#, "{}"]);
    assert_eq!(written(&mut *encoder, &rows).unwrap(), [vec![0, 0, 0, 0, 2, 2, 10], vec![0, 0, 0, 0, 2, 0]]);
    written(&mut *encoder, &rows).unwrap();
    let asked = server.asked();
    assert_eq!(asked.len(), 1);
    assert_eq!(asked[0].line, "POST /subjects/shop%2Fa-value/versions");
    assert_eq!(asked[0].authorization.as_deref(), Some("Basic YWRhOnNlY3JldA=="));
    let missing = table(columns, &server.url, &[]);
    assert!(AvroConfluent.encoder(&missing).err().unwrap().message.contains("option subject is missing"));
}

#[test]
fn a_registry_that_is_not_ready_is_asked_again_and_one_that_says_no_is_not() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counter = calls.clone();
    let inner = registry_of(&[]);
    let server = Server::start(move |request| match counter.fetch_add(1, SeqCst) {
        0 => (503, r#"{"message":"no leader yet"}"#.into()),
        _ => inner(request),
    });
    let columns = vec![column("a", T::Int)];
    let mut encoder = AvroConfluent.encoder(&table(columns.clone(), &server.url, &[("subject", "s")])).unwrap();
    written(&mut *encoder, &batch(&columns, &["{}"])).unwrap();
    assert_eq!(calls.load(SeqCst), 2);

    let server =
        Server::start(|_| (409, r#"{"error_code":409,"message":"incompatible with an earlier schema"}"#.into()));
    let mut encoder = AvroConfluent.encoder(&table(columns.clone(), &server.url, &[("subject", "s")])).unwrap();
    let error = written(&mut *encoder, &batch(&columns, &["{}"])).unwrap_err();
    assert!(
        error.message.ends_with(
            "registered under the subject s: the schema registry answers HTTP 409 incompatible with an earlier schema"
        ),
        "{error}"
    );
    assert_eq!((server.asked().len(), error.domain), (1, crate::error::Domain::External));
}

#[test]
fn a_registry_that_cannot_be_reached_fails_the_job_not_the_records() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let url = format!("http://ada:secret@{closed}");
    let mut decoder = AvroConfluent.decoder(&table(vec![column("id", T::Int)], &url, &[])).unwrap();
    let error = decoder.decode(&chunk(&[vec![0_u8, 0, 0, 0, 1, 2]])).err().unwrap();
    assert_eq!(error.domain, crate::error::Domain::External);
    assert!(error.message.starts_with("table t: the schema registry at http://"), "{error}");
    assert!(!error.to_string().contains("secret"), "{error}");
    // Records without an id need no registry.
    assert_eq!(decoder.decode(&chunk(&["x"])).unwrap().errors.len(), 1);
}

#[test]
fn a_wrong_password_or_path_fails_the_job_at_once() {
    for (status, body) in [(401, "Unauthorized"), (403, "{}"), (404, "<html>")] {
        let server = Server::start(move |_| (status, body.to_string()));
        let mut decoder = AvroConfluent.decoder(&table(vec![column("id", T::Int)], &server.url, &[])).unwrap();
        let error = decoder.decode(&chunk(&[vec![0_u8, 0, 0, 0, 1, 2]])).err().unwrap();
        assert_eq!((error.domain, server.asked().len()), (crate::error::Domain::External, 1));
        assert!(error.message.ends_with(&format!("cannot be asked: it answers HTTP {status}")), "{error}");
    }
}

#[test]
fn another_url_is_tried_when_one_is_down() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let server = Server::start(registry_of(&[OLD]));
    let urls = format!("http://{closed},{}", server.url);
    let mut decoder = AvroConfluent.decoder(&table(vec![column("id", T::Int)], &urls, &[])).unwrap();
    let d = decoder.decode(&chunk(&[vec![0_u8, 0, 0, 0, 1, 14]])).unwrap();
    assert_eq!(rows_as_json(&d.columns), [r#"{"id":7}"#]);
}

type Key = openssl::pkey::PKey<openssl::pkey::Private>;
type Certificate = openssl::x509::X509;

/// A certificate of this name, signed by the authority, or itself one.
fn certificate(name: &str, authority: Option<&(Certificate, Key)>) -> (Certificate, Key) {
    use openssl::asn1::Asn1Time;
    use openssl::x509::extension::{BasicConstraints, SubjectAlternativeName};
    let key = openssl::pkey::PKey::from_rsa(openssl::rsa::Rsa::generate(2048).unwrap()).unwrap();
    let mut subject = openssl::x509::X509Name::builder().unwrap();
    subject.append_entry_by_text("CN", name).unwrap();
    let subject = subject.build();
    let mut builder = openssl::x509::X509::builder().unwrap();
    builder.set_version(2).unwrap();
    builder.set_serial_number(&openssl::bn::BigNum::from_u32(7).unwrap().to_asn1_integer().unwrap()).unwrap();
    builder.set_subject_name(&subject).unwrap();
    builder.set_issuer_name(authority.map_or(&*subject, |(a, _)| a.subject_name())).unwrap();
    builder.set_pubkey(&key).unwrap();
    builder.set_not_before(&Asn1Time::days_from_now(0).unwrap()).unwrap();
    builder.set_not_after(&Asn1Time::days_from_now(30).unwrap()).unwrap();
    match authority {
        Some(_) => {
            let alternative =
                SubjectAlternativeName::new().dns(name).build(&builder.x509v3_context(None, None)).unwrap();
            builder.append_extension(alternative).unwrap();
        }
        None => builder.append_extension(BasicConstraints::new().critical().ca().build().unwrap()).unwrap(),
    }
    builder.sign(authority.map_or(&key, |(_, k)| k), openssl::hash::MessageDigest::sha256()).unwrap();
    (builder.build(), key)
}

#[test]
fn https_is_trusted_by_the_given_authority_only() {
    let authority = certificate("Wasmill test", None);
    let (own, key) = certificate("localhost", Some(&authority));
    let mut acceptor = SslAcceptor::mozilla_intermediate_v5(SslMethod::tls_server()).unwrap();
    acceptor.set_private_key(&key).unwrap();
    acceptor.set_certificate(&own).unwrap();
    let server = Server::start_with(Some(acceptor.build()), registry_of(&[OLD]));
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let record = chunk(&[vec![0_u8, 0, 0, 0, 1, 14]]);
    let trusted = file("ca.pem", &authority.0.to_pem().unwrap());
    let cx = table(vec![column("id", T::Int)], &server.url, &[("ssl.ca.location", &trusted)]);
    assert_eq!(AvroConfluent.decoder(&cx).unwrap().decode(&record).unwrap().columns.num_rows(), 1);

    let other = file("other.pem", &certificate("Wasmill test", None).0.to_pem().unwrap());
    let cx = table(vec![column("id", T::Int)], &server.url, &[("ssl.ca.location", &other)]);
    assert!(AvroConfluent.decoder(&cx).unwrap().decode(&record).is_err());
    let cx = table(vec![column("id", T::Int)], &server.url, &[("ssl.ca.location", &file("x", b"no pem"))]);
    assert!(AvroConfluent.decoder(&cx).err().unwrap().message.ends_with("it holds no certificate in PEM form"));
}

/// Apicurio Registry, through its Confluent API; `scripts/services/registry.sh` starts it.
#[test]
fn a_real_registry_gives_back_what_was_registered() {
    let url = std::env::var("WASMILL_REGISTRY")
        .expect("WASMILL_REGISTRY is not set: run `./dev tests`, or `./dev services up` and `set -a; eval \"$(./dev services env)\"`");
    let unique = format!("wasmill-{}-value", std::process::id());
    let first = vec![Column::new("id", T::BigInt, false), column("price", T::Decimal(9, 2))];
    let cx = table(first.clone(), &url, &[("subject", &unique)]);
    let mut encoder = AvroConfluent.encoder(&cx).unwrap();
    let old = written(&mut *encoder, &batch(&first, &[r#"{"id":1,"price":12.5}"#])).unwrap();

    // The table has grown since: a second version, and both are read.
    let second = [first, vec![column("name", T::STRING)]].concat();
    let cx = table(second.clone(), &url, &[("subject", &unique)]);
    let new = written(&mut *AvroConfluent.encoder(&cx).unwrap(), &batch(&second, &[r#"{"id":2,"name":"x"}"#])).unwrap();
    assert_ne!(old[0][..5], new[0][..5]);
    let again = written(&mut *AvroConfluent.encoder(&cx).unwrap(), &batch(&second, &[r#"{"id":3}"#])).unwrap();
    assert_eq!(again[0][..5], new[0][..5]);

    let unknown = [0, 0x7f, 0, 0, 0, 2].to_vec();
    let records = [old, new, again, vec![unknown]].concat();
    let d = AvroConfluent.decoder(&cx).unwrap().decode(&chunk(&records)).unwrap();
    assert_eq!(
        rows_as_json(&d.columns),
        [
            r#"{"id":1,"price":12.50,"name":null}"#,
            r#"{"id":2,"price":null,"name":"x"}"#,
            r#"{"id":3,"price":null,"name":null}"#,
        ]
    );
    assert_eq!(d.errors.len(), 1);
    assert!(d.errors[0].message.starts_with("no schema with the id 2130706432: "), "{:?}", d.errors);
}
