//! Checked little-endian reads at any alignment.

use crate::FrameError;

pub(crate) fn array<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FrameError> {
    at.checked_add(N)
        .and_then(|end| bytes.get(at..end))
        .and_then(|s| s.try_into().ok())
        .ok_or(FrameError::new("cut short"))
}

pub(crate) fn u16_at(bytes: &[u8], at: usize) -> Result<u16, FrameError> {
    Ok(u16::from_le_bytes(array(bytes, at)?))
}

pub(crate) fn u32_at(bytes: &[u8], at: usize) -> Result<u32, FrameError> {
    Ok(u32::from_le_bytes(array(bytes, at)?))
}

pub(crate) fn u64_at(bytes: &[u8], at: usize) -> Result<u64, FrameError> {
    Ok(u64::from_le_bytes(array(bytes, at)?))
}

/// `len` bytes from `start`, or an error that names `what`.
pub(crate) fn range<'a>(bytes: &'a [u8], start: usize, len: usize, what: &str) -> Result<&'a [u8], FrameError> {
    start.checked_add(len).and_then(|end| bytes.get(start..end)).ok_or_else(|| {
        FrameError::new(format!("{what}: {len} bytes at {start} lie outside of the {} bytes given", bytes.len()))
    })
}

pub(crate) fn pad8(n: usize) -> usize {
    n.div_ceil(8) * 8
}

/// FNV-1a, 64 bits.
pub(crate) fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |h, b| (h ^ u64::from(*b)).wrapping_mul(0x0000_0100_0000_01b3))
}
