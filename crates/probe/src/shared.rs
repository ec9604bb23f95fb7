//! The memory of a table that programs in the kernel write at any moment.
//!
//! libbpf maps it too and hands out a reference, which promises the compiler that nobody else
//! writes. So it is mapped once more here, and only raw pointers lead to it.

use libbpf_rs::MapCore;
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::io;
use std::ptr::NonNull;

/// A table, mapped for as long as this lives.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    at: NonNull<T>,
}

impl<T> Shared<T> {
    /// Maps the values of an array; the one value of a map which programs see as their variables.
    ///
    /// # Errors
    /// If the map holds less, or the kernel does not let it be mapped.
    pub fn map(map: &impl MapCore) -> io::Result<Self> {
        let there = (map.value_size() as usize).saturating_mul(map.max_entries() as usize);
        if there < size_of::<T>() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let (both, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at = unsafe { mmap(std::ptr::null_mut(), size_of::<T>(), both, flags, map, 0)? };
        let at = NonNull::new(at.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Shared { at })
    }

    /// Memory of zeroes that stands for a map.
    #[cfg(test)]
    pub fn zeroes() -> Self {
        let (both, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        let anywhere = std::ptr::null_mut();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let at =
            unsafe { rustix::mm::mmap_anonymous(anywhere, size_of::<T>(), both, flags) }.unwrap();
        Shared { at: NonNull::new(at.cast()).unwrap() }
    }

    /// How much of it this process has touched, in bytes: so much of the table counts as memory of
    /// this process too.
    pub fn touched_bytes(&self) -> u64 {
        let page = rustix::param::page_size();
        let mut pages = vec![0_u8; size_of::<T>().div_ceil(page)];
        let (at, into) = (self.at.as_ptr().cast(), pages.as_mut_ptr());
        // SAFETY: the mapping that was made above, and a byte for each of its pages.
        let done = unsafe { libc::mincore(at, size_of::<T>(), into) };
        let touched =
            if done == 0 { pages.iter().filter(|page| **page & 1 == 1).count() } else { 0 };
        touched as u64 * page as u64
    }

    /// Where it is. The pointer is good for as long as this lives, for reads and writes that are
    /// volatile.
    pub fn as_ptr(&self) -> *mut T {
        self.at.as_ptr()
    }
}

impl<T> Drop for Shared<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping that was made above, of which nobody keeps a pointer.
        let unmapped = unsafe { munmap(self.at.as_ptr().cast(), size_of::<T>()) };
        debug_assert!(unmapped.is_ok(), "munmap of a table");
    }
}

/// The elements of an array, as pointers, without a reference to it.
pub(crate) fn elements<T, const N: usize>(array: *mut [T; N]) -> impl Iterator<Item = *mut T> {
    (0..N).map(move |index| element(array, index))
}

/// The element of an array at an index, which begins anew behind its end.
pub(crate) fn element<T, const N: usize>(array: *mut [T; N], index: usize) -> *mut T {
    // Wrapping, since nothing says here that the array is there; the caller has to know.
    array.cast::<T>().wrapping_add(index % N.max(1))
}
