//! The group of a trial during its work: how much memory it holds, and which process fills it.

use host::cgroup::{MemoryGroup, MemoryLimits, MemoryUsage};
use host::{Roots, resident_bytes};
use model::evidence::{Filler, MemoryEvidence, Task, ThreadEvidence};

/// Most processes that one reading looks at. A trial has one.
const MOST: usize = 16;

/// The readings of a group.
#[derive(Debug, Default)]
pub(super) struct Watched {
    /// The counters of the group when the work began.
    pub(super) before: MemoryUsage,
    /// The largest memory that the group held, in bytes.
    pub(super) most_bytes: u64,
    /// The process that held the most of it, with its bytes.
    pub(super) filler: Option<(u32, u64)>,
}

impl Watched {
    /// Starts with the current counters of the group.
    pub(super) fn start(group: &MemoryGroup) -> Self {
        Watched { before: group.usage(), ..Watched::default() }
    }

    /// Takes one reading.
    pub(super) fn look(&mut self, group: &MemoryGroup, roots: &Roots) {
        self.most_bytes = self.most_bytes.max(group.usage().current_bytes.unwrap_or(0));
        for pid in group.processes().into_iter().take(MOST) {
            let Some(bytes) = resident_bytes(roots, pid) else { continue };
            if self.filler.is_none_or(|(_, most)| bytes > most) {
                self.filler = Some((pid, bytes));
            }
        }
    }

    /// How much the counters of the group grew.
    pub(super) fn gained(&self, group: &MemoryGroup) -> MemoryUsage {
        group.usage().since(&self.before)
    }

    /// The readings as evidence. `threads` are the threads that the probes saw, with their names.
    pub(super) fn evidence(
        &self,
        group: &str,
        limits: &MemoryLimits,
        gained: &MemoryUsage,
        threads: &[ThreadEvidence],
    ) -> MemoryEvidence {
        let task = |pid: u32| {
            let seen = threads.iter().map(|thread| &thread.task).find(|task| task.tid == pid);
            let part = Some("worker".to_owned());
            seen.cloned().unwrap_or(Task { pid, tid: pid, part, ..Task::default() })
        };
        MemoryEvidence {
            group: group.to_owned(),
            high_bytes: limits.high,
            max_bytes: limits.max,
            held_bytes: self.most_bytes,
            high_events: limits.high.and(gained.high_events),
            kills: gained.kills,
            stalled_ns: gained.some_ns,
            filled_by: self.filler.map(|(pid, bytes)| Filler { task: task(pid), bytes }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_fills_a_group_is_named_as_the_probes_saw_it() {
        let seen = Watched { most_bytes: 9, filler: Some((7, 5)), ..Watched::default() };
        let gained = MemoryUsage { high_events: Some(3), ..MemoryUsage::default() };
        let task = Task { pid: 7, tid: 7, name: "tailback".to_owned(), ..Task::default() };
        let threads = [ThreadEvidence { task: task.clone(), ..ThreadEvidence::default() }];
        let high = MemoryLimits { high: Some(8), ..MemoryLimits::default() };
        let evidence = seen.evidence("/x", &high, &gained, &threads);
        assert_eq!(evidence.filled_by, Some(Filler { task, bytes: 5 }));
        assert_eq!((evidence.held_bytes, evidence.high_events), (9, Some(3)));
        let max = MemoryLimits { max: Some(8), ..MemoryLimits::default() };
        let evidence = seen.evidence("/x", &max, &gained, &[]);
        assert_eq!(evidence.high_events, None, "there is no such limit");
        assert_eq!(evidence.filled_by.unwrap().task.part.as_deref(), Some("worker"));
    }
}
