//! When a reproducer looks at what it found, and what it then says.

/// When a reproducer looks at what it found.
pub struct InterimLook {
    /// After so many blocks.
    pub blocks: u32,
    /// No stall where at most so many were worse.
    pub none: u32,
    /// A stall where at least so many were.
    pub stall: u32,
}

/// Each look. Fourteen blocks are enough to tell a stall in nearly all from one in none.
pub const LOOKS: [InterimLook; 4] = [
    InterimLook { blocks: 14, none: 0, stall: 12 },
    InterimLook { blocks: 28, none: 2, stall: 21 },
    InterimLook { blocks: 42, none: 5, stall: 29 },
    InterimLook { blocks: 56, none: 8, stall: 37 },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// How likely at most so many of `of` events happen where each has this probability.
    fn at_most(events: u32, of: u32, each: f64) -> f64 {
        let term = |k: u32| {
            let ways = (0..k).map(|i| f64::from(of - i) / f64::from(i + 1)).product::<f64>();
            ways * each.powi(k.cast_signed()) * (1.0 - each).powi((of - k).cast_signed())
        };
        (0..=events).map(term).sum()
    }

    /// Over all looks, at most 5% of runs take a stall in half of the blocks for more, or one in
    /// 30% for less. One block more would be too many.
    #[test]
    fn looks_share_an_error_rate_of_5_percent() {
        let share = 0.05 / LOOKS.len() as f64;
        for InterimLook { blocks, none, stall } in LOOKS {
            assert!(at_most(none, blocks, 0.3) <= share && at_most(none + 1, blocks, 0.3) > share);
            let others = blocks - stall;
            assert!(at_most(others, blocks, 0.5) <= share);
            assert!(at_most(others + 1, blocks, 0.5) > share);
        }
    }
}
