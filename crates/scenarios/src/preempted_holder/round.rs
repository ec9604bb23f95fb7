//! A round of a thread: work and page faults, and their cost when nothing disturbs them.

use super::params::Fault;
use super::spec::Spec;
use load::region::{PAGES, Region};
use os::time::thread_cpu_ns;
use std::hint::black_box;

/// Steps of work in one calibration.
const CALIBRATION: u64 = 200_000;

/// Number of calibrations. The fastest one counts, because anything may interrupt the others.
const CALIBRATIONS: u32 = 7;

/// The cost of work on this machine, in nanoseconds of CPU time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Costs {
    step_ns: f64,
    page_ns: f64,
}

impl Costs {
    /// CPU time of a round, in nanoseconds.
    pub(super) fn of_round(&self, spec: &Spec) -> f64 {
        let steps = self.steps(spec.inside_ns) + self.steps(spec.outside_ns);
        let pages = if spec.fault == Fault::None { 0 } else { spec.pages };
        steps as f64 * self.step_ns + f64::from(pages) * self.page_ns
    }

    fn steps(&self, ns: u64) -> u64 {
        (ns as f64 / self.step_ns).round() as u64
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
}

impl Round {
    /// The rounds of a thread. It gets memory of its own if it has page faults.
    pub(super) fn new(spec: &Spec, costs: &Costs) -> std::io::Result<Self> {
        let faults = spec.fault != Fault::None;
        Ok(Round {
            inside: costs.steps(spec.inside_ns),
            outside: costs.steps(spec.outside_ns),
            fault: spec.fault,
            pages: spec.pages as usize,
            region: faults.then(|| Region::new(spec.huge)).transpose()?,
        })
    }

    /// The part of a round before the thread asks for the lock.
    pub(super) fn before(&mut self) -> std::io::Result<()> {
        let Some(region) = &mut self.region else { return Ok(()) };
        region.make_room(self.pages)?;
        if self.fault == Fault::Before {
            region.touch(self.pages);
        }
        Ok(())
    }

    /// The part of a round with the lock held.
    pub(super) fn inside(&mut self) {
        if let (Fault::Minor, Some(region)) = (self.fault, &mut self.region) {
            region.touch(self.pages);
        }
        work(self.inside);
    }

    /// The part of a round without the lock.
    pub(super) fn outside(&self) {
        work(self.outside);
    }
}

/// Measures the cost of work and of a page fault, on the CPUs of the calling thread.
pub(super) fn calibrated(spec: &Spec) -> std::io::Result<Costs> {
    let quickest = |took: &mut dyn FnMut() -> std::io::Result<u64>, of: f64| {
        let mut best = u64::MAX;
        for _ in 0..CALIBRATIONS {
            best = best.min(took()?);
        }
        Ok::<f64, std::io::Error>(best.max(1) as f64 / of)
    };
    let step_ns = quickest(&mut || Ok(cpu_time_of(|| work(CALIBRATION))), CALIBRATION as f64)?;
    let page_ns = if spec.fault == Fault::None {
        0.0
    } else {
        let mut region = Region::new(spec.huge)?;
        let once = &mut || {
            let mut room = Ok(());
            let ns = cpu_time_of(|| {
                room = region.make_room(PAGES);
                region.touch(PAGES);
            });
            room.map(|()| ns)
        };
        quickest(once, PAGES as f64)?
    };
    Ok(Costs { step_ns, page_ns })
}

fn cpu_time_of(what: impl FnOnce()) -> u64 {
    let before = thread_cpu_ns();
    what();
    thread_cpu_ns().saturating_sub(before)
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
