//! Java's key stores: JKS, PKCS#12 and PEM, to PEM text.

use openssl::hash::{MessageDigest, hash};
use openssl::pkcs12::Pkcs12;
use openssl::pkey::PKey;
use openssl::x509::{X509, X509Ref};

/// What a store holds, as PEM text.
#[derive(Default)]
pub struct Material {
    /// Certificates to trust.
    pub trusted: String,
    /// The certificate of `key` and those that signed it.
    pub chain: String,
    pub key: Option<String>,
}

#[derive(Default)]
pub struct Passwords<'a> {
    pub store: Option<&'a str>,
    /// Of the key, if it has one of its own.
    pub key: Option<&'a str>,
}

const JKS: [u8; 4] = [0xFE, 0xED, 0xFE, 0xED];
const JCEKS: [u8; 4] = [0xCE, 0xCE, 0xCE, 0xCE];
const SHA1: usize = 20;
const CONVERT: &str =
    "convert it with: keytool -importkeystore -destkeystore new.p12 -deststoretype PKCS12 -srckeystore ..";

/// Reads a store of any of the three kinds: the file itself says which (Java's does not go by the name, either).
pub fn read(bytes: &[u8], passwords: &Passwords<'_>) -> Result<Material, String> {
    if bytes.starts_with(&JKS) {
        return read_jks(bytes, passwords);
    }
    if bytes.starts_with(&JCEKS) {
        return Err(format!("a JCEKS store cannot be read; {CONVERT}"));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) if text.contains("-----BEGIN ") => Ok(read_pem(text)),
        _ => read_pkcs12(bytes, passwords),
    }
}

fn read_pem(text: &str) -> Material {
    let mut material = Material::default();
    let mut block = String::new();
    for line in text.lines().map(str::trim_end) {
        if line.starts_with("-----BEGIN ") {
            block.clear();
        }
        block += line;
        block.push('\n');
        if let Some(kind) = line.strip_prefix("-----END ") {
            if kind.contains("CERTIFICATE") {
                material.trusted += &block;
            } else if kind.contains("PRIVATE KEY") {
                material.key = Some(block.clone());
            }
        }
    }
    material.chain.clone_from(&material.trusted);
    material
}

fn read_pkcs12(bytes: &[u8], passwords: &Passwords<'_>) -> Result<Material, String> {
    let store = Pkcs12::from_der(bytes).map_err(|_| "it is no JKS, PKCS#12 or PEM store".to_string())?;
    let password = passwords.store.or(passwords.key).unwrap_or_default();
    let parsed = store.parse2(password).map_err(|e| {
        // OpenSSL says "mac verify failure" for a wrong password, and "unsupported" for ciphers of old.
        let text = e.to_string().to_lowercase();
        if text.contains("unsupported") {
            format!("its encryption is too old for OpenSSL 3; {CONVERT}")
        } else {
            "the password is wrong, or the store is damaged".to_string()
        }
    })?;
    let mut material = Material::default();
    for certificate in parsed.cert.as_deref().into_iter().chain(parsed.ca.iter().flatten()) {
        material.trusted += &certificate_pem(certificate)?;
    }
    material.chain.clone_from(&material.trusted);
    if let Some(key) = &parsed.pkey {
        material.key = Some(key_pem(key)?);
    }
    Ok(material)
}

/// Big-endian fields, one after the other.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], String> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or("the store is cut short")?;
        self.0 = rest;
        Ok(taken)
    }
    fn number<const N: usize>(&mut self) -> Result<u64, String> {
        Ok(self.take(N)?.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    }
    /// As long as the number of `N` bytes before it says.
    fn counted<const N: usize>(&mut self) -> Result<&'a [u8], String> {
        let len = usize::try_from(self.number::<N>()?).map_err(|e| e.to_string())?;
        self.take(len)
    }
}

fn read_jks(bytes: &[u8], passwords: &Passwords<'_>) -> Result<Material, String> {
    let body = bytes.len().checked_sub(SHA1).ok_or("the store is cut short")?;
    let (content, digest) = bytes.split_at(body);
    // Java, too, skips the check without a password.
    if let Some(password) = passwords.store {
        let seal = [&utf16(password), b"Mighty Aphrodite".as_slice(), content].concat();
        if sha1(&seal)?.as_slice() != digest {
            return Err("the password is wrong, or the store is damaged".into());
        }
    }
    let mut fields = Fields(content.get(4..).ok_or("the store is cut short")?);
    let version = fields.number::<4>()?;
    if !(1..=2).contains(&version) {
        return Err(format!("version {version} of JKS is not known"));
    }
    let mut material = Material::default();
    for _ in 0..fields.number::<4>()? {
        let kind = fields.number::<4>()?;
        let (_alias, _made) = (fields.counted::<2>()?, fields.number::<8>()?);
        match kind {
            1 => read_key(&mut fields, version, passwords, &mut material)?,
            2 => material.trusted += &read_certificate(&mut fields, version)?,
            other => return Err(format!("an entry of kind {other} is not known")),
        }
    }
    Ok(material)
}

fn read_key(
    fields: &mut Fields<'_>,
    version: u64,
    passwords: &Passwords<'_>,
    material: &mut Material,
) -> Result<(), String> {
    let sealed = fields.counted::<4>()?;
    let mut chain = String::new();
    for i in 0..fields.number::<4>()? {
        let certificate = read_certificate(fields, version)?;
        if i == 0 {
            material.trusted += &certificate;
        }
        chain += &certificate;
    }
    // Trust stores may hold keys that nobody needs here.
    if material.key.is_none()
        && let Some(password) = passwords.key.or(passwords.store)
    {
        let key = PKey::private_key_from_pkcs8(&open_key(sealed, password)?).map_err(|e| format!("the key: {e}"))?;
        material.key = Some(key_pem(&key)?);
        material.chain = chain;
    }
    Ok(())
}

fn read_certificate(fields: &mut Fields<'_>, version: u64) -> Result<String, String> {
    if version == 2 {
        let kind = fields.counted::<2>()?;
        if kind != b"X.509" {
            return Err("a certificate is not X.509".into());
        }
    }
    let certificate = X509::from_der(fields.counted::<4>()?).map_err(|e| format!("a certificate: {e}"))?;
    certificate_pem(&certificate)
}

/// A key of a JKS: salt, key XOR a stream of digests, digest.
fn open_key(sealed: &[u8], password: &str) -> Result<Vec<u8>, String> {
    let mut outer = Fields(der(&mut Fields(sealed), 0x30)?);
    der(&mut outer, 0x30)?;
    let data = der(&mut outer, 0x04)?;
    let inside = data.len().checked_sub(2 * SHA1).ok_or("the key is cut short")?;
    let (salt, rest) = data.split_at(SHA1);
    let (hidden, check) = rest.split_at(inside);
    let password = utf16(password);
    let mut plain = Vec::with_capacity(inside);
    let mut stream = salt.to_vec();
    for part in hidden.chunks(SHA1) {
        stream = sha1(&[password.as_slice(), &stream].concat())?;
        plain.extend(part.iter().zip(&stream).map(|(a, b)| a ^ b));
    }
    if sha1(&[password.as_slice(), &plain].concat())?.as_slice() != check {
        return Err("the key's password is wrong (ssl.key.password)".into());
    }
    Ok(plain)
}

/// The content of the next DER element, which must have this tag.
fn der<'a>(fields: &mut Fields<'a>, tag: u64) -> Result<&'a [u8], String> {
    if fields.number::<1>()? != tag {
        return Err("the key's envelope is not what JKS has".into());
    }
    match fields.number::<1>()? {
        len @ 0..=127 => fields.take(len as usize),
        0x81 => fields.counted::<1>(),
        0x82 => fields.counted::<2>(),
        0x83 => fields.counted::<3>(),
        _ => Err("the key's envelope is too long".into()),
    }
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn sha1(bytes: &[u8]) -> Result<Vec<u8>, String> {
    hash(MessageDigest::sha1(), bytes).map(|d| d.to_vec()).map_err(|e| format!("SHA-1: {e}"))
}

fn pem_text(pem: Result<Vec<u8>, openssl::error::ErrorStack>) -> Result<String, String> {
    String::from_utf8(pem.map_err(|e| e.to_string())?).map_err(|e| e.to_string())
}

fn certificate_pem(certificate: &X509Ref) -> Result<String, String> {
    pem_text(certificate.to_pem())
}

fn key_pem(key: &PKey<openssl::pkey::Private>) -> Result<String, String> {
    pem_text(key.private_key_to_pem_pkcs8())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_of_no_kind_are_refused_whatever_they_hold() {
        let store = Passwords { store: Some("x"), key: None };
        let refused = |bytes: &[u8]| read(bytes, &store).err().unwrap();
        assert!(refused(b"junk").contains("no JKS, PKCS#12 or PEM"));
        assert!(refused(&JCEKS).contains("JCEKS"));
        assert!(refused(&JKS).contains("cut short"));
        assert!(refused(&[&JKS[..], &[0; 40]].concat()).contains("password is wrong"));
        // Lengths that lead out of the store.
        let none = Passwords::default();
        let wild = [&JKS[..], &[0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 2, 0xFF, 0xFF], &[0; 30]].concat();
        assert!(read(&wild, &none).err().unwrap().contains("cut short"));
    }

    #[test]
    fn pem_files_hold_certificates_and_a_key() {
        let text = "junk\n-----BEGIN CERTIFICATE-----\nA\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nK\n-----END PRIVATE KEY-----\n-----BEGIN CERTIFICATE-----\nB\n-----END CERTIFICATE-----\n";
        let m = read(text.as_bytes(), &Passwords::default()).unwrap();
        assert_eq!(m.trusted.matches("BEGIN CERTIFICATE").count(), 2);
        assert_eq!(m.key.as_deref(), Some("-----BEGIN PRIVATE KEY-----\nK\n-----END PRIVATE KEY-----\n"));
        assert!(!m.chain.contains("PRIVATE"));
    }
}
