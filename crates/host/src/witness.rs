//! A thread that does nothing but wake up on time, on the CPU that is measured.

use crate::affinity;
use crate::error::HostError;
use crate::lateness::Lateness;
use model::machine::TimerLateness;
use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};
use std::num::NonZeroU64;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

/// From one deadline to the next, in nanoseconds.
const PERIOD_NS: u64 = 5_000_000;

/// Watches how late a periodic timer wakes its thread on one CPU.
///
/// The thread sleeps on no lock, so whatever delays it is the machine: other work on the CPU, the
/// hypervisor, interrupts. It costs some 200 wake-ups a second. It ends within a period after
/// [`finish`](Self::finish) or a drop, which do not wait for it: on a CPU that is taken it may be
/// long until the thread runs again.
#[derive(Debug)]
pub struct TimerWitness {
    cpu: u32,
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    stop: AtomicBool,
    lateness: Mutex<Lateness>,
}

impl TimerWitness {
    /// Starts to watch, once the thread has run on its CPU.
    ///
    /// # Errors
    /// If no thread can be started, or none on this CPU.
    pub fn start(cpu: u32) -> Result<Self, HostError> {
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            lateness: Mutex::new(Lateness::starting_at(now_ns(), PERIOD_NS)),
        });
        let (ready, prepared) = sync_channel(1);
        let theirs = Arc::clone(&shared);
        std::thread::Builder::new()
            .name("timer-witness".to_owned())
            .spawn(move || watch(cpu, &theirs, &ready))
            .map_err(|source| HostError::Thread { source })?;
        // A thread that ends without a word has panicked.
        let died = |_| HostError::Thread { source: std::io::Error::other("it died at once") };
        prepared.recv().map_err(died)??;
        Ok(TimerWitness { cpu, shared })
    }

    /// Stops watching, and says how late the wake-ups were; one that is due counts until now.
    pub fn finish(self) -> TimerLateness {
        // A panic in the thread leaves the figures of all earlier wake-ups whole.
        let lateness = self.shared.lateness.lock().unwrap_or_else(PoisonError::into_inner);
        lateness.clone().summary_at(now_ns(), self.cpu)
    }
}

impl Drop for TimerWitness {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

/// The thread: prepares itself, says so, and wakes up until it is told to stop.
fn watch(cpu: u32, shared: &Shared, ready: &SyncSender<Result<(), HostError>>) {
    let prepared = prepare(cpu);
    let failed = prepared.is_err();
    if prepared.is_ok() {
        // What it took to get here is not the timer's lateness.
        *shared.lateness() = Lateness::starting_at(now_ns(), PERIOD_NS);
    }
    if ready.send(prepared).is_err() || failed {
        return;
    }
    let mut deadline_ns = shared.lateness().deadline_ns();
    while sleep_until(deadline_ns) && !shared.stop.load(Ordering::Relaxed) {
        let woken_ns = now_ns();
        let mut lateness = shared.lateness();
        lateness.woke_at(woken_ns);
        deadline_ns = lateness.deadline_ns();
    }
}

impl Shared {
    fn lateness(&self) -> std::sync::MutexGuard<'_, Lateness> {
        self.lateness.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Binds the thread to its CPU and has the kernel wake it without slack.
fn prepare(cpu: u32) -> Result<(), HostError> {
    affinity::pin_current_thread(cpu)?;
    rustix::thread::set_current_timer_slack(Some(NonZeroU64::MIN))
        .map_err(|source| HostError::Thread { source: source.into() })
}

/// Sleeps until a time of the monotonic clock; false if the kernel refuses.
fn sleep_until(deadline_ns: u64) -> bool {
    let until = Timespec {
        tv_sec: (deadline_ns / 1_000_000_000) as i64,
        tv_nsec: (deadline_ns % 1_000_000_000) as _,
    };
    loop {
        match clock_nanosleep_absolute(ClockId::Monotonic, &until) {
            Ok(()) => return true,
            Err(Errno::INTR) => {}
            Err(_) => return false,
        }
    }
}

/// The monotonic clock, in nanoseconds.
fn now_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    // Since boot, so never negative.
    (now.tv_sec as u64).saturating_mul(1_000_000_000).saturating_add(now.tv_nsec as u64)
}

#[cfg(test)]
mod tests;
