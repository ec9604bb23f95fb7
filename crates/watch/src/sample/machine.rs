//! The machine as a whole.

use crate::tick::MachineTick;
use host::roots::{read_text, read_text_up_to};
use host::{CpuGroups, Roots, Snapshot};
use probe::idle::Idle;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Most bytes that are read of a list of CPUs. A list of every other one of 8,192 CPUs is shorter.
const CPU_LIST: u64 = 32 * 1_024;

/// Whether a scheduler in eBPF (sched_ext) is loaded.
pub fn is_sched_ext(roots: &Roots) -> bool {
    let state = read_text(&roots.sys.join("kernel/sched_ext/state"));
    state.is_ok_and(|state| state.trim() == "enabled")
}

/// Counters of the machine as they were last read.
pub struct Machine {
    before: Snapshot,
    idle: Idle,
    /// How many CPUs were online when they could last be counted; at least one.
    cpus: u32,
    /// The files that list isolated CPUs: those of the boot (isolcpus), and those of partitions
    /// (cpuset).
    isolated: Vec<PathBuf>,
    kernel: Option<(u32, u32)>,
}

impl Machine {
    /// Reads the counters.
    pub fn start(roots: &Roots, groups: Option<&CpuGroups>) -> Self {
        let of_boot = roots.sys.join("devices/system/cpu/isolated");
        let of_partitions = groups.and_then(CpuGroups::isolated_cpus);
        let isolated = [of_boot].into_iter().chain(of_partitions).collect();
        let idle = Idle::read(roots);
        Machine {
            before: Snapshot::take(roots),
            cpus: count(&idle).max(1),
            idle,
            isolated,
            kernel: kernel(roots),
        }
    }

    /// The CPUs that were online at the last reading.
    pub fn online(&self) -> BTreeSet<u32> {
        self.idle.cpus().collect()
    }

    /// What the counters gained in this time, and the share of it in which each CPU was idle, by
    /// its number: 0 for isolated CPUs. These are not there for programs that want more CPUs.
    pub fn gained(&mut self, roots: &Roots, over: Duration) -> (MachineTick, Vec<f64>) {
        let (now, idle) = (Snapshot::take(roots), Idle::read(roots));
        let gained = self.before.until(&now);
        let ns = |ms: Option<f64>| ms.map(|ms| (ms * 1e6) as u64);
        let steal_ns = ns(gained.steal_ms);
        // In a container, another program may serve /proc/stat, and may be gone.
        let is_known = count(&idle) > 0 && count(&self.idle) > 0;
        if count(&idle) > 0 {
            self.cpus = count(&idle);
        }
        let all = u64::try_from(over.as_nanos()).unwrap_or(0).saturating_mul(self.cpus.into());
        let idle_ns: u64 = idle.cpus().map(|cpu| idle.since(&self.idle, cpu)).sum();
        let busy = all.saturating_sub(idle_ns).saturating_sub(steal_ns.unwrap_or(0));
        let interrupts_ns = idle.interrupts_since(&self.idle);
        let isolated: BTreeSet<u32> = self.isolated.iter().flat_map(|file| listed(file)).collect();
        let share = |cpu: u32| match isolated.contains(&cpu) {
            true => 0.0,
            false => idle.since(&self.idle, cpu) as f64 / over.as_nanos().max(1) as f64,
        };
        let highest = idle.cpus().max().unwrap_or(0);
        let idle_shares = (0..=highest).map(|cpu| share(cpu).min(1.0)).collect();
        (self.before, self.idle) = (now, idle);
        let machine = MachineTick {
            kernel: self.kernel,
            cpus: self.cpus,
            busy_ns: is_known.then_some(busy),
            steal_ns,
            interrupts_ns: is_known.then_some(interrupts_ns),
            pressure_ns: ns(gained.cpu_pressure_ms),
            switches: None,
        };
        (machine, idle_shares)
    }
}

/// How many CPUs are online; 0 if /proc/stat could not be read.
fn count(idle: &Idle) -> u32 {
    u32::try_from(idle.cpus().count()).unwrap_or(u32::MAX)
}

/// The first two numbers of the running kernel's version.
fn kernel(roots: &Roots) -> Option<(u32, u32)> {
    let release = read_text_up_to(&roots.proc.join("sys/kernel/osrelease"), CPU_LIST).ok()?;
    let mut numbers = model::ladder::version(release.trim()).into_iter().map(u32::try_from);
    let first = numbers.next()?.ok()?;
    let second = numbers.next()?.ok()?;
    Some((first, second))
}

/// The CPUs in a file of the kernel; none if it is absent or no list.
fn listed(file: &Path) -> Vec<u32> {
    let text = read_text_up_to(file, CPU_LIST);
    text.ok().and_then(|text| os::cpulist::parse(&text)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_version_is_read_from_its_release() {
        let of = |release: &str| {
            let tree = testing::Tree::new(&[("proc/sys/kernel/osrelease", release)]);
            kernel(&Roots::at(tree.root()))
        };
        assert_eq!(of("6.18.44-fc-v669\n"), Some((6, 18)));
        assert_eq!(of("4.18.0-147.2.1.el8.x86_64\n"), Some((4, 18)));
        assert_eq!(of("unknown\n"), None);
    }

    #[test]
    fn an_isolated_cpu_counts_as_busy() {
        let stat = |ticks: u64| {
            let of = |cpu: u32| format!("cpu{cpu} 0 0 0 {ticks} 0\n");
            (0..4).map(of).collect::<String>()
        };
        let tree = testing::Tree::new(&testing::CGROUP2);
        tree.put("proc/stat", stat(0));
        let roots = Roots::at(tree.root());
        let mut machine = Machine::start(&roots, CpuGroups::find(&roots).as_ref());
        let second = rustix::param::clock_ticks_per_second();
        let mut idle = |seconds: u64| {
            tree.put("proc/stat", stat(seconds * second));
            machine.gained(&roots, Duration::from_secs(1)).1
        };
        assert_eq!(idle(1), [1.0; 4]);
        tree.put("sys/devices/system/cpu/isolated", "2-3\n");
        assert_eq!(idle(2), [1.0, 1.0, 0.0, 0.0]);
        tree.put("sys/fs/cgroup/cpuset.cpus.isolated", "1\n");
        assert_eq!(idle(3), [1.0, 0.0, 0.0, 0.0]);
        tree.put("sys/devices/system/cpu/isolated", "\n");
        tree.put("sys/fs/cgroup/cpuset.cpus.isolated", "no list\n");
        assert_eq!(idle(4), [1.0; 4]);
    }

    #[test]
    fn a_machine_whose_times_cannot_be_read_has_no_figures_of_them() {
        let tree = testing::Tree::new(&testing::CGROUP2);
        let two = "cpu0 0 0 0 7 0\ncpu1 0 0 0 7 0\n";
        tree.put("proc/stat", two);
        let roots = Roots::at(tree.root());
        let mut machine = Machine::start(&roots, None);
        let mut read = |text: &str| {
            tree.put("proc/stat", text);
            let tick = machine.gained(&roots, Duration::from_secs(1)).0;
            (tick.cpus, tick.busy_ns, tick.interrupts_ns)
        };
        let busy = (2, Some(2_000_000_000), Some(0));
        assert_eq!(read(two), busy);
        assert_eq!(read(""), (2, None, None));
        assert_eq!(read(two), (2, None, None), "the reading before is missing");
        assert_eq!(read(two), busy);
    }

    #[test]
    fn a_scheduler_in_ebpf_is_seen_while_it_is_enabled() {
        let tree = testing::Tree::new(&[("proc/stat", "")]);
        let roots = Roots::at(tree.root());
        assert!(!is_sched_ext(&roots));
        tree.put("sys/kernel/sched_ext/state", "disabled\n");
        assert!(!is_sched_ext(&roots));
        tree.put("sys/kernel/sched_ext/state", "enabled\n");
        assert!(is_sched_ext(&roots));
    }
}
