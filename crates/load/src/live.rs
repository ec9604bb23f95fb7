//! A page shared by a generator and the tool: what the generator is doing right now.
//!
//! It shows the tool a stall while it lasts, and it outlives a generator that had to be killed.

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Latencies whose exceedances are counted, in nanoseconds.
pub const LIMITS_NS: [u64; 3] = [1_000_000, 10_000_000, 100_000_000];

/// An operation longer than this is a stall, in nanoseconds.
pub const STALL_NS: u64 = LIMITS_NS[0];

/// The counters of the page; each is written by the generator alone.
#[repr(C)]
#[derive(Debug, Default)]
pub struct Counters {
    operations: AtomicU64,
    began_ns: AtomicU64,
    worst_ns: AtomicU64,
    stalled_ns: AtomicU64,
    over: [AtomicU64; 3],
}

/// The counters at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Operations that came back.
    pub operations: u64,
    /// When the operation that is under way began ([`os::time::now_ns`]); 0 where none is.
    pub began_ns: u64,
    /// The longest operation so far, in nanoseconds.
    pub worst_ns: u64,
    /// Time spent in operations longer than [`STALL_NS`], in nanoseconds.
    pub stalled_ns: u64,
    /// Operations longer than each of [`LIMITS_NS`].
    pub over: [u64; 3],
}

impl Counters {
    /// Records that an operation begins.
    #[inline]
    pub fn begin(&self, now_ns: u64) {
        self.began_ns.store(now_ns, Relaxed);
    }

    /// Records how long the operation took.
    #[inline]
    pub fn end(&self, latency_ns: u64) {
        self.began_ns.store(0, Relaxed);
        self.operations.store(self.operations.load(Relaxed) + 1, Relaxed);
        if latency_ns > self.worst_ns.load(Relaxed) {
            self.worst_ns.store(latency_ns, Relaxed);
        }
        if latency_ns > STALL_NS {
            self.count_stall(latency_ns);
        }
    }

    #[cold]
    fn count_stall(&self, latency_ns: u64) {
        self.stalled_ns.store(self.stalled_ns.load(Relaxed) + latency_ns, Relaxed);
        for (count, limit) in self.over.iter().zip(LIMITS_NS) {
            if latency_ns > limit {
                count.store(count.load(Relaxed) + 1, Relaxed);
            }
        }
    }

    /// The counters now.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            operations: self.operations.load(Relaxed),
            began_ns: self.began_ns.load(Relaxed),
            worst_ns: self.worst_ns.load(Relaxed),
            stalled_ns: self.stalled_ns.load(Relaxed),
            over: [0, 1, 2].map(|i: usize| self.over[i].load(Relaxed)),
        }
    }
}

impl Snapshot {
    /// The snapshot with the operation under way counted as if it ended now.
    pub fn as_of(mut self, now_ns: u64) -> Snapshot {
        if self.began_ns == 0 {
            return self;
        }
        let under_way = now_ns.saturating_sub(self.began_ns);
        self.worst_ns = self.worst_ns.max(under_way);
        if under_way > STALL_NS {
            self.stalled_ns = self.stalled_ns.saturating_add(under_way);
            for (count, limit) in self.over.iter_mut().zip(LIMITS_NS) {
                *count = count.saturating_add(u64::from(under_way > limit));
            }
        }
        self
    }
}

/// The shared page, mapped.
#[derive(Debug)]
pub struct LivePage {
    memory: NonNull<Counters>,
    file: OwnedFd,
}

// SAFETY: the page is shared between processes anyway; it holds atomics only.
unsafe impl Send for LivePage {}
// SAFETY: as above.
unsafe impl Sync for LivePage {}

impl LivePage {
    /// Size of the mapping, in bytes.
    const SIZE: usize = 4096;

    /// Makes a page that children can inherit by its file descriptor.
    ///
    /// # Errors
    /// If the kernel has no memory or no descriptor left.
    pub fn create() -> std::io::Result<Self> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let file = memfd_create("tailback-live", flags)?;
        ftruncate(&file, Self::SIZE as u64)?;
        // A generator that made it shorter would end the tool by SIGBUS.
        fcntl_add_seals(&file, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL)?;
        Self::map(file)
    }

    /// Maps the page that a descriptor stands for.
    ///
    /// # Errors
    /// If the descriptor is not such a page.
    pub fn map(file: OwnedFd) -> std::io::Result<Self> {
        if rustix::fs::fstat(&file)?.st_size < Self::SIZE as i64 {
            return Err(std::io::Error::from(std::io::ErrorKind::UnexpectedEof));
        }
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe {
            mmap(
                std::ptr::null_mut(),
                Self::SIZE,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
                &file,
                0,
            )?
        };
        let memory = NonNull::new(memory.cast())
            .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::InvalidData))?;
        Ok(LivePage { memory, file })
    }

    /// The counters in the page.
    pub fn counters(&self) -> &Counters {
        // SAFETY: mapped for as long as self lives, zeroed by the kernel, aligned to a page, and
        // every bit pattern is a valid Counters.
        unsafe { self.memory.as_ref() }
    }
}

impl AsFd for LivePage {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Drop for LivePage {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made; no reference outlives self.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), Self::SIZE) };
        debug_assert!(unmapped.is_ok(), "munmap of the live page");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stall_under_way_counts() {
        let page = LivePage::create().unwrap();
        let counters = page.counters();
        counters.begin(100);
        counters.end(2_000_000);
        counters.begin(5_000_000);
        let quiet = counters.snapshot();
        assert_eq!((quiet.operations, quiet.worst_ns, quiet.over), (1, 2_000_000, [1, 0, 0]));
        let stalled = quiet.as_of(205_000_000);
        assert_eq!(stalled.worst_ns, 200_000_000);
        assert_eq!(stalled.stalled_ns, 202_000_000);
        assert_eq!(stalled.over, [2, 1, 1]);
        counters.end(10);
        assert_eq!(counters.snapshot().as_of(u64::MAX).over, [1, 0, 0]);
    }

    #[test]
    fn a_generator_can_neither_shorten_the_page_nor_overflow_what_is_read_of_it() {
        let page = LivePage::create().unwrap();
        let other = page.as_fd().try_clone_to_owned().unwrap();
        assert_eq!(ftruncate(&other, 0), Err(rustix::io::Errno::PERM));
        let all = u64::MAX;
        let worst =
            Snapshot { operations: all, began_ns: 1, worst_ns: 0, stalled_ns: all, over: [all; 3] };
        assert_eq!(worst.as_of(all).over, [all; 3]);
    }

    #[test]
    fn both_ends_see_the_same_page() {
        let page = LivePage::create().unwrap();
        let other = LivePage::map(page.as_fd().try_clone_to_owned().unwrap()).unwrap();
        page.counters().end(7);
        assert_eq!(other.counters().snapshot().worst_ns, 7);
    }
}
