//! JSON records straight into column builders.

use super::plan::{Members, Node, PathPlan, Shape};
use super::scan::{MemberName, Scanner};
use crate::data::{RecordChunk, RowKind};
use crate::error::{Error, Result};
use crate::formats::columns::{ColumnBuilder, TextRules, Values};
use crate::formats::rows::{RecordFault, Rows};
use crate::formats::{Decoded, Decoder, FormatContext};
use std::ops::Range;
use std::sync::Arc;

/// More rows than this from one record are refused: the batch would grow without limit.
const EXPLODED_MAX: usize = 1 << 20;

/// What can be wrong with a record.
#[derive(Debug)]
pub(super) enum Fault {
    /// The record is not JSON: nothing of it can be used.
    Syntax(String),
    /// A value does not fit its column.
    Value(String),
}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Fault::Value(message)
    }
}

/// How values are read; the options of the table's format.
#[derive(Debug, Clone, Copy)]
struct Rules {
    text: TextRules,
    /// A value that does not fit becomes NULL.
    null_on_error: bool,
    /// A member that is not there is an error, inside ROWs too.
    fail_on_missing: bool,
}

pub(super) struct JsonDecoder {
    plan: PathPlan,
    shapes: Vec<Shape>,
    rules: Rules,
    rows: Rows,
    /// Per trie node: the row (plus one) in which it was last met, to notice a member that is given twice.
    met: Vec<usize>,
}

impl JsonDecoder {
    pub fn new(cx: &FormatContext, epoch_millis: bool) -> Result<Self> {
        let fail_on_missing = cx.options.bool("fail-on-missing-field").unwrap_or(false);
        let ignore_errors = cx.options.bool("ignore-parse-errors").unwrap_or(false);
        if fail_on_missing && ignore_errors {
            return Err(Error::user(format!(
                "table {}: fail-on-missing-field and ignore-parse-errors cannot both be true",
                cx.table
            )));
        }
        let plan = PathPlan::new(&cx.schema);
        let shapes = cx.schema.columns.iter().map(|c| {
            Shape::new(&c.logical_type).map_err(|e| Error::user(format!("table {}, column {}: {e}", cx.table, c.name)))
        });
        Ok(Self {
            shapes: shapes.collect::<Result<_>>()?,
            met: vec![0; plan.nodes.len()],
            plan,
            rules: Rules {
                text: TextRules { time_zone: cx.time_zone, epoch_millis },
                null_on_error: cx.null_on_error || ignore_errors,
                fail_on_missing,
            },
            rows: Rows::new(&cx.schema, fail_on_missing),
        })
    }
}

/// A row inside a record of a change stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    /// Where its object lies in the record.
    pub own: Range<usize>,
    /// An object with the members that `own` lacks.
    pub base: Option<Range<usize>>,
    pub kind: RowKind,
}

impl JsonDecoder {
    /// Records that hold any number of rows with their kinds. `parts` says where they lie.
    pub fn decode_parts(
        &mut self,
        chunk: &RecordChunk,
        mut parts: impl FnMut(&str, &mut Vec<Part>) -> Result<(), RecordFault>,
    ) -> crate::error::Result<Decoded> {
        self.met.fill(0);
        let (plan, shapes, rules, met) = (&self.plan, &self.shapes, self.rules, &mut self.met);
        let (mut found, mut kinds) = (Vec::new(), Vec::new());
        let decoded = self.rows.decode_values(chunk, |rows, text| {
            // What a refused record has added is taken back by now.
            kinds.truncate(rows.len);
            found.clear();
            // A record without a value follows a delete, for Kafka's log compaction; it is no change.
            let Some(text) = text.filter(|t| !t.is_empty()) else { return Ok(()) };
            parts(text, &mut found)?;
            for part in &found {
                for own in part.base.iter().chain([&part.own]) {
                    // The second object lies over the first: what the first gave stays.
                    met.iter_mut().for_each(|m| *m = 0);
                    let scan = Scanner::new(text.get(own.clone()).unwrap_or(""));
                    let mut record = Record { scan, plan, shapes, rules, met, rows, column: None };
                    record.walk(0, 1).map_err(|f| record.refuse(f))?;
                }
                rows.end_row()?;
                kinds.push(part.kind);
            }
            Ok(())
        })?;
        kinds.truncate(decoded.columns.num_rows());
        Ok(Decoded { kinds: Some(kinds), ..decoded })
    }
}

impl Decoder for JsonDecoder {
    fn decode(&mut self, chunk: &Arc<RecordChunk>) -> Result<Decoded> {
        self.met.fill(0);
        let (plan, shapes, rules, met) = (&self.plan, &self.shapes, self.rules, &mut self.met);
        self.rows.decode(chunk, |rows, text| {
            let mut record = Record { scan: Scanner::new(text), plan, shapes, rules, met, rows, column: None };
            record.read()
        })
    }
}

/// One record on its way into the columns.
struct Record<'a, 'r> {
    scan: Scanner<'a>,
    plan: &'r PathPlan,
    shapes: &'r [Shape],
    rules: Rules,
    met: &'r mut [usize],
    rows: &'r mut Rows,
    /// The column being read, for messages.
    column: Option<usize>,
}

impl Record<'_, '_> {
    fn read(&mut self) -> Result<(), RecordFault> {
        self.scan.blanks();
        match self.scan.peek() {
            b'[' if self.plan.explode => self.explode()?,
            b'{' | b'[' => {
                self.walk(0, 0).map_err(|f| self.refuse(f))?;
                self.rows.end_row()?;
            }
            _ if self.scan.at_end() => return Err(RecordFault::record("the record is empty")),
            _ => return Err(RecordFault::record("the record is no JSON object")),
        }
        self.scan.blanks();
        if !self.scan.at_end() {
            return Err(RecordFault::record(format!("not valid JSON: text after the value at byte {}", self.scan.at)));
        }
        Ok(())
    }

    /// One row per element of a top-level array.
    fn explode(&mut self) -> Result<(), RecordFault> {
        let first = self.rows.len;
        let mut array = self.scan.enter(0).map_err(|f| self.refuse(f))?;
        while self.scan.next_element(&mut array).map_err(|f| self.refuse(f))? {
            if self.scan.peek() != b'{' {
                let message = format!("the element at byte {} of the top-level array is no JSON object", self.scan.at);
                return Err(RecordFault::record(message));
            }
            if self.rows.len - first >= EXPLODED_MAX {
                return Err(RecordFault::record(format!("the top-level array has more than {EXPLODED_MAX} elements")));
            }
            self.walk(0, 1).map_err(|f| self.refuse(f))?;
            self.rows.end_row()?;
        }
        Ok(())
    }

    #[cold]
    fn refuse(&self, fault: Fault) -> RecordFault {
        match (fault, self.column) {
            (Fault::Value(message), Some(column)) => RecordFault::column(column, message),
            (Fault::Syntax(message) | Fault::Value(message), _) => RecordFault::record(message),
        }
    }

    /// Reads the value here into the columns that want it or parts of it.
    #[inline]
    fn walk(&mut self, node: usize, depth: usize) -> Result<(), Fault> {
        let n = &self.plan.nodes[node];
        match n.only {
            Some(column) => self.read_column(column, depth),
            None => self.walk_branch(node, n, depth),
        }
    }

    fn walk_branch(&mut self, node: usize, n: &Node, depth: usize) -> Result<(), Fault> {
        let start = self.scan.at;
        for &column in &n.columns {
            self.scan.at = start;
            self.read_column(column, depth)?;
        }
        if n.below.is_empty() {
            return if n.columns.is_empty() { self.scan.skip(depth) } else { Ok(()) };
        }
        self.forget_duplicate(node, n);
        self.scan.at = start;
        match self.scan.peek() {
            b'{' if !n.members.is_empty() => self.walk_object(&n.members, depth),
            b'[' if !n.elements.is_empty() => self.walk_array(&n.elements, depth),
            _ => self.scan.skip(depth),
        }
    }

    /// A member that is given twice: the last one wins, and nothing of the first must be left.
    fn forget_duplicate(&mut self, node: usize, n: &Node) {
        let this_row = self.rows.len + 1;
        if self.met[node] == this_row {
            for &column in &n.below {
                self.rows.columns[column].truncate(self.rows.len);
            }
        }
        self.met[node] = this_row;
    }

    fn walk_object(&mut self, members: &Members, depth: usize) -> Result<(), Fault> {
        let mut hint = 0;
        let mut object = self.scan.enter(depth)?;
        while let Some(name) = self.scan.next_member(&mut object, members.written(hint))? {
            match members.find(&name, &mut hint) {
                Some(node) => self.walk(node, depth + 1)?,
                None => self.scan.skip(depth + 1)?,
            }
        }
        Ok(())
    }

    fn walk_array(&mut self, elements: &[(usize, usize)], depth: usize) -> Result<(), Fault> {
        let mut index = 0;
        let mut array = self.scan.enter(depth)?;
        while self.scan.next_element(&mut array)? {
            match elements.iter().find(|(i, _)| *i == index) {
                Some((_, node)) => self.walk(*node, depth + 1)?,
                None => self.scan.skip(depth + 1)?,
            }
            index += 1;
        }
        Ok(())
    }

    #[inline]
    fn read_column(&mut self, column: usize, depth: usize) -> Result<(), Fault> {
        self.column = Some(column);
        let builder = &mut self.rows.columns[column];
        if builder.len() > self.rows.len {
            builder.truncate(self.rows.len);
        }
        let mut value = Value { scan: &mut self.scan, rules: self.rules, nulled: None };
        value.read(builder, &self.shapes[column], depth)?;
        if let Some(message) = value.nulled {
            self.rows.nulled.push((column, message));
        }
        Ok(())
    }
}

/// One column's value.
struct Value<'a, 's> {
    scan: &'s mut Scanner<'a>,
    rules: Rules,
    /// The first thing that became NULL because it did not fit.
    nulled: Option<String>,
}

impl Value<'_, '_> {
    /// Appends the value here, or NULL if it does not fit and the rules say so (the innermost value, as Flink does).
    #[inline]
    fn read(&mut self, b: &mut ColumnBuilder, shape: &Shape, depth: usize) -> Result<(), Fault> {
        let (start, len) = (self.scan.at, b.len());
        match self.read_strict(b, shape, depth) {
            Err(Fault::Value(message)) if self.rules.null_on_error => {
                b.truncate(len);
                b.append_null();
                self.nulled.get_or_insert(message);
                self.scan.at = start;
                self.scan.skip(depth)
            }
            outcome => outcome,
        }
    }

    #[inline]
    fn read_strict(&mut self, b: &mut ColumnBuilder, shape: &Shape, depth: usize) -> Result<(), Fault> {
        match self.scan.peek() {
            b'"' => self.read_string(b),
            b'-' | b'0'..=b'9' => {
                let number = self.scan.number()?;
                Ok(b.append_number(number, &self.rules.text)?)
            }
            b'n' => {
                self.scan.word("null")?;
                b.append_null();
                Ok(())
            }
            b't' => {
                self.scan.word("true")?;
                Ok(b.append_bool(true)?)
            }
            b'f' => {
                self.scan.word("false")?;
                Ok(b.append_bool(false)?)
            }
            b'{' | b'[' => self.read_nested(b, shape, depth),
            _ => self.scan.skip(depth),
        }
    }

    #[inline]
    fn read_string(&mut self, b: &mut ColumnBuilder) -> Result<(), Fault> {
        if let Values::Text(text) = &mut b.values {
            self.scan.string_into(&mut text.data)?;
            return Ok(b.finish_bytes()?);
        }
        let value = self.scan.string()?;
        Ok(b.append_text(&value, &self.rules.text)?)
    }

    fn read_nested(&mut self, b: &mut ColumnBuilder, shape: &Shape, depth: usize) -> Result<(), Fault> {
        let is_object = self.scan.peek() == b'{';
        let len = b.len();
        match (shape, &mut b.values) {
            (Shape::Row { members, fields }, Values::Row(builders)) if is_object => {
                self.read_row(builders, members, fields, len, depth)?;
            }
            (Shape::Map(values_shape), Values::Map { keys, values, .. }) if is_object => {
                self.read_map(keys, values, values_shape, depth)?;
            }
            (Shape::List(shape), Values::List { items, .. }) if !is_object => {
                let mut array = self.scan.enter(depth)?;
                while self.scan.next_element(&mut array)? {
                    self.read(items, shape, depth + 1)?;
                }
            }
            (_, Values::Text(text)) => {
                self.scan.compact_into(&mut text.data, depth)?;
                return Ok(b.finish_bytes()?);
            }
            _ => {
                self.scan.skip(depth)?;
                let what = if is_object { "a JSON object" } else { "a JSON array" };
                return Err(Fault::Value(format!("{what} is not a valid {}", b.logical_type())));
            }
        }
        Ok(b.finish_nested()?)
    }

    fn read_row(
        &mut self,
        builders: &mut [ColumnBuilder],
        members: &Members,
        shapes: &[Shape],
        len: usize,
        depth: usize,
    ) -> Result<(), Fault> {
        let mut hint = 0;
        let mut object = self.scan.enter(depth)?;
        while let Some(name) = self.scan.next_member(&mut object, members.written(hint))? {
            match members.find(&name, &mut hint) {
                Some(field) => {
                    builders[field].truncate(len);
                    self.read(&mut builders[field], &shapes[field], depth + 1)?;
                }
                None => self.scan.skip(depth + 1)?,
            }
        }
        for builder in builders.iter_mut().filter(|b| b.len() == len) {
            if self.rules.fail_on_missing {
                return Err(Fault::Value(format!("a field of type {} is missing in a ROW", builder.logical_type())));
            }
            builder.append_null();
        }
        Ok(())
    }

    /// Two passes: the last of several equal keys wins, so values are read only when all keys are known.
    fn read_map(
        &mut self,
        keys: &mut ColumnBuilder,
        values: &mut ColumnBuilder,
        shape: &Shape,
        depth: usize,
    ) -> Result<(), Fault> {
        let mut entries: indexmap::IndexMap<Vec<u8>, usize> = indexmap::IndexMap::new();
        let mut object = self.scan.enter(depth)?;
        while let Some(name) = self.scan.next_member(&mut object, b"")? {
            if let MemberName::Other(name) = name {
                entries.insert(name.into_owned(), self.scan.at);
            }
            self.scan.skip(depth + 1)?;
        }
        let end = self.scan.at;
        for (key, at) in entries {
            keys.append_bytes(&key)?;
            self.scan.at = at;
            self.read(values, shape, depth + 1)?;
        }
        self.scan.at = end;
        Ok(())
    }
}
