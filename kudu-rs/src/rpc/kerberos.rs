//! GSSAPI as Kudu uses it (RFC 4752 inside of negotiation messages), from a keytab, without a C library.
//!
//! `krb5-gss` gives AP-REQ, AP-REP and the ciphers; `ticket` gets tickets. Wrapping is done here: the crate's own leaves out the flag
//! of the acceptor's subkey, and takes tokens with a checksum of no length.

use super::ticket::{self, Principal};
use crate::error::{Error, Result};
use crate::security::{Kerberos, Realms};
use futures::FutureExt;
use krb5_gss::gss::{ApReqOptions, build_ap_req_token, verify_ap_rep_token};
use krb5_gss::kerberos::{crypto, util};
use krb5_gss::{AcquiredTicket, KdcTransport, TokioKdcTransport};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

const ACCEPTOR_SEAL: u32 = 22;
const INITIATOR_SEAL: u32 = 24;
const SENT_BY_ACCEPTOR: u8 = 1;
const SEALED: u8 = 2;
const ACCEPTOR_SUBKEY: u8 = 4;

/// A security context from the client's side, in the order of its messages.
pub struct Context {
    server: Arc<str>,
    ticket: AcquiredTicket,
    time: (String, i32),
    keys: Option<Keys>,
    sent: u64,
}

struct Keys {
    etype: crypto::Etype,
    key: Vec<u8>,
    subkey: bool,
}

impl Context {
    /// Gets a ticket for `service/host`. `host` is the name by which the server was connected to.
    pub async fn start(server: &Arc<str>, host: &str, credentials: &Kerberos) -> Result<Self> {
        let realms = Realms::load(credentials);
        let told = |m: &str| {
            let (principal, keytab) = (&credentials.principal, &credentials.keytab);
            let service = format!("{}/{host}", credentials.service);
            Error::authentication(server, format!("no Kerberos ticket for {service} as {principal} from {keytab}: {m}"))
        };
        let client = Principal::parse(&credentials.principal).ok_or_else(|| told("a principal is user@REALM"))?;
        let realm = realms.of_host(host).unwrap_or_else(|| client.realm.clone());
        let service = Principal { parts: vec![credentials.service.clone(), host.to_string()], realm };
        let kdcs = Kdcs(realms);
        let acquired = ticket::acquire(&kdcs, &client, &credentials.keytab, &service);
        // `krb5-gss` is young: an answer of a KDC that it trips over must not take the process with it.
        let ticket = match AssertUnwindSafe(acquired).catch_unwind().await {
            Ok(t) => t.map_err(|m| told(&m))?,
            Err(_) => return Err(told("the KDC's answer cannot be understood")),
        };
        Ok(Self { server: server.clone(), ticket, time: util::utc_now_with_micros(), keys: None, sent: 0 })
    }

    fn error(&self, message: impl std::fmt::Display) -> Error {
        Error::authentication(&self.server, format!("Kerberos: {message}"))
    }

    /// The first token, for the server.
    pub fn initial(&self) -> Result<Vec<u8>> {
        build_ap_req_token(&ApReqOptions {
            cname: &self.ticket.cname,
            crealm: &self.ticket.crealm,
            ticket_der: &self.ticket.ticket_der,
            session_etype: self.ticket.session_etype,
            session_key: &self.ticket.session_key,
            ctime: &self.time.0,
            cusec: self.time.1,
            seq_number: Some(1),
            subkey: None,
        })
        .map_err(|e| self.error(e))
    }

    /// The server's answer to the first token: it proves that it has the service's key.
    pub fn accept(&mut self, token: &[u8]) -> Result<()> {
        let (t, time) = (&self.ticket, &self.time);
        let verify = || verify_ap_rep_token(token, t.session_etype, &t.session_key, &time.0, time.1);
        let part = std::panic::catch_unwind(AssertUnwindSafe(verify))
            .map_err(|_| self.error("the server's answer cannot be understood"))?
            .map_err(|e| self.error(format!("the server does not prove who it is: {e}")))?;
        self.keys = Some(match &part.subkey {
            Some(k) => Keys {
                etype: crypto::Etype::from_u32(k.keytype as u32)
                    .ok_or_else(|| self.error(format!("keys of type {} are not known", k.keytype)))?,
                key: k.keyvalue.clone(),
                subkey: true,
            },
            None => Keys { etype: t.session_etype, key: t.session_key.clone(), subkey: false },
        });
        Ok(())
    }

    fn keys(&self) -> Result<&Keys> {
        self.keys.as_ref().ok_or_else(|| self.error("a message before the context was there"))
    }

    /// The answer to the offer of layers: integrity, nothing else.
    pub fn choose_layer(&mut self, offer: &[u8]) -> Result<Vec<u8>> {
        const INTEGRITY: u8 = 2;
        let offer = self.unwrap(offer)?;
        match *offer {
            [layers, ..] if layers & INTEGRITY != 0 && offer.len() == 4 => self.wrap(&[INTEGRITY, 1, 0, 0]),
            _ => Err(self.error("the server does not offer the protection of messages")),
        }
    }

    /// RFC 4121, without encryption: header, payload, checksum.
    pub fn wrap(&mut self, payload: &[u8]) -> Result<Vec<u8>> {
        self.sent += 1;
        let keys = self.keys()?;
        let flags = if keys.subkey { ACCEPTOR_SUBKEY } else { 0 };
        Ok(seal(keys, INITIATOR_SEAL, flags, self.sent, payload))
    }

    /// What the server has wrapped. A token with a wrong, short or absent checksum is refused.
    pub fn unwrap(&self, token: &[u8]) -> Result<Vec<u8>> {
        let keys = self.keys()?;
        let refuse = |what: &str| self.error(format!("a token that was not made by the server: {what}"));
        let (Some(header), Some(body)) = (token.first_chunk::<16>(), token.get(16..)) else {
            return Err(refuse("too short"));
        };
        let flags = header[2];
        if header[..2] != [5, 4] || header[3] != 0xff || flags & SENT_BY_ACCEPTOR == 0 || flags & SEALED != 0 {
            return Err(refuse("header"));
        }
        let mac = keys.etype.mac_len();
        let (ec, rrc) = (u16::from_be_bytes([header[4], header[5]]), u16::from_be_bytes([header[6], header[7]]));
        if usize::from(ec) != mac || body.len() < mac {
            return Err(refuse("checksum"));
        }
        // The sender may have turned the body to the right.
        let mut body = body.to_vec();
        let turn = usize::from(rrc) % body.len();
        body.rotate_left(turn);
        let payload = &body[..body.len() - mac];
        let seq = u64::from_be_bytes([
            header[8], header[9], header[10], header[11], header[12], header[13], header[14], header[15],
        ]);
        let expected = seal(keys, ACCEPTOR_SEAL, flags, seq, payload);
        match constant_time_eq(&expected[16..], &body) {
            true => Ok(payload.to_vec()),
            false => Err(refuse("checksum")),
        }
    }

    /// The server's hash of its certificate must be that of the certificate that we saw.
    pub fn check_bindings(&self, wrapped: &[u8], expected: &[u8]) -> Result<()> {
        let token = prefixed(wrapped).ok_or_else(|| self.error("channel bindings that cannot be read"))?;
        match constant_time_eq(&self.unwrap(token)?, expected) {
            true => Ok(()),
            false => Err(self.error(
                "the certificate of this connection is not the one that the server has: somebody is in between",
            )),
        }
    }

    /// The nonce that proves to the server that the connection is still the one that was authenticated.
    pub fn encode_nonce(&mut self, nonce: &[u8]) -> Result<Vec<u8>> {
        let token = self.wrap(nonce)?;
        Ok([&(token.len() as u32).to_be_bytes()[..], &token].concat())
    }
}

fn seal(keys: &Keys, usage: u32, flags: u8, seq: u64, payload: &[u8]) -> Vec<u8> {
    let mut header = [5, 4, flags, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    header[8..].copy_from_slice(&seq.to_be_bytes());
    let key = crypto::dk_for(keys.etype, &keys.key, &crypto::usage_constant(usage, 0x99));
    let mac = crypto::hmac_for(keys.etype, &key, &[payload, &header].concat());
    let mac = &mac[..keys.etype.mac_len().min(mac.len())];
    header[4..6].copy_from_slice(&(mac.len() as u16).to_be_bytes());
    [&header, payload, mac].concat()
}

fn prefixed(bytes: &[u8]) -> Option<&[u8]> {
    let (length, rest) = bytes.split_first_chunk::<4>()?;
    (u32::from_be_bytes(*length) as usize == rest.len()).then_some(rest)
}

fn constant_time_eq(a: &[u8], b: &[u8]) -> bool {
    a.len() == b.len() && a.iter().zip(b).fold(0, |d, (x, y)| d | (x ^ y)) == 0
}

/// The KDCs of realms, asked one after the other.
struct Kdcs(Realms);

/// The time for one KDC; then the next one is asked.
const KDC_TIMEOUT: Duration = Duration::from_secs(3);

impl ticket::Exchange for Kdcs {
    async fn exchange(&self, realm: &str, request: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let mut last = String::new();
        for (host, port) in self.0.kdcs(realm)? {
            let one = TokioKdcTransport::new(&host, port);
            match tokio::time::timeout(KDC_TIMEOUT, one.exchange(realm, request)).await {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(e)) => last = e.to_string(),
                Err(_) => last = format!("the KDC {host}:{port} did not answer within {KDC_TIMEOUT:?}"),
            }
        }
        Err(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use krb5_gss::kerberos::asn1::PrincipalName;

    fn context() -> Context {
        let key = vec![7; 32];
        let etype = crypto::Etype::Aes256CtsHmacSha196;
        let cname = PrincipalName { name_type: 1, name_string: vec!["u".into()] };
        let ticket = AcquiredTicket {
            ticket_der: vec![],
            session_etype: etype,
            session_key: key.clone(),
            cname,
            crealm: "R".into(),
            endtime: String::new(),
        };
        let keys = Some(Keys { etype, key, subkey: true });
        Context { server: "s".into(), ticket, time: (String::new(), 0), keys, sent: 0 }
    }

    fn from_server(c: &Context, payload: &[u8]) -> Vec<u8> {
        seal(c.keys().expect("keys"), ACCEPTOR_SEAL, SENT_BY_ACCEPTOR | ACCEPTOR_SUBKEY, 9, payload)
    }

    #[test]
    fn a_token_of_the_server_is_taken_turned_or_not() {
        let c = context();
        let token = from_server(&c, b"payload");
        assert_eq!(c.unwrap(&token).expect("valid"), b"payload");
        let mut turned = token.clone();
        turned[7] = 12;
        turned[16..].rotate_right(12);
        assert_eq!(c.unwrap(&turned).expect("valid"), b"payload");
    }

    #[test]
    fn a_token_without_checksum_or_with_another_is_refused() {
        let c = context();
        let token = from_server(&c, b"payload");
        for n in 0..token.len() {
            assert!(c.unwrap(&token[..n]).is_err(), "cut at {n}");
            let mut other = token.clone();
            other[n] ^= 0x10;
            assert!(c.unwrap(&other).is_err(), "changed at {n}");
        }
        let mut none = token[..16 + 7].to_vec();
        none[4..6].copy_from_slice(&[0, 0]);
        assert!(c.unwrap(&none).is_err());
    }

    #[test]
    fn only_integrity_is_chosen() {
        let mut c = context();
        assert!(c.choose_layer(&from_server(&c, &[6, 0, 4, 0])).is_ok());
        assert!(c.choose_layer(&from_server(&c, &[1, 0, 4, 0])).is_err());
        assert!(c.choose_layer(&from_server(&c, &[])).is_err());
    }

    #[test]
    fn bindings_of_another_certificate_are_refused() {
        let c = context();
        let token = from_server(&c, b"hash");
        let wrapped = [&(token.len() as u32).to_be_bytes()[..], &token].concat();
        assert!(c.check_bindings(&wrapped, b"hash").is_ok());
        assert!(c.check_bindings(&wrapped, b"hasH").unwrap_err().to_string().contains("somebody is in between"));
        assert!(c.check_bindings(&token, b"hash").is_err());
    }
}
