//! The fibonacci sequence: work that uses CPU time and nothing else.

use std::hint::black_box;

/// Iterations of one round. A slow thread does one round between two sleeps. A fast thread does
/// one round between two checks of the stop flag.
pub(super) const ROUND: u64 = 100;

/// Two neighbours of the sequence, modulo 2^64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sequence {
    current: u64,
    next: u64,
    iterations: u64,
}

impl Sequence {
    /// The start of the sequence: 0, 1.
    pub fn new() -> Self {
        Sequence { current: 0, next: 1, iterations: 0 }
    }

    /// Advances the sequence by [`ROUND`] iterations.
    #[inline]
    pub fn round(&mut self) {
        let (mut current, mut next) = (self.current, self.next);
        for _ in 0..ROUND {
            (current, next) = (next, current.wrapping_add(next));
        }
        // The result of each round is used, so the compiler cannot remove a round. Each addition
        // needs the previous one, so additions cannot run in parallel.
        (self.current, self.next) = black_box((current, next));
        self.iterations += ROUND;
    }

    /// Number of iterations so far.
    pub fn iterations(&self) -> u64 {
        self.iterations
    }

    /// The current number of the sequence, modulo 2^64.
    pub fn value(&self) -> u64 {
        self.current
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// F(n) and F(n+1) modulo 2^64 by doubling: a second method for the same numbers.
    fn by_doubling(n: u64) -> (u64, u64) {
        if n == 0 {
            return (0, 1);
        }
        let (a, b) = by_doubling(n / 2);
        let even = a.wrapping_mul(b.wrapping_mul(2).wrapping_sub(a));
        let odd = a.wrapping_mul(a).wrapping_add(b.wrapping_mul(b));
        if n.is_multiple_of(2) { (even, odd) } else { (odd, even.wrapping_add(odd)) }
    }

    #[test]
    fn the_other_way_is_right_where_people_know_the_numbers() {
        let first: Vec<u64> = (0..10).map(|n| by_doubling(n).0).collect();
        assert_eq!(first, [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]);
        assert_eq!(by_doubling(93).0, 12_200_160_415_121_876_738);
    }

    proptest! {
        #[test]
        fn every_iteration_was_done(rounds in 0u64..2000) {
            let mut sequence = Sequence::new();
            (0..rounds).for_each(|_| sequence.round());
            prop_assert_eq!(sequence.iterations(), rounds * ROUND);
            prop_assert_eq!(sequence.value(), by_doubling(rounds * ROUND).0);
        }
    }
}
