//! The interim looks of a reproducer, and the limits of its verdict.

/// One interim look at the results.
pub struct InterimLook {
    /// The number of blocks after which it happens.
    pub blocks: u32,
    /// At most this many worse blocks mean no stall.
    pub none: u32,
    /// At least this many worse blocks mean a stall.
    pub stall: u32,
}

/// All looks. Fourteen blocks are enough to tell a stall in nearly all blocks from a stall in
/// none.
pub const LOOKS: [InterimLook; 4] = [
    InterimLook { blocks: 14, none: 0, stall: 12 },
    InterimLook { blocks: 28, none: 2, stall: 21 },
    InterimLook { blocks: 42, none: 5, stall: 29 },
    InterimLook { blocks: 56, none: 8, stall: 37 },
];

#[cfg(test)]
mod tests {
    use super::*;

    /// The probability of at most `events` events in `of` trials with the probability `each`.
    fn at_most(events: u32, of: u32, each: f64) -> f64 {
        let term = |k: u32| {
            let ways = (0..k).map(|i| f64::from(of - i) / f64::from(i + 1)).product::<f64>();
            ways * each.powi(k.cast_signed()) * (1.0 - each).powi((of - k).cast_signed())
        };
        (0..=events).map(term).sum()
    }

    /// Over all looks, at most 5% of runs report a stall although only half of the blocks stall,
    /// or no stall although 30% do. One more block would exceed that error rate.
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
