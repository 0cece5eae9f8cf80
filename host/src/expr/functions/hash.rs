//! Digests, as lower-case hexadecimal text.

use super::call::at;
use super::codec::Octets;
use super::types::{self, Arg};
use super::{Binding, Builtin, Call, PURE};
use crate::data::Reason;
use arrow::array::ArrayRef;
use arrow::datatypes::DataType;
use datafusion_common::{Result, ScalarValue};
use openssl::hash::{MessageDigest, hash};
use std::fmt::Write as _;

/// Every digest is one of openssl's, which may refuse (MD5 on a FIPS host): then the row is refused.
const DIGEST: Builtin = Builtin { fallible: true, coerce: text_or_bytes, ..PURE };

pub(super) const FUNCTIONS: &[Builtin] = &[
    Builtin { name: "md5", eval: |c| digest(c, MessageDigest::md5()), ..DIGEST },
    Builtin { name: "sha1", eval: |c| digest(c, MessageDigest::sha1()), ..DIGEST },
    Builtin { name: "sha224", eval: |c| digest(c, MessageDigest::sha224()), ..DIGEST },
    Builtin { name: "sha256", eval: |c| digest(c, MessageDigest::sha256()), ..DIGEST },
    Builtin { name: "sha384", eval: |c| digest(c, MessageDigest::sha384()), ..DIGEST },
    Builtin { name: "sha512", eval: |c| digest(c, MessageDigest::sha512()), ..DIGEST },
    Builtin {
        name: "sha2",
        coerce: |t| types::signature(t, &[Arg::Text, Arg::Int], 2),
        returns: sha2_type,
        eval: sha2,
        ..DIGEST
    },
];

fn text_or_bytes(args: &[DataType]) -> std::result::Result<Vec<DataType>, String> {
    if args == [DataType::Binary] { Ok(args.to_vec()) } else { types::signature(args, &[Arg::Text], 1) }
}

fn write(call: &Call<'_>, row: usize, algorithm: MessageDigest, bytes: &[u8], out: &mut String) -> Option<()> {
    match hash(algorithm, bytes) {
        Ok(digest) => digest.iter().try_for_each(|b| write!(out, "{b:02x}")).ok(),
        Err(e) => {
            call.fail(row, Reason::Cast, format!("the digest cannot be made: {e}"));
            None
        }
    }
}

fn digest(call: &Call<'_>, algorithm: MessageDigest) -> Result<ArrayRef> {
    let source = Octets::new(call, 0)?;
    call.text_rows(|i, out| write(call, i, algorithm, source.get(i)?, out))
}

fn of_bits(bits: i64) -> std::result::Result<MessageDigest, String> {
    Ok(match bits {
        224 => MessageDigest::sha224(),
        256 => MessageDigest::sha256(),
        384 => MessageDigest::sha384(),
        512 => MessageDigest::sha512(),
        _ => return Err(format!("there is no SHA-2 of {bits} bits: it must be 224, 256, 384 or 512")),
    })
}

fn sha2_type(binding: &Binding<'_>) -> std::result::Result<DataType, String> {
    if let Some(ScalarValue::Int64(Some(bits))) = binding.scalars.get(1).copied().flatten() {
        of_bits(*bits)?;
    }
    Ok(DataType::Utf8)
}

fn sha2(call: &Call<'_>) -> Result<ArrayRef> {
    let (source, lengths) = (call.texts(0)?, call.longs(1)?);
    call.text_rows(|i, out| {
        let (text, bits) = (source.get(i)?, at(&lengths, i)?);
        let algorithm = of_bits(bits).map_err(|message| call.fail(i, Reason::Cast, message)).ok()?;
        write(call, i, algorithm, text.as_bytes(), out)
    })
}
