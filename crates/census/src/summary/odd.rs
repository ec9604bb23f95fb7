//! Hosts whose answer differs from that of their kind.

use crate::fleet::Fleet;
use crate::row::Row;
use model::State;
use model::census::{Odd, OddHost};
use model::record::ERROR_RATE;
use std::collections::HashMap;

/// Smallest kind in which a host can be odd, in hosts.
const LEAST: u32 = 20;

/// The largest share of a kind that counts as odd. A larger share is not an exception.
const LARGEST_SHARE: f64 = 0.05;

/// Most hosts that are named.
const MOST: usize = 100;

/// The hosts of one scenario whose settled answer is shared by at most a twentieth of their kind.
pub(super) fn odd(
    fleet: &Fleet,
    rows: &[(u32, &Row)],
    by_kind: &HashMap<u32, (u32, u32)>,
) -> Option<Odd> {
    // The odd answer of a kind, and the number of hosts with the other answer.
    let minority = |kind: u32| {
        let (affected, of) = *by_kind.get(&kind)?;
        let clear = of - affected;
        let (state, few, others) = match affected <= clear {
            true => (State::Affected, affected, clear),
            false => (State::NotAffected, clear, affected),
        };
        let is_odd = of >= LEAST && few > 0 && f64::from(few) <= LARGEST_SHARE * f64::from(of);
        is_odd.then_some((state, u64::from(others)))
    };
    let mut found: Vec<(&str, &Row, u64)> = rows
        .iter()
        .filter_map(|(host, row)| {
            let (state, others) = minority(row.kind)?;
            (row.state() == state).then(|| (fleet.host(*host), *row, others))
        })
        .collect();
    if found.is_empty() {
        return None;
    }
    found.sort_by(|(a, _, of_a), (b, _, of_b)| of_b.cmp(of_a).then(a.cmp(b)));
    let kinds = by_kind.iter().filter(|(kind, _)| minority(**kind).is_some());
    let hosts: u64 = kinds.map(|(_, (_, of))| u64::from(*of)).sum();
    let count = found.len() as u64;
    let named = found.into_iter().take(MOST).map(|(host, row, others)| OddHost {
        host: host.to_owned(),
        state: row.state(),
        others,
        record: fleet.place(row.place),
    });
    Some(Odd { count, allowed: ERROR_RATE * hosts as f64, hosts: named.collect() })
}
