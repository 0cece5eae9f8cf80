//! TLS as Kudu has it: certificates of the cluster's own authority, which name no host that a client knows.

use crate::error::{Error, Result};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, ClientConnection, DigitallySignedStruct, SignatureScheme};
use sha2::{Digest, Sha256, Sha384, Sha512};
use std::sync::Arc;

/// Checks that a server's certificate comes from the cluster's authority, when that is known. Host names are not
/// checked: certificates hold the server's own idea of its name, and Kudu's clients do not look at it.
#[derive(Debug)]
struct ClusterVerifier {
    authorities: Option<rustls::RootCertStore>,
    algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for ClusterVerifier {
    fn verify_server_cert(
        &self,
        end: &CertificateDer,
        intermediates: &[CertificateDer],
        _: &ServerName,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        if let Some(roots) = &self.authorities {
            let end = rustls::server::ParsedCertificate::try_from(end)?;
            let all = self.algorithms.all;
            rustls::client::verify_server_cert_signed_by_trust_anchor(&end, roots, intermediates, now, all)?;
        }
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, signed, &self.algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, signed, &self.algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}

/// A session at its beginning. With `authorities` the server must have a certificate of one of them.
pub fn session(authorities: Option<&[bytes::Bytes]>) -> Result<ClientConnection> {
    let provider = Arc::new(ring::default_provider());
    let algorithms = provider.signature_verification_algorithms;
    let wrong = |e: &dyn std::fmt::Display| Error::protocol(format!("TLS: {e}"));
    let authorities = authorities
        .map(|certificates| {
            let mut roots = rustls::RootCertStore::empty();
            for c in certificates {
                roots.add(CertificateDer::from(c.to_vec())).map_err(|e| wrong(&e))?;
            }
            Ok::<_, Error>(roots)
        })
        .transpose()?;
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| wrong(&e))?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ClusterVerifier { authorities, algorithms }))
        .with_no_client_auth();
    // The name is neither sent (it is no host name) nor checked.
    let name = ServerName::try_from("127.0.0.1").map_err(|e| wrong(&e))?;
    ClientConnection::new(Arc::new(config), name).map_err(|e| wrong(&e))
}

/// The hash of a certificate that binds an authentication to its channel (RFC 5929, tls-server-end-point): by the hash of
/// the certificate's own signature, and SHA-256 where that would be MD5 or SHA-1.
pub fn end_point_hash(certificate: &[u8]) -> Vec<u8> {
    // sha384WithRSAEncryption, ecdsa-with-SHA384; the same for 512. The signature's algorithm is in a certificate twice.
    const SHA384: [&[u8]; 2] =
        [&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03]];
    const SHA512: [&[u8]; 2] =
        [&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04]];
    let algorithm = signature_algorithm(certificate).unwrap_or_default();
    if SHA384.contains(&algorithm) {
        Sha384::digest(certificate).to_vec()
    } else if SHA512.contains(&algorithm) {
        Sha512::digest(certificate).to_vec()
    } else {
        Sha256::digest(certificate).to_vec()
    }
}

/// Certificate ::= SEQUENCE { tbsCertificate SEQUENCE, signatureAlgorithm SEQUENCE { OID .. }, .. }
fn signature_algorithm(certificate: &[u8]) -> Option<&[u8]> {
    let (_, body, _) = tlv(certificate)?;
    let (_, _, rest) = tlv(body)?;
    let (_, algorithm, _) = tlv(rest)?;
    let (tag, oid, _) = tlv(algorithm)?;
    (tag == 6).then_some(oid)
}

/// Tag, content and what follows of a DER value.
fn tlv(der: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = der.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match *first {
        n @ 0..=0x7f => (usize::from(n), rest),
        n @ 0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(n & 0x7f))?;
            (digits.iter().fold(0usize, |a, d| a << 8 | usize::from(*d)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((*tag, content, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn certificate(oid: &[u8]) -> Vec<u8> {
        let wrap = |tag: u8, content: &[u8]| [&[tag, content.len() as u8], content].concat();
        wrap(0x30, &[wrap(0x30, b"tbs"), wrap(0x30, &wrap(6, oid)), wrap(3, b"signature")].concat())
    }

    #[test]
    fn the_hash_is_that_of_the_certificates_signature() {
        let sha512 = certificate(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d]);
        assert_eq!(end_point_hash(&sha512), Sha512::digest(&sha512).to_vec());
        let sha1 = certificate(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05]);
        assert_eq!(end_point_hash(&sha1), Sha256::digest(&sha1).to_vec());
    }

    proptest! {
        #[test]
        fn any_bytes_have_a_hash(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
            prop_assert!(end_point_hash(&bytes).len() >= 32);
        }
    }
}
