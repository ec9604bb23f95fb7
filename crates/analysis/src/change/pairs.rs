//! Finds the records that are the two runs of a pair.

use super::sides::{Named, Sides};
use model::change::{Turn, When};
use std::collections::BTreeMap;

/// Most turns that are listed.
const MOST_TURNS: usize = 8;

/// What decided which run of each pair came first. It limits what the pairs can show.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Order {
    /// Chance decided, according to the records.
    Chance,
    /// A person decided, and alternated the order from each pair to the next.
    ByHand,
    /// A person decided, and two consecutive pairs have the same order.
    Fixed(Vec<Turn>),
    /// The records were not made in pairs.
    NotInTurns(Vec<Turn>),
    /// The records do not show it.
    Unknown,
}

/// The records of two sides as pairs of runs.
pub(super) struct Pairs<'a> {
    /// The pairs: the record before, the record after.
    pub(super) all: Vec<(Named<'a>, Named<'a>)>,
    /// What decided the order within the pairs.
    pub(super) order: Order,
}

impl<'a> Pairs<'a> {
    /// The pairs that the records state, if each of them states one. Otherwise each two neighbours
    /// in time that belong to different sides. The figures never influence which records make a
    /// pair.
    pub(super) fn of(sides: &Sides<'a>) -> Self {
        match sides.all().all(|(record, _)| record.pair.is_some()) {
            true => Pairs { all: recorded(sides), order: Order::Chance },
            false => by_time(sides),
        }
    }

    /// Number of records of each side that are in no pair.
    pub(super) fn left_out(&self, sides: &Sides) -> (usize, usize) {
        let left = |side: &[Named]| side.len().saturating_sub(self.all.len());
        (left(sides.before), left(sides.after))
    }
}

/// The pairs of which each side has exactly one run.
fn recorded<'a>(sides: &Sides<'a>) -> Vec<(Named<'a>, Named<'a>)> {
    let numbers = |named: &Named| named.0.pair.map(|pair| (pair.seed, pair.number));
    // Two comparisons with the same seed number their pairs equally, so their runs cannot be told
    // apart.
    let once = |side: &[Named<'a>]| {
        let mut by_number: BTreeMap<(u64, u32), Vec<Named<'a>>> = BTreeMap::new();
        for named in side {
            by_number.entry(numbers(named).unwrap_or_default()).or_default().push(*named);
        }
        let single = |(number, named): ((u64, u32), Vec<Named<'a>>)| match *named {
            [one] => Some((number, one)),
            _ => None,
        };
        by_number.into_iter().filter_map(single).collect::<BTreeMap<(u64, u32), Named<'a>>>()
    };
    let (first_side, mut after) = (once(sides.before), once(sides.after));
    let mut all = Vec::new();
    for (number, before) in &first_side {
        let other = after.remove(number);
        let first = |named: &Named| named.0.pair.is_some_and(|pair| pair.first);
        all.extend(other.filter(|other| first(other) != first(before)).map(|o| (*before, o)));
    }
    all
}

/// Pairs of consecutive records of different sides, starting with the first record.
fn by_time<'a>(sides: &Sides<'a>) -> Pairs<'a> {
    let of = |side: &[Named<'a>], when| side.iter().map(|one| (*one, when)).collect::<Vec<_>>();
    let mut ordered = [of(sides.before, When::Before), of(sides.after, When::After)].concat();
    let started = |(named, _): &(Named<'a>, When)| -> &'a str { named.0.started.as_str() };
    // RFC 3339 times in UTC can be sorted as text.
    ordered.sort_by_key(started);
    let unknown = ordered.iter().any(|one| started(one).is_empty())
        || ordered.windows(2).any(|two| started(&two[0]) == started(&two[1]));
    if unknown {
        return Pairs { all: Vec::new(), order: Order::Unknown };
    }
    let whens: Vec<When> = ordered.iter().map(|(_, when)| *when).collect();
    let (mut all, mut before_first, mut place) = (Vec::new(), Vec::new(), 0);
    while let [(one, when), (other, next), ..] = ordered[place..] {
        if when == next {
            place += 1;
            continue;
        }
        all.push(if when == When::Before { (one, other) } else { (other, one) });
        before_first.push(when == When::Before);
        place += 2;
    }
    let order = if all.len() < sides.before.len().min(sides.after.len()) {
        Order::NotInTurns(turns(&whens))
    } else if before_first.windows(2).any(|two| two[0] == two[1]) {
        Order::Fixed(turns(&whens))
    } else {
        Order::ByHand
    };
    Pairs { all, order }
}

/// Groups of consecutive records of one side; of a long list only the first groups.
fn turns(whens: &[When]) -> Vec<Turn> {
    let turns = whens.chunk_by(|a, b| a == b).map(|run| Turn { side: run[0], records: run.len() });
    turns.take(MOST_TURNS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::change::tests::record;
    use model::{Judged, Pair};

    /// Records in the order in which they were made: `b` is before, `a` is after.
    fn of_order(order: &str) -> (usize, Order) {
        let records: Vec<(char, Judged)> = order
            .chars()
            .enumerate()
            .map(|(place, side)| {
                let mut record = record(&[1.0], &[]);
                record.started = format!("2026-11-21T10:{place:02}:00Z");
                (side, record)
            })
            .collect();
        with_sides(&records, |sides| {
            let pairs = Pairs::of(sides);
            (pairs.all.len(), pairs.order)
        })
    }

    fn with_sides<T>(records: &[(char, Judged)], then: impl Fn(&Sides) -> T) -> T {
        let of = |side: char| -> Vec<Named> {
            let of_side = records.iter().filter(|(one, _)| *one == side);
            of_side.map(|(_, record)| (record, "r")).collect()
        };
        let (before, after) = (of('b'), of('a'));
        then(&Sides { before: &before, after: &after, meta: None, across: &[], among: 1 })
    }

    #[test]
    fn neighbours_in_time_make_pairs_and_one_too_many_is_left_out() {
        let turn = |side, records| Turn { side, records };
        let (b, a) = (When::Before, When::After);
        assert_eq!(of_order("baabba"), (3, Order::ByHand));
        assert_eq!(of_order("bbaabb"), (2, Order::ByHand));
        assert_eq!(of_order("bba"), (1, Order::ByHand));
        assert_eq!(of_order("baba"), (2, Order::Fixed([b, a, b, a].map(|s| turn(s, 1)).into())));
        assert_eq!(of_order("bbbaa"), (1, Order::NotInTurns(vec![turn(b, 3), turn(a, 2)])));
        assert_eq!(turns(&[b, a].repeat(9)).len(), MOST_TURNS);
    }

    #[test]
    fn records_that_say_which_pair_they_are_of_are_taken_by_their_word() {
        let of = |side, seed, number, first| {
            let mut record = record(&[1.0], &[]);
            record.pair = Some(Pair { seed, number, first });
            (side, record)
        };
        // All times are equal, because runs of a pair take turns.
        let mut records = vec![
            of('b', 7, 1, true),
            of('b', 7, 2, false),
            of('b', 7, 3, true),
            of('a', 7, 3, true),
            of('a', 7, 2, true),
            of('a', 8, 1, false),
        ];
        let found = |records: &[(char, Judged)]| {
            with_sides(records, |sides| {
                let pairs = Pairs::of(sides);
                (pairs.all.len(), pairs.left_out(sides), pairs.order)
            })
        };
        // In pair 3 both runs came first. In pair 1 the second run has another seed.
        assert_eq!(found(&records), (1, (2, 2), Order::Chance));
        records[0].1.pair = None;
        assert_eq!(found(&records).2, Order::Unknown);
    }
}
