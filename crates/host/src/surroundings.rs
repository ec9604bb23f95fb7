//! Counters of what disturbs a trial from outside, read before and after it.

use crate::roots::{self, Roots};
use model::Surroundings;
use std::path::Path;

/// How much of `/proc/stat` is read, in bytes: its first line, where the rest may be megabytes.
const FIRST_LINE: u64 = 1 << 10;

/// The counters at one moment; one that cannot be read is absent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// Time that the hypervisor took from all CPUs since boot, in clock ticks.
    steal_ticks: Option<u64>,
    /// Time in which some task waited for a CPU since boot, in microseconds.
    cpu_us: Option<u64>,
    /// The same for memory.
    memory_us: Option<u64>,
    /// The same for I/O.
    io_us: Option<u64>,
}

impl Snapshot {
    /// Reads the counters now.
    pub fn take(roots: &Roots) -> Self {
        let pressure = |name: &str| pressure_total(&roots.proc.join("pressure").join(name));
        Snapshot {
            steal_ticks: steal(&roots.proc.join("stat")),
            cpu_us: pressure("cpu"),
            memory_us: pressure("memory"),
            io_us: pressure("io"),
        }
    }

    /// What happened between this snapshot and a later one.
    ///
    /// A counter that vanished or went backwards, as after a migration to another machine, says
    /// nothing and is absent. So is the timer, which a [`TimerWitness`](crate::TimerWitness) adds.
    pub fn until(&self, later: &Snapshot) -> Surroundings {
        self.until_at(later, rustix::param::clock_ticks_per_second())
    }

    fn until_at(&self, later: &Snapshot, ticks_per_second: u64) -> Surroundings {
        let tick_ms = 1000.0 / ticks_per_second.max(1) as f64;
        Surroundings {
            steal_ms: grown(self.steal_ticks, later.steal_ticks).map(|ticks| ticks * tick_ms),
            cpu_pressure_ms: grown(self.cpu_us, later.cpu_us).map(|us| us / 1000.0),
            memory_pressure_ms: grown(self.memory_us, later.memory_us).map(|us| us / 1000.0),
            io_pressure_ms: grown(self.io_us, later.io_us).map(|us| us / 1000.0),
            timer: None,
        }
    }
}

fn grown(before: Option<u64>, after: Option<u64>) -> Option<f64> {
    after?.checked_sub(before?).map(|difference| difference as f64)
}

/// The eighth figure of the line of all CPUs.
fn steal(path: &Path) -> Option<u64> {
    let start = roots::read_start(path, FIRST_LINE).ok()?;
    // A line that was cut off may end in half a number.
    let end = start.iter().position(|&byte| byte == b'\n')?;
    let line = std::str::from_utf8(&start[..end]).ok()?;
    line.strip_prefix("cpu ")?.split_whitespace().nth(7)?.parse().ok()
}

/// The total of the line `some`; whole, since kernels before 5.13 have no line `full` for CPUs.
fn pressure_total(path: &Path) -> Option<u64> {
    let text = roots::read_text(path).ok()?;
    let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
    some.split_whitespace().find_map(|word| word.strip_prefix("total="))?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const PRESSURE: &str = "some avg10=0.03 avg60=0.27 avg300=0.34 total=4690447\n\
        full avg10=0.00 avg60=0.00 avg300=0.00 total=7\n";

    fn tree() -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::at(dir.path());
        fs::create_dir_all(roots.proc.join("pressure")).unwrap();
        (dir, roots)
    }

    #[test]
    fn counters_are_read_where_they_are() {
        let (_dir, roots) = tree();
        assert_eq!(Snapshot::take(&roots), Snapshot::default());
        fs::write(roots.proc.join("stat"), "cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 1\n").unwrap();
        fs::write(roots.proc.join("pressure/cpu"), "some avg10=0.00 total=5\n").unwrap();
        fs::write(roots.proc.join("pressure/io"), PRESSURE).unwrap();
        let expected = Snapshot {
            steal_ticks: Some(88),
            cpu_us: Some(5),
            memory_us: None,
            io_us: Some(4690447),
        };
        assert_eq!(Snapshot::take(&roots), expected);
    }

    #[test]
    fn nonsense_is_no_counter() {
        let (_dir, roots) = tree();
        for text in
            ["", "cpu", "cpu  1 2 3 4 5 6 7 8", "cpu 1\n", "cpu  1 2 3 4 5 6 7 -8\n", "\0\n"]
        {
            fs::write(roots.proc.join("stat"), text).unwrap();
            assert_eq!(steal(&roots.proc.join("stat")), None, "{text}");
        }
        for text in ["", "some", "some ", "some total=", "full total=3\n", "some total=1e9\n"] {
            fs::write(roots.proc.join("pressure/cpu"), text).unwrap();
            assert_eq!(pressure_total(&roots.proc.join("pressure/cpu")), None, "{text}");
        }
        fs::write(roots.proc.join("stat"), [0xff; 5000]).unwrap();
        assert_eq!(steal(&roots.proc.join("stat")), None);
    }

    #[test]
    fn differences_are_in_milliseconds() {
        let before =
            Snapshot { steal_ticks: Some(10), cpu_us: Some(1500), memory_us: Some(9), io_us: None };
        let after = Snapshot {
            steal_ticks: Some(13),
            cpu_us: Some(4000),
            memory_us: Some(8),
            io_us: Some(1),
        };
        let expected = Surroundings {
            steal_ms: Some(30.0),
            cpu_pressure_ms: Some(2.5),
            ..Surroundings::default()
        };
        assert_eq!(before.until_at(&after, 100), expected);
    }

    #[test]
    fn this_machine_counts_steal() {
        let roots = Roots::real();
        let counted = Snapshot::take(&roots).steal_ticks.is_some();
        assert_eq!(counted, roots.proc.join("stat").exists());
    }
}
