//! The memory that waiter and holder share: a mutex, and the counts of the holder.

use load::page::{InPage, Page};
use rustix::io::Errno;
use rustix::thread::{futex, gettid};
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicU32, AtomicU64};

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// The mutex is taken, and at least one process sleeps for it.
const WAITED_FOR: u32 = 2;

/// The flags of a futex that is shared between processes.
const OF_PROCESSES: futex::Flags = futex::Flags::empty();

/// The page with the shared memory.
pub(super) type Shared = Page<SharedMutex>;

/// The content of the page. All zeros mean a free mutex and no counts.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct SharedMutex {
    mutex: AtomicU32,
    /// 1 after the end of the time.
    pub(super) stop: AtomicU32,
    /// Number of completed sections of the holder.
    pub(super) sections: AtomicU64,
    /// Time in which the holder had the mutex but no CPU, in nanoseconds.
    pub(super) off_cpu_ns: AtomicU64,
}

impl SharedMutex {
    /// Takes the mutex, and sleeps until it is free. With priority inheritance, the kernel hands
    /// the mutex over. Without it, this is the second mutex of Drepper, "Futexes are tricky"
    /// (2011).
    pub(super) fn take(&self, inherit: bool) -> std::io::Result<()> {
        let taken = if inherit { own_id() } else { TAKEN };
        if self.mutex.compare_exchange(FREE, taken, Acquire, Relaxed).is_ok() {
            return Ok(());
        }
        if inherit {
            return self.inherit();
        }
        while self.mutex.swap(WAITED_FOR, Acquire) != FREE {
            // Woken up, interrupted, or free in the meantime. The loop tries again in each case.
            match futex::wait(&self.mutex, OF_PROCESSES, WAITED_FOR, None) {
                Ok(()) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Whether a process sleeps for it, or is about to.
    #[cfg(test)]
    pub(super) fn is_waited_for(&self) -> bool {
        self.mutex.load(Relaxed) == WAITED_FOR
    }

    fn inherit(&self) -> std::io::Result<()> {
        loop {
            match futex::lock_pi(&self.mutex, OF_PROCESSES, None) {
                Err(Errno::INTR | Errno::AGAIN) => {}
                taken => return Ok(taken?),
            }
        }
    }

    /// Releases the mutex, and wakes one process that sleeps for it.
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

/// The ID of the calling thread, by which the kernel identifies a holder.
fn own_id() -> u32 {
    gettid().as_raw_nonzero().get().cast_unsigned()
}

// SAFETY: only atomic numbers.
unsafe impl InPage for SharedMutex {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn one_at_a_time_has_the_mutex_by_whatever_mapping() {
        for inherit in [false, true] {
            let one = Shared::create().unwrap();
            let other = Shared::map(one.as_fd().try_clone_to_owned().unwrap()).unwrap();
            let (inside, count) = (AtomicBool::new(false), AtomicU32::new(0));
            let turns = |shared: &Shared| {
                let shared = shared.contents();
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
}
