//! A round of a thread: work and page faults, and their CPU time.

use super::params::Fault;
use super::spec::Spec;
use load::region::Region;
use os::time::thread_cpu_ns;
use std::hint::black_box;

/// Steps of work in one calibration.
const CALIBRATION: u64 = 200_000;

/// Number of calibrations. The fastest one counts, because anything may interrupt the others.
const CALIBRATIONS: u32 = 7;

/// CPU time of a step of work on this machine, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct StepCost(f64);

impl StepCost {
    /// The steps of a round.
    pub(super) fn of_round(self, spec: &Spec) -> u64 {
        self.steps(spec.inside_ns) + self.steps(spec.outside_ns)
    }

    /// CPU time of this number of steps, in nanoseconds.
    pub(super) fn time_ns(self, steps: u64) -> f64 {
        steps as f64 * self.0
    }

    /// The lower of two costs.
    pub(super) fn lower(self, other: Self) -> Self {
        StepCost(self.0.min(other.0))
    }

    fn steps(self, ns: u64) -> u64 {
        (ns as f64 / self.0).round() as u64
    }
}

/// The work of one thread in each round.
#[derive(Debug)]
pub(super) struct Round {
    inside: u64,
    outside: u64,
    fault: Fault,
    pages: usize,
    region: Option<Region>,
    faults_ns: u64,
}

impl Round {
    /// The rounds of a thread. It gets memory of its own if it has page faults.
    pub(super) fn new(spec: &Spec, cost: StepCost) -> std::io::Result<Self> {
        let faults = spec.fault != Fault::None;
        Ok(Round {
            inside: cost.steps(spec.inside_ns),
            outside: cost.steps(spec.outside_ns),
            fault: spec.fault,
            pages: spec.pages as usize,
            region: faults.then(|| Region::new(spec.huge)).transpose()?,
            faults_ns: 0,
        })
    }

    /// CPU time of the page faults so far, in nanoseconds. It is measured around them, since the
    /// cost of a fault changes within milliseconds: on a virtual machine of 2 CPUs from 1.6 to
    /// 2.5 us between one process and the next.
    pub(super) fn faults_ns(&self) -> u64 {
        self.faults_ns
    }

    /// The part of a round before the thread asks for the lock.
    pub(super) fn before(&mut self) -> std::io::Result<()> {
        let Some(region) = &mut self.region else { return Ok(()) };
        let before = thread_cpu_ns();
        region.make_room(self.pages)?;
        if self.fault == Fault::Before {
            region.touch(self.pages);
        }
        self.faults_ns += thread_cpu_ns().saturating_sub(before);
        Ok(())
    }

    /// The part of a round with the lock held. Returns the CPU time of its page faults, in
    /// nanoseconds.
    pub(super) fn inside(&mut self) -> u64 {
        let mut faults_ns = 0;
        if let (Fault::Minor, Some(region)) = (self.fault, &mut self.region) {
            let before = thread_cpu_ns();
            region.touch(self.pages);
            faults_ns = thread_cpu_ns().saturating_sub(before);
        }
        self.faults_ns += faults_ns;
        work(self.inside);
        faults_ns
    }

    /// The part of a round without the lock.
    pub(super) fn outside(&self) {
        work(self.outside);
    }
}

/// Measures the cost of a step, on the CPUs of the calling thread.
pub(super) fn calibrated() -> StepCost {
    let once = |_| {
        let before = thread_cpu_ns();
        work(CALIBRATION);
        thread_cpu_ns().saturating_sub(before)
    };
    let best = (0..CALIBRATIONS).map(once).min().unwrap_or(1).max(1);
    StepCost(best as f64 / CALIBRATION as f64)
}

/// Does `steps` steps of work: xorshift (Marsaglia 2003), since no compiler can shorten it.
///
/// The value stays in a register. If it passed through memory in each step, a step would take up to
/// 1.6 times as long at some times as at others, since CPUs guess such values (measured on an AMD
/// EPYC). The calibration and the rounds run the same machine code, for the same reason.
#[inline(never)]
fn work(steps: u64) {
    let mut value = black_box(1u64);
    for _ in 0..steps {
        value ^= value << 13;
        value ^= value >> 7;
        value ^= value << 17;
    }
    black_box(value);
}

#[cfg(test)]
mod tests {
    use super::super::lock::LockKind;
    use super::*;

    #[test]
    fn a_section_tells_the_cpu_time_of_its_own_page_faults() {
        for fault in [Fault::None, Fault::Before, Fault::Minor] {
            let spec = Spec {
                threads: 1,
                cpus: vec![0],
                lock: LockKind::Sleep,
                inside_ns: 0,
                outside_ns: 0,
                fault,
                pages: 64,
                huge: false,
                extension: false,
                duration_ms: 1,
            };
            let mut round = Round::new(&spec, StepCost(1.0)).unwrap();
            for _ in 0..2 {
                round.before().unwrap();
                let before = round.faults_ns();
                let faults_ns = round.inside();
                assert_eq!(round.faults_ns() - before, faults_ns, "{fault:?}");
                assert_eq!(faults_ns > 0, fault == Fault::Minor, "{fault:?}");
            }
        }
    }

    /// Each step has six operations, and each of them needs the result of the one before.
    #[test]
    fn no_compiler_shortens_the_work() {
        let StepCost(step_ns) = calibrated();
        assert!(step_ns > 0.5, "{step_ns} ns are less than six cycles at 12 GHz");
    }
}
