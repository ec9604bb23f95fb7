//! The machine as a whole.

use crate::tick::MachineTick;
use host::Roots;
use host::Snapshot;
use host::roots::read_text;
use probe::idle::Idle;
use std::collections::BTreeSet;
use std::time::Duration;

/// Whether a scheduler in eBPF (sched_ext) is loaded.
pub fn is_sched_ext(roots: &Roots) -> bool {
    let state = read_text(&roots.sys.join("kernel/sched_ext/state"));
    state.is_ok_and(|state| state.trim() == "enabled")
}

/// Counters of the machine as they were last read.
pub struct Machine {
    before: Snapshot,
    idle: Idle,
}

impl Machine {
    /// Reads the counters.
    pub fn start(roots: &Roots) -> Self {
        Machine { before: Snapshot::take(roots), idle: Idle::read(roots) }
    }

    /// The CPUs that were online at the last reading.
    pub fn online(&self) -> BTreeSet<u32> {
        self.idle.cpus().collect()
    }

    /// What the counters gained in this time, and the share of it in which each CPU was idle, by
    /// its number.
    pub fn gained(&mut self, roots: &Roots, over: Duration) -> (MachineTick, Vec<f64>) {
        let (now, idle) = (Snapshot::take(roots), Idle::read(roots));
        let gained = self.before.until(&now);
        let ns = |ms: Option<f64>| ms.map(|ms| (ms * 1e6) as u64);
        let steal_ns = ns(gained.steal_ms);
        let cpus = u32::try_from(idle.cpus().count()).unwrap_or(u32::MAX).max(1);
        let all = u64::try_from(over.as_nanos()).unwrap_or(0).saturating_mul(cpus.into());
        let idle_ns: u64 = idle.cpus().map(|cpu| idle.since(&self.idle, cpu)).sum();
        let busy = all.saturating_sub(idle_ns).saturating_sub(steal_ns.unwrap_or(0));
        let interrupts_ns = Some(idle.interrupts_since(&self.idle));
        let share = |cpu| idle.since(&self.idle, cpu) as f64 / over.as_nanos().max(1) as f64;
        let highest = idle.cpus().max().unwrap_or(0);
        let idle_shares = (0..=highest).map(|cpu| share(cpu).min(1.0)).collect();
        (self.before, self.idle) = (now, idle);
        let machine = MachineTick {
            cpus,
            busy_ns: Some(busy),
            steal_ns,
            interrupts_ns,
            pressure_ns: ns(gained.cpu_pressure_ms),
            switches: None,
        };
        (machine, idle_shares)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
