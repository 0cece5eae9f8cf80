//! The work of the benchmark, the same on every path: u = ascii_upper(channel), k = name ":" a;
//! v = 2x + y - z, w = p * q.
#[inline]
pub fn push_upper(out: &mut Vec<u8>, s: &[u8]) {
    let n = out.len();
    out.extend_from_slice(s);
    out[n..].make_ascii_uppercase();
}
#[inline]
pub fn push_key(out: &mut Vec<u8>, name: &[u8], a: &[u8]) {
    out.extend_from_slice(name);
    out.push(b':');
    out.extend_from_slice(a);
}
#[inline]
pub fn num(x: i64, y: i64, z: i64, p: f64, q: f64) -> (i64, f64) {
    (x.wrapping_mul(2).wrapping_add(y).wrapping_sub(z), p * q)
}
#[derive(Default)]
pub struct StrOut {
    pub uo: Vec<u32>,
    pub ud: Vec<u8>,
    pub ko: Vec<u32>,
    pub kd: Vec<u8>,
}
impl StrOut {
    pub fn clear(&mut self) {
        self.uo.clear();
        self.ud.clear();
        self.ko.clear();
        self.kd.clear();
        self.uo.push(0);
        self.ko.push(0);
    }
    #[inline]
    pub fn seal(&mut self) {
        self.uo.push(self.ud.len() as u32);
        self.ko.push(self.kd.len() as u32);
    }
    #[inline]
    pub fn row(&mut self, channel: &[u8], name: &[u8], a: &[u8]) {
        push_upper(&mut self.ud, channel);
        push_key(&mut self.kd, name, a);
        self.seal();
    }
}
