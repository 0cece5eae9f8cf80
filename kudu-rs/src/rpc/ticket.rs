//! Tickets of a KDC (RFC 4120) by a key of a keytab. `krb5-gss` has the formats and the ciphers; its own client knows
//! neither principals of several parts (`impala/host`) nor other realms than the client's, and compares no nonce.

use krb5_gss::AcquiredTicket;
use krb5_gss::kerberos::asn1::{
    self, Authenticator, EncKdcRepPart, EncryptedData, KdcRep, KdcReqBody, PaData, PrincipalName,
};
use krb5_gss::kerberos::crypto::{self, Etype};
use krb5_gss::kerberos::keytab::{Keytab, KeytabEntry};
use krb5_gss::kerberos::util;

const AS_REQ: (i32, u8) = (10, 0x6a);
const TGS_REQ: (i32, u8) = (12, 0x6c);
const AS_REP: u8 = 0x6b;
const TGS_REP: u8 = 0x6d;
const KRB_ERROR: u8 = 0x7e;
const PREAUTH_REQUIRED: i32 = 25;

const PA_TGS_REQ: i32 = 1;
const PA_ENC_TIMESTAMP: i32 = 2;

const USAGE_TIMESTAMP: u32 = 1;
const USAGE_AS_REP: u32 = 3;
const USAGE_TGS_CHECKSUM: u32 = 6;
const USAGE_TGS_AUTHENTICATOR: u32 = 7;
const USAGE_TGS_REP: u32 = 8;

/// In the order of preference: AES with SHA-1 is what every KDC has.
const ETYPES: [i32; 4] = [18, 17, 20, 19];

/// Sends a request to a KDC of a realm.
pub trait Exchange {
    fn exchange(&self, realm: &str, request: &[u8]) -> impl Future<Output = Result<Vec<u8>, String>> + Send;
}

/// `first/second@REALM`
#[derive(Debug, Clone, PartialEq)]
pub struct Principal {
    pub parts: Vec<String>,
    pub realm: String,
}

impl Principal {
    pub fn parse(text: &str) -> Option<Self> {
        let (name, realm) = text.rsplit_once('@')?;
        let parts: Vec<String> = name.split('/').map(str::to_string).collect();
        (!realm.is_empty() && parts.iter().all(|p| !p.is_empty())).then(|| Self { parts, realm: realm.to_string() })
    }
    fn name(&self, kind: i32) -> PrincipalName {
        PrincipalName { name_type: kind, name_string: self.parts.clone() }
    }
}

/// What a KDC gave: a ticket and the key that goes with it.
struct Granted {
    ticket: Vec<u8>,
    etype: Etype,
    key: Vec<u8>,
    end: String,
}

/// A ticket for `service` (its realm with it), by way of the client's own realm.
pub async fn acquire(
    kdc: &impl Exchange,
    client: &Principal,
    keytab: &str,
    service: &Principal,
) -> Result<AcquiredTicket, String> {
    let path = keytab.to_string();
    let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await.map_err(|e| e.to_string())?;
    let keytab =
        Keytab::parse(&read.map_err(|e| format!("the keytab cannot be read: {e}"))?).map_err(|e| e.to_string())?;
    let name = client.parts.join("/");
    let mut keys: Vec<&KeytabEntry> =
        keytab.entries.iter().filter(|e| e.principal == name && e.realm == client.realm).collect();
    // The newest first.
    keys.sort_by_key(|e| std::cmp::Reverse(e.kvno));
    if keys.is_empty() {
        return Err("the keytab has no key of this principal".into());
    }
    let mut granted = first_ticket(kdc, client, &keys).await?;
    if service.realm != client.realm {
        // One step to a realm that trusts ours; longer ways are not looked for.
        let other = Principal { parts: vec!["krbtgt".into(), service.realm.clone()], realm: client.realm.clone() };
        granted = next_ticket(kdc, client, &client.realm, &granted, &other).await?;
    }
    let granted = next_ticket(kdc, client, &service.realm, &granted, service).await?;
    Ok(AcquiredTicket {
        ticket_der: granted.ticket,
        session_etype: granted.etype,
        session_key: granted.key,
        cname: client.name(1),
        crealm: client.realm.clone(),
        endtime: granted.end,
    })
}

fn body(client: Option<&Principal>, realm: &str, service: &Principal, etypes: Vec<i32>) -> (Vec<u8>, i32) {
    let nonce = (crate::retry::random() & 0x3fff_ffff) as i32;
    let body = KdcReqBody {
        kdc_options: [0; 4],
        cname: client.map(|c| c.name(1)),
        realm: realm.to_string(),
        sname: Some(service.name(2)),
        from: None,
        till: util::utc_add_days(1),
        rtime: None,
        nonce,
        etype: etypes,
        addresses: None,
    };
    (asn1::encode_kdc_req_body(&body), nonce)
}

fn request(kind: (i32, u8), data: &[PaData], body: &[u8]) -> Vec<u8> {
    let data: Vec<u8> = data.iter().flat_map(asn1::encode_pa_data).collect();
    let data = (!data.is_empty()).then(|| asn1::tlv_seq(&data));
    asn1::encode_kdc_req(5, kind.0, kind.1, data.as_deref(), body)
}

/// The ticket that others are got with.
async fn first_ticket(kdc: &impl Exchange, client: &Principal, keys: &[&KeytabEntry]) -> Result<Granted, String> {
    let service = Principal { parts: vec!["krbtgt".into(), client.realm.clone()], realm: client.realm.clone() };
    // What the keytab has keys for.
    let etypes: Vec<i32> = ETYPES.into_iter().filter(|t| keys.iter().any(|k| k.etype as i32 == *t)).collect();
    let Some(key) = etypes.iter().find_map(|t| keys.iter().find(|k| k.etype as i32 == *t)) else {
        return Err("the keytab has no AES key of this principal".into());
    };
    let (body, nonce) = body(Some(client), &client.realm, &service, etypes);
    let mut answer = kdc.exchange(&client.realm, &request(AS_REQ, &[], &body)).await?;
    if error_code(&answer) == Some(PREAUTH_REQUIRED) {
        let proof = PaData { padata_type: PA_ENC_TIMESTAMP, padata_value: timestamp(key)? };
        answer = kdc.exchange(&client.realm, &request(AS_REQ, &[proof], &body)).await?;
    }
    let reply = reply(&answer, AS_REP)?;
    let matching = keys.iter().filter(|k| k.etype as i32 == reply.enc_part.etype);
    let plain =
        matching.filter_map(|k| crypto::decrypt(k.etype, &k.key, USAGE_AS_REP, &reply.enc_part.cipher).ok()).next();
    let plain = plain.ok_or("the keytab holds another key than the KDC: it is out of date, or another principal's")?;
    grant(reply, &plain, nonce)
}

fn timestamp(key: &KeytabEntry) -> Result<Vec<u8>, String> {
    let time = asn1::tlv_ctx(0, &asn1::tlv(0x18, util::utc_now_generalized().as_bytes()));
    let cipher =
        crypto::encrypt(key.etype, &key.key, USAGE_TIMESTAMP, &asn1::tlv_seq(&time)).map_err(|e| e.to_string())?;
    Ok(asn1::encode_enc_data(&EncryptedData { etype: key.etype as i32, kvno: None, cipher }))
}

/// A ticket for `service` of the KDC of `realm`, by a ticket for that KDC.
async fn next_ticket(
    kdc: &impl Exchange,
    client: &Principal,
    realm: &str,
    by: &Granted,
    service: &Principal,
) -> Result<Granted, String> {
    let (body, nonce) = body(None, realm, service, ETYPES.to_vec());
    let authenticator = Authenticator {
        authenticator_vno: 5,
        crealm: client.realm.clone(),
        cname: client.name(1),
        cksum: Some(checksum(by, &body)),
        cusec: util::now_micros(),
        ctime: util::utc_now_generalized(),
        subkey: None,
        seq_number: None,
    };
    let plain = asn1::encode_authenticator(&authenticator);
    let cipher = crypto::encrypt(by.etype, &by.key, USAGE_TGS_AUTHENTICATOR, &plain).map_err(|e| e.to_string())?;
    let sealed = EncryptedData { etype: by.etype as i32, kvno: None, cipher };
    let proof = PaData { padata_type: PA_TGS_REQ, padata_value: asn1::encode_ap_req(&by.ticket, &sealed) };
    let answer = kdc.exchange(realm, &request(TGS_REQ, &[proof], &body)).await?;
    let reply = reply(&answer, TGS_REP)?;
    let plain = crypto::decrypt(by.etype, &by.key, USAGE_TGS_REP, &reply.enc_part.cipher).map_err(|e| e.to_string())?;
    grant(reply, &plain, nonce)
}

/// Of the request's body, so that nobody changes it on the way.
fn checksum(by: &Granted, body: &[u8]) -> Vec<u8> {
    let kind = match by.etype {
        Etype::Aes128CtsHmacSha196 => 15,
        Etype::Aes256CtsHmacSha196 => 16,
        Etype::Aes128CtsHmacSha256128 => 19,
        Etype::Aes256CtsHmacSha384192 => 20,
    };
    let key = crypto::dk_for(by.etype, &by.key, &crypto::usage_constant(USAGE_TGS_CHECKSUM, 0x99));
    let mut mac = crypto::hmac_for(by.etype, &key, body);
    mac.truncate(by.etype.mac_len());
    let value = asn1::tlv_ctx(1, &asn1::tlv(4, &mac));
    asn1::tlv_seq(&[asn1::ctx_int(0, kind), value].concat())
}

fn error_code(answer: &[u8]) -> Option<i32> {
    if answer.first() != Some(&KRB_ERROR) {
        return None;
    }
    asn1::decode_krb_error(answer).ok().map(|e| e.error_code)
}

fn reply(answer: &[u8], wanted: u8) -> Result<KdcRep, String> {
    if let Some(code) = error_code(answer) {
        return Err(explain(code));
    }
    asn1::decode_kdc_rep(answer, wanted).map_err(|e| format!("an answer that cannot be read: {e}"))
}

fn grant(reply: KdcRep, plain: &[u8], nonce: i32) -> Result<Granted, String> {
    let part: EncKdcRepPart =
        asn1::decode_enc_kdc_rep_part(plain).map_err(|e| format!("an answer that cannot be read: {e}"))?;
    if part.nonce != nonce {
        return Err("an answer to another request".into());
    }
    let etype = Etype::from_u32(part.key.keytype as u32)
        .ok_or_else(|| format!("the KDC gave a key of type {}, AES is needed", part.key.keytype))?;
    if part.key.keyvalue.len() != etype.key_len() {
        return Err("the KDC gave a key of a wrong length".into());
    }
    Ok(Granted { ticket: reply.ticket_der, etype, key: part.key.keyvalue, end: part.endtime })
}

/// The KDC's codes that people meet, in words.
fn explain(code: i32) -> String {
    let words = match code {
        6 => "the KDC does not know this principal",
        7 => "the KDC does not know the service: is the server reached by the name in its principal?",
        14 => "the KDC takes none of our ciphers (AES)",
        18 => "the principal is locked or has expired",
        23 => "the password of the principal has expired",
        24 => "the keytab holds another key than the KDC: it is out of date, or another principal's",
        37 => "the clocks of this machine and the KDC are too far apart",
        68 => "the KDC is not one of the principal's realm",
        _ => return format!("KDC error {code}"),
    };
    format!("{words} (KDC error {code})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn principals_have_parts_and_a_realm() {
        let p = Principal::parse("impala/host.example@R").expect("valid");
        assert_eq!((p.parts, p.realm), (vec!["impala".to_string(), "host.example".into()], "R".into()));
        for wrong in ["u", "u@", "@R", "a//b@R"] {
            assert!(Principal::parse(wrong).is_none(), "{wrong}");
        }
    }
}
