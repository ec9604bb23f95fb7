//! A thread asks the kernel not to take its CPU for some microseconds: the time-slice extension of
//! restartable sequences, in Linux 7.0 and later that are built with it.
//!
//! The interface is that of Documentation/userspace-api/rseq.rst and include/uapi/linux/rseq.h.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed, compiler_fence};

const PR_RSEQ_SLICE_EXTENSION: libc::c_int = 79;
const EXTENSION_GET: libc::c_ulong = 1;
const EXTENSION_SET: libc::c_ulong = 2;
const EXTENSION_ENABLE: libc::c_ulong = 1;

/// The same number on every architecture, as of all calls since 424.
const RSEQ_SLICE_YIELD: libc::c_long = 471;

const AT_RSEQ_FEATURE_SIZE: libc::c_ulong = 27;
const UNREGISTER: libc::c_int = 1;
/// What would stand before the code that takes over an aborted sequence; there is none here.
const SIGNATURE: u32 = 0x5305_3053;

/// Size and alignment of what is registered, in bytes: more than any kernel of today asks for.
const AREA: usize = 256;
/// Where the two bytes of the extension stand in it: what is asked for, and what was granted.
const REQUEST: usize = 28;
const GRANTED: usize = 29;
/// Bytes of which the extension is one; a kernel that has it knows no fewer.
const WITH_EXTENSION: usize = 33;

/// Whether this kernel was built with it. It may still be switched off where the kernel starts.
pub fn is_known() -> bool {
    // SAFETY: a question with numbers alone; a kernel that does not know it says so.
    unsafe { libc::prctl(PR_RSEQ_SLICE_EXTENSION, EXTENSION_GET, 0, 0, 0) >= 0 }
}

/// The calling thread's way to ask; it ends with this value.
///
/// The thread must have nothing else registered: a C library that does so of its own is told not to
/// when the generator is started.
#[derive(Debug)]
pub struct Extension {
    area: NonNull<u8>,
    length: u32,
}

impl Extension {
    /// Registers memory for the calling thread, and switches the extension on.
    ///
    /// # Errors
    /// What the kernel says, where it lacks the extension or something is registered already.
    pub fn for_this_thread() -> std::io::Result<Self> {
        // SAFETY: a question to the process's own memory.
        let size = unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize;
        let length = size.max(WITH_EXTENSION);
        if length > AREA {
            return Err(std::io::Error::from(std::io::ErrorKind::Unsupported));
        }
        // SAFETY: the layout has a size.
        let area = unsafe { alloc_zeroed(layout()) };
        let area = NonNull::new(area).unwrap_or_else(|| handle_alloc_error(layout()));
        let failed = |error| {
            // SAFETY: as allocated above; the kernel does not have it.
            unsafe { dealloc(area.as_ptr(), layout()) };
            Err(error)
        };
        let length = length as u32;
        if let Err(error) = register(area, length, 0) {
            return failed(error);
        }
        // From here on the kernel is told before the memory goes.
        let extension = Extension { area, length };
        // SAFETY: numbers alone.
        let set =
            unsafe { libc::prctl(PR_RSEQ_SLICE_EXTENSION, EXTENSION_SET, EXTENSION_ENABLE, 0, 0) };
        if set < 0 { Err(std::io::Error::last_os_error()) } else { Ok(extension) }
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        // SAFETY: inside the memory, which lives as long as self. The kernel writes it only while
        // this very thread is interrupted, and any byte is a valid one.
        unsafe { self.area.add(at).cast::<AtomicU8>().as_ref() }
    }

    /// Asks for it from now on.
    pub fn begin(&self) {
        self.byte(REQUEST).store(1, Relaxed);
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Asks for it no more, and gives the CPU back where it was granted. Whether it was.
    pub fn end(&self) -> bool {
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
        self.byte(REQUEST).store(0, Relaxed);
        let granted = self.byte(GRANTED).load(Relaxed) != 0;
        if granted {
            // SAFETY: a call without arguments.
            let _ = unsafe { libc::syscall(RSEQ_SLICE_YIELD) };
        }
        granted
    }
}

impl Drop for Extension {
    fn drop(&mut self) {
        if register(self.area, self.length, UNREGISTER).is_ok() {
            // SAFETY: as allocated; the kernel no longer writes to it. Otherwise it stays.
            unsafe { dealloc(self.area.as_ptr(), layout()) };
        }
    }
}

/// Tells the kernel of the memory, or to forget it.
fn register(area: NonNull<u8>, length: u32, flags: libc::c_int) -> std::io::Result<()> {
    let area = area.as_ptr().cast::<AtomicU32>();
    // SAFETY: the memory is as long and as aligned as the kernel asks, and is given back only after
    // the kernel was told to forget it.
    let done = unsafe { libc::syscall(libc::SYS_rseq, area, length, flags, SIGNATURE) };
    if done < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

const fn layout() -> Layout {
    // AREA is a power of two, so the two fit.
    match Layout::from_size_align(AREA, AREA) {
        Ok(layout) => layout,
        Err(_) => Layout::new::<[u64; AREA / 8]>(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_it_says_so_and_one_with_it_takes_it_twice() {
        // On a thread of its own: what a library has registered for others is in the way here too.
        for _ in 0..2 {
            match Extension::for_this_thread() {
                Ok(extension) => {
                    assert!(is_known());
                    extension.begin();
                    extension.end();
                }
                Err(error) => assert!(error.raw_os_error().is_some(), "{error}"),
            }
        }
    }
}
