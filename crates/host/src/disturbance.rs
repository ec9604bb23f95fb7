//! Counters of external disturbances, read before and after a trial.

use crate::cgroup_tree::GroupTree;
use crate::roots::{self, Roots};
use crate::text;
use model::Disturbance;
use model::machine::CpuSteal;
use os::time;
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// Bytes of `/proc/stat` that are read: enough for the lines of the CPUs. The rest may have
/// several megabytes.
const CPU_LINES: u64 = 512 << 10;

/// The counters at one moment; a counter that cannot be read is absent.
#[derive(Debug, Clone)]
pub struct Snapshot {
    at: Instant,
    counters: Counters,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Counters {
    /// Time that the hypervisor took from all CPUs since boot, in clock ticks.
    steal_ticks: Option<u64>,
    /// The same time for each CPU.
    steal_by_cpu: BTreeMap<u32, u64>,
    /// Time since boot in which some task waited for a CPU, in microseconds.
    cpu_us: Option<u64>,
    /// The same for memory.
    memory_us: Option<u64>,
    /// The same for I/O.
    io_us: Option<u64>,
    /// Time in which the group of this process and the groups above it were throttled, in
    /// nanoseconds.
    throttled_ns: Option<u64>,
    /// The kernel's taint flags.
    tainted: Option<u64>,
}

impl Snapshot {
    /// Reads the counters now.
    pub fn take(roots: &Roots) -> Self {
        Snapshot { at: Instant::now(), counters: Counters::read(roots) }
    }

    /// The differences between this snapshot and a later one.
    ///
    /// A counter that vanished or decreased, for example after a migration to another machine, is
    /// absent. The run delay of a single thread is not known here and is absent too.
    pub fn until(&self, later: &Snapshot) -> Disturbance {
        let over = later.at.saturating_duration_since(self.at);
        let ticks_per_second = rustix::param::clock_ticks_per_second();
        let disturbance = self.counters.until(&later.counters, ticks_per_second);
        Disturbance { over_ms: Some(time::ms(over)), ..disturbance }
    }
}

impl Counters {
    fn read(roots: &Roots) -> Self {
        let pressure = |name: &str| pressure_total(&roots.proc.join("pressure").join(name));
        let (steal_ticks, steal_by_cpu) = steal(&roots.proc.join("stat"));
        Counters {
            steal_ticks,
            steal_by_cpu,
            cpu_us: pressure("cpu"),
            memory_us: pressure("memory"),
            io_us: pressure("io"),
            throttled_ns: throttled(roots),
            tainted: tainted(roots),
        }
    }

    fn until(&self, later: &Counters, ticks_per_second: u64) -> Disturbance {
        let tick_ms = 1000.0 / ticks_per_second.max(1) as f64;
        let by_cpu = later.steal_by_cpu.iter().filter_map(|(&cpu, &ticks)| {
            let ticks = ticks.checked_sub(*self.steal_by_cpu.get(&cpu)?).filter(|t| *t > 0)?;
            Some(CpuSteal { cpu, ms: ticks as f64 * tick_ms })
        });
        Disturbance {
            over_ms: None,
            steal_ms: grown(self.steal_ticks, later.steal_ticks).map(|ticks| ticks * tick_ms),
            steal_by_cpu: by_cpu.collect(),
            cpu_pressure_ms: grown(self.cpu_us, later.cpu_us).map(|us| us / 1000.0),
            memory_pressure_ms: grown(self.memory_us, later.memory_us).map(|us| us / 1000.0),
            io_pressure_ms: grown(self.io_us, later.io_us).map(|us| us / 1000.0),
            run_delay_ms: None,
            enclosing_throttled_ms: grown(self.throttled_ns, later.throttled_ns).map(|ns| ns / 1e6),
            tainted: later.tainted,
            timer: None,
        }
    }
}

/// The kernel's taint flags; None if they cannot be read.
pub fn tainted(roots: &Roots) -> Option<u64> {
    text::number_in(&roots.proc.join("sys/kernel/tainted"))
}

/// Time since its start in which the first thread of a process was runnable without a CPU, in
/// nanoseconds (the second number in `/proc/PID/schedstat`).
pub fn run_delay_ns(roots: &Roots, pid: u32) -> Option<u64> {
    let text = roots::read_text(&roots.proc.join(pid.to_string()).join("schedstat")).ok()?;
    text.split_whitespace().nth(1)?.parse().ok()
}

fn grown(before: Option<u64>, after: Option<u64>) -> Option<f64> {
    after?.checked_sub(before?).map(|difference| difference as f64)
}

/// The eighth number of the CPU lines: of all CPUs together, and of each CPU.
fn steal(path: &Path) -> (Option<u64>, BTreeMap<u32, u64>) {
    let start = roots::read_start(path, CPU_LINES).unwrap_or_default();
    // A truncated last line may end in the middle of a number.
    let whole = start.iter().rposition(|&byte| byte == b'\n').unwrap_or(0);
    let lines = String::from_utf8_lossy(&start[..whole]);
    let mut all = None;
    let mut each = BTreeMap::new();
    for line in lines.lines().take_while(|line| line.starts_with("cpu")) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let ticks = words.nth(7).and_then(|word| word.parse().ok());
        match (name.strip_prefix("cpu").and_then(|cpu| cpu.parse().ok()), ticks) {
            (Some(cpu), Some(ticks)) => drop(each.insert(cpu, ticks)),
            (None, ticks) if name == "cpu" => all = ticks,
            _ => {}
        }
    }
    (all, each)
}

/// Throttled time of the groups whose quota applies to this process; groups above a container are
/// not visible.
fn throttled(roots: &Roots) -> Option<u64> {
    let lineage = GroupTree::read(roots).lineage(roots, "cpu")?;
    let of_group = |group: &std::path::PathBuf| {
        let text = roots::read_text(&group.join("cpu.stat")).ok()?;
        let v2 = || Some(text::counter(&text, "throttled_usec")?.saturating_mul(1000));
        text::counter(&text, "throttled_time").or_else(v2)
    };
    let known: Vec<u64> = lineage.groups.iter().filter_map(of_group).collect();
    (!known.is_empty()).then(|| known.into_iter().fold(0, u64::saturating_add))
}

/// The total of the line `some`. It is parsed here, since kernels before 5.13 have no line `full`
/// for CPUs.
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
        assert_eq!(Counters::read(&roots), Counters::default());
        let stat = "cpu  1 2 3 4 5 6 7 88 9 10\ncpu0 1 1\ncpu1 1 2 3 4 5 6 7 80 9 10\nintr 5\n";
        fs::write(roots.proc.join("stat"), stat).unwrap();
        fs::write(roots.proc.join("pressure/cpu"), "some avg10=0.00 total=5\n").unwrap();
        fs::write(roots.proc.join("pressure/io"), PRESSURE).unwrap();
        fs::create_dir_all(roots.proc.join("sys/kernel")).unwrap();
        fs::write(roots.proc.join("sys/kernel/tainted"), "4096\n").unwrap();
        let expected = Counters {
            steal_ticks: Some(88),
            steal_by_cpu: [(1, 80)].into(),
            cpu_us: Some(5),
            io_us: Some(4690447),
            tainted: Some(4096),
            ..Counters::default()
        };
        assert_eq!(Counters::read(&roots), expected);
    }

    #[test]
    fn the_delay_of_a_thread_is_the_second_figure() {
        let (_dir, roots) = tree();
        assert_eq!(run_delay_ns(&roots, 7), None);
        fs::create_dir_all(roots.proc.join("7")).unwrap();
        fs::write(roots.proc.join("7/schedstat"), "100 2500000 3\n").unwrap();
        assert_eq!(run_delay_ns(&roots, 7), Some(2_500_000));
        fs::write(roots.proc.join("7/schedstat"), "100").unwrap();
        assert_eq!(run_delay_ns(&roots, 7), None);
    }

    #[test]
    fn nonsense_is_no_counter() {
        let (_dir, roots) = tree();
        for text in
            ["", "cpu", "cpu  1 2 3 4 5 6 7 8", "cpu 1\n", "cpu  1 2 3 4 5 6 7 -8\n", "\0\n"]
        {
            fs::write(roots.proc.join("stat"), text).unwrap();
            assert_eq!(steal(&roots.proc.join("stat")), (None, BTreeMap::new()), "{text}");
        }
        for text in ["", "some", "some ", "some total=", "full total=3\n", "some total=1e9\n"] {
            fs::write(roots.proc.join("pressure/cpu"), text).unwrap();
            assert_eq!(pressure_total(&roots.proc.join("pressure/cpu")), None, "{text}");
        }
        fs::write(roots.proc.join("stat"), [0xff; 5000]).unwrap();
        assert_eq!(steal(&roots.proc.join("stat")), (None, BTreeMap::new()));
    }

    #[test]
    fn differences_are_in_milliseconds() {
        let before = Counters {
            steal_ticks: Some(10),
            steal_by_cpu: [(0, 5), (1, 5), (2, 9)].into(),
            cpu_us: Some(1500),
            memory_us: Some(9),
            throttled_ns: Some(1_000_000),
            ..Counters::default()
        };
        let after = Counters {
            steal_ticks: Some(13),
            steal_by_cpu: [(0, 8), (1, 5), (3, 9)].into(),
            cpu_us: Some(4000),
            memory_us: Some(8),
            io_us: Some(1),
            throttled_ns: Some(3_500_000),
            tainted: Some(0),
        };
        let expected = Disturbance {
            steal_ms: Some(30.0),
            steal_by_cpu: vec![CpuSteal { cpu: 0, ms: 30.0 }],
            cpu_pressure_ms: Some(2.5),
            enclosing_throttled_ms: Some(2.5),
            tainted: Some(0),
            ..Disturbance::default()
        };
        assert_eq!(before.until(&after, 100), expected);
    }

    #[test]
    fn this_machine_counts_steal_and_time() {
        let roots = Roots::real();
        let counted = Counters::read(&roots).steal_ticks.is_some();
        assert_eq!(counted, roots.proc.join("stat").exists());
        let earlier = Snapshot::take(&roots);
        assert!(earlier.until(&Snapshot::take(&roots)).over_ms.is_some());
    }
}
