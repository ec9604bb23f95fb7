//! The hosts that lose most.

use crate::fleet::Fleet;
use crate::row::Row;
use model::census::Worst;
use model::{Amount, State, Unit};
use std::cmp::Reverse;
use std::collections::HashMap;

/// Most hosts that are named.
const MOST: usize = 10;

/// The hosts that lose most in a scenario, by the difference of their worst arm over its control.
///
/// A scenario may have several judged figures, and on each host another one may decide. Losses in
/// different units have no order, so only those in the unit of most hosts are compared.
pub(super) fn worst(fleet: &Fleet, rows: &[(u32, &Row)]) -> Vec<Worst> {
    let affected = rows.iter().filter(|(_, row)| row.state() == State::Affected);
    let mut sized: Vec<&(u32, &Row)> =
        affected.filter(|(_, row)| row.unit.is_some() && row.shift.is_finite()).collect();
    let unit = usual(sized.iter().filter_map(|(_, row)| row.unit));
    sized.retain(|(_, row)| row.unit == unit);
    let order = |(host, row): &&(u32, &Row), (other, of_other): &&(u32, &Row)| {
        of_other.shift.total_cmp(&row.shift).then_with(|| fleet.host(*host).cmp(fleet.host(*other)))
    };
    if sized.len() > MOST {
        sized.select_nth_unstable_by(MOST, order);
        sized.truncate(MOST);
    }
    sized.sort_by(order);
    let named = sized.into_iter().filter_map(|(host, row)| {
        Some(Worst {
            host: fleet.host(*host).to_owned(),
            shift: Amount::exact(f64::from(row.shift), row.unit?),
            record: fleet.place(row.place),
        })
    });
    named.collect()
}

/// The most frequent unit. Of equally frequent ones it is the first that [`Unit`] lists, since the
/// order of the hosts is random.
fn usual(units: impl Iterator<Item = Unit>) -> Option<Unit> {
    let mut counts: HashMap<Unit, u64> = HashMap::new();
    units.for_each(|unit| *counts.entry(unit).or_default() += 1);
    let order = |(unit, count): &(Unit, u64)| (*count, Reverse(*unit as u8));
    counts.into_iter().max_by_key(order).map(|(unit, _)| unit)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Answer;
    use crate::file_host::{FileHost, Given};

    #[test]
    fn losses_in_different_units_are_not_compared() {
        let of = |losses: &[(&str, f32, Unit)]| {
            let mut fleet = Fleet::new(&["blocking-nif"], 1_800_000_000);
            fleet.begin("all.jsonl", true);
            let file_host = FileHost::new("all", Given::Named, None);
            for ((host, shift, unit), line) in losses.iter().zip(1..) {
                let answer = Answer {
                    host: Some((*host).to_owned()),
                    scenario: 0,
                    state: State::Affected,
                    contradictory: false,
                    started: 1_799_999_000,
                    study: 1,
                    blocks: 8,
                    kind: 0,
                    shift: Some((*shift, *unit)),
                    version: "1".to_owned(),
                    brief: true,
                    trials: None,
                    lost_trials: false,
                };
                fleet.add_record(answer, &file_host, line, None);
            }
            let rows: Vec<(u32, &Row)> =
                fleet.rows.iter().map(|((host, _), row)| (*host, row)).collect();
            let named = worst(&fleet, &rows).into_iter().map(|one| one.host);
            named.collect::<Vec<String>>()
        };
        let (lost, asleep) = (Unit::MillisecondsPerSecond, Unit::Percent);
        let hosts: [(&str, f32, Unit); 3] =
            [("a", 20.0, asleep), ("b", 400.0, lost), ("c", 80.0, asleep)];
        assert_eq!(of(&hosts), ["c", "a"]);
        assert_eq!(of(&hosts[..2]), ["b"]);
        assert!(of(&[]).is_empty());
    }
}
