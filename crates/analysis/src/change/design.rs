//! What the records allow to be said, by their number and their order.

use super::sides::{Named, Sides};
use crate::rank_sum::differences_to_leave_out;
use model::Basis;
use model::change::{ChangeReason, Turn, When};

/// Turns that are listed at most.
const MOST_TURNS: usize = 8;

/// What is counted, and where that is not enough for worse or better, why.
pub(super) struct Design {
    /// What is counted.
    pub(super) basis: Basis,
    /// Why it says `differs` at most.
    pub(super) limit: Option<ChangeReason>,
    /// How many records a side it takes to say more.
    pub(super) needed: usize,
}

impl Design {
    /// Looks at how many records there are and when each was begun.
    pub(super) fn of(sides: &Sides) -> Design {
        let tail = (1.0 - sides.confidence_of_each()) / 2.0;
        let needed = needed(tail);
        let (before, after) = (sides.before.len(), sides.after.len());
        let limit = if before == 1 && after == 1 {
            Some(ChangeReason::OneRecordEach)
        } else if differences_to_leave_out(before, after, tail).0.is_none() {
            let (judged, confidence) = (sides.judged(), sides.confidence());
            Some(ChangeReason::TooFewRecords { before, after, needed, judged, confidence })
        } else {
            not_in_turns(sides)
        };
        let basis = if limit.is_none() { Basis::Records } else { Basis::Blocks };
        Design { basis, limit, needed }
    }
}

/// The fewest records a side for which an interval of this confidence exists: with four there are
/// 70 ways to split eight records, so the two most extreme come by chance in 2.9%.
fn needed(tail: f64) -> usize {
    (2..100).find(|n| differences_to_leave_out(*n, *n, tail).0.is_some()).unwrap_or(100)
}

/// Why the records were not made in turns: each two that follow one another have to be one of
/// either side. So before, after, before, after is in turns, and so is before, after, after,
/// before; drift of the machine then meets both sides alike.
fn not_in_turns(sides: &Sides) -> Option<ChangeReason> {
    let of = |side: &[Named], when: When| -> Vec<(String, When)> {
        side.iter().map(|(record, _)| (record.started.clone(), when)).collect()
    };
    let mut order = [of(sides.before, When::Before), of(sides.after, When::After)].concat();
    // Times of RFC 3339 in UTC sort as text.
    order.sort_by(|one, other| one.0.cmp(&other.0));
    let unknown = order.iter().any(|(time, _)| time.is_empty())
        || order.windows(2).any(|two| two[0].0 == two[1].0);
    if unknown {
        return Some(ChangeReason::OrderUnknown);
    }
    let whens: Vec<When> = order.iter().map(|(_, when)| *when).collect();
    let in_turns = whens.chunks(2).all(|two| two.len() < 2 || two[0] != two[1]);
    (!in_turns).then(|| ChangeReason::NotInTurns { order: turns(&whens) })
}

/// Records of one side that follow one another together; the first of a long row.
fn turns(whens: &[When]) -> Vec<Turn> {
    let turns = whens.chunk_by(|a, b| a == b).map(|run| Turn { side: run[0], records: run.len() });
    turns.take(MOST_TURNS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2 / C(2n, n) is 10% for 3, 2.9% for 4, 0.8% for 5, 0.2% for 6.
    #[test]
    fn so_many_records_are_needed() {
        assert_eq!([0.05, 0.025, 0.005, 0.001].map(|rate| needed(rate / 2.0)), [4, 5, 6, 7]);
    }

    #[test]
    fn an_order_is_told_in_runs() {
        use When::{After, Before};
        let counts = |whens: &[When]| turns(whens).iter().map(|t| t.records).collect::<Vec<_>>();
        assert_eq!(counts(&[Before, Before, After, Before, After, After]), [2, 1, 1, 2]);
        assert_eq!(turns(&[Before, After].repeat(9)).len(), MOST_TURNS);
    }
}
