//! Columnar frame: one contiguous little-endian buffer, Arrow-like.
//! header   u32 magic | u32 rows | u32 cols | u32 reserved
//! per col  u32 type | u32 validity_off (0 = no nulls) | u32 offsets_off | u32 data_off | u32 data_len | u32 reserved
//! buffers  each at a multiple of 8 from the frame start; validity bit 1 = present, LSB first;
//!          strings: u32 offsets[rows + 1] + bytes; i64/f64: data only.
pub const MAGIC: u32 = 0x3142_5753; // "SWB1"
pub const T_I64: u32 = 1;
pub const T_F64: u32 = 2;
pub const T_STR: u32 = 3;
const HDR: usize = 16;
const DESC: usize = 24;

pub struct StrView<'a> {
    pub off: &'a [u32],
    pub data: &'a [u8],
}
impl<'a> StrView<'a> {
    #[inline]
    pub fn get(&self, i: usize) -> &'a [u8] {
        &self.data[self.off[i] as usize..self.off[i + 1] as usize]
    }
}
pub struct Frame<'a> {
    b: &'a [u8],
    pub rows: usize,
    pub cols: usize,
}
fn u32_at(b: &[u8], o: usize) -> usize {
    u32::from_le_bytes(b[o..o + 4].try_into().unwrap()) as usize
}
fn cast<T>(b: &[u8], off: usize, n: usize) -> Option<&[T]> {
    let s = b.get(off..off.checked_add(n.checked_mul(std::mem::size_of::<T>())?)?)?;
    if (s.as_ptr() as usize) % std::mem::align_of::<T>() != 0 {
        return None;
    }
    // SAFETY: the range lies in `s` and its start is aligned; every bit pattern is a T (integers and floats only).
    Some(unsafe { std::slice::from_raw_parts(s.as_ptr() as *const T, n) })
}
impl<'a> Frame<'a> {
    /// Every offset is range-checked here or in the accessors: the frame comes from the other side.
    pub fn parse(b: &'a [u8]) -> Option<Frame<'a>> {
        if b.len() < HDR || u32_at(b, 0) as u32 != MAGIC {
            return None;
        }
        let (rows, cols) = (u32_at(b, 4), u32_at(b, 8));
        if HDR.checked_add(cols.checked_mul(DESC)?)? > b.len() {
            return None;
        }
        Some(Frame { b, rows, cols })
    }
    fn desc(&self, c: usize, f: usize) -> Option<usize> {
        (c < self.cols).then(|| u32_at(self.b, HDR + c * DESC + f * 4))
    }
    pub fn nums<T>(&self, c: usize) -> Option<&'a [T]> {
        cast(self.b, self.desc(c, 3)?, self.rows)
    }
    pub fn strs(&self, c: usize) -> Option<StrView<'a>> {
        if self.desc(c, 0)? as u32 != T_STR {
            return None;
        }
        let off: &[u32] = cast(self.b, self.desc(c, 2)?, self.rows + 1)?;
        let (d, n) = (self.desc(c, 3)?, self.desc(c, 4)?);
        let data = self.b.get(d..d.checked_add(n)?)?;
        if off.windows(2).any(|w| w[0] > w[1]) || *off.last()? as usize > n {
            return None;
        }
        Some(StrView { off, data })
    }
    pub fn validity(&self, c: usize) -> Option<&'a [u8]> {
        let o = self.desc(c, 1)?;
        if o == 0 { None } else { self.b.get(o..o + (self.rows + 7) / 8) }
    }
}
pub enum Col<'a> {
    I64(&'a [i64]),
    F64(&'a [f64]),
    Str(&'a [u32], &'a [u8]),
}
fn bytes<T>(s: &[T]) -> &[u8] {
    // SAFETY: the bytes of a slice of plain numbers are initialised.
    unsafe { std::slice::from_raw_parts(s.as_ptr() as *const u8, std::mem::size_of_val(s)) }
}
/// Appends a frame to `out` (cleared first; its capacity is kept from call to call).
pub fn write(out: &mut Vec<u8>, rows: usize, cols: &[(Col, Option<&[u8]>)]) {
    out.clear();
    for v in [MAGIC, rows as u32, cols.len() as u32, 0] {
        out.extend_from_slice(&v.to_le_bytes());
    }
    out.resize(HDR + cols.len() * DESC, 0);
    fn put(out: &mut Vec<u8>, b: &[u8]) -> u32 {
        while out.len() % 8 != 0 {
            out.push(0);
        }
        let o = out.len() as u32;
        out.extend_from_slice(b);
        o
    }
    for (i, (c, v)) in cols.iter().enumerate() {
        let vo = v.map_or(0, |v| put(out, v));
        let (t, oo, doff, n) = match c {
            Col::I64(s) => {
                let b = bytes(s);
                (T_I64, 0, put(out, b), b.len())
            }
            Col::F64(s) => {
                let b = bytes(s);
                (T_F64, 0, put(out, b), b.len())
            }
            Col::Str(o, d) => {
                let oo = put(out, bytes(o));
                (T_STR, oo, put(out, d), d.len())
            }
        };
        let at = HDR + i * DESC;
        for (k, x) in [t, vo, oo, doff, n as u32].iter().enumerate() {
            out[at + k * 4..at + k * 4 + 4].copy_from_slice(&x.to_le_bytes());
        }
    }
}
