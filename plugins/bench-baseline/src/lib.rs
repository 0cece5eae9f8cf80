//! The guest of the boundary bench's baseline: a hand-made frame for exactly these columns, reused buffers, no
//! errors, no bind, no description. Kept as it was measured; see benches/boundary.
#![allow(static_mut_refs, clippy::all)] // kept as it was measured

#[allow(dead_code)]
mod layout;
mod work;
use layout::*;
use std::alloc::{Layout, alloc, realloc};
use std::ptr::addr_of_mut;

static mut OUT: Vec<u8> = Vec::new();
static mut S: Option<work::StrOut> = None;
static mut V: Vec<i64> = Vec::new();
static mut W: Vec<f64> = Vec::new();

fn pack(b: &[u8]) -> i64 {
    ((b.as_ptr() as u64) << 32 | b.len() as u64) as i64
}
fn input<'a>(p: i32, n: i32) -> &'a [u8] {
    unsafe { std::slice::from_raw_parts(p as *const u8, n as usize) }
}

#[no_mangle]
pub unsafe extern "C" fn cabi_realloc(p: *mut u8, old: usize, align: usize, new: usize) -> *mut u8 {
    if new == 0 {
        return align as *mut u8;
    }
    let r = if old == 0 {
        alloc(Layout::from_size_align_unchecked(new, align))
    } else {
        realloc(p, Layout::from_size_align_unchecked(old, align), new)
    };
    if r.is_null() {
        core::arch::wasm32::unreachable()
    }
    r
}

#[no_mangle]
pub unsafe extern "C" fn batch_str(p: i32, n: i32) -> i64 {
    let f = Frame::parse(input(p, n)).unwrap();
    let (c, nm, a) = (f.strs(0).unwrap(), f.strs(1).unwrap(), f.strs(3).unwrap());
    let s = (*addr_of_mut!(S)).get_or_insert_with(Default::default);
    s.clear();
    for i in 0..f.rows {
        s.row(c.get(i), nm.get(i), a.get(i));
    }
    let out = &mut *addr_of_mut!(OUT);
    write(out, f.rows, &[(Col::Str(&s.uo, &s.ud), f.validity(0)), (Col::Str(&s.ko, &s.kd), f.validity(1))]);
    pack(out)
}

#[no_mangle]
pub unsafe extern "C" fn batch_num(p: i32, n: i32) -> i64 {
    let f = Frame::parse(input(p, n)).unwrap();
    let (x, y, z) = (f.nums::<i64>(0).unwrap(), f.nums::<i64>(1).unwrap(), f.nums::<i64>(2).unwrap());
    let (pp, q) = (f.nums::<f64>(3).unwrap(), f.nums::<f64>(4).unwrap());
    let (v, w) = (&mut *addr_of_mut!(V), &mut *addr_of_mut!(W));
    v.clear();
    w.clear();
    for i in 0..f.rows {
        let (a, b) = work::num(x[i], y[i], z[i], pp[i], q[i]);
        v.push(a);
        w.push(b);
    }
    let out = &mut *addr_of_mut!(OUT);
    write(out, f.rows, &[(Col::I64(v), None), (Col::F64(w), None)]);
    pack(out)
}
