//! A page of memory that the tool shares with its generators.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, fstat, ftruncate, memfd_create};
use rustix::io::{FdFlags, fcntl_getfd, fcntl_setfd};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;

/// Size of the mapping, in bytes.
const SIZE: usize = 4096;

/// The first number of a file that no process has from the start.
const FIRST: i32 = 3;

/// What a page may hold.
///
/// # Safety
/// All of it is atomic, every bit pattern is valid, and it is no larger and no more aligned than a
/// page.
pub unsafe trait InPage {}

/// Such a page, mapped; the kernel has zeroed it.
#[derive(Debug)]
pub struct Page<T: InPage> {
    memory: NonNull<T>,
    file: OwnedFd,
    holds: PhantomData<T>,
}

// SAFETY: the page is shared between processes anyway; it holds atomics only.
unsafe impl<T: InPage> Send for Page<T> {}
// SAFETY: as above.
unsafe impl<T: InPage> Sync for Page<T> {}

impl<T: InPage> Page<T> {
    /// Makes a page that children can inherit by its file descriptor.
    ///
    /// # Errors
    /// If the kernel has no memory or no descriptor left.
    pub fn create() -> std::io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Where vm.memfd_noexec is 2, the kernel makes no other; before 6.3 it does not know these.
        let file = match memfd_create("tailback-page", flags | MemfdFlags::NOEXEC_SEAL) {
            Err(rustix::io::Errno::INVAL) => memfd_create("tailback-page", flags)?,
            made => made?,
        };
        ftruncate(&file, SIZE as u64)?;
        // A generator that made it shorter would end the tool by SIGBUS.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(file)
    }

    /// Maps the page that the parent passes as the descriptor of this number.
    ///
    /// # Errors
    /// If it passes none, as by hand.
    pub fn inherited(number: i32) -> std::io::Result<Self> {
        if number < FIRST {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: whether it is open is all that is asked.
        fcntl_getfd(unsafe { BorrowedFd::borrow_raw(number) })?;
        // SAFETY: it is open, and the parent opened it for this child alone.
        Self::map(unsafe { OwnedFd::from_raw_fd(number) })
    }

    /// Maps the page that a descriptor stands for.
    ///
    /// # Errors
    /// If the descriptor is not such a page.
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

    /// What is in it.
    pub fn contents(&self) -> &T {
        // SAFETY: mapped for as long as self lives, aligned to a page, and valid whatever is in it,
        // as `InPage` promises.
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

/// Has the children that are started from now on inherit a descriptor, or not.
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
        let empty = memfd_create("empty", MemfdFlags::CLOEXEC).unwrap();
        assert!(Page::<AtomicU64>::map(empty).is_err());
        assert!(Page::<AtomicU64>::inherited(0).is_err());
        let error = Page::<AtomicU64>::inherited(1_000_000).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(rustix::io::Errno::BADF.raw_os_error()));
    }
}
