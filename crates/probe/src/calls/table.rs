//! Calls by CPU.

use serde::Serialize;
use std::collections::BTreeMap;

/// Calls on one CPU.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct CpuCalls {
    /// Number of calls.
    pub calls: u64,
    /// The sum of the argument that is a size, in bytes.
    pub bytes: u64,
}

/// Calls by CPU; a CPU without calls is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The calls on each CPU.
    pub cpus: BTreeMap<u32, CpuCalls>,
    /// Calls on CPUs that the table has no row for.
    pub elsewhere: u64,
}

impl Table {
    /// The calls since an earlier table.
    pub fn since(&self, before: &Table) -> Table {
        let gained = |(cpu, now): (&u32, &CpuCalls)| {
            let then = before.cpus.get(cpu).copied().unwrap_or_default();
            let calls = now.calls.saturating_sub(then.calls);
            let bytes = now.bytes.wrapping_sub(then.bytes);
            (calls > 0).then_some((*cpu, CpuCalls { calls, bytes }))
        };
        Table {
            cpus: self.cpus.iter().filter_map(gained).collect(),
            elsewhere: self.elsewhere.saturating_sub(before.elsewhere),
        }
    }

    /// The sum over all CPUs.
    pub fn sum(&self) -> CpuCalls {
        let all = self.cpus.values();
        let sum = all.fold(CpuCalls::default(), |sum, one| CpuCalls {
            calls: sum.calls + one.calls,
            bytes: sum.bytes.wrapping_add(one.bytes),
        });
        CpuCalls { calls: sum.calls + self.elsewhere, ..sum }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(cpus: &[(u32, u64, u64)]) -> Table {
        let cpus = cpus
            .iter()
            .map(|(cpu, calls, bytes)| (*cpu, CpuCalls { calls: *calls, bytes: *bytes }));
        Table { cpus: cpus.collect(), elsewhere: 0 }
    }

    #[test]
    fn what_came_since_is_told_and_silent_cpus_are_not() {
        let gained = table(&[(0, 5, 50), (1, 3, 30)]).since(&table(&[(0, 2, 20), (1, 3, 30)]));
        assert_eq!(gained, table(&[(0, 3, 30)]));
        assert_eq!(table(&[(0, 5, 50), (1, 3, 30)]).sum(), CpuCalls { calls: 8, bytes: 80 });
    }
}
