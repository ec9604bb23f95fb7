//! The worker: fills memory unit by unit, and reports the duration of each unit.

use super::load::{Work, failure};
use super::region::{Region, page};
use load::OwnGenerator;
use load::protocol::{Failure, FailureKind};
use os::time;
use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_relative};
use serde_json::Value;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// The generator.
pub(super) const GENERATOR: OwnGenerator = OwnGenerator { name: "memory-worker", prepare };

/// Number of reads in the kept memory for each unit.
const READS: u64 = 16;

fn prepare(work: Value) -> Result<load::Work, Failure> {
    let unusable = |what| Failure { kind: FailureKind::Unusable, what };
    let work: Work = serde_json::from_value(work)
        .map_err(|error| unusable(format!("{}: {error}", GENERATOR.name)))?;
    let kept = Kept::new(work).map_err(|error| failure(GENERATOR.name, &error))?;
    Ok(Box::new(move || {
        go_on(kept, &work).map_err(|error| failure(GENERATOR.name, &error))?;
        Ok(Value::Null)
    }))
}

/// Works until the reader of its output is gone. Usually it is killed before.
fn go_on(mut kept: Kept, work: &Work) -> std::io::Result<()> {
    kept.fill(work.fill)?;
    send(0)?;
    wait()?;
    let every = Duration::from_micros(work.every_us);
    let mut due = Instant::now();
    loop {
        pause_until(due);
        kept.do_unit()?;
        // Measured from the time at which the unit was due, because the kernel may delay it in any
        // call.
        let now = Instant::now();
        send(time::whole_ns(now - due).max(1))?;
        due = now.max(due + every);
    }
}

fn pause_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    // A worker never has a pause that is too long for the kernel.
    if let (false, Ok(left)) = (left.is_zero(), Timespec::try_from(left)) {
        let _ = clock_nanosleep_relative(ClockId::Monotonic, &left);
    }
}

/// Sends the duration of a unit.
fn send(ns: u64) -> std::io::Result<()> {
    // The standard library would buffer it until the line ends.
    while let Err(error) = rustix::io::write(rustix::stdio::stdout(), &ns.to_le_bytes()) {
        if error != Errno::INTR {
            return Err(error.into());
        }
    }
    Ok(())
}

/// Waits for a byte on standard input.
fn wait() -> std::io::Result<()> {
    let mut byte = [0; 1];
    loop {
        match rustix::io::read(rustix::stdio::stdin(), &mut byte) {
            Ok(0) => return Err(std::io::ErrorKind::UnexpectedEof.into()),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The kept memory: as many units as fit into it. Each new unit replaces the oldest.
struct Kept {
    region: Region,
    unit: usize,
    slots: u64,
    units: u64,
}

impl Kept {
    fn new(work: Work) -> std::io::Result<Self> {
        let too_much = |_| std::io::Error::from(std::io::ErrorKind::OutOfMemory);
        let page = page();
        let unit = usize::try_from(work.unit).map_err(too_much)?.max(page).next_multiple_of(page);
        let slots = work.need.div_ceil(unit as u64).max(1);
        let bytes = usize::try_from(slots).map_err(too_much)?.saturating_mul(unit);
        Ok(Kept { region: Region::map(bytes)?, unit, slots, units: 0 })
    }

    /// Fills memory in whole units, at most this many bytes. One unit more might exceed the limit
    /// before the work begins.
    fn fill(&mut self, bytes: u64) -> std::io::Result<()> {
        for _ in 0..bytes / self.unit as u64 {
            self.do_unit()?;
        }
        Ok(())
    }

    /// One unit of work: fills the oldest piece again, and reads at several places of the kept
    /// memory.
    fn do_unit(&mut self) -> std::io::Result<()> {
        let place = |slot: u64| usize::try_from(slot).unwrap_or(0) * self.unit;
        self.region.renew(place(self.units % self.slots), self.unit, self.units as u8)?;
        self.units += 1;
        let kept = self.units.min(self.slots);
        for read in 0..READS {
            // These steps share no factor with most numbers of slots.
            let slot = self.units.wrapping_mul(7919).wrapping_add(read * 104_729) % kept;
            black_box(self.region.read(place(slot)));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_unit_replaces_the_oldest() {
        let page = page();
        let work = Work { need: 3 * page as u64, unit: page as u64, every_us: 0, fill: 0 };
        let mut kept = Kept::new(work).unwrap();
        (0..5).for_each(|_| kept.do_unit().unwrap());
        assert_eq!((kept.units, kept.slots), (5, 3));
        assert_eq!([0, 1, 2].map(|slot| kept.region.read(slot * page)), [3, 4, 2]);
    }

    #[test]
    fn no_more_is_filled_than_was_asked_for() {
        let page = page() as u64;
        let filled = |unit, fill| {
            let mut kept = Kept::new(Work { need: 8 * page, unit, every_us: 0, fill: 0 }).unwrap();
            kept.fill(fill).unwrap();
            kept.units
        };
        assert_eq!((filled(page, 8 * page), filled(4 * page, 7 * page)), (8, 1));
        // A unit takes whole pages: two of them.
        assert_eq!((filled(page + 1, 5 * page), filled(page + 1, page)), (2, 0));
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(prepare(serde_json::json!({"need": "much"})).is_err());
        let work = Work { need: u64::MAX, unit: 4096, every_us: 0, fill: 0 };
        assert!(Kept::new(work).is_err());
    }
}
