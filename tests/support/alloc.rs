//! The system allocator, with a count of each thread's allocations.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // A const thread-local: neither its first use nor its end allocates.
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

/// Used as a test program's `#[global_allocator]`.
pub struct Counting;

/// Heap allocations of this thread while `f` ran.
pub fn allocations<T>(f: impl FnOnce() -> T) -> (u64, T) {
    let before = CALLS.get();
    let out = f();
    (CALLS.get() - before, out)
}

/// Bytes of the largest heap allocation of this thread while `f` ran.
#[allow(dead_code, reason = "not every program asks so")]
pub fn largest<T>(f: impl FnOnce() -> T) -> (usize, T) {
    LARGEST.set(0);
    let out = f();
    (LARGEST.get(), out)
}

fn count(bytes: usize) {
    CALLS.set(CALLS.get() + 1);
    LARGEST.set(LARGEST.get().max(bytes));
}

// SAFETY: every call is forwarded to the system allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    // SAFETY: the caller keeps to the contract of `alloc`, which is the system allocator's.
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: see above.
        unsafe { System.alloc(layout) }
    }

    // SAFETY: the caller keeps to the contract of `alloc_zeroed`, which is the system allocator's.
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        // SAFETY: see above.
        unsafe { System.alloc_zeroed(layout) }
    }

    // SAFETY: the caller keeps to the contract of `realloc`, which is the system allocator's.
    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        // SAFETY: see above.
        unsafe { System.realloc(old, layout, size) }
    }

    // SAFETY: the caller keeps to the contract of `dealloc`, which is the system allocator's.
    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        // SAFETY: see above.
        unsafe { System.dealloc(old, layout) }
    }
}
