//! What the records allow to be said, by their number and their order.

use super::sides::{Named, Sides};
use crate::rank_sum::differences_to_leave_out;
use crate::words::{percent, plural};
use model::Basis;

/// What is counted, and where that is not enough for worse or better, why.
pub(super) struct Design {
    /// What is counted.
    pub(super) basis: Basis,
    /// Why it says `differs` at most.
    pub(super) limit: Option<String>,
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
            Some(
                "One run a side does not show how much two runs of the same thing differ."
                    .to_owned(),
            )
        } else if differences_to_leave_out(before, after, tail).0.is_none() {
            Some(format!(
                "{before} and {after} records are too few to say worse or better: for {} at {} it \
                 takes {needed} a side.",
                plural(u32::try_from(sides.judged()).unwrap_or(u32::MAX), "judged figure"),
                percent(sides.confidence())
            ))
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
/// either side. So before, after, before, after is in turns, and so is before, after, after, before;
/// drift of the machine then meets both sides alike.
fn not_in_turns(sides: &Sides) -> Option<String> {
    let of = |side: &[Named], name: &'static str| -> Vec<(String, &'static str)> {
        side.iter().map(|(record, _)| (record.started.clone(), name)).collect()
    };
    let mut order = [of(sides.before, "before"), of(sides.after, "after")].concat();
    // Times of RFC 3339 in UTC sort as text.
    order.sort();
    let unknown = order.iter().any(|(time, _)| time.is_empty())
        || order.windows(2).any(|two| two[0].0 == two[1].0);
    if unknown {
        let why = "The times of the records do not tell in which order they were made, so nobody \
                   knows whether it was in turns.";
        return Some(why.to_owned());
    }
    let names: Vec<&str> = order.iter().map(|(_, name)| *name).collect();
    let turns = names.chunks(2).all(|two| two.len() < 2 || two[0] != two[1]);
    (!turns).then(|| {
        format!(
            "The records were not made in turns but in the order {}: what drifts meanwhile looks like \
             the change.",
            runs(&names)
        )
    })
}

/// `4 x before, 4 x after`; the first of a long row.
fn runs(names: &[&str]) -> String {
    const MOST: usize = 8;
    let parts: Vec<String> = names
        .chunk_by(|a, b| a == b)
        .map(|run| match run.len() {
            1 => run[0].to_owned(),
            many => format!("{many} x {}", run[0]),
        })
        .collect();
    let more = if parts.len() > MOST { ", .." } else { "" };
    format!("{}{more}", parts[..parts.len().min(MOST)].join(", "))
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
        assert_eq!(runs(&["b", "b", "a", "b", "a", "a"]), "2 x b, a, b, 2 x a");
        assert!(runs(&["a", "b"].repeat(9)).ends_with(", .."));
    }
}
