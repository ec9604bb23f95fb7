//! One fibonacci thread: its work, and the state that all threads share.

use super::sequence::Sequence;
use crate::histogram;
use crate::protocol::FibonacciThread;
use hdrhistogram::Histogram;
use os::time;
use os::time::{now_ns, thread_cpu_ns};
use rustix::thread::{ClockId, Timespec, clock_nanosleep_relative};
use std::io::{PipeReader, Read};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// Rounds of a fast thread between two clock reads. They take some tens of microseconds.
const ROUNDS_PER_CLOCK_READ: u32 = 1000;

/// The state that all threads share.
#[derive(Debug)]
pub(super) struct Shared {
    stop: AtomicBool,
    /// End time on the clock. 0 until the release, which is long past.
    deadline_ns: AtomicU64,
    release: PipeReader,
    /// In separate memory: threads write to it, while they read the flag beside it all the time.
    lateness: Box<Mutex<Histogram<u64>>>,
}

/// The settings of one thread.
#[derive(Debug, Clone, Copy)]
pub(super) struct ThreadSpec {
    /// The CPU that the thread is pinned to.
    pub cpu: u32,
    /// Whether the thread never sleeps.
    pub fast: bool,
    /// How long a slow thread sleeps after each round.
    pub sleep: Duration,
}

impl Shared {
    /// The state before the release. The release is the end of `release`.
    pub fn new(release: PipeReader) -> Self {
        Shared {
            stop: AtomicBool::new(false),
            deadline_ns: AtomicU64::new(0),
            release,
            lateness: Box::new(Mutex::new(histogram::empty())),
        }
    }

    /// Sets the end time. Until then, the end time is long past.
    pub fn end_at(&self, deadline_ns: u64) {
        self.deadline_ns.store(deadline_ns, Relaxed);
    }

    /// Ends all threads at their next check.
    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    /// How late the slow threads woke up from their sleeps.
    pub fn lateness(&self) -> Histogram<u64> {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn over(&self) -> bool {
        self.stopped() || now_ns() >= self.deadline_ns.load(Relaxed)
    }

    fn wait_for_release(&self) {
        // One close wakes all threads together. If the pipe cannot be read, the thread does not
        // wait.
        let _ = (&self.release).read(&mut [0]);
    }
}

impl ThreadSpec {
    /// Pins the calling thread and makes its sleeps as exact as the kernel can.
    pub fn set_up(&self) -> std::io::Result<()> {
        os::pin::pin(self.cpu)?;
        // The default timer slack of 50 us would count as lateness.
        Ok(rustix::thread::set_current_timer_slack(NonZeroU64::new(1))?)
    }

    /// Waits for the release and works until the end. Returns the result and the end time.
    pub fn run(&self, shared: &Shared) -> (FibonacciThread, u64) {
        shared.wait_for_release();
        let cpu_before = thread_cpu_ns();
        let mut sequence = Sequence::new();
        let worst_late_ns = match self.fast {
            true => run_fast(shared, &mut sequence),
            false => run_slow(shared, &mut sequence, self.sleep),
        };
        let thread = FibonacciThread {
            cpu: self.cpu,
            fast: self.fast,
            iterations: sequence.iterations(),
            value: sequence.value(),
            cpu_ns: thread_cpu_ns().saturating_sub(cpu_before),
            worst_late_ns,
        };
        (thread, now_ns())
    }
}

fn run_fast(shared: &Shared, sequence: &mut Sequence) -> u64 {
    while !shared.over() {
        for _ in 0..ROUNDS_PER_CLOCK_READ {
            sequence.round();
            if shared.stopped() {
                break;
            }
        }
    }
    0
}

/// Works as a slow thread. Returns the worst lateness, in nanoseconds.
fn run_slow(shared: &Shared, sequence: &mut Sequence, pause: Duration) -> u64 {
    let pause_ns = time::whole_ns(pause);
    let mut lateness = Lateness::new(&shared.lateness);
    while !shared.over() {
        sequence.round();
        let due = now_ns().saturating_add(pause_ns);
        sleep(pause);
        lateness.note(now_ns().saturating_sub(due));
    }
    lateness.finish()
}

fn sleep(pause: Duration) {
    // No signal has a handler here, so nothing shortens a sleep. A pause that is too long for the
    // kernel is skipped.
    let Ok(pause) = Timespec::try_from(pause) else { return };
    let _ = clock_nanosleep_relative(ClockId::Monotonic, &pause);
}

/// Lateness of one thread that may not be in the common histogram yet.
///
/// One histogram per thread would cost a quarter of a megabyte for each of a thousand threads. A
/// thread does not wait for the lock of the common histogram while it works. The holder of the
/// lock may be throttled, and the wait would count as lateness of the next wake-up.
struct Lateness<'a> {
    common: &'a Mutex<Histogram<u64>>,
    pending: Vec<u64>,
    worst_ns: u64,
}

impl<'a> Lateness<'a> {
    fn new(common: &'a Mutex<Histogram<u64>>) -> Self {
        Lateness { common, pending: Vec::with_capacity(64), worst_ns: 0 }
    }

    fn note(&mut self, late_ns: u64) {
        self.worst_ns = self.worst_ns.max(late_ns);
        self.pending.push(late_ns);
        if let Ok(mut common) = self.common.try_lock() {
            self.pending.drain(..).for_each(|late| histogram::record(&mut common, late));
        }
    }

    fn finish(self) -> u64 {
        let mut common = self.common.lock().unwrap_or_else(PoisonError::into_inner);
        self.pending.iter().for_each(|&late| histogram::record(&mut common, late));
        self.worst_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lateness_that_finds_the_histogram_taken_is_kept_for_later() {
        let common = Mutex::new(histogram::empty());
        let mut lateness = Lateness::new(&common);
        let taken = common.lock().unwrap();
        lateness.note(7);
        lateness.note(5);
        assert_eq!(taken.len(), 0);
        drop(taken);
        lateness.note(3);
        assert_eq!(common.lock().unwrap().len(), 3);
        let taken = common.lock().unwrap();
        lateness.note(6);
        drop(taken);
        assert_eq!(lateness.finish(), 7);
        assert_eq!(common.lock().unwrap().len(), 4);
    }

    #[test]
    fn nothing_is_done_where_the_end_is_past_already() {
        for fast in [true, false] {
            let (release, held) = std::io::pipe().unwrap();
            drop(held);
            let (done, _) = ThreadSpec { cpu: 0, fast, sleep: Duration::from_millis(10) }
                .run(&Shared::new(release));
            assert_eq!((done.iterations, done.value, done.worst_late_ns), (0, 0, 0));
        }
    }
}
