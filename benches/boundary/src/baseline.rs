//! The host of the baseline, as it was measured: one buffer in the guest, reused; the frame built here, then copied
//! in; epochs, pooling and a store limit on.

use crate::layout::{self, Col, Frame};
use crate::work::StrOut;
use crate::{NumOut, Numbers, Strings, fail};
use std::path::Path;
use wasmtime::*;

struct Limit {
    now: usize,
}

impl ResourceLimiter for Limit {
    fn memory_growing(&mut self, current: usize, wanted: usize, _: Option<usize>) -> Result<bool> {
        self.now += wanted - current;
        Ok(self.now <= 64 << 20)
    }
    fn table_growing(&mut self, _: usize, wanted: usize, _: Option<usize>) -> Result<bool> {
        Ok(wanted <= 100_000)
    }
}

pub struct Core {
    store: Store<Limit>,
    memory: Memory,
    buffer: i32,
    capacity: usize,
    realloc: TypedFunc<(i32, i32, i32, i32), i32>,
    call: TypedFunc<(i32, i32), i64>,
    frame: Vec<u8>,
}

impl Core {
    pub fn new(module: &Path, function: &str) -> Core {
        Self::try_new(module, function).unwrap_or_else(|e| fail(&format!("{}: {e:#}", module.display())))
    }

    fn try_new(module: &Path, function: &str) -> Result<Core> {
        let mut config = Config::new();
        let mut pool = PoolingAllocationConfig::default();
        pool.total_memories(10).total_core_instances(10).total_tables(10).max_memory_size(128 << 20);
        config
            .epoch_interruption(true)
            .concurrency_support(false)
            .allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
        let engine = Engine::new(&config)?;
        let bytes = std::fs::read(module).map_err(|e| Error::msg(e.to_string()))?;
        let module = Module::new(&engine, bytes)?;
        let mut store = Store::new(&engine, Limit { now: 0 });
        store.limiter(|limit| limit);
        store.set_epoch_deadline(1 << 40);
        let instance = Linker::new(&engine).instantiate(&mut store, &module)?;
        Ok(Core {
            memory: instance.get_memory(&mut store, "memory").ok_or(Error::msg("no memory"))?,
            realloc: instance.get_typed_func(&mut store, "cabi_realloc")?,
            call: instance.get_typed_func(&mut store, function)?,
            store,
            buffer: 0,
            capacity: 0,
            frame: Vec::new(),
        })
    }

    fn call(&mut self) -> Frame<'_> {
        let n = self.frame.len();
        if n > self.capacity {
            let wanted = n.next_power_of_two();
            let arguments = (self.buffer, self.capacity as i32, 8, wanted as i32);
            self.buffer = self.realloc.call(&mut self.store, arguments).unwrap();
            self.capacity = wanted;
        }
        let at = self.buffer as usize;
        self.memory.data_mut(&mut self.store)[at..at + n].copy_from_slice(&self.frame);
        let answer = self.call.call(&mut self.store, (self.buffer, n as i32)).unwrap() as u64;
        let (start, len) = ((answer >> 32) as usize, answer as u32 as usize);
        Frame::parse(&self.memory.data(&self.store)[start..start + len]).unwrap()
    }

    pub fn strings(&mut self, batch: &Strings, out: &mut StrOut) {
        let column = |k: usize| (Col::Str(&batch.columns[k].0, &batch.columns[k].1), Some(&batch.validity[..]));
        layout::write(&mut self.frame, batch.rows, &[0, 1, 2, 3, 4].map(column));
        let frame = self.call();
        let (u, k) = (frame.strs(0).unwrap(), frame.strs(1).unwrap());
        out.clear();
        out.uo.extend_from_slice(&u.off[1..]);
        out.ud.extend_from_slice(u.data);
        out.ko.extend_from_slice(&k.off[1..]);
        out.kd.extend_from_slice(k.data);
    }

    pub fn numbers(&mut self, batch: &Numbers, out: &mut NumOut) {
        let ints = batch.ints.iter().map(|v| (Col::I64(v), None));
        let floats = batch.floats.iter().map(|v| (Col::F64(v), None));
        layout::write(&mut self.frame, batch.rows, &ints.chain(floats).collect::<Vec<_>>());
        let frame = self.call();
        out.v.clear();
        out.w.clear();
        out.v.extend_from_slice(frame.nums(0).unwrap());
        out.w.extend_from_slice(frame.nums(1).unwrap());
    }
}
