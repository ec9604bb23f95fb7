//! The three locks: one spins, one sleeps, and one spins for a while before it sleeps.

use rustix::thread::futex;
use std::hint::spin_loop;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How a thread waits for the lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum LockKind {
    /// Spin until the lock is free
    Spin,
    /// Sleep in the kernel until the lock is released (a futex)
    Sleep,
    /// Spin for 20 microseconds, then sleep
    SpinThenSleep,
}

/// How long a thread spins before it sleeps: several times the cost of a wake-up.
const SPIN: Duration = Duration::from_micros(20);

const FREE: u32 = 0;
const TAKEN: u32 = 1;
/// The lock is taken, and at least one thread sleeps for it.
const WAITED_FOR: u32 = 2;

/// A lock in user space. The sleeping lock is the second mutex of Drepper, "Futexes are tricky"
/// (2011).
#[derive(Debug)]
pub struct Lock {
    kind: LockKind,
    word: AtomicU32,
}

impl Lock {
    /// A free lock.
    pub fn new(kind: LockKind) -> Self {
        Lock { kind, word: AtomicU32::new(FREE) }
    }

    /// Takes the lock.
    pub fn take(&self) {
        if self.try_take() {
            return;
        }
        match self.kind {
            LockKind::Spin => while !self.looked_free() || !self.try_take() {},
            LockKind::Sleep => self.sleep(),
            LockKind::SpinThenSleep => {
                let began = Instant::now();
                while began.elapsed() < SPIN {
                    if self.looked_free() && self.try_take() {
                        return;
                    }
                }
                self.sleep();
            }
        }
    }

    /// Releases the lock.
    pub fn let_go(&self) {
        if self.word.swap(FREE, Ordering::Release) == WAITED_FOR {
            // A thread that is not woken here sees by itself that the lock is free. The kernel
            // accepts any valid word.
            let _ = futex::wake(&self.word, futex::Flags::PRIVATE, 1);
        }
    }

    fn try_take(&self) -> bool {
        self.word.compare_exchange(FREE, TAKEN, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Reads without writing, so the holder keeps its cache line.
    fn looked_free(&self) -> bool {
        spin_loop();
        self.word.load(Ordering::Relaxed) == FREE
    }

    fn sleep(&self) {
        while self.word.swap(WAITED_FOR, Ordering::Acquire) != FREE {
            // Woken up, interrupted, or free in the meantime. The loop tries again in each case.
            let _ = futex::wait(&self.word, futex::Flags::PRIVATE, WAITED_FOR, None);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicBool;

    #[test]
    fn one_thread_at_a_time_has_it_and_each_gets_it() {
        for kind in [LockKind::Spin, LockKind::Sleep, LockKind::SpinThenSleep] {
            let lock = Lock::new(kind);
            let (inside, count) = (AtomicBool::new(false), AtomicU32::new(0));
            let turns = || {
                for _ in 0..2_000 {
                    lock.take();
                    assert!(!inside.swap(true, Ordering::Relaxed), "{kind:?}");
                    count.fetch_add(1, Ordering::Relaxed);
                    inside.store(false, Ordering::Relaxed);
                    lock.let_go();
                }
            };
            std::thread::scope(|scope| (0..4).for_each(|_| drop(scope.spawn(turns))));
            assert_eq!(count.into_inner(), 8_000, "{kind:?}");
        }
    }
}
