//! Anonymous memory that is filled and freed piece by piece.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::ptr::NonNull;

/// Size of a page of this machine, in bytes: the smallest piece that is freed or filled.
pub(super) fn page() -> usize {
    rustix::param::page_size()
}

/// A private memory region of this process, in pages of the usual size.
#[derive(Debug)]
pub(super) struct Region {
    start: NonNull<u8>,
    bytes: usize,
}

impl Region {
    /// Maps a region. It takes no memory yet.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn map(bytes: usize) -> io::Result<Self> {
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe {
            mmap_anonymous(std::ptr::null_mut(), bytes, protection, flags | MapFlags::NORESERVE)?
        };
        // A huge page would be taken as a whole when a piece is touched. A kernel without huge
        // pages refuses this call.
        // SAFETY: the mapping was just made and holds nothing yet.
        let _ = unsafe { madvise(start, bytes, Advice::LinuxNoHugepage) };
        let start = NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?;
        Ok(Region { start, bytes })
    }

    /// Returns a piece to the kernel and fills it again, which takes it page by page.
    ///
    /// # Errors
    /// If the piece is outside the region, or if the kernel refuses.
    pub(super) fn renew(&self, from: usize, bytes: usize, value: u8) -> io::Result<()> {
        let end = from.checked_add(bytes).filter(|end| *end <= self.bytes);
        if end.is_none() || !from.is_multiple_of(page()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        // SAFETY: the piece is in the mapping, as checked above. Nothing refers to its memory.
        unsafe {
            let piece = self.start.as_ptr().add(from);
            madvise(piece.cast(), bytes, Advice::LinuxDontNeed)?;
            piece.write_bytes(value, bytes);
        }
        Ok(())
    }

    /// Reads a byte, which needs its page in memory. Returns 0 beyond the region.
    pub(super) fn read(&self, at: usize) -> u8 {
        if at >= self.bytes {
            return 0;
        }
        // SAFETY: the byte is in the mapping. The kernel has zeroed it, or `renew` has filled it.
        unsafe { self.start.as_ptr().add(at).read_volatile() }
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping was made by `map`, and nothing refers to its memory.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.bytes) };
        debug_assert!(unmapped.is_ok(), "munmap of a region");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_holds_what_it_was_filled_with() {
        let page = page();
        let region = Region::map(4 * page).unwrap();
        assert_eq!(region.read(0), 0);
        region.renew(page, 2 * page, 7).unwrap();
        assert_eq!([0, page, 3 * page - 1, 3 * page].map(|at| region.read(at)), [0, 7, 7, 0]);
        assert_eq!(region.read(usize::MAX), 0);
    }

    #[test]
    fn what_is_outside_is_refused() {
        let page = page();
        let region = Region::map(2 * page).unwrap();
        for (from, bytes) in [(page, 2 * page), (1, page), (0, usize::MAX), (page, usize::MAX)] {
            assert!(region.renew(from, bytes, 1).is_err(), "{from} {bytes}");
        }
    }
}
