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
            of(self.readers.capacity(), entry(&self.readers)),
            of(self.groups.capacity(), entry(&self.groups)),
            self.nodes
                .iter()
                .map(|node| of(node.samples.len() + node.schedulers.len() + 8, BESIDE))
                .sum(),
            of(self.processes.capacity() + self.outside.capacity(), 2 * BESIDE),
            of(self.outer_sessions.capacity(), 8),
            self.inside.iter().map(|inside| of(inside.places(), 4 * BESIDE)).sum(),
            self.lineages.values().map(|lineage| of(lineage.len() + 1, BESIDE)).sum(),
        ];
        all.into_iter().fold(0, usize::saturating_add) as u64
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
    }
}
