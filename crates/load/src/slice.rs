//! The time-slice extension: a thread asks the kernel not to take its CPU for some microseconds.
//! It is part of restartable sequences in Linux 7.0 and later, if the kernel is built with it.
//!
//! The interface is described in Documentation/userspace-api/rseq.rst and
//! include/uapi/linux/rseq.h.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering::Relaxed, compiler_fence};

const PR_RSEQ_SLICE_EXTENSION: libc::c_int = 79;
const EXTENSION_GET: libc::c_ulong = 1;
const EXTENSION_SET: libc::c_ulong = 2;
const EXTENSION_ENABLE: libc::c_ulong = 1;

/// This number is the same on every architecture, as for all system calls from 424 on.
const RSEQ_SLICE_YIELD: libc::c_long = 471;

const AT_RSEQ_FEATURE_SIZE: libc::c_ulong = 27;
const UNREGISTER: libc::c_int = 1;
/// The signature that must precede the abort handler of a restartable sequence. This file has no
/// abort handler.
const SIGNATURE: u32 = 0x5305_3053;

/// Size and alignment of the registered memory, in bytes. It is larger than any kernel of today
/// needs.
const AREA: usize = 256;
/// Offsets of the two bytes of the extension in that memory: the request and the grant.
const REQUEST: usize = 28;
const GRANTED: usize = 29;
/// Smallest registered size that includes the extension, in bytes. Each kernel with the extension
/// accepts at least this size.
const WITH_EXTENSION: usize = 33;

/// Whether this kernel was built with the extension. A boot parameter can still switch it off.
pub fn is_known() -> bool {
    // SAFETY: a call with numbers only. A kernel that does not know it returns an error.
    unsafe { libc::prctl(PR_RSEQ_SLICE_EXTENSION, EXTENSION_GET, 0, 0, 0) >= 0 }
}

/// The time-slice extension of the calling thread. It ends when this value is dropped.
///
/// The thread must have no other registration. Some C libraries register each thread by
/// themselves. The generator is started with a setting that switches this off.
#[derive(Debug)]
pub struct Extension {
    area: NonNull<u8>,
    length: u32,
}

impl Extension {
    /// Registers memory for the calling thread and switches the extension on.
    ///
    /// # Errors
    /// The kernel's error, if the kernel lacks the extension or the thread is already registered.
    pub fn for_this_thread() -> std::io::Result<Self> {
        // SAFETY: the call only reads memory of this process.
        let size = unsafe { libc::getauxval(AT_RSEQ_FEATURE_SIZE) } as usize;
        let length = size.max(WITH_EXTENSION);
        if length > AREA {
            return Err(std::io::Error::from(std::io::ErrorKind::Unsupported));
        }
        // SAFETY: the layout has a size above zero.
        let area = unsafe { alloc_zeroed(layout()) };
        let area = NonNull::new(area).unwrap_or_else(|| handle_alloc_error(layout()));
        let failed = |error| {
            // SAFETY: the memory was allocated above, and the kernel does not use it.
            unsafe { dealloc(area.as_ptr(), layout()) };
            Err(error)
        };
        let length = length as u32;
        if let Err(error) = register(area, length, 0) {
            return failed(error);
        }
        // From here on, drop unregisters the memory before it is freed.
        let extension = Extension { area, length };
        // SAFETY: a call with numbers only.
        let set =
            unsafe { libc::prctl(PR_RSEQ_SLICE_EXTENSION, EXTENSION_SET, EXTENSION_ENABLE, 0, 0) };
        if set < 0 { Err(std::io::Error::last_os_error()) } else { Ok(extension) }
    }

    fn byte(&self, at: usize) -> &AtomicU8 {
        // SAFETY: the byte is in the memory, which lives as long as self. The kernel writes it
        // only while this thread is interrupted. Any byte is a valid value.
        unsafe { self.area.add(at).cast::<AtomicU8>().as_ref() }
    }

    /// Requests the extension from here on.
    pub fn begin(&self) {
        self.byte(REQUEST).store(1, Relaxed);
        compiler_fence(std::sync::atomic::Ordering::SeqCst);
    }

    /// Ends the request, and yields the CPU if the extension was granted. Returns whether it was.
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
            // SAFETY: the memory was allocated with this layout, and the kernel no longer writes
            // to it. If the call failed, the memory is leaked.
            unsafe { dealloc(self.area.as_ptr(), layout()) };
        }
    }
}

/// Registers the memory with the kernel, or unregisters it.
fn register(area: NonNull<u8>, length: u32, flags: libc::c_int) -> std::io::Result<()> {
    let area = area.as_ptr().cast::<AtomicU32>();
    // SAFETY: the memory has the length and alignment that the kernel needs. It is freed only
    // after the kernel has unregistered it.
    let done = unsafe { libc::syscall(libc::SYS_rseq, area, length, flags, SIGNATURE) };
    if done < 0 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

const fn layout() -> Layout {
    // AREA is a power of two, so size and alignment are valid.
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
        // The C library may have registered the thread of this test too, so both results are
        // accepted.
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
