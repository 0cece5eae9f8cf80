//! What records of change streams have around their rows.

use super::decode::Fault;
use super::encode::JsonEncoder;
use super::scan::{MemberName, Scanner};
use crate::data::{Batch, Reason, RowError, RowKind};
use crate::error::Result;
use crate::formats::rows::RecordFault;
use crate::formats::{Cell, Encoded};
use std::borrow::Cow;
use std::ops::Range;

/// Rows of one record beyond this are refused.
const ROWS_MAX: usize = 1 << 20;

/// The members of an object that somebody asked for, by their places in the record.
pub(super) struct Members<'a> {
    record: &'a str,
    /// In the order of what was asked for; the last of two equal ones.
    found: Vec<(&'static str, Option<Range<usize>>)>,
}

fn refuse(fault: Fault) -> RecordFault {
    match fault {
        Fault::Syntax(message) | Fault::Value(message) => RecordFault::record(message),
    }
}

impl<'a> Members<'a> {
    /// Reads over the object at `place`, which must be all that there is.
    pub fn of(
        record: &'a str,
        place: Range<usize>,
        wanted: &'static [&'static str],
    ) -> std::result::Result<Self, RecordFault> {
        let mut found: Vec<_> = wanted.iter().map(|name| (*name, None)).collect();
        let mut scan = Scanner::new(record.get(..place.end).unwrap_or(record));
        scan.at = place.start;
        scan.blanks();
        if scan.peek() != b'{' {
            return Err(RecordFault::record("the record is no JSON object"));
        }
        let mut read = || -> std::result::Result<(), Fault> {
            let mut object = scan.enter(0)?;
            while let Some(name) = scan.next_member(&mut object, b"")? {
                let start = scan.at;
                scan.skip(1)?;
                if let MemberName::Other(name) = name
                    && let Some(place) = found.iter_mut().find(|(n, _)| n.as_bytes() == &*name)
                {
                    place.1 = Some(start..scan.at);
                }
            }
            scan.blanks();
            if scan.at_end() { Ok(()) } else { scan.fault("text after the value") }
        };
        read().map_err(refuse)?;
        Ok(Self { record, found })
    }

    /// The text of a member; None: it is not there, or null.
    fn raw(&self, name: &str) -> Option<(Range<usize>, &'a str)> {
        let place = self.found.iter().find(|(n, _)| *n == name)?.1.clone()?;
        let text = self.record.get(place.clone())?;
        (text != "null").then_some((place, text))
    }

    pub fn has(&self, name: &str) -> bool {
        self.raw(name).is_some()
    }

    pub fn is_true(&self, name: &str) -> bool {
        self.raw(name).is_some_and(|(_, text)| text == "true")
    }

    pub fn text(&self, name: &str) -> std::result::Result<Option<Cow<'a, str>>, RecordFault> {
        match self.raw(name) {
            None => Ok(None),
            Some((_, text)) if text.starts_with('"') => Scanner::new(text).string().map(Some).map_err(refuse),
            Some(_) => Err(RecordFault::record(format!("'{name}' is no text"))),
        }
    }

    pub fn object(&self, name: &str) -> std::result::Result<Option<Range<usize>>, RecordFault> {
        match self.raw(name) {
            None => Ok(None),
            Some((place, text)) if text.starts_with('{') => Ok(Some(place)),
            Some(_) => Err(RecordFault::record(format!("'{name}' is no JSON object"))),
        }
    }

    /// The objects of an array.
    pub fn objects(&self, name: &str) -> std::result::Result<Option<Vec<Range<usize>>>, RecordFault> {
        let Some((place, text)) = self.raw(name) else { return Ok(None) };
        if !text.starts_with('[') {
            return Err(RecordFault::record(format!("'{name}' is no JSON array")));
        }
        let mut scan = Scanner::new(text);
        let mut objects = Vec::new();
        let mut array = scan.enter(0).map_err(refuse)?;
        while scan.next_element(&mut array).map_err(refuse)? {
            let start = scan.at;
            if scan.peek() != b'{' || objects.len() >= ROWS_MAX {
                let what = format!("'{name}' holds something other than at most {ROWS_MAX} JSON objects");
                return Err(RecordFault::record(what));
            }
            scan.skip(1).map_err(refuse)?;
            objects.push(place.start + start..place.start + scan.at);
        }
        Ok(Some(objects))
    }
}

/// Part of a foreign text, for a message.
pub(super) fn shown(text: &str) -> &str {
    text.char_indices().nth(40).map_or(text, |(at, _)| &text[..at])
}

/// Each row as an object, between what its kind asks for.
pub(super) fn encode(
    row_encoder: &JsonEncoder,
    batch: &Batch,
    out: &mut Encoded,
    errors: &mut Vec<RowError>,
    around: impl Fn(RowKind) -> (&'static str, &'static str),
) -> Result<()> {
    let cells = batch.columns.columns().iter().map(Cell::new).collect::<Result<Vec<_>>>()?;
    for row in 0..batch.num_rows() {
        let start = out.bytes.len();
        let (front, back) = around(batch.kind(row));
        out.bytes.extend_from_slice(front.as_bytes());
        match row_encoder.write_row(&cells, row, None, &mut out.bytes) {
            Ok(()) => {
                out.bytes.extend_from_slice(back.as_bytes());
                out.finish_record(row as u32);
            }
            Err((column, message)) => {
                out.bytes.truncate(start);
                errors.push(RowError::new(row as u32, Reason::Encode, message).column(row_encoder.name(column)));
            }
        }
    }
    Ok(())
}
