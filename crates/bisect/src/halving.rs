//! Bisection of a list of versions.

use crate::evidence::Answer;
use std::collections::BTreeSet;

/// The versions at which the stall may begin: those after `good`, up to and including `bad`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halving {
    good: usize,
    bad: usize,
    skipped: BTreeSet<usize>,
}

impl Halving {
    /// `good` is the position of the version without the stall. It comes before `bad`.
    pub fn new(good: usize, bad: usize) -> Self {
        Halving { good, bad: bad.max(good), skipped: BTreeSet::new() }
    }

    /// The position to test next: the one nearest to the middle that was not skipped.
    pub fn next(&self) -> Option<usize> {
        let middle = usize::midpoint(self.good, self.bad);
        let inside = self.good + 1..self.bad;
        inside.filter(|place| !self.skipped.contains(place)).min_by_key(|p| p.abs_diff(middle))
    }

    /// Takes the answer for a position. None means that the version got no answer and is skipped.
    pub fn tell(&mut self, place: usize, answer: Option<Answer>) {
        match answer {
            Some(Answer::Good) => self.good = self.good.max(place),
            Some(Answer::Bad) => self.bad = self.bad.min(place),
            None => drop(self.skipped.insert(place)),
        }
    }

    /// Number of steps that are still expected.
    pub fn steps(&self) -> u32 {
        let inside = self.bad.saturating_sub(self.good);
        inside.next_power_of_two().trailing_zeros()
    }

    /// The last position without the stall, and the first with it.
    pub fn ends(&self) -> (usize, usize) {
        (self.good, self.bad)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn right_answers_find_the_first_bad_place(
            of in 2usize..200, begins in 1usize..200, skip in prop::collection::vec(any::<bool>(), 200)
        ) {
            let begins = begins.min(of - 1);
            let mut halving = Halving::new(0, of - 1);
            let mut asked = 0;
            while let Some(place) = halving.next() {
                asked += 1;
                let bad = if place >= begins { Answer::Bad } else { Answer::Good };
                halving.tell(place, (!skip[place]).then_some(bad));
                prop_assert!(asked <= of);
            }
            let (good, bad) = halving.ends();
            prop_assert!(good < begins && begins <= bad);
            prop_assert!((good + 1..bad).all(|place| skip[place]), "all between were skipped");
        }

        #[test]
        fn the_steps_are_those_that_it_takes(of in 2usize..200, begins in 1usize..200) {
            let begins = begins.min(of - 1);
            let mut halving = Halving::new(0, of - 1);
            let expected = halving.steps();
            let mut asked = 0;
            while let Some(place) = halving.next() {
                asked += 1;
                let bad = if place >= begins { Answer::Bad } else { Answer::Good };
                halving.tell(place, Some(bad));
            }
            prop_assert!(asked <= expected, "{asked} of {expected}");
        }
    }
}
