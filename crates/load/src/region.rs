//! Memory that is touched page by page. Each touch is a page fault.

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use rustix::param::page_size;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

/// Bytes that are touched before all of them are returned to the kernel: one huge page on most
/// machines. If pages are larger than 4 KiB, a call of [`Region::touch`] may touch more.
pub const REGION: usize = 2 << 20;

/// Number of pages in a region, whatever their size is.
pub const PAGES: usize = 512;

/// A memory region whose pages are absent until they are touched.
#[derive(Debug)]
pub struct Region {
    /// Twice the size that is used, so that it always contains an aligned huge page.
    whole: NonNull<u8>,
    used: NonNull<u8>,
    /// Size of a page in bytes: 4, 16 or 64 KiB.
    page: usize,
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
        Self::with_pages_of(page_size(), huge)
    }

    /// Maps a region for pages of this size.
    fn with_pages_of(page: usize, huge: bool) -> std::io::Result<Self> {
        let bytes = PAGES * page;
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice.
        let whole =
            unsafe { mmap_anonymous(std::ptr::null_mut(), 2 * bytes, access, MapFlags::PRIVATE)? };
        let none = || std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        let whole: NonNull<u8> = NonNull::new(whole.cast()).ok_or_else(none)?;
        let skipped = whole.as_ptr().align_offset(bytes);
        // SAFETY: the next multiple of `bytes` is in the first half of the mapping.
        let used = unsafe { whole.add(skipped.min(bytes)) };
        let region = Region { whole, used, page, next: 0 };
        let advice = if huge { Advice::LinuxHugepage } else { Advice::LinuxNoHugepage };
        match region.advise(advice) {
            // A kernel without huge pages knows neither of the two advices.
            Err(rustix::io::Errno::INVAL) if !huge => {}
            advised => advised?,
        }
        Ok(region)
    }

    fn bytes(&self) -> usize {
        PAGES * self.page
    }

    fn advise(&self, advice: Advice) -> rustix::io::Result<()> {
        // SAFETY: the range is in the mapping that `new` made. Nothing refers to its content.
        unsafe { madvise(self.used.as_ptr().cast(), self.bytes(), advice) }
    }

    /// Writes to the next `pages` pages, but not beyond the end of the region.
    pub fn touch(&mut self, pages: usize) {
        for page in self.next..(self.next + pages).min(PAGES) {
            // SAFETY: the byte is in the mapping, which lives as long as self. Any byte is a valid
            // value.
            let byte = unsafe { self.used.add(page * self.page).cast::<AtomicU8>().as_ref() };
            byte.store(1, Relaxed);
        }
        self.next = (self.next + pages).min(PAGES);
    }

    /// Returns all pages to the kernel if `pages` more would be more than [`REGION`] bytes.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn make_room(&mut self, pages: usize) -> std::io::Result<()> {
        if self.next + pages <= REGION / self.page {
            return Ok(());
        }
        self.next = 0;
        Ok(self.advise(Advice::LinuxDontNeed)?)
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; no reference outlives self.
        let unmapped = unsafe { munmap(self.whole.as_ptr().cast(), 2 * self.bytes()) };
        debug_assert!(unmapped.is_ok(), "munmap of the region");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A region for pages four times as large as those of this machine.
    fn of_large_pages() -> Region {
        Region::with_pages_of(4 * page_size(), false).unwrap()
    }

    /// The byte of a page that a touch writes.
    fn byte(region: &Region, page: usize) -> u8 {
        assert!(page < PAGES);
        // SAFETY: the page is in the mapping of the region. Any byte is a valid value.
        unsafe { region.used.add(page * region.page).read() }
    }

    #[test]
    fn pages_are_touched_until_none_is_left_and_then_anew() {
        let mut region = Region::new(false).unwrap();
        assert_eq!(region.page, page_size());
        for _ in 0..3 {
            region.make_room(200).unwrap();
            region.touch(200);
        }
        assert_eq!(region.next, 200);
        region.touch(2 * PAGES);
        assert_eq!(region.next, PAGES);
    }

    #[test]
    fn each_touch_is_in_a_page_of_its_own_whatever_the_size_of_pages_is() {
        let mut region = of_large_pages();
        region.touch(PAGES - 1);
        assert!((0..PAGES - 1).all(|page| byte(&region, page) == 1));
        assert_eq!(byte(&region, PAGES - 1), 0);
    }

    #[test]
    fn large_pages_are_returned_after_as_many_bytes_as_small_ones() {
        let mut region = of_large_pages();
        let fit = REGION / region.page;
        region.touch(fit);
        region.make_room(0).unwrap();
        assert_eq!((region.next, byte(&region, 0)), (fit, 1));
        region.make_room(1).unwrap();
        assert_eq!((region.next, byte(&region, 0)), (0, 0));
    }
}
