//! Writes a frame in two steps: plan the buffers (which gives the exact size), then fill them in the same order,
//! straight into the place where the frame is to lie (a guest's memory, say).

use super::{HEADER, MAGIC, NODE, ROW_ERROR, SECTION};
use crate::bytes::pad8;
use crate::{FrameError, MAX_FRAME_BYTES, VERSION, section};

/// What a frame will hold. Reused from call to call: `reset`, then `node` in pre-order, then `section`, then `start`.
#[derive(Debug, Default)]
pub struct FramePlan {
    rows: u32,
    fingerprint: u64,
    nodes: Vec<PlannedNode>,
    /// Sections but the columns: kind and length.
    sections: Vec<(u32, usize)>,
    /// Every buffer in the order of filling: place and length.
    buffers: Vec<(usize, usize)>,
    total: usize,
}

#[derive(Debug, Clone, Copy)]
struct PlannedNode {
    code: u8,
    children: u32,
    len: u32,
    validity: Option<usize>,
    offsets: Option<usize>,
    data: Option<usize>,
}

impl FramePlan {
    pub fn reset(&mut self, rows: usize, fingerprint: u64) {
        self.rows = rows as u32;
        self.fingerprint = fingerprint;
        self.nodes.clear();
        self.sections.clear();
        self.buffers.clear();
        self.total = 0;
    }

    /// Adds a node: whether it has validity bits and offsets, and how many bytes of data (None: no data buffer).
    pub fn node(&mut self, code: u8, children: usize, len: usize, validity: bool, offsets: bool, data: Option<usize>) {
        self.nodes.push(PlannedNode {
            code,
            children: children as u32,
            len: len as u32,
            validity: validity.then_some(len.div_ceil(8)),
            offsets: offsets.then_some((len + 1) * 4),
            data,
        });
    }

    /// Adds a section of this many bytes; it is filled after the columns' buffers.
    pub fn section(&mut self, kind: u32, len: usize) {
        self.sections.push((kind, len));
    }

    /// Fixes the places and returns the size of the frame in bytes.
    pub fn layout(&mut self) -> Result<usize, FrameError> {
        let mut at = HEADER + (self.sections.len() + 1) * SECTION + self.nodes.len() * NODE;
        self.buffers.clear();
        for node in &self.nodes {
            for len in [node.validity, node.offsets, node.data].into_iter().flatten() {
                at = place(&mut self.buffers, at, len)?;
            }
        }
        for (_, len) in &self.sections {
            at = place(&mut self.buffers, at, *len)?;
        }
        self.total = at;
        if at >= MAX_FRAME_BYTES { Err(too_long()) } else { Ok(at) }
    }

    /// Writes header and tables into `out`, which is exactly as long as `layout` said.
    pub fn start<'a>(&'a self, out: &'a mut [u8]) -> Result<FrameWriter<'a>, FrameError> {
        if out.len() != self.total {
            return Err(FrameError::new(format!("frame: {} bytes of room for {}", out.len(), self.total)));
        }
        out[..4].copy_from_slice(MAGIC);
        out[4..6].copy_from_slice(&[VERSION.0, VERSION.1]);
        out[6..8].copy_from_slice(&(HEADER as u16).to_le_bytes());
        out[8..16].copy_from_slice(&self.fingerprint.to_le_bytes());
        let words = [self.rows, self.sections.len() as u32 + 1, self.total as u32, 0];
        put_words(&mut out[16..HEADER], &words);
        self.write_tables(&mut out[HEADER..]);
        Ok(FrameWriter { out, buffers: self.buffers.iter() })
    }

    fn write_tables(&self, out: &mut [u8]) {
        let nodes_at = HEADER + (self.sections.len() + 1) * SECTION;
        let (sections, nodes) = out.split_at_mut(nodes_at - HEADER);
        let mut entries = sections.chunks_exact_mut(SECTION);
        let columns = [section::COLUMNS, section::REQUIRED, nodes_at as u32, (self.nodes.len() * NODE) as u32];
        if let Some(entry) = entries.next() {
            put_words(entry, &columns);
        }
        let of_sections = self.buffers.len() - self.sections.len();
        for (entry, ((kind, _), (at, len))) in entries.zip(self.sections.iter().zip(&self.buffers[of_sections..])) {
            put_words(entry, &[*kind, 0, *at as u32, *len as u32]);
        }
        let mut places = self.buffers.iter();
        let mut place = |wanted: Option<usize>| match wanted {
            Some(_) => places.next().map_or(0, |(at, _)| *at as u32),
            None => 0,
        };
        for (entry, node) in nodes.chunks_exact_mut(NODE).zip(&self.nodes) {
            let (validity, offsets, data) = (place(node.validity), place(node.offsets), place(node.data));
            let data_len = node.data.unwrap_or(0) as u32;
            put_words(entry, &[u32::from(node.code), node.children, node.len, validity, offsets, data, data_len, 0]);
        }
    }
}

/// Puts a buffer at `at`; gives the place behind it.
fn place(buffers: &mut Vec<(usize, usize)>, at: usize, len: usize) -> Result<usize, FrameError> {
    buffers.push((at, len));
    match at.checked_add(len) {
        Some(end) if end < MAX_FRAME_BYTES => Ok(pad8(end)),
        _ => Err(too_long()),
    }
}

#[cold]
fn too_long() -> FrameError {
    FrameError::new(format!("frame: longer than {MAX_FRAME_BYTES} bytes"))
}

fn put_words(out: &mut [u8], words: &[u32]) {
    for (place, word) in out.chunks_exact_mut(4).zip(words) {
        place.copy_from_slice(&word.to_le_bytes());
    }
}

/// Hands out the buffers of a started frame, in the order of the plan: per node validity, offsets, data; then the
/// sections.
pub struct FrameWriter<'a> {
    out: &'a mut [u8],
    buffers: std::slice::Iter<'a, (usize, usize)>,
}

impl FrameWriter<'_> {
    /// The next buffer, to be filled completely. Padding behind it is zeroed here, so that equal rows give equal
    /// frames. Empty when the plan has no more.
    pub fn buffer(&mut self) -> &mut [u8] {
        let Some(&(at, len)) = self.buffers.next() else { return &mut [] };
        let padded = pad8(at + len).min(self.out.len());
        self.out[at + len..padded].fill(0);
        &mut self.out[at..at + len]
    }
}

/// Size of a section of row errors with these messages.
pub fn row_errors_len<'a>(messages: impl Iterator<Item = &'a str>) -> usize {
    messages.fold(8, |n, m| n + ROW_ERROR + m.len())
}

/// Fills a section of row errors: (row, message), ascending by row.
pub fn write_row_errors(out: &mut [u8], errors: &[(u32, String)]) {
    put_words(&mut out[..8], &[errors.len() as u32, 0]);
    let mut text = 8 + errors.len() * ROW_ERROR;
    for (i, (row, message)) in errors.iter().enumerate() {
        let entry = 8 + i * ROW_ERROR;
        put_words(&mut out[entry..entry + ROW_ERROR], &[*row, 0, text as u32, message.len() as u32]);
        out[text..text + message.len()].copy_from_slice(message.as_bytes());
        text += message.len();
    }
}
