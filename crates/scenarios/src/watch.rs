//! Watching what the machine does to a trial from outside.

use host::roots::Roots;
use host::surroundings::Snapshot;
use host::witness::TimerWitness;
use model::Surroundings;

/// A watch over steal time, pressure and the lateness of a timer.
pub struct Watch {
    before: Snapshot,
    witness: Option<TimerWitness>,
}

impl Watch {
    /// Begins to watch, with a timer on the CPU that is measured.
    pub fn start(roots: &Roots, measured_cpu: u32) -> Self {
        // A timer that cannot be had is absent from the record; the trial goes on.
        let witness = TimerWitness::start(measured_cpu).ok();
        Watch { before: Snapshot::take(roots), witness }
    }

    /// Ends the watch.
    pub fn finish(self, roots: &Roots) -> Surroundings {
        let mut surroundings = self.before.until(&Snapshot::take(roots));
        surroundings.timer = self.witness.map(TimerWitness::finish);
        surroundings
    }
}
