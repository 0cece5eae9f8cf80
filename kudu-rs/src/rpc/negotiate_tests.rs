//! Servers that say anything: the client gives an error, in time, and does not panic.

use super::negotiate::{Terms, negotiate};
use super::{Call, Connection, MASTER};
use crate::pb::kudu::master::{PingRequestPb, PingResponsePb};
use crate::pb::kudu::rpc::negotiate_pb::{NegotiateStep, SaslMechanism};
use crate::pb::kudu::rpc::{NegotiatePb, ResponseHeader};
use crate::security::{Credentials, EncryptionPolicy};
use prost::Message;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A server that sends these bytes whatever it is told, and then waits for the client to go.
async fn server(bytes: Vec<u8>) -> TcpStream {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let (mut socket, _) = listener.accept().await.expect("the client");
        let _ = socket.write_all(&bytes).await;
        let _ = socket.shutdown().await;
        let mut rest = Vec::new();
        let _ = socket.read_to_end(&mut rest).await;
    });
    TcpStream::connect(address).await.expect("the server")
}

fn terms() -> Terms {
    Terms {
        credentials: Credentials::User("u".into()),
        encryption: EncryptionPolicy::Optional,
        require_authentication: false,
        token: None,
        max_message: 1 << 20,
    }
}

fn frame(header: &ResponseHeader, body: &[u8]) -> Vec<u8> {
    let mut out = header.encode_length_delimited_to_vec();
    prost::encode_length_delimiter(body.len(), &mut out).expect("fits");
    out.extend_from_slice(body);
    [&(out.len() as u32).to_be_bytes()[..], &out].concat()
}

fn negotiation(message: &NegotiatePb) -> Vec<u8> {
    frame(&ResponseHeader { call_id: -33, ..Default::default() }, &message.encode_to_vec())
}

/// What a server without TLS says to let everybody in.
fn welcome() -> Vec<u8> {
    let step = |s: NegotiateStep| NegotiatePb { step: s as i32, ..Default::default() };
    let offer = NegotiatePb {
        sasl_mechanisms: vec![SaslMechanism { mechanism: "PLAIN".into() }],
        ..step(NegotiateStep::Negotiate)
    };
    [negotiation(&offer), negotiation(&step(NegotiateStep::SaslSuccess))].concat()
}

fn random(n: usize) -> Vec<u8> {
    (0..n.div_ceil(8)).flat_map(|_| crate::retry::random().to_le_bytes()).take(n).collect()
}

async fn ping(bytes: Vec<u8>) -> crate::Result<PingResponsePb> {
    let socket = server(bytes).await;
    let name: Arc<str> = "fake".into();
    let terms = terms();
    let agreed = tokio::time::timeout(Duration::from_secs(5), negotiate(socket, name.clone(), "127.0.0.1", &terms));
    let connection = Connection::start(name, agreed.await.expect("no hanging")?);
    let timeout = Duration::from_secs(5);
    let call = Call { service: MASTER, method: "Ping", features: vec![], request_id: None, timeout };
    connection.call::<PingResponsePb>(&call, &PingRequestPb {}).await.map(|(m, _)| m)
}

#[tokio::test]
async fn a_server_that_keeps_to_the_protocol_is_understood() {
    let answer = frame(&ResponseHeader { call_id: 0, ..Default::default() }, &[]);
    ping([welcome(), answer].concat()).await.expect("an answer");
}

#[tokio::test]
async fn arbitrary_bytes_of_a_server_are_errors() {
    for round in 0..300 {
        let noise = random(round % 97);
        let framed = [&(noise.len() as u32).to_be_bytes()[..], &noise].concat();
        let offer = negotiation(&NegotiatePb { supported_features: vec![1, 2], ..Default::default() });
        let body = frame(&ResponseHeader { call_id: -33, ..Default::default() }, &noise);
        let answer = frame(&ResponseHeader { call_id: 0, is_error: Some(true), ..Default::default() }, &noise);
        let other = frame(&ResponseHeader { call_id: 77, ..Default::default() }, &noise);
        let mut cut = welcome();
        cut.truncate(round % cut.len());
        let mut changed = welcome();
        let at = round % changed.len();
        changed[at] ^= 1 << (round % 8);
        for bytes in [
            noise.clone(),
            framed.clone(),
            body.clone(),
            [offer, body].concat(),
            cut,
            [welcome(), framed].concat(),
            [welcome(), answer].concat(),
            [welcome(), other].concat(),
        ] {
            assert!(ping(bytes).await.is_err());
        }
        // A changed welcome may still be one; then the connection ends without an answer.
        assert!(ping(changed).await.is_err());
    }
}

#[tokio::test]
async fn a_message_over_the_limit_ends_the_connection() {
    let long = ((1u32 << 20) + 1).to_be_bytes().to_vec();
    let e = ping([welcome(), long].concat()).await.expect_err("too long").to_string();
    assert!(e.contains("1048577 bytes was announced"), "{e}");
}
