//! The memory of a table that programs in the kernel may write at any moment.
//!
//! libbpf maps the table too, but returns a reference. A reference promises the compiler that
//! nobody else writes. So the table is mapped again here, and only raw pointers lead to it.

use libbpf_rs::MapCore;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;

/// A table that stays mapped while this value lives.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    at: NonNull<T>,
}

impl<T> Shared<T> {
    /// Maps the values of an array, or the single value of a map that holds the programs'
    /// variables.
    ///
    /// # Errors
    /// If the map is smaller than `T`, or the kernel refuses the mapping.
    pub fn map(map: &impl MapCore) -> io::Result<Self> {
        let there = (map.value_size() as usize).saturating_mul(map.max_entries() as usize);
        // A structure ends at a multiple of its alignment; the variables of a program need not.
        if there.next_multiple_of(align_of::<T>()) < size_of::<T>() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (both, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let at = unsafe { mmap(std::ptr::null_mut(), size_of::<T>(), both, flags, map, 0)? };
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Shared { at })
    }

    /// Zeroed memory in place of a map.
    #[cfg(test)]
    pub fn zeroes() -> Self {
        let (both, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping, at an address that the kernel chooses.
        let at =
            unsafe { rustix::mm::mmap_anonymous(anywhere, size_of::<T>(), both, flags) }.unwrap();
        Shared { at: NonNull::new(at.cast()).unwrap() }
    }

    /// Bytes of the table that this process has touched; the kernel counts these as memory of
    /// this process too.
    pub fn touched_bytes(&self) -> u64 {
        let page = rustix::param::page_size();
        let mut pages = vec![0_u8; size_of::<T>().div_ceil(page)];
        let (at, into) = (self.at.as_ptr().cast(), pages.as_mut_ptr());
        // SAFETY: the mapping made above, and one byte for each of its pages.
        let done = unsafe { libc::mincore(at, size_of::<T>(), into) };
        let touched =
            if done == 0 { pages.iter().filter(|page| **page & 1 == 1).count() } else { 0 };
        touched as u64 * page as u64
    }

    /// The address of the table. The pointer is valid while this value lives, for volatile reads
    /// and writes.
    pub fn as_ptr(&self) -> *mut T {
        self.at.as_ptr()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping made above; nobody keeps a pointer to it.
        let unmapped = unsafe { munmap(self.at.as_ptr().cast(), size_of::<T>()) };
        debug_assert!(unmapped.is_ok(), "munmap of a table");
    }
}

/// The elements of an array, as pointers, without a reference to it.
pub(crate) fn elements<T, const N: usize>(array: *mut [T; N]) -> impl Iterator<Item = *mut T> {
    (0..N).map(move |index| element(array, index))
}

/// The element of an array at an index; an index past the end wraps around.
pub(crate) fn element<T, const N: usize>(array: *mut [T; N], index: usize) -> *mut T {
    // Wrapping, since this function cannot check that the array is there; the caller must know
    // that.
    array.cast::<T>().wrapping_add(index % N.max(1))
}
