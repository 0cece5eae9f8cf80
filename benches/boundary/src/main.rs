//! What a record costs at the plugin boundary, beside a hand-made frame that was measured when the ABI was chosen
//! (row `3 core columnar 1024` under `prod` of the first calling-convention bench).
//!
//!     (cd plugins && cargo build --release --target wasm32-unknown-unknown)
//!     cargo run --release -p bench-boundary -- [records] [passes]
//!
//! Both sides get the same columns, 1,024 rows a call, and do the same work: five strings in, `u = ascii_upper(channel)`
//! and `k = name ":" a` out; three i64 and two f64 in, `v = 2x + y - z` and `w = p * q` out. Ours is the whole way of the
//! product: `ScalarInstance::call` on Arrow arrays, a plugin in plain Rust by way of the SDK (a function that gives a
//! ROW of the two results, so that neither side does less), every check on, the CPU clock ticking. CPU time of this
//! thread, best pass; `native` is the work without a boundary.

#[path = "../../../plugins/bench-baseline/src/layout.rs"]
#[allow(dead_code, clippy::all)] // kept as it was measured
mod layout;
#[path = "../../../plugins/bench-baseline/src/work.rs"]
mod work;

mod baseline;

use arrow::array::{Array, ArrayRef, AsArray, Float64Array, Int64Array, StringArray};
use arrow::buffer::{Buffer, OffsetBuffer};
use arrow::datatypes::{DataType, Float64Type, Int64Type};
use baseline::Core;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use wasmill::expr::function::ScalarInstance;
use wasmill::wasm::{Limits, PluginEngine};
use work::StrOut;

const BATCH: usize = 1024;

/// Five string columns, as offsets and bytes and as Arrow.
pub struct Strings {
    pub rows: usize,
    pub columns: Vec<(Vec<u32>, Vec<u8>)>,
    pub validity: Vec<u8>,
    arrays: Vec<ArrayRef>,
}

/// Three i64 and two f64 columns.
pub struct Numbers {
    pub rows: usize,
    pub ints: [Vec<i64>; 3],
    pub floats: [Vec<f64>; 2],
    arrays: Vec<ArrayRef>,
}

#[derive(Default)]
pub struct NumOut {
    pub v: Vec<i64>,
    pub w: Vec<f64>,
}

impl Strings {
    fn get(&self, column: usize, row: usize) -> &[u8] {
        let (offsets, data) = &self.columns[column];
        &data[offsets[row] as usize..offsets[row + 1] as usize]
    }
}

fn strings(total: usize) -> Vec<Strings> {
    let batch = |first: usize| {
        let rows = BATCH.min(total - first);
        let mut columns = vec![(vec![0u32], Vec::new()); 5];
        for i in first..first + rows {
            let values =
                ["daishuyun".to_string(), "roc".into(), (i % 100).to_string(), (i % 10).to_string(), "2".into()];
            for ((offsets, data), value) in columns.iter_mut().zip(&values) {
                data.extend_from_slice(value.as_bytes());
                offsets.push(data.len() as u32);
            }
        }
        let array = |(offsets, data): &(Vec<u32>, Vec<u8>)| {
            let offsets: Vec<i32> = offsets.iter().map(|o| *o as i32).collect();
            Arc::new(StringArray::new(OffsetBuffer::new(offsets.into()), Buffer::from_vec(data.clone()), None))
                as ArrayRef
        };
        let arrays = columns.iter().map(array).collect();
        Strings { rows, columns, validity: vec![0xff; rows.div_ceil(8)], arrays }
    };
    (0..total).step_by(BATCH).map(batch).collect()
}

fn numbers(total: usize) -> Vec<Numbers> {
    let batch = |first: usize| {
        let rows = first..(first + BATCH).min(total);
        let ints = [1i64, 7, 13].map(|k| rows.clone().map(|v| v as i64 * k).collect::<Vec<_>>());
        let floats = [0.5, 1.25].map(|k| rows.clone().map(|v| v as f64 * k).collect::<Vec<_>>());
        let mut arrays: Vec<ArrayRef> = Vec::new();
        arrays.extend(ints.iter().map(|v| Arc::new(Int64Array::from(v.clone())) as ArrayRef));
        arrays.extend(floats.iter().map(|v| Arc::new(Float64Array::from(v.clone())) as ArrayRef));
        Numbers { rows: rows.len(), ints, floats, arrays }
    };
    (0..total).step_by(BATCH).map(batch).collect()
}

/// CPU nanoseconds of this thread.
fn cpu() -> f64 {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `t` is a valid place for the answer.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut t) };
    t.tv_sec as f64 * 1e9 + t.tv_nsec as f64
}

/// One way of doing the work: what it is called and what it does with a batch.
struct Way<'a, B> {
    name: &'static str,
    run: Box<dyn FnMut(&B) + 'a>,
    best: f64,
}

impl<'a, B> Way<'a, B> {
    fn new(name: &'static str, run: impl FnMut(&B) + 'a) -> Self {
        Way { name, run: Box::new(run), best: f64::MAX }
    }
}

/// Runs the ways in turn, pass by pass, so that a busy machine hits all of them; prints the best pass of each.
fn measure<B>(what: &str, data: &[B], total: usize, passes: usize, mut ways: [Way<B>; 3]) -> f64 {
    for _ in 0..passes {
        for way in &mut ways {
            let start = cpu();
            data.iter().for_each(|batch| (way.run)(batch));
            way.best = way.best.min((cpu() - start) / total as f64);
        }
    }
    let [native, base, ours] = ways.map(|way| {
        println!("{what}\t{}\t{:.1} ns a record", way.name, way.best);
        way.best
    });
    // The cost of the boundary is what is left when the work itself is taken off.
    let ratio = (ours - native) / (base - native);
    println!("{what}\tboundary, ours / baseline\t{ratio:.2}x\t(with the work {:.2}x)", ours / base);
    ratio
}

fn instance(module: &Path, function: &str, types: &[DataType]) -> Box<dyn ScalarInstance> {
    let module = PluginEngine::shared().load_module(module).unwrap_or_else(|e| fail(&e.to_string()));
    let function =
        module.scalar(function, function, Limits::default(), None, vec![]).unwrap_or_else(|e| fail(&e.message));
    let call = function.bind(types).unwrap_or_else(|e| fail(&e));
    function.instantiate(&call).unwrap_or_else(|e| fail(&e.message))
}

fn fail(why: &str) -> ! {
    eprintln!("bench-boundary: {why}");
    std::process::exit(1)
}

fn check(same: bool, what: &str) {
    if !same {
        fail(&format!("{what}: the results differ"));
    }
}

fn main() {
    let argument = |i: usize, default: usize| std::env::args().nth(i).and_then(|a| a.parse().ok()).unwrap_or(default);
    let (total, passes) = (argument(1, 1_000_000), argument(2, 5));
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../plugins/target/wasm32-unknown-unknown/release");
    let (hand_made, ours) = (folder.join("bench_baseline.wasm"), folder.join("bench_guest.wasm"));

    let data = strings(total);
    let native = |c: &Strings, o: &mut StrOut| {
        o.clear();
        (0..c.rows).for_each(|i| o.row(c.get(0, i), c.get(1, i), c.get(3, i)));
    };
    let mut core = Core::new(&hand_made, "batch_str");
    let mut plugin = instance(&ours, "strings", &vec![DataType::Utf8; 5]);
    let (mut expected, mut found, mut errors) = (StrOut::default(), StrOut::default(), Vec::new());
    for batch in data.iter().take(3) {
        native(batch, &mut expected);
        core.strings(batch, &mut found);
        check(expected.ud == found.ud && expected.ko == found.ko && expected.kd == found.kd, "strings, baseline");
        let result = plugin.call(&batch.arrays, batch.rows, &mut errors).unwrap_or_else(|e| fail(&e.message));
        let (u, k) = (result.as_struct().column(0).as_string::<i32>(), result.as_struct().column(1).as_string::<i32>());
        check(expected.ud == u.value_data() && expected.kd == k.value_data() && u.len() == batch.rows, "strings, ours");
        check(k.value_offsets().iter().map(|o| *o as u32).eq(expected.ko.iter().copied()), "strings, our offsets");
    }
    let (mut a, mut b) = (StrOut::default(), StrOut::default());
    let first = measure(
        "five strings",
        &data,
        total,
        passes,
        [
            Way::new("native", |c: &Strings| native(c, &mut a)),
            Way::new("baseline: hand-made frame", |c: &Strings| core.strings(c, &mut b)),
            Way::new("ours: ScalarInstance", |c: &Strings| {
                std::hint::black_box(plugin.call(&c.arrays, c.rows, &mut errors).is_ok());
            }),
        ],
    );

    let data = numbers(total);
    let native = |c: &Numbers, o: &mut NumOut| {
        o.v.clear();
        o.w.clear();
        for i in 0..c.rows {
            let (v, w) = work::num(c.ints[0][i], c.ints[1][i], c.ints[2][i], c.floats[0][i], c.floats[1][i]);
            o.v.push(v);
            o.w.push(w);
        }
    };
    let types = [vec![DataType::Int64; 3], vec![DataType::Float64; 2]].concat();
    let mut core = Core::new(&hand_made, "batch_num");
    let mut plugin = instance(&ours, "numbers", &types);
    let (mut expected, mut found) = (NumOut::default(), NumOut::default());
    for batch in data.iter().take(3) {
        native(batch, &mut expected);
        core.numbers(batch, &mut found);
        check(expected.v == found.v && expected.w == found.w, "numbers, baseline");
        let result = plugin.call(&batch.arrays, batch.rows, &mut errors).unwrap_or_else(|e| fail(&e.message));
        let row = result.as_struct();
        check(expected.v == row.column(0).as_primitive::<Int64Type>().values()[..], "numbers, our v");
        check(expected.w == row.column(1).as_primitive::<Float64Type>().values()[..], "numbers, our w");
    }
    let (mut a, mut b) = (NumOut::default(), NumOut::default());
    let second = measure(
        "3 i64 + 2 f64",
        &data,
        total,
        passes,
        [
            Way::new("native", |c: &Numbers| native(c, &mut a)),
            Way::new("baseline: hand-made frame", |c: &Numbers| core.numbers(c, &mut b)),
            Way::new("ours: ScalarInstance", |c: &Numbers| {
                std::hint::black_box(plugin.call(&c.arrays, c.rows, &mut errors).is_ok());
            }),
        ],
    );
    println!("target 1.15x\t{}", if first.max(second) <= 1.15 { "met" } else { "missed" });
}
