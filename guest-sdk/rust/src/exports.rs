//! The exports of the core module: pointers in and out, nothing else.

use crate::plugin::Plugin;
use std::alloc::{Layout, alloc, dealloc, realloc};
use std::cell::RefCell;
use wasmill_abi::VERSION_MARKER;

thread_local! {
    static PLUGIN: RefCell<Plugin> = RefCell::default();
    static PANIC: RefCell<String> = RefCell::default();
}

/// Pointer and length of the last answer.
static mut ANSWER: [usize; 2] = [0; 2];

/// Pointer and length of the last panic's text, which the host reads after a trap.
#[unsafe(no_mangle)]
#[allow(non_upper_case_globals)]
pub static mut wmpanic: [usize; 2] = [0; 2];

unsafe extern "C" {
    fn __wasm_call_ctors();
}

#[unsafe(no_mangle)]
extern "C" fn _initialize() {
    // SAFETY: called once, before any other export (ABI.md, "Order of calls"); registers the functions.
    unsafe { __wasm_call_ctors() };
    std::panic::set_hook(Box::new(|info| {
        PANIC.with_borrow_mut(|text| {
            *text = info.to_string();
            // SAFETY: a guest has one thread.
            unsafe { wmpanic = [text.as_ptr() as usize, text.len()] };
        });
    }));
}

#[unsafe(no_mangle)]
extern "C" fn wmabi() -> u32 {
    VERSION_MARKER
}

/// All blocks have an alignment of at least 8, so that an argument can be freed without knowing how it was asked for.
fn layout(align: usize, size: usize) -> Layout {
    match Layout::from_size_align(size, align.max(8)) {
        Ok(layout) => layout,
        Err(_) => core::arch::wasm32::unreachable(),
    }
}

#[unsafe(no_mangle)]
extern "C" fn cabi_realloc(old: *mut u8, old_size: usize, align: usize, new_size: usize) -> *mut u8 {
    if new_size == 0 {
        return align as *mut u8;
    }
    // SAFETY: `old` came from here with `old_size` and this alignment, as the canonical ABI promises.
    let place = unsafe {
        if old_size == 0 { alloc(layout(align, new_size)) } else { realloc(old, layout(align, old_size), new_size) }
    };
    if place.is_null() {
        panic!("out of memory: {new_size} bytes");
    }
    place
}

/// Runs a call on the argument, which is freed, and gives the place of the answer.
fn answer(pointer: *mut u8, len: usize, call: fn(&mut Plugin, &[u8])) -> *const [usize; 2] {
    PLUGIN.with_borrow_mut(|plugin| {
        // SAFETY: the host wrote `len` bytes to a block that it asked `cabi_realloc` for; it is ours now.
        let request = if len == 0 { &[][..] } else { unsafe { std::slice::from_raw_parts(pointer, len) } };
        call(plugin, request);
        if len > 0 {
            // SAFETY: as above; the request is not used any more.
            unsafe { dealloc(pointer, layout(8, len)) };
        }
        let bytes = &plugin.answer.bytes;
        // SAFETY: a guest has one thread.
        unsafe {
            ANSWER = [bytes.as_ptr() as usize, bytes.len()];
            &raw const ANSWER
        }
    })
}

fn post() {
    PLUGIN.with_borrow_mut(|plugin| plugin.answer.shrink());
}

macro_rules! calls {
    ($($name:ident $post:ident $call:expr;)*) => {$(
        #[unsafe(no_mangle)]
        extern "C" fn $name(pointer: *mut u8, len: usize) -> *const [usize; 2] {
            answer(pointer, len, $call)
        }
        #[unsafe(no_mangle)]
        extern "C" fn $post(_: *const [usize; 2]) {
            post();
        }
    )*};
}

calls! {
    wmdescribe cabi_post_wmdescribe |plugin, _| plugin.describe();
    wmopen cabi_post_wmopen Plugin::open;
    wmprocess cabi_post_wmprocess Plugin::process;
    wmclose cabi_post_wmclose Plugin::close;
}
