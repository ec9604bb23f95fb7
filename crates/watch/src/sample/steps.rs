//! What the sampler is at, for who waits for it.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

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
    /// Functions in which threads wait actively.
    Spots,
    /// Counters of control groups.
    Groups,
    /// Runtimes of programs.
    Runtimes,
    /// Groups with a memory.high.
    Memory,
}

/// All of them, by number.
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

/// The step that a sampler is at, also for other threads.
#[derive(Debug, Clone, Default)]
pub struct Steps(Arc<AtomicU8>);

impl Steps {
    /// A step begins.
    pub fn begin(&self, step: Step) {
        self.0.store(step as u8, Relaxed);
    }

    /// The step under way.
    pub fn now(&self) -> Step {
        ALL.get(usize::from(self.0.load(Relaxed))).copied().unwrap_or(Step::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_told_by_its_number() {
        let steps = Steps::default();
        assert_eq!(steps.now(), Step::Idle);
        for step in ALL {
            steps.begin(step);
            assert_eq!(steps.now(), step);
        }
    }
}
