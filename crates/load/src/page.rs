//! A page of memory that the tool shares with its load generators.

use rustix::fs::{SealFlags, fcntl_add_seals, fstat, ftruncate};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Size of the mapping, in bytes.
const SIZE: usize = 4096;

/// The first descriptor number after standard input, output and error.
const FIRST: i32 = 3;

/// The type of a page's content.
///
/// # Safety
/// All fields are atomic, and every bit pattern is valid. The type is not larger than a page and
/// does not need a larger alignment.
pub unsafe trait InPage {}

/// A mapped shared page. The kernel has zeroed it.
#[derive(Debug)]
pub struct Page<T: InPage> {
    memory: NonNull<T>,
    file: OwnedFd,
    holds: PhantomData<T>,
}

// SAFETY: the page is shared between processes anyway. It holds only atomics.
unsafe impl<T: InPage> Send for Page<T> {}
// SAFETY: as above.
unsafe impl<T: InPage> Sync for Page<T> {}

impl<T: InPage> Page<T> {
    /// Creates a page that child processes can inherit by its file descriptor.
    ///
    /// # Errors
    /// If the kernel has no memory or no descriptor left.
    pub fn create() -> std::io::Result<Self> {
        let file = os::memory_file::create("tailback-page")?;
        ftruncate(&file, SIZE as u64)?;
        // If a generator could shrink the file, the tool would die from SIGBUS.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(file.into())
    }

    /// Maps the page whose descriptor the parent process passes under this number.
    ///
    /// # Errors
    /// If the parent passes no page, for example when a user starts the generator by hand.
    pub fn inherited(number: i32) -> std::io::Result<Self> {
        if number < FIRST {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the call only checks whether the descriptor is open.
        fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) })?;
        // SAFETY: the descriptor is open, and the parent opened it for this child alone.
        Self::map(unsafe { OwnedFd::from_raw_fd(number) })
    }

    /// Maps the page behind a descriptor.
    ///
    /// # Errors
    /// If the descriptor is not a shared page.
    pub fn map(file: OwnedFd) -> std::io::Result<Self> {
        if fstat(&file)?.st_size < SIZE as i64 {
            return Err(std::io::ErrorKind::UnexpectedEof.into());
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory =
            unsafe { mmap(std::ptr::null_mut(), SIZE, access, MapFlags::SHARED, &file, 0)? };
        let memory = NonNull::new(memory.cast()).ok_or(std::io::ErrorKind::InvalidData)?;
        Ok(Page { memory, file, holds: PhantomData })
    }

    /// The content of the page.
    pub fn contents(&self) -> &T {
        // SAFETY: the page is mapped as long as self lives, and is page-aligned. Any content is
        // valid, as `InPage` promises.
        unsafe { self.memory.as_ref() }
    }
}

impl<T: InPage> AsFd for Page<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl<T: InPage> Drop for Page<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made; no reference outlives self.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), SIZE) };
        debug_assert!(unmapped.is_ok(), "munmap of a page");
    }
}

/// Sets whether child processes that start from here on inherit a descriptor.
///
/// # Errors
/// If the kernel refuses.
pub fn inherit(file: impl AsFd, yes: bool) -> std::io::Result<()> {
    let flags = if yes { FdFlags::empty() } else { FdFlags::CLOEXEC };
    Ok(fcntl_setfd(file, flags)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU64;
    use std::sync::atomic::Ordering::Relaxed;

    // SAFETY: one atomic number.
    unsafe impl InPage for AtomicU64 {}

    fn page() -> Page<AtomicU64> {
        Page::create().unwrap()
    }

    #[test]
    fn a_generator_cannot_shorten_the_page() {
        let other = page().as_fd().try_clone_to_owned().unwrap();
        assert_eq!(ftruncate(&other, 0), Err(rustix::io::Errno::PERM));
    }

    #[test]
    fn both_ends_see_the_same_page() {
        let page = page();
        let other = Page::<AtomicU64>::map(page.as_fd().try_clone_to_owned().unwrap()).unwrap();
        page.contents().store(7, Relaxed);
        assert_eq!(other.contents().load(Relaxed), 7);
    }

    #[test]
    fn what_is_no_page_is_refused() {
        let empty = os::memory_file::create("empty").unwrap();
        assert!(Page::<AtomicU64>::map(empty.into()).is_err());
        assert!(Page::<AtomicU64>::inherited(0).is_err());
        let error = Page::<AtomicU64>::inherited(1_000_000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::BADF.raw_os_error()));
    }
}
