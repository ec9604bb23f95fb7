//! Memory that is touched page by page. Each touch is a page fault.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Bytes that are touched before all of them are returned to the kernel: one huge page on most
/// machines.
pub const REGION: usize = 2 << 20;

/// Size of the pages that are touched.
const PAGE: usize = 4096;

/// Number of pages in a region.
pub const PAGES: usize = REGION / PAGE;

/// A memory region whose pages are absent until they are touched.
#[derive(Debug)]
pub struct Region {
    /// Twice the size that is used, so that it always contains an aligned huge page.
    whole: NonNull<u8>,
    used: NonNull<u8>,
    next: usize,
}

// SAFETY: the mapping belongs to this value alone.
unsafe impl Send for Region {}

impl Region {
    /// Maps a region, with huge pages or without them.
    ///
    /// # Errors
    /// If no memory is left, or the kernel has no huge pages.
    pub fn new(huge: bool) -> std::io::Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let whole =
            unsafe { mmap_anonymous(std::ptr::null_mut(), 2 * REGION, access, MapFlags::PRIVATE)? };
        let none = || std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        let whole: NonNull<u8> = NonNull::new(whole.cast()).ok_or_else(none)?;
        let skipped = whole.as_ptr().align_offset(REGION);
        // SAFETY: the next multiple of `REGION` is in the first half of the mapping.
        let used = unsafe { whole.add(skipped.min(REGION)) };
        let region = Region { whole, used, next: 0 };
        let advice = if huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        match region.advise(advice) {
            // A kernel without huge pages knows neither of the two advices.
            Err(rustix::io::Errno::INVAL) if !huge => {}
            advised => advised?,
        }
        Ok(region)
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: the range is in the mapping that `new` made. Nothing refers to its content.
        unsafe { madvise(self.used.as_ptr().cast(), REGION, advice) }
    }

    /// Writes to the next `pages` pages, but not beyond the end of the region.
    pub fn touch(&mut self, pages: usize) {
        for page in self.next..(self.next + pages).min(PAGES) {
            // SAFETY: the byte is in the mapping, which lives as long as self. Any byte is a valid
            // value.
            let byte = unsafe { self.used.add(page * PAGE).cast::<AtomicU8>().as_ref() };
            byte.store(1, Relaxed);
        }
        self.next = (self.next + pages).min(PAGES);
    }

    /// Returns all pages to the kernel if fewer than `pages` pages are untouched.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn make_room(&mut self, pages: usize) -> std::io::Result<()> {
        if self.next + pages <= PAGES {
            return Ok(());
        }
        self.next = 0;
        Ok(self.advise(Advice::LinuxDontNeed)?)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; no reference outlives self.
        let unmapped = unsafe { munmap(self.whole.as_ptr().cast(), 2 * REGION) };
        debug_assert!(unmapped.is_ok(), "munmap of the region");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_touched_until_none_is_left_and_then_anew() {
        let mut region = Region::new(false).unwrap();
        for _ in 0..3 {
            region.make_room(200).unwrap();
            region.touch(200);
        }
        assert_eq!(region.next, 200);
        region.touch(2 * PAGES);
        assert_eq!(region.next, PAGES);
    }
}
