//! Messages on the wire: a length, a header, a body, side data.
//!
//! Pure functions. What comes in is not trusted: no panic and no allocation by a number that a server gave.

use crate::error::{Error, Result};
use crate::pb::kudu::rpc::{RequestHeader, ResponseHeader};
use bytes::{Buf, Bytes, BytesMut};
use prost::Message;

/// The greeting: magic, version 9, no service class, no authentication protocol.
pub const HELLO: &[u8; 7] = b"hrpc\x09\x00\x00";
/// What the servers take at most (`--rpc_max_message_size`).
pub const MAX_REQUEST: usize = 50 * 1024 * 1024;
/// Side data of one message; the servers' own limit.
const MAX_SIDECARS: usize = 1 << 12;

#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    pub header: ResponseHeader,
    /// The message, or an `ErrorStatusPB` when the header says so.
    pub body: Bytes,
    pub sidecars: Vec<Bytes>,
}

/// One request as it goes over the wire.
pub fn encode(header: &RequestHeader, body: &impl Message) -> Result<Bytes> {
    let (h, b) = (header.encoded_len(), body.encoded_len());
    let length = h + prost::length_delimiter_len(h) + b + prost::length_delimiter_len(b);
    if length > MAX_REQUEST {
        return Err(Error::invalid(format!("a request of {length} bytes is more than servers take ({MAX_REQUEST})")));
    }
    let mut out = BytesMut::with_capacity(4 + length);
    out.extend_from_slice(&(length as u32).to_be_bytes());
    let done = header.encode_length_delimited(&mut out).and_then(|()| body.encode_length_delimited(&mut out));
    done.map_err(|e| Error::protocol(format!("a request that cannot be encoded: {e}")))?;
    Ok(out.freeze())
}

/// The length that a frame announces, or None before four bytes are there.
pub fn announced(buffer: &[u8], limit: usize) -> Result<Option<usize>> {
    let Some(head) = buffer.first_chunk::<4>() else { return Ok(None) };
    let length = u32::from_be_bytes(*head) as usize;
    if length > limit {
        return Err(Error::protocol(format!("a message of {length} bytes was announced, the limit is {limit}")));
    }
    Ok(Some(length))
}

/// A frame without its length.
pub fn decode(mut frame: Bytes) -> Result<Response> {
    let header_bytes = take_delimited(&mut frame, "header")?;
    let header = ResponseHeader::decode(header_bytes).map_err(|e| Error::protocol(format!("response header: {e}")))?;
    let payload = take_delimited(&mut frame, "body")?;
    if !frame.is_empty() {
        return Err(Error::protocol(format!("{} bytes too many after a message", frame.len())));
    }
    let (body, sidecars) = split_sidecars(payload, &header.sidecar_offsets)?;
    Ok(Response { header, body, sidecars })
}

fn take_delimited(frame: &mut Bytes, what: &str) -> Result<Bytes> {
    let length =
        prost::decode_length_delimiter(&mut *frame).map_err(|e| Error::protocol(format!("length of a {what}: {e}")))?;
    if length > frame.remaining() {
        return Err(Error::protocol(format!(
            "a {what} of {length} bytes in a message with {} left",
            frame.remaining()
        )));
    }
    Ok(frame.split_to(length))
}

/// The message ends where the first side data begin; each of those ends where the next begins.
fn split_sidecars(payload: Bytes, offsets: &[u32]) -> Result<(Bytes, Vec<Bytes>)> {
    if offsets.len() > MAX_SIDECARS {
        return Err(Error::protocol(format!("{} pieces of side data in one message", offsets.len())));
    }
    let ends = offsets.iter().skip(1).map(|o| *o as usize).chain([payload.len()]);
    let mut sidecars = Vec::with_capacity(offsets.len());
    for (start, end) in offsets.iter().map(|o| *o as usize).zip(ends) {
        if start > end || end > payload.len() {
            return Err(Error::protocol(format!("side data at {start}..{end} of {} bytes", payload.len())));
        }
        sidecars.push(payload.slice(start..end));
    }
    let body = match offsets.first() {
        Some(first) => payload.slice(..*first as usize),
        None => payload,
    };
    Ok((body, sidecars))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn response(offsets: Vec<u32>, payload: &[u8]) -> Bytes {
        let header = ResponseHeader { call_id: 7, is_error: None, sidecar_offsets: offsets };
        let mut out = header.encode_length_delimited_to_vec();
        prost::encode_length_delimiter(payload.len(), &mut out).expect("fits");
        out.extend_from_slice(payload);
        out.into()
    }

    #[test]
    fn sidecars_are_cut_where_the_header_says() {
        let r = decode(response(vec![2, 2, 5], b"abcdefg")).expect("valid");
        assert_eq!(r.body, "ab");
        assert_eq!(r.sidecars, ["", "cde", "fg"]);
    }

    #[test]
    fn sidecars_outside_of_the_message_are_refused() {
        for offsets in [vec![8], vec![3, 2], vec![0, 99], vec![u32::MAX]] {
            assert!(decode(response(offsets.clone(), b"abcdefg")).is_err(), "{offsets:?}");
        }
    }

    #[test]
    fn a_length_over_the_limit_is_refused_before_anything_is_allocated() {
        assert!(announced(&[0xff, 0xff, 0xff, 0xff], 1 << 20).is_err());
        assert_eq!(announced(&[0, 0, 1], 10).expect("not yet"), None);
        assert_eq!(announced(&[0, 0, 0, 9, 1], 10).expect("fits"), Some(9));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_message_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = decode(bytes.into());
        }
        #[test]
        fn any_offsets_are_cut_or_refused(offsets in proptest::collection::vec(0u32..40, 0..6), n in 0usize..30) {
            let _ = decode(response(offsets, &vec![0; n]));
        }
    }
}
