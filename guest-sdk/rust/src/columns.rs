//! Columns of an answer while they grow.

use wasmill_abi::{FramePlan, FrameWriter, Type};

/// A column that grows by one value a row.
pub trait OutColumn {
    /// `bytes` is a guess at how much text or bytes will come.
    fn with_capacity(rows: usize, bytes: usize) -> Self;
    fn push_null(&mut self);
    fn plan(&self, plan: &mut FramePlan);
    fn fill(&self, out: &mut FrameWriter);
}

/// Refused rows and their texts.
#[derive(Default)]
pub struct RowErrors {
    row: u32,
    pub(crate) list: Vec<(u32, String)>,
}

impl RowErrors {
    #[inline]
    pub fn at(&mut self, row: usize) {
        self.row = row as u32;
    }
    pub fn push(&mut self, message: String) {
        self.list.push((self.row, message));
    }
}

/// Validity bits of a column whose number of rows is known; none are kept while no NULL has come.
#[derive(Default)]
pub struct Validity {
    rows: usize,
    bits: Option<Vec<u8>>,
}

impl Validity {
    fn new(rows: usize) -> Self {
        Self { rows, bits: None }
    }

    #[cold]
    fn set_null(&mut self, row: usize) {
        let bits = self.bits.get_or_insert_with(|| vec![0xff; self.rows.div_ceil(8)]);
        if let Some(byte) = bits.get_mut(row / 8) {
            *byte &= !(1 << (row % 8));
        }
    }

    fn has_bits(&self) -> bool {
        self.bits.is_some()
    }

    fn fill(&self, out: &mut FrameWriter) {
        if let Some(bits) = &self.bits {
            out.buffer().copy_from_slice(bits);
        }
    }
}

/// Numbers as they lie in memory, which on a little-endian machine is how they travel.
fn as_bytes<T: Fixed>(values: &[T]) -> &[u8] {
    const { assert!(cfg!(target_endian = "little")) };
    // SAFETY: plain numbers have no padding, and any byte is a u8.
    unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), size_of_val(values)) }
}

/// Native numbers that lie in a column one behind the other.
pub trait Fixed: Copy + Default {}

macro_rules! fixed {
    ($($ty:ty)*) => {$(
        impl Fixed for $ty {}
    )*};
}

fixed! { i8 i16 i32 i64 f32 f64 i128 u32 }

/// A column of numbers; the code says which SQL type they are.
pub struct FixedColumn<T, const CODE: u8> {
    values: Vec<T>,
    validity: Validity,
}

impl<T: Fixed, const CODE: u8> FixedColumn<T, CODE> {
    #[inline]
    pub fn push(&mut self, value: T) {
        self.values.push(value);
    }
}

impl<T: Fixed, const CODE: u8> OutColumn for FixedColumn<T, CODE> {
    fn with_capacity(rows: usize, _: usize) -> Self {
        Self { values: Vec::with_capacity(rows), validity: Validity::new(rows) }
    }
    fn push_null(&mut self) {
        self.validity.set_null(self.values.len());
        self.values.push(T::default());
    }
    fn plan(&self, plan: &mut FramePlan) {
        let (len, size) = (self.values.len(), size_of::<T>());
        plan.node(CODE, 0, len, self.validity.has_bits(), false, Some(len * size));
    }
    fn fill(&self, out: &mut FrameWriter) {
        self.validity.fill(out);
        out.buffer().copy_from_slice(as_bytes(&self.values));
    }
}

/// A column of booleans, a bit each.
pub struct BoolColumn {
    len: usize,
    bits: Vec<u8>,
    validity: Validity,
}

impl BoolColumn {
    #[inline]
    pub fn push(&mut self, value: bool) {
        let row = self.len;
        self.len += 1;
        if row.is_multiple_of(8) {
            self.bits.push(0);
        }
        self.bits[row / 8] |= u8::from(value) << (row % 8);
    }
}

impl OutColumn for BoolColumn {
    fn with_capacity(rows: usize, _: usize) -> Self {
        Self { len: 0, bits: Vec::with_capacity(rows.div_ceil(8)), validity: Validity::new(rows) }
    }
    fn push_null(&mut self) {
        self.validity.set_null(self.len);
        self.push(false);
    }
    fn plan(&self, plan: &mut FramePlan) {
        plan.node(Type::Boolean.code(), 0, self.len, self.validity.has_bits(), false, Some(self.bits.len()));
    }
    fn fill(&self, out: &mut FrameWriter) {
        self.validity.fill(out);
        out.buffer().copy_from_slice(&self.bits);
    }
}

/// A column of byte strings; the code says whether they are text.
pub struct VarColumn<const CODE: u8> {
    ends: Vec<u32>,
    data: Vec<u8>,
    validity: Validity,
}

/// STRING
pub type TextColumn = VarColumn<10>;
/// BYTES
pub type BytesColumn = VarColumn<12>;

impl<const CODE: u8> VarColumn<CODE> {
    #[inline]
    pub fn push(&mut self, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.end();
    }

    /// What was appended since the last value is the value.
    #[inline]
    fn end(&mut self) {
        self.ends.push(self.data.len() as u32);
    }

    /// Whatever was appended for this row is dropped.
    fn abandon(&mut self) {
        self.data.truncate(self.ends.last().map_or(0, |e| *e as usize));
        self.validity.set_null(self.ends.len());
        self.ends.push(self.data.len() as u32);
    }
}

impl TextColumn {
    #[inline]
    pub fn text(&mut self) -> Text<'_> {
        Text { data: &mut self.data }
    }
}

impl<const CODE: u8> OutColumn for VarColumn<CODE> {
    fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self { ends: Vec::with_capacity(rows), data: Vec::with_capacity(bytes), validity: Validity::new(rows) }
    }
    fn push_null(&mut self) {
        self.abandon();
    }
    fn plan(&self, plan: &mut FramePlan) {
        plan.node(CODE, 0, self.ends.len(), self.validity.has_bits(), true, Some(self.data.len()));
    }
    fn fill(&self, out: &mut FrameWriter) {
        self.validity.fill(out);
        let (first, rest) = out.buffer().split_at_mut(4);
        first.fill(0);
        rest.copy_from_slice(as_bytes(&self.ends));
        out.buffer().copy_from_slice(&self.data);
    }
}

/// The place of a result of text: append to it.
pub struct Text<'a> {
    data: &'a mut Vec<u8>,
}

impl Text<'_> {
    #[inline]
    pub fn push_str(&mut self, text: &str) {
        self.data.extend_from_slice(text.as_bytes());
    }
    #[inline]
    pub fn push(&mut self, c: char) {
        self.push_str(c.encode_utf8(&mut [0; 4]));
    }
    /// Appends with ASCII letters in upper case.
    #[inline]
    pub fn push_ascii_uppercase(&mut self, text: &str) {
        let from = self.data.len();
        self.data.extend_from_slice(text.as_bytes());
        self.data[from..].make_ascii_uppercase();
    }
}

impl std::fmt::Write for Text<'_> {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        self.push_str(text);
        Ok(())
    }
}

/// The results of a function with parameters `&mut Text`: one is a STRING, several are a ROW.
pub struct TextColumns<const N: usize> {
    pub columns: [TextColumn; N],
    len: usize,
    validity: Validity,
}

/// What a function that writes its result says at the end.
pub enum Outcome {
    Value,
    Null,
    Refused(String),
}

impl<const N: usize> TextColumns<N> {
    #[inline]
    pub fn end(&mut self, outcome: Outcome, errors: &mut RowErrors) {
        match outcome {
            Outcome::Value => {
                self.columns.iter_mut().for_each(VarColumn::end);
                self.len += 1;
            }
            Outcome::Null => self.push_null(),
            Outcome::Refused(message) => {
                self.push_null();
                errors.push(message);
            }
        }
    }
}

impl<const N: usize> OutColumn for TextColumns<N> {
    fn with_capacity(rows: usize, bytes: usize) -> Self {
        Self {
            columns: std::array::from_fn(|_| TextColumn::with_capacity(rows, bytes)),
            len: 0,
            validity: Validity::new(rows),
        }
    }
    fn push_null(&mut self) {
        self.columns.iter_mut().for_each(VarColumn::abandon);
        self.validity.set_null(self.len);
        self.len += 1;
    }
    fn plan(&self, plan: &mut FramePlan) {
        if N > 1 {
            plan.node(ROW, N, self.len, self.validity.has_bits(), false, None);
        }
        self.columns.iter().for_each(|c| c.plan(plan));
    }
    fn fill(&self, out: &mut FrameWriter) {
        if N > 1 {
            self.validity.fill(out);
        }
        self.columns.iter().for_each(|c| c.fill(out));
    }
}

const ROW: u8 = 19;

/// The SQL type of the results with these names.
pub fn text_columns_sql(names: &[&str]) -> String {
    match names {
        [_] => "STRING".into(),
        _ => format!("ROW<{}>", names.iter().map(|n| format!("`{n}` STRING")).collect::<Vec<_>>().join(", ")),
    }
}

/// The column of a tuple.
pub struct RowColumn<C> {
    pub members: C,
    len: usize,
    validity: Validity,
}

impl<C> RowColumn<C> {
    #[inline]
    pub fn push_valid(&mut self) {
        self.len += 1;
    }
}

macro_rules! row_column {
    ($n:expr; $($column:ident $index:tt),*) => {
        impl<$($column: OutColumn),*> OutColumn for RowColumn<($($column,)*)> {
            fn with_capacity(rows: usize, bytes: usize) -> Self {
                Self { members: ($($column::with_capacity(rows, bytes),)*), len: 0, validity: Validity::new(rows) }
            }
            fn push_null(&mut self) {
                $(self.members.$index.push_null();)*
                self.validity.set_null(self.len);
                self.len += 1;
            }
            fn plan(&self, plan: &mut FramePlan) {
                plan.node(ROW, $n, self.len, self.validity.has_bits(), false, None);
                $(self.members.$index.plan(plan);)*
            }
            fn fill(&self, out: &mut FrameWriter) {
                self.validity.fill(out);
                $(self.members.$index.fill(out);)*
            }
        }
    };
}

row_column!(2; A 0, B 1);
row_column!(3; A 0, B 1, C 2);
row_column!(4; A 0, B 1, C 2, D 3);
