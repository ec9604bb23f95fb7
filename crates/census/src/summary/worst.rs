//! The hosts that lose most.

use crate::fleet::Fleet;
use crate::row::Row;
use model::census::Worst;
use model::{Amount, State};

/// Most hosts that are named.
const MOST: usize = 10;

/// The hosts that lose most in a scenario, by the difference of their worst arm over its control.
pub(super) fn worst(fleet: &Fleet, rows: &[(u32, &Row)]) -> Vec<Worst> {
    let affected = rows.iter().filter(|(_, row)| row.state() == State::Affected);
    let mut sized: Vec<&(u32, &Row)> =
        affected.filter(|(_, row)| row.unit.is_some() && row.shift.is_finite()).collect();
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
