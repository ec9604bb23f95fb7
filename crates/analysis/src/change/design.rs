//! What the number and the order of the records allow to say.

use super::pairs::{Order, Pairs};
use super::sides::Sides;
use crate::signed_rank::averages_to_leave_out;
use model::Basis;
use model::change::ChangeReason;

/// The part of the error rate that is used if a person chose the order. Offsets between runs that
/// resemble each other can coincide with such an order. Of 40,000 simulated comparisons of eight
/// pairs with alternating order, 5.4% are wrong at 5% and 3.2% at half of it.
const LEFT_BY_HAND: f64 = 0.5;

/// What is counted, and what has to be reported about it.
pub(super) struct Design<'a> {
    /// What is counted.
    pub(super) basis: Basis,
    /// The pairs of runs, if pairs are counted.
    pub(super) pairs: Pairs<'a>,
    /// The confidence of each judged figure.
    pub(super) confidence_of_each: f64,
    /// Why the verdict is `differs` at most, and notes about the pairs.
    pub(super) reasons: Vec<ChangeReason>,
    /// How many pairs in random order would allow a stronger verdict.
    pub(super) needed: usize,
}

impl<'a> Design<'a> {
    /// Checks how many records there are, and which of them are pairs.
    pub(super) fn of(sides: &Sides<'a>) -> Self {
        let rate = 1.0 - sides.confidence_of_each();
        let pairs = Pairs::of(sides);
        let rate_of_pairs = match pairs.order {
            Order::ByHand => rate * LEFT_BY_HAND,
            _ => rate,
        };
        let limits = limits(sides, &pairs, needed(rate_of_pairs));
        let basis = if limits.is_empty() { Basis::Pairs } else { Basis::Blocks };
        let (notes, rate) = match basis {
            Basis::Pairs => (notes(sides, &pairs), rate_of_pairs),
            Basis::Blocks => (Vec::new(), rate),
        };
        Design {
            basis,
            pairs,
            confidence_of_each: 1.0 - rate,
            reasons: [limits, notes].concat(),
            needed: needed(1.0 - sides.confidence_of_each()),
        }
    }
}

/// Why the pairs cannot support worse or better.
fn limits(sides: &Sides, pairs: &Pairs, needed: usize) -> Vec<ChangeReason> {
    if sides.before.len() == 1 && sides.after.len() == 1 {
        return vec![ChangeReason::OneRecordEach];
    }
    let order = match &pairs.order {
        Order::Chance | Order::ByHand => None,
        // Without an order there are no pairs to count.
        Order::Unknown => return vec![ChangeReason::OrderUnknown],
        Order::NotInTurns(order) => {
            return vec![ChangeReason::NotInTurns { order: order.clone() }];
        }
        Order::Fixed(order) => Some(ChangeReason::FixedOrder { order: order.clone() }),
    };
    let few = (pairs.all.len() < needed).then(|| ChangeReason::TooFewPairs {
        pairs: pairs.all.len(),
        needed,
        judged: sides.judged(),
        confidence: sides.confidence(),
    });
    order.into_iter().chain(few).collect()
}

/// Notes about pairs that count.
fn notes(sides: &Sides, pairs: &Pairs) -> Vec<ChangeReason> {
    let (before, after) = pairs.left_out(sides);
    let by_hand = (pairs.order == Order::ByHand).then_some(ChangeReason::OrderByHand);
    let left = (before + after > 0).then_some(ChangeReason::Unpaired { before, after });
    by_hand.into_iter().chain(left).collect()
}

/// The least number of pairs for which an interval with this error rate exists. With six pairs
/// there are 64 combinations of signs, so all six above or all six below zero have a probability
/// of 3.1%.
fn needed(rate: f64) -> usize {
    (2..100).find(|n| averages_to_leave_out(*n, rate / 2.0).0.is_some()).unwrap_or(100)
}

/// The least number of pairs of runs in random order that can support worse or better, for this
/// number of judged figures and this joint confidence.
pub fn pairs_needed(judged: usize, confidence: f64) -> usize {
    needed((1.0 - confidence) / judged.max(1) as f64)
}

/// The number of pairs that is usually made if `needed` pairs are needed. With only the needed
/// ones, a single pair in the other direction hides the change.
pub fn usual_pairs(needed: usize) -> usize {
    (needed + 2).min(MOST_PAIRS)
}

/// Most pairs that are made.
pub const MOST_PAIRS: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 / 2^n is 6.3% for 5, 3.1% for 6 and 1.6% for 7.
    #[test]
    fn so_many_pairs_are_needed() {
        assert_eq!([0.05, 0.025, 0.005, 0.001].map(needed), [6, 7, 9, 11]);
        assert_eq!([0, 1, 2, 4].map(|judged| pairs_needed(judged, 0.95)), [6, 6, 7, 8]);
    }
}
