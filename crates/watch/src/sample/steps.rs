//! The current step of the sampler, for code that waits for it.

use host::roots::{self, Roots};
use os::stat::Stat;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, AtomicU8, Ordering::Relaxed};
use std::time::Duration;

/// A step of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Step {
    /// None: it waits for the next interval.
    Idle,
    /// The tables of the programs in the kernel, or the files of /proc in their place.
    Tables,
    /// Figures of the machine.
    Machine,
    /// Erlang nodes.
    Nodes,
    /// Names and groups of processes.
    Processes,
    /// Functions in which threads spin.
    Spots,
    /// Counters of control groups.
    Groups,
    /// Runtimes of programs.
    Runtimes,
    /// Groups with a memory.high.
    Memory,
}

/// All steps, by number.
const ALL: [Step; 9] = [
    Step::Idle,
    Step::Tables,
    Step::Machine,
    Step::Nodes,
    Step::Processes,
    Step::Spots,
    Step::Groups,
    Step::Runtimes,
    Step::Memory,
];

/// The current step of a sampler, which other threads can read too.
#[derive(Debug, Clone, Default)]
pub struct Steps(Arc<State>);

#[derive(Debug, Default)]
struct State {
    step: AtomicU8,
    /// The thread of the sampler; 0 before it starts.
    thread: AtomicI32,
}

impl Steps {
    /// Declares the calling thread to be the sampler's thread.
    pub fn set_thread(&self) {
        self.0.thread.store(rustix::thread::gettid().as_raw_pid(), Relaxed);
    }

    /// A step begins.
    pub fn begin(&self, step: Step) {
        self.0.step.store(step as u8, Relaxed);
    }

    /// The current step.
    pub fn now(&self) -> Step {
        ALL.get(usize::from(self.0.step.load(Relaxed))).copied().unwrap_or(Step::Idle)
    }

    /// Whether the sampler's thread runs or is runnable; None if the kernel does not tell.
    pub fn is_ready(&self, roots: &Roots) -> Option<bool> {
        let stat = self.read(roots, "stat")?;
        Some(Stat::parse(stat.as_bytes())?.state() == b'R')
    }

    /// CPU time of the sampler's thread since it started; None if the kernel does not tell.
    pub fn ran(&self, roots: &Roots) -> Option<Duration> {
        let ran_ns = self.read(roots, "schedstat")?.split_whitespace().next()?.parse().ok()?;
        Some(Duration::from_nanos(ran_ns))
    }

    fn read(&self, roots: &Roots, file: &str) -> Option<String> {
        let thread = self.0.thread.load(Relaxed).to_string();
        roots::read_text(&roots.proc.join("self/task").join(thread).join(file)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Instant;

    /// Waits until this holds, for at most a minute.
    fn wait_until(what: &str, holds: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !holds() {
            assert!(Instant::now() < until, "not within a minute: {what}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn every_step_is_told_by_its_number() {
        let steps = Steps::default();
        assert_eq!(steps.now(), Step::Idle);
        for step in ALL {
            steps.begin(step);
            assert_eq!(steps.now(), step);
        }
    }

    #[test]
    fn a_thread_that_runs_is_told_from_one_that_sleeps() {
        let (roots, steps) = (Roots::real(), Steps::default());
        assert_eq!(steps.is_ready(&roots), None);
        steps.set_thread();
        assert_eq!(steps.is_ready(&roots), Some(true));
        // The kernel updates this count at ticks and switches.
        let has_run = || steps.ran(&roots).unwrap() > Duration::ZERO;
        wait_until("the kernel counts CPU time of this thread", has_run);
        let of_other = steps.clone();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let (says, began) = std::sync::mpsc::channel();
        let other = std::thread::spawn(move || {
            of_other.set_thread();
            says.send(()).unwrap();
            let _ = wait.recv();
        });
        began.recv().unwrap();
        wait_until("the other thread sleeps", || steps.is_ready(&roots) != Some(true));
        assert_eq!(steps.is_ready(&roots), Some(false));
        drop(go);
        other.join().unwrap();
    }
}
