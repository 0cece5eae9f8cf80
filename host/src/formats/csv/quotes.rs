//! Where a CSV record ends.

/// Follows quotes byte by byte. Shared by the decoder and the readers of files, so that both agree on where a record
/// ends: a quote opens a field only at its start, a doubled or escaped quote does not close it.
#[derive(Debug, Clone, Copy)]
pub struct QuoteState {
    delimiter: u8,
    quote: u8,
    escape: Option<u8>,
    at: QuotePlace,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum QuotePlace {
    FieldStart,
    Unquoted,
    Quoted,
    Escaped,
    /// After a quote inside quotes: the end of the field, or the first of a doubled quote.
    QuoteInQuotes,
}

impl QuoteState {
    pub fn new(delimiter: u8, quote: u8, escape: Option<u8>) -> Self {
        Self { delimiter, quote, escape, at: QuotePlace::FieldStart }
    }

    /// Takes the next byte; true if it is a newline that ends the record (the state is then that of a new record).
    #[inline]
    pub fn step(&mut self, byte: u8) -> bool {
        use QuotePlace::*;
        self.at = match (self.at, byte) {
            (Quoted, b) if Some(b) == self.escape => Escaped,
            (Quoted, b) if b == self.quote => QuoteInQuotes,
            (Quoted | Escaped, _) => Quoted,
            (QuoteInQuotes, b) if b == self.quote => Quoted,
            (FieldStart, b) if b == self.quote => Quoted,
            (_, b'\n') => {
                self.at = FieldStart;
                return true;
            }
            (_, b) if b == self.delimiter => FieldStart,
            _ => Unquoted,
        };
        false
    }

    /// What is wrong with the quotes of a whole record.
    pub(super) fn fault(mut self, record: &[u8]) -> Option<&'static str> {
        for &b in record {
            let closed = self.at == QuotePlace::QuoteInQuotes;
            self.step(b);
            if closed && self.at == QuotePlace::Unquoted {
                return Some("there is text between a field's closing quote and the delimiter");
            }
        }
        matches!(self.at, QuotePlace::Quoted | QuotePlace::Escaped).then_some("a quoted field is not closed")
    }
}
