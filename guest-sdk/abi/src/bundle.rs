//! A bundle: a list of byte strings, each at a multiple of 8.

use crate::bytes::{pad8, range, u32_at};
use crate::{FrameError, MAX_FRAME_BYTES};

/// Parts of a bundle.
const MAX_PARTS: usize = 65_536;

/// A bundle that was read; the parts borrow from its bytes.
#[derive(Debug, Clone, Default)]
pub struct Bundle<'a> {
    parts: Vec<&'a [u8]>,
}

impl<'a> Bundle<'a> {
    pub fn parse(bytes: &'a [u8]) -> Result<Self, FrameError> {
        let count = u32_at(bytes, 0)? as usize;
        if count > MAX_PARTS {
            return Err(FrameError::new(format!("bundle: {count} parts, at most {MAX_PARTS}")));
        }
        let parts = (0..count)
            .map(|i| {
                let at = 8 + i * 8;
                range(bytes, u32_at(bytes, at)? as usize, u32_at(bytes, at + 4)? as usize, "bundle part")
            })
            .collect::<Result<_, _>>()?;
        Ok(Self { parts })
    }

    pub fn len(&self) -> usize {
        self.parts.len()
    }

    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    pub fn part(&self, index: usize) -> Result<&'a [u8], FrameError> {
        self.parts
            .get(index)
            .copied()
            .ok_or_else(|| FrameError::new(format!("bundle: part {index} is missing, there are {}", self.parts.len())))
    }

    pub fn text(&self, index: usize) -> Result<&'a str, FrameError> {
        std::str::from_utf8(self.part(index)?)
            .map_err(|_| FrameError::new(format!("bundle: part {index} is not valid UTF-8")))
    }

    /// A bundle of names and values in turn, as configuration travels.
    pub fn pairs(&self) -> Result<Vec<(String, String)>, FrameError> {
        if !self.len().is_multiple_of(2) {
            return Err(FrameError::new(format!(
                "configuration: {} parts, names and values come in pairs",
                self.len()
            )));
        }
        (0..self.len()).step_by(2).map(|i| Ok((self.text(i)?.to_string(), self.text(i + 1)?.to_string()))).collect()
    }
}

/// Writes a bundle; fails only when the parts are too many or too long.
pub fn write_bundle<P: AsRef<[u8]>>(parts: &[P]) -> Result<Vec<u8>, FrameError> {
    let total = parts.iter().fold(8 + parts.len() * 8, |n, p| n + pad8(p.as_ref().len()));
    if total >= MAX_FRAME_BYTES || parts.len() > MAX_PARTS {
        return Err(FrameError::new(format!("bundle: {} parts with {total} bytes are too much", parts.len())));
    }
    let mut out = Vec::with_capacity(total);
    out.extend_from_slice(&(parts.len() as u32).to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    let mut at = 8 + parts.len() * 8;
    for part in parts {
        out.extend_from_slice(&(at as u32).to_le_bytes());
        out.extend_from_slice(&(part.as_ref().len() as u32).to_le_bytes());
        at += pad8(part.as_ref().len());
    }
    for part in parts {
        out.extend_from_slice(part.as_ref());
        out.resize(pad8(out.len()), 0);
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back_as_written() {
        let bytes = write_bundle(&[&b"mask"[..], b"", b"123456789"]).unwrap();
        let bundle = Bundle::parse(&bytes).unwrap();
        assert_eq!((bundle.len(), bundle.text(0).unwrap()), (3, "mask"));
        assert_eq!(bundle.part(1).unwrap(), b"");
        assert_eq!(bundle.part(2).unwrap(), b"123456789");
        assert!(bundle.part(3).unwrap_err().to_string().contains("part 3 is missing"));
    }

    #[test]
    fn a_part_outside_of_the_bytes_is_refused() {
        let mut bytes = write_bundle(&[b"mask"]).unwrap();
        bytes[12] = 200;
        assert_eq!(
            Bundle::parse(&bytes).unwrap_err().to_string(),
            "bundle part: 200 bytes at 16 lie outside of the 24 bytes given"
        );
    }
}
