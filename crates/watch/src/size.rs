//! How much memory an interval takes.

use crate::tick::Tick;

/// Bytes of a table entry beside its own size: its key, its name and what the table itself needs.
const BESIDE: usize = 96;

impl Tick {
    /// Roughly how many bytes it takes; rather too many than too few.
    pub fn bytes(&self) -> u64 {
        let of = |count: usize, size: usize| count.saturating_mul(size.saturating_add(BESIDE));
        let all = [
            size_of::<Tick>(),
            of(self.threads.capacity(), entry(&self.threads)),
            of(self.pairs.capacity(), entry(&self.pairs)),
            of(self.chains.capacity(), entry(&self.chains)),
            of(self.readers.capacity(), entry(&self.readers)),
            of(self.groups.capacity(), entry(&self.groups)),
            self.nodes
                .iter()
                .map(|node| of(node.samples.len() + node.schedulers.len() + 8, BESIDE))
                .sum(),
            of(self.processes.capacity() + self.outside.capacity(), 2 * BESIDE),
            of(self.outer_sessions.capacity() + self.policies.capacity(), 8),
            self.inside.iter().map(|inside| of(inside.places(), 4 * BESIDE)).sum(),
            self.lineages.values().map(|lineage| of(lineage.len() + 1, BESIDE)).sum(),
            of(self.workloads.capacity() + self.weights.capacity(), BESIDE),
            of(self.io_max.capacity(), 4 * BESIDE),
            of(self.spots.capacity() + self.runtimes.capacity() + self.full.capacity(), BESIDE),
            self.memory.iter().map(|group| of(group.tasks.capacity() + 2, BESIDE)).sum(),
            self.names_of_groups(),
        ];
        all.into_iter().fold(0, usize::saturating_add) as u64
    }

    /// Bytes of the names of groups. Users may choose long ones.
    fn names_of_groups(&self) -> usize {
        let groups = self.processes.values().filter_map(|process| process.group.as_ref());
        // A process has its group once more in its job.
        let of_processes = groups.flat_map(|group| [group, group]);
        let lineages = self.lineages.iter().flat_map(|(group, above)| above.iter().chain([group]));
        let named = self.workloads.keys().chain(self.weights.keys());
        let quotas = self.groups.iter().map(|group| &group.group);
        let memory = self.memory.iter().map(|group| &group.group);
        let full = self.full.values().map(|full| &full.group);
        let limited = self.io_max.iter().flat_map(|(group, limit)| [group, &limit.group]);
        let asked = self.named.iter().filter_map(|scope| scope.cgroup.as_ref());
        let all = of_processes.chain(lineages).chain(named).chain(quotas).chain(memory).chain(full);
        let all = all.chain(limited).chain(asked);
        all.map(String::len).fold(0, usize::saturating_add)
    }
}

fn entry<T>(_: &[T]) -> usize {
    size_of::<T>()
}

#[cfg(test)]
mod tests {
    use crate::testing::{process, second, thread};

    #[test]
    fn what_holds_more_takes_more() {
        let empty = second();
        let mut full = second();
        for pid in 1..100 {
            process(&mut full, pid, "p", Some("/a"));
            full.threads.push(thread(pid, 1, 1));
        }
        assert!(full.bytes() > empty.bytes() + 99 * 200);
        let before = full.bytes();
        let long = format!("/{}", "x".repeat(10_000));
        full.lineages.insert(long.clone(), vec![long.clone(), "/".to_owned()]);
        full.weights.insert(long, 1_024);
        assert!(full.bytes() > before + 30_000);
    }
}
