//! A set of CPUs that is searched cyclically.

/// A bit set of CPUs.
#[derive(Debug)]
pub(crate) struct CpuSet {
    words: Vec<u64>,
}

impl CpuSet {
    /// An empty set for `cpus` CPUs.
    pub(crate) fn new(cpus: u32) -> Self {
        CpuSet { words: vec![0; cpus.div_ceil(64) as usize] }
    }

    /// Adds a CPU to the set, or removes it.
    pub(crate) fn set(&mut self, cpu: u32, is_in: bool) {
        let bit = 1 << (cpu % 64);
        let word = &mut self.words[(cpu / 64) as usize];
        *word = if is_in { *word | bit } else { *word & !bit };
    }

    /// The first CPU in the set from `cpu` on, cyclically.
    pub(crate) fn next_from(&self, cpu: u32) -> Option<u32> {
        let start = (cpu / 64) as usize;
        let above = u64::MAX << (cpu % 64);
        let masked = |index: usize, mask: u64| {
            let bits = self.words[index] & mask;
            (bits != 0).then(|| index as u32 * 64 + bits.trailing_zeros())
        };
        let rest = (start + 1..self.words.len()).chain(0..start);
        masked(start, above)
            .or_else(|| rest.into_iter().find_map(|index| masked(index, u64::MAX)))
            .or_else(|| masked(start, !above))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_search_goes_round_the_ring(
            inside in prop::collection::btree_set(0u32..200, 0..20), from in 0u32..200,
        ) {
            let mut set = CpuSet::new(200);
            (0..200).for_each(|cpu| set.set(cpu, true));
            (0..200).for_each(|cpu| set.set(cpu, inside.contains(&cpu)));
            let expected = inside.range(from..).next().or_else(|| inside.iter().next());
            prop_assert_eq!(set.next_from(from), expected.copied());
        }
    }
}
