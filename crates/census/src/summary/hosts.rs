//! The answers of each host to all scenarios.

use crate::fleet::Fleet;
use crate::kinds::OTHERS;
use model::State;
use std::collections::{BTreeMap, HashSet};

/// Bits of an answer.
const BITS: u32 = 4;

/// The answers of a host to all scenarios, packed into one number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Answers(u64);

impl Answers {
    /// The same answers with one more.
    fn with(self, scenario: u8, state: State) -> Self {
        Answers(self.0 | code(state) << (BITS * u32::from(scenario)))
    }

    /// The answer to a scenario. None if it was not measured.
    pub(super) fn to(self, scenario: usize) -> Option<State> {
        let shift = BITS * u32::try_from(scenario).ok()?;
        state(self.0.checked_shr(shift)? & ((1 << BITS) - 1))
    }

    /// All answers, by the names of the scenarios.
    pub(super) fn named(self, scenarios: &[String]) -> BTreeMap<String, State> {
        let each = scenarios.iter().enumerate();
        each.filter_map(|(place, name)| Some((name.clone(), self.to(place)?))).collect()
    }
}

fn code(state: State) -> u64 {
    match state {
        State::Affected => 1,
        State::NotAffected => 2,
        State::Inconclusive => 3,
        State::Untrustworthy => 4,
        State::Skipped => 5,
    }
}

fn state(code: u64) -> Option<State> {
    let all = [
        State::Affected,
        State::NotAffected,
        State::Inconclusive,
        State::Untrustworthy,
        State::Skipped,
    ];
    all.into_iter().find(|state| self::code(*state) == code)
}

/// All hosts, by number.
pub(super) struct Hosts {
    /// Their answers.
    pub(super) answers: Vec<Answers>,
    /// Their kinds, from the latest record of each host.
    pub(super) kind: Vec<u32>,
}

impl Hosts {
    pub(super) fn of(fleet: &Fleet) -> Self {
        let mut answers = vec![Answers::default(); fleet.hosts()];
        let mut latest = vec![None; fleet.hosts()];
        for ((host, scenario), row) in &fleet.rows {
            let host = *host as usize;
            answers[host] = answers[host].with(*scenario, row.state());
            // Between records of the same moment the scenario decides, so that the result does
            // not depend on the order.
            let own = (row.rank(), u8::MAX - *scenario, row.kind);
            latest[host] = latest[host].max(Some(own));
        }
        Hosts {
            answers,
            kind: latest.into_iter().map(|of| of.map_or(OTHERS, |(_, _, kind)| kind)).collect(),
        }
    }

    /// The number of kinds.
    pub(super) fn kinds(&self) -> u64 {
        self.kind.iter().collect::<HashSet<_>>().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_answer_is_found_again() {
        let answers = Answers::default().with(0, State::Affected).with(15, State::Skipped);
        assert_eq!((answers.to(0), answers.to(1)), (Some(State::Affected), None));
        assert_eq!((answers.to(15), answers.to(16)), (Some(State::Skipped), None));
    }
}
