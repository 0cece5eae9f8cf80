//! How a connection begins: what both sides can, TLS inside of messages, who the client is.

use super::transport::{ReadSide, Tls, WriteSide};
use super::{frame, tls};
use crate::error::{Error, Result, RpcCode};
use crate::pb::kudu::rpc::authentication_type_pb::{Sasl, Token, Type};
use crate::pb::kudu::rpc::negotiate_pb::{NegotiateStep, SaslMechanism};
use crate::pb::kudu::rpc::{
    AuthenticationTypePb, ConnectionContextPb, ErrorStatusPb, NegotiatePb, RequestHeader, RpcFeatureFlag,
};
use crate::pb::kudu::security::SignedTokenPb;
use crate::security::{Credentials, EncryptionPolicy};
use bytes::{Bytes, BytesMut};
use prost::Message;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use tokio::net::TcpStream;

const NEGOTIATION: i32 = -33;
const CONTEXT: i32 = -3;

/// What a connection is opened with.
pub struct Terms {
    pub credentials: Credentials,
    pub encryption: EncryptionPolicy,
    pub require_authentication: bool,
    /// A token and the authorities that a server must have its certificate from.
    pub token: Option<(SignedTokenPb, Vec<Bytes>)>,
    pub max_message: usize,
}

/// An agreed connection.
pub struct Agreed {
    pub read: ReadSide,
    pub write: WriteSide,
}

struct Negotiation<'a> {
    server: Arc<str>,
    #[cfg_attr(not(feature = "kerberos"), allow(dead_code))]
    host: &'a str,
    terms: &'a Terms,
    read: ReadSide,
    write: WriteSide,
    /// The session when there is one; the socket goes through it only when `wrap` says so.
    session: Option<Tls>,
    loopback: bool,
}

/// Agrees with the server at the other end of `socket`, which was reached by the name `host`.
pub async fn negotiate(socket: TcpStream, server: Arc<str>, host: &str, terms: &Terms) -> Result<Agreed> {
    let lost = |e: std::io::Error| Error::connection(&server, e);
    socket.set_nodelay(true).map_err(lost)?;
    let loopback = is_same_machine(socket.local_addr().map_err(lost)?.ip(), socket.peer_addr().map_err(lost)?.ip());
    let (read, write) = socket.into_split();
    let buffer = BytesMut::new();
    let read = ReadSide { server: server.clone(), socket: read, tls: None, buffer, limit: terms.max_message };
    let write = WriteSide { server: server.clone(), socket: write, tls: None };
    Negotiation { server, host, terms, read, write, session: None, loopback }.run().await
}

fn is_same_machine(local: IpAddr, remote: IpAddr) -> bool {
    local == remote || (local.is_loopback() && remote.is_loopback())
}

impl Negotiation<'_> {
    async fn run(mut self) -> Result<Agreed> {
        self.write.send(frame::HELLO).await?;
        let ours = self.features();
        let offer = self.offer(&ours);
        self.send(&offer).await?;
        let theirs = self.expect(NegotiateStep::Negotiate).await?;
        let both = |f: RpcFeatureFlag| ours.contains(&f) && theirs.supported_features().any(|t| t == f);
        let method = self.method(&theirs)?;
        if both(RpcFeatureFlag::Tls) {
            self.tls_handshake(matches!(method, Method::Token)).await?;
            if !both(RpcFeatureFlag::TlsAuthenticationOnly) {
                self.read.tls = self.session.clone();
                self.write.tls = self.session.clone();
            }
        } else if self.must_encrypt() {
            return Err(Error::authentication(
                &self.server,
                "encryption is required, and the server does not offer TLS (its --rpc_encryption is disabled)",
            ));
        }
        tracing::debug!(server = %self.server, encrypted = self.read.tls.is_some(), ?method, "negotiated");
        let context = match method {
            Method::Token => self.token().await?,
            Method::Plain => self.plain().await?,
            Method::Gssapi => self.gssapi().await?,
        };
        let message = frame::encode(&header(CONTEXT), &context)?;
        self.write.send(&message).await?;
        Ok(Agreed { read: self.read, write: self.write })
    }

    fn must_encrypt(&self) -> bool {
        match self.terms.encryption {
            EncryptionPolicy::Off | EncryptionPolicy::Optional => false,
            EncryptionPolicy::RequiredRemote => !self.loopback,
            EncryptionPolicy::Required => true,
        }
    }

    fn features(&self) -> Vec<RpcFeatureFlag> {
        let mut features = vec![RpcFeatureFlag::ApplicationFeatureFlags];
        if self.terms.encryption == EncryptionPolicy::Off {
            return features;
        }
        features.push(RpcFeatureFlag::Tls);
        // On one machine TLS may be for the authentication alone.
        if self.loopback && !self.must_encrypt() {
            features.push(RpcFeatureFlag::TlsAuthenticationOnly);
        }
        features
    }

    fn offer(&self, features: &[RpcFeatureFlag]) -> NegotiatePb {
        let mut authn_types = vec![AuthenticationTypePb { r#type: Some(Type::Sasl(Sasl {})) }];
        // A token is shown under TLS only.
        if self.terms.token.is_some() && features.contains(&RpcFeatureFlag::Tls) {
            authn_types.push(AuthenticationTypePb { r#type: Some(Type::Token(Token {})) });
        }
        let mechanism = match &self.terms.credentials {
            Credentials::User(_) => "PLAIN",
            Credentials::Kerberos(_) => "GSSAPI",
        };
        let mut sasl_mechanisms = vec![];
        if mechanism == "GSSAPI" || !self.terms.require_authentication {
            sasl_mechanisms.push(SaslMechanism { mechanism: mechanism.into() });
        }
        NegotiatePb {
            supported_features: features.iter().map(|f| *f as i32).collect(),
            authn_types,
            sasl_mechanisms,
            ..step(NegotiateStep::Negotiate)
        }
    }

    /// How the client is to say who it is, by the server's answer.
    fn method(&self, theirs: &NegotiatePb) -> Result<Method> {
        if let Some(AuthenticationTypePb { r#type: Some(Type::Token(_)) }) = theirs.authn_types.first() {
            return match self.terms.token {
                Some(_) => Ok(Method::Token),
                None => Err(Error::protocol(format!("{}: a token was chosen that was not offered", self.server))),
            };
        }
        let offers = |name: &str| theirs.sasl_mechanisms.iter().any(|m| m.mechanism.eq_ignore_ascii_case(name));
        let refuse = |message: &str| Err(Error::authentication(&self.server, message));
        match &self.terms.credentials {
            Credentials::Kerberos(_) if offers("GSSAPI") => Ok(Method::Gssapi),
            Credentials::Kerberos(_) => {
                refuse("the server does not offer Kerberos: give a user name in place of a principal, if that is meant")
            }
            Credentials::User(_) if offers("PLAIN") && !self.terms.require_authentication => Ok(Method::Plain),
            Credentials::User(_) if offers("GSSAPI") => {
                refuse("the server requires authentication: a Kerberos principal and its keytab are needed")
            }
            Credentials::User(_) if self.terms.require_authentication => {
                refuse("authentication is required, and neither a token nor a Kerberos principal is there")
            }
            Credentials::User(_) if theirs.sasl_mechanisms.is_empty() => {
                refuse("the server offers no way of authentication that this client has")
            }
            Credentials::User(_) => refuse("the server offers neither PLAIN nor GSSAPI"),
        }
    }

    /// TLS, its records carried in negotiation messages. With TLS 1.3 the client sends last, and goes on at once.
    async fn tls_handshake(&mut self, check_authority: bool) -> Result<()> {
        let authorities = self.terms.token.as_ref().filter(|_| check_authority).map(|(_, a)| a.as_slice());
        let mut session = tls::session(authorities)?;
        loop {
            let mut out = Vec::new();
            while session.wants_write() {
                session.write_tls(&mut out).map_err(|e| Error::connection(&self.server, e))?;
            }
            if !out.is_empty() {
                let message = NegotiatePb { tls_handshake: Some(out.into()), ..step(NegotiateStep::TlsHandshake) };
                self.send(&message).await?;
            }
            if !session.is_handshaking() {
                break;
            }
            let answer = self.expect(NegotiateStep::TlsHandshake).await?;
            let records = answer.tls_handshake.unwrap_or_default();
            if records.is_empty() {
                return Err(Error::protocol(format!("{}: an empty TLS message", self.server)));
            }
            let mut rest = &records[..];
            while !rest.is_empty() {
                session.read_tls(&mut rest).map_err(|e| Error::connection(&self.server, e))?;
                session.process_new_packets().map_err(|e| self.tls_error(e, check_authority))?;
            }
        }
        self.session = Some(Arc::new(Mutex::new(session)));
        Ok(())
    }

    fn tls_error(&self, e: rustls::Error, check_authority: bool) -> Error {
        match e {
            rustls::Error::InvalidCertificate(e) if check_authority => Error::authentication(
                &self.server,
                format!("the server's certificate is not one of this cluster's authority ({e:?})"),
            ),
            e => Error::authentication(&self.server, format!("TLS: {e}")),
        }
    }

    async fn token(&mut self) -> Result<ConnectionContextPb> {
        let token = self.terms.token.as_ref().map(|(t, _)| t.clone());
        self.send(&NegotiatePb { authn_token: token, ..step(NegotiateStep::TokenExchange) }).await?;
        self.expect(NegotiateStep::TokenExchange).await?;
        Ok(ConnectionContextPb::default())
    }

    async fn plain(&mut self) -> Result<ConnectionContextPb> {
        let Credentials::User(user) = &self.terms.credentials else { return Ok(ConnectionContextPb::default()) };
        let token = [b"\0", user.as_bytes(), b"\0"].concat();
        self.send(&initiate("PLAIN", token)).await?;
        self.expect(NegotiateStep::SaslSuccess).await?;
        Ok(ConnectionContextPb::default())
    }

    #[cfg(not(feature = "kerberos"))]
    async fn gssapi(&mut self) -> Result<ConnectionContextPb> {
        Err(Error::NotSupported("this build has no Kerberos (the crate's feature `kerberos`)".into()))
    }

    #[cfg(feature = "kerberos")]
    async fn gssapi(&mut self) -> Result<ConnectionContextPb> {
        let Credentials::Kerberos(kerberos) = &self.terms.credentials else {
            return Ok(ConnectionContextPb::default());
        };
        let mut context = super::kerberos::Context::start(&self.server, self.host, kerberos).await?;
        self.send(&initiate("GSSAPI", context.initial()?)).await?;
        let answer = self.expect(NegotiateStep::SaslChallenge).await?;
        context.accept(answer.token())?;
        // The token must be there and be empty.
        self.send(&NegotiatePb { token: Some(Bytes::new()), ..step(NegotiateStep::SaslResponse) }).await?;
        let offer = self.expect(NegotiateStep::SaslChallenge).await?;
        let choice = context.choose_layer(offer.token())?;
        self.send(&NegotiatePb { token: Some(choice.into()), ..step(NegotiateStep::SaslResponse) }).await?;
        let success = self.expect(NegotiateStep::SaslSuccess).await?;
        if let Some(session) = &self.session {
            let certificate =
                super::transport::lock(session).peer_certificates().and_then(|c| c.first().map(|c| c.to_vec()));
            let hash = tls::end_point_hash(&certificate.unwrap_or_default());
            context.check_bindings(success.channel_bindings(), &hash)?;
        }
        let nonce = success.nonce.as_ref().map(|n| context.encode_nonce(n)).transpose()?;
        Ok(ConnectionContextPb { encoded_nonce: nonce.map(Into::into), ..Default::default() })
    }

    async fn send(&mut self, message: &NegotiatePb) -> Result<()> {
        let message = frame::encode(&header(NEGOTIATION), message)?;
        self.write.send(&message).await
    }

    async fn expect(&mut self, wanted: NegotiateStep) -> Result<NegotiatePb> {
        let frame = self.read.frame().await?;
        let frame =
            frame.ok_or_else(|| Error::connection(&self.server, "closed while the connection was negotiated"))?;
        let response = frame::decode(frame)?;
        let unread = |e: prost::DecodeError| Error::protocol(format!("{}: negotiation: {e}", self.server));
        if response.header.is_error() {
            return Err(self.refused(ErrorStatusPb::decode(response.body).map_err(unread)?));
        }
        if response.header.call_id != NEGOTIATION {
            return Err(Error::protocol(format!("{}: call {} amid negotiation", self.server, response.header.call_id)));
        }
        let message = NegotiatePb::decode(response.body).map_err(unread)?;
        if message.step() != wanted {
            return Err(Error::protocol(format!(
                "{}: step {:?} where {wanted:?} was due",
                self.server,
                message.step()
            )));
        }
        Ok(message)
    }

    fn refused(&self, e: ErrorStatusPb) -> Error {
        let server = self.server.to_string();
        match e.code() {
            RpcCode::FatalInvalidAuthenticationToken => Error::InvalidAuthnToken { server, message: e.message },
            RpcCode::ErrorUnavailable | RpcCode::ErrorServerTooBusy | RpcCode::FatalServerShuttingDown => {
                Error::Connection { server, message: e.message }
            }
            _ if e.message.contains("no shared cipher") => Error::Authentication {
                server,
                message: format!(
                    "the server's TLS is too old: {}. If the network is trusted, `EncryptionPolicy::Off` does without",
                    e.message
                ),
            },
            _ => Error::Authentication { server, message: format!("the server refused the client: {}", e.message) },
        }
    }
}

#[derive(Debug)]
enum Method {
    Token,
    Plain,
    Gssapi,
}

fn header(call_id: i32) -> RequestHeader {
    RequestHeader { call_id, ..Default::default() }
}

fn step(step: NegotiateStep) -> NegotiatePb {
    NegotiatePb { step: step as i32, ..Default::default() }
}

fn initiate(mechanism: &str, token: Vec<u8>) -> NegotiatePb {
    NegotiatePb {
        token: Some(token.into()),
        sasl_mechanisms: vec![SaslMechanism { mechanism: mechanism.into() }],
        ..step(NegotiateStep::SaslInitiate)
    }
}
