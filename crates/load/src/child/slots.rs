//! Counters that workers share with their leader. They survive a worker that was killed.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The counters of one worker. Each has its own cache line, so workers do not slow each other
/// down.
#[repr(C, align(64))]
#[derive(Debug, Default)]
pub struct Slot {
    rounds: AtomicU64,
    bytes: AtomicU64,
    errno: AtomicU64,
}

impl Slot {
    /// Counts a round.
    #[inline]
    pub fn round(&self) {
        self.rounds.store(self.rounds.load(Relaxed) + 1, Relaxed);
    }

    /// Counts bytes.
    #[inline]
    pub fn add_bytes(&self, bytes: usize) {
        self.bytes.store(self.bytes.load(Relaxed) + bytes as u64, Relaxed);
    }

    /// Stores the error that ended the worker.
    pub fn fail(&self, errno: i32) {
        self.errno.store(u64::from(errno.unsigned_abs()), Relaxed);
    }

    /// Number of rounds so far.
    pub fn rounds(&self) -> u64 {
        self.rounds.load(Relaxed)
    }

    /// Number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }

    /// The error that ended the worker, if there was one.
    pub fn error(&self) -> Option<std::io::Error> {
        match i32::try_from(self.errno.load(Relaxed)) {
            Ok(0) | Err(_) => None,
            Ok(errno) => Some(std::io::Error::from_raw_os_error(errno)),
        }
    }
}

/// One slot for each worker, in memory that forked processes share.
#[derive(Debug)]
pub struct Slots {
    memory: NonNull<Slot>,
    count: usize,
}

impl Slots {
    /// Creates `count` slots, all zero.
    pub fn new(count: usize) -> std::io::Result<Self> {
        let length = Self::bytes(count);
        // SAFETY: a new mapping at an address of the kernel's choice.
        let memory = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                length,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::SHARED,
            )?
        };
        let memory = NonNull::new(memory.cast())
            .ok_or_else(|| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
        Ok(Slots { memory, count })
    }

    fn bytes(count: usize) -> usize {
        count.max(1) * size_of::<Slot>()
    }

    /// All slots.
    pub fn all(&self) -> &[Slot] {
        // SAFETY: the mapping has `count` zeroed slots and lives as long as self. It holds only
        // atomics.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.count) }
    }
}

impl Drop for Slots {
    fn drop(&mut self) {
        // SAFETY: the mapping that `new` made; no reference outlives self.
        let unmapped = unsafe { munmap(self.memory.as_ptr().cast(), Self::bytes(self.count)) };
        debug_assert!(unmapped.is_ok(), "munmap of the slots");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_worker_counts_in_a_slot_of_its_own() {
        let slots = Slots::new(3).unwrap();
        let [first, _, last] = slots.all() else { panic!("three slots") };
        first.round();
        last.add_bytes(7);
        last.fail(libc::EIO);
        let all: Vec<(u64, u64)> = slots.all().iter().map(|s| (s.rounds(), s.bytes())).collect();
        assert_eq!(all, [(1, 0), (0, 0), (0, 7)]);
        assert_eq!(last.error().unwrap().raw_os_error(), Some(libc::EIO));
        assert!(first.error().is_none() && Slots::new(0).unwrap().all().is_empty());
    }
}
