//! The stack of a process that shares its memory with the one that made it.

use std::io;

use libc::{c_int, c_void};

/// Room for what runs between the forks, also in a debug build; only what is used takes memory.
const STACK_BYTES: usize = 256 * 1024;
/// What cannot be touched below it, so that nothing else is overwritten. A multiple of the size of pages everywhere.
const GUARD_BYTES: usize = 64 * 1024;

/// A stack, which is there in copies of this process as well.
#[derive(Debug)]
pub(super) struct Stack {
    start: *mut c_void,
}

// SAFETY: it owns the memory, and nothing reads or writes it through this value.
unsafe impl Send for Stack {}
// SAFETY: as above.
unsafe impl Sync for Stack {}

impl Stack {
    pub(super) fn new() -> io::Result<Self> {
        // SAFETY: asks for new memory and then takes the rights from the lower end of it.
        unsafe {
            let start = libc::mmap(
                std::ptr::null_mut(),
                GUARD_BYTES + STACK_BYTES,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_STACK,
                -1,
                0,
            );
            if start == libc::MAP_FAILED {
                return Err(io::Error::last_os_error());
            }
            let stack = Self { start };
            if libc::mprotect(start, GUARD_BYTES, libc::PROT_NONE) != 0 {
                return Err(io::Error::last_os_error());
            }
            Ok(stack)
        }
    }

    /// Where it begins: stacks grow downwards.
    pub(super) fn top(&self) -> *mut c_void {
        // SAFETY: one past the end of the memory.
        unsafe { self.start.byte_add(GUARD_BYTES + STACK_BYTES) }
    }
}

impl Drop for Stack {
    fn drop(&mut self) {
        // SAFETY: the memory is this value's. Fails for no memory that was given as a whole.
        let _done: c_int = unsafe { libc::munmap(self.start, GUARD_BYTES + STACK_BYTES) };
    }
}
