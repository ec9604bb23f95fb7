//! The memory that waiter and holder share: a mutex, and what the holder counts.

use rustix::fs::{MemfdFlags, ftruncate, memfd_create};
use rustix::mm::{MapFlags, ProtFlags, mmap, munmap};
use rustix::thread::{futex, gettid};
use std::fs::File;
use std::ops::Deref;
use std::os::fd::AsFd;
use std::ptr::NonNull;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// Taken, and somebody sleeps until it is free.
const WAITED_FOR: u32 = 2;

/// The flags of a futex that processes share.
const OF_PROCESSES: futex::Flags = futex::Flags::empty();

/// What is in it. Zeros are a free mutex and nothing counted.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Contents {
    mutex: AtomicU32,
    /// 1 once the time is over.
    pub(super) stop: AtomicU32,
    /// Sections of the holder that have ended.
    pub(super) sections: AtomicU64,
    /// Time in which the holder held the mutex without a CPU, in nanoseconds.
    pub(super) off_cpu_ns: AtomicU64,
}

impl Contents {
    /// Takes the mutex, asleep until it is free. With priority inheritance the kernel hands it on;
    /// without it this is the second mutex of Drepper, "Futexes are tricky" (2011).
    pub(super) fn take(&self, inherit: bool) -> std::io::Result<()> {
        let taken = if inherit { own_id() } else { TAKEN };
        if self.mutex.compare_exchange(FREE, taken, Acquire, Relaxed).is_ok() {
            return Ok(());
        }
        if inherit {
            return self.inherit();
        }
        while self.mutex.swap(WAITED_FOR, Acquire) != FREE {
            // Woken, interrupted, or free meanwhile: it is tried again each time.
            let _ = futex::wait(&self.mutex, OF_PROCESSES, WAITED_FOR, None);
        }
        Ok(())
    }

    fn inherit(&self) -> std::io::Result<()> {
        loop {
            match futex::lock_pi(&self.mutex, OF_PROCESSES, None) {
                Err(rustix::io::Errno::INTR | rustix::io::Errno::AGAIN) => {}
                taken => return Ok(taken?),
            }
        }
    }

    /// Lets the mutex go, and wakes one that sleeps for it.
    pub(super) fn let_go(&self, inherit: bool) -> std::io::Result<()> {
        if !inherit {
            if self.mutex.swap(FREE, Release) == WAITED_FOR {
                futex::wake(&self.mutex, OF_PROCESSES, 1)?;
            }
            return Ok(());
        }
        match self.mutex.compare_exchange(own_id(), FREE, Release, Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Ok(futex::unlock_pi(&self.mutex, OF_PROCESSES)?),
        }
    }
}

/// The number of the calling thread, by which the kernel knows a holder.
fn own_id() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

/// A mapping of it.
#[derive(Debug)]
pub(super) struct Shared(NonNull<Contents>);

// SAFETY: all of it is atomic, and the mapping lives as long as this value.
unsafe impl Send for Shared {}
// SAFETY: the same.
unsafe impl Sync for Shared {}

impl Shared {
    /// Makes such memory, and a file by which a child finds it.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn make() -> std::io::Result<(Self, File)> {
        let file = File::from(memfd_create("tailback-mutex", MemfdFlags::CLOEXEC)?);
        ftruncate(&file, size_of::<Contents>() as u64)?;
        Ok((Shared::map(&file)?, file))
    }

    /// Maps what the parent made and passed on as the file of this number.
    ///
    /// # Errors
    /// If it did not, or the kernel refuses.
    pub(super) fn inherited(number: i32) -> std::io::Result<Self> {
        Shared::map(
            &File::options().read(true).write(true).open(format!("/proc/self/fd/{number}"))?,
        )
    }

    fn map(file: &File) -> std::io::Result<Self> {
        if file.metadata()?.len() < size_of::<Contents>() as u64 {
            return Err(std::io::ErrorKind::InvalidData.into());
        }
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let length = size_of::<Contents>();
        // SAFETY: a new mapping at an address of the kernel's choice, no longer than the file.
        let at = unsafe {
            mmap(std::ptr::null_mut(), length, access, MapFlags::SHARED, file.as_fd(), 0)?
        };
        NonNull::new(at.cast()).map(Shared).ok_or_else(|| std::io::ErrorKind::InvalidData.into())
    }
}

impl Deref for Shared {
    type Target = Contents;

    fn deref(&self) -> &Contents {
        // SAFETY: the mapping is as long as that, begins at a page, and any bytes are valid.
        unsafe { self.0.as_ref() }
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made; no reference outlives self.
        let unmapped = unsafe { munmap(self.0.as_ptr().cast(), size_of::<Contents>()) };
        debug_assert!(unmapped.is_ok(), "munmap of the shared memory");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn one_at_a_time_has_the_mutex_by_whatever_mapping() {
        for inherit in [false, true] {
            let (one, file) = Shared::make().unwrap();
            let other = Shared::map(&file).unwrap();
            let (inside, count) = (AtomicBool::new(false), AtomicU32::new(0));
            let turns = |shared: &Shared| {
                for _ in 0..2_000 {
                    shared.take(inherit).unwrap();
                    assert!(!inside.swap(true, Relaxed), "{inherit}");
                    count.fetch_add(1, Relaxed);
                    inside.store(false, Relaxed);
                    shared.let_go(inherit).unwrap();
                }
            };
            std::thread::scope(|scope| {
                for shared in [&one, &other, &one] {
                    scope.spawn(move || turns(shared));
                }
            });
            assert_eq!(count.into_inner(), 6_000, "{inherit}");
        }
    }

    #[test]
    fn a_file_that_is_too_short_is_refused() {
        assert!(Shared::map(&tempfile::tempfile().unwrap()).is_err());
    }
}
