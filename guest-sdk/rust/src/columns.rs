//! Columns of an answer while they grow.

use wasmill_abi::{FramePlan, FrameWriter, Type};

/// A column that gets one value for each row, in order. Rows are set by their number rather than pushed: the loop over
/// rows then has no length to load and store again.
///
/// A column serves one call after the other and keeps its buffers.
pub trait OutColumn: Default + 'static {
    /// Makes room for `rows` rows; what an earlier call left is overwritten or dropped. `bytes` is a guess at how much
    /// text or bytes will come.
    fn reset(&mut self, rows: usize, bytes: usize);
    fn set_null(&mut self, row: usize);
    fn plan(&self, plan: &mut FramePlan);
    fn fill(&self, out: &mut FrameWriter);
}

/// Refused rows and their texts.
#[derive(Default)]
pub struct RowErrors {
    pub(crate) list: Vec<(u32, String)>,
}

impl RowErrors {
    #[cold]
    pub fn push(&mut self, row: usize, message: String) {
        // A tuple refuses its row once, whatever members refuse.
        if self.list.last().is_none_or(|(last, _)| *last as usize != row) {
            self.list.push((row as u32, message));
        }
    }
}

/// Validity bits of a column whose number of rows is known; none are kept while no NULL has come.
#[derive(Default)]
pub struct Validity {
    rows: usize,
    bits: Option<Vec<u8>>,
}

impl Validity {
    fn reset(&mut self, rows: usize) {
        *self = Self { rows, bits: None };
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
#[derive(Default)]
pub struct FixedColumn<T, const CODE: u8> {
    values: Vec<T>,
    validity: Validity,
}

impl<T: Fixed, const CODE: u8> FixedColumn<T, CODE> {
    #[inline]
    pub fn set(&mut self, row: usize, value: T) {
        self.values[row] = value;
    }
}

impl<T: Fixed + 'static, const CODE: u8> OutColumn for FixedColumn<T, CODE> {
    fn reset(&mut self, rows: usize, _: usize) {
        self.values.resize(rows, T::default());
        self.validity.reset(rows);
    }
    fn set_null(&mut self, row: usize) {
        self.values[row] = T::default();
        self.validity.set_null(row);
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
#[derive(Default)]
pub struct BoolColumn {
    bits: Vec<u8>,
    validity: Validity,
}

impl BoolColumn {
    #[inline]
    pub fn set(&mut self, row: usize, value: bool) {
        self.bits[row / 8] |= u8::from(value) << (row % 8);
    }
}

impl OutColumn for BoolColumn {
    fn reset(&mut self, rows: usize, _: usize) {
        self.bits.clear();
        self.bits.resize(rows.div_ceil(8), 0);
        self.validity.reset(rows);
    }
    fn set_null(&mut self, row: usize) {
        self.validity.set_null(row);
    }
    fn plan(&self, plan: &mut FramePlan) {
        let (len, bytes) = (self.validity.rows, self.bits.len());
        plan.node(Type::Boolean.code(), 0, len, self.validity.has_bits(), false, Some(bytes));
    }
    fn fill(&self, out: &mut FrameWriter) {
        self.validity.fill(out);
        out.buffer().copy_from_slice(&self.bits);
    }
}

/// A column of byte strings; the code says whether they are text.
#[derive(Default)]
pub struct VarColumn<const CODE: u8> {
    /// 0, then the end of each value.
    offsets: Vec<u32>,
    data: Vec<u8>,
    validity: Validity,
}

/// STRING
pub type TextColumn = VarColumn<10>;
/// BYTES
pub type BytesColumn = VarColumn<12>;

/// A larger buffer is not kept for the next call.
const KEPT: usize = 1 << 20;

impl<const CODE: u8> VarColumn<CODE> {
    #[inline]
    pub fn set(&mut self, row: usize, value: &[u8]) {
        self.data.extend_from_slice(value);
        self.end(row);
    }

    /// What was appended since the last row is this row's value.
    #[inline]
    fn end(&mut self, row: usize) {
        self.offsets[row + 1] = self.data.len() as u32;
    }
}

impl TextColumn {
    #[inline]
    pub fn text(&mut self) -> Text<'_> {
        Text { data: &mut self.data }
    }
}

impl<const CODE: u8> OutColumn for VarColumn<CODE> {
    fn reset(&mut self, rows: usize, bytes: usize) {
        if self.data.capacity() > KEPT {
            self.data = Vec::new();
        }
        self.data.clear();
        self.data.reserve(bytes);
        self.offsets.resize(rows + 1, 0);
        self.validity.reset(rows);
    }
    /// Whatever was appended for this row is dropped.
    fn set_null(&mut self, row: usize) {
        self.data.truncate(self.offsets[row] as usize);
        self.end(row);
        self.validity.set_null(row);
    }
    fn plan(&self, plan: &mut FramePlan) {
        plan.node(CODE, 0, self.validity.rows, self.validity.has_bits(), true, Some(self.data.len()));
    }
    fn fill(&self, out: &mut FrameWriter) {
        self.validity.fill(out);
        out.buffer().copy_from_slice(as_bytes(&self.offsets));
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
    pub fn end(&mut self, row: usize, outcome: Outcome, errors: &mut RowErrors) {
        match outcome {
            Outcome::Value => self.columns.iter_mut().for_each(|c| c.end(row)),
            Outcome::Null => self.set_null(row),
            Outcome::Refused(message) => {
                self.set_null(row);
                errors.push(row, message);
            }
        }
    }
}

impl<const N: usize> Default for TextColumns<N> {
    fn default() -> Self {
        Self { columns: std::array::from_fn(|_| TextColumn::default()), validity: Validity::default() }
    }
}

impl<const N: usize> OutColumn for TextColumns<N> {
    fn reset(&mut self, rows: usize, bytes: usize) {
        self.columns.iter_mut().for_each(|c| c.reset(rows, bytes));
        self.validity.reset(rows);
    }
    fn set_null(&mut self, row: usize) {
        self.columns.iter_mut().for_each(|c| c.set_null(row));
        self.validity.set_null(row);
    }
    fn plan(&self, plan: &mut FramePlan) {
        if N > 1 {
            plan.node(ROW, N, self.validity.rows, self.validity.has_bits(), false, None);
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
#[derive(Default)]
pub struct RowColumn<C> {
    pub members: C,
    validity: Validity,
}

macro_rules! row_column {
    ($n:expr; $($column:ident $index:tt),*) => {
        impl<$($column: OutColumn),*> OutColumn for RowColumn<($($column,)*)> {
            fn reset(&mut self, rows: usize, bytes: usize) {
                $(self.members.$index.reset(rows, bytes);)*
                self.validity.reset(rows);
            }
            fn set_null(&mut self, row: usize) {
                $(self.members.$index.set_null(row);)*
                self.validity.set_null(row);
            }
            fn plan(&self, plan: &mut FramePlan) {
                plan.node(ROW, $n, self.validity.rows, self.validity.has_bits(), false, None);
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
