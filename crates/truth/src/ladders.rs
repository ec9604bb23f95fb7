//! Simulated ladders of versions with a known boundary.

use crate::Answer;
use crate::random::normal;
use analysis::ladder::{Repeating, Runs, Version, bisect, is_due, ladder, to_repeat};
use model::Judged;
use model::ladder::{Ladder, Repeated, Step};
use rand_chacha::ChaCha8Rng;
use scenarios::mmap_lock::META;
use serde::{Deserialize, Serialize};
use std::convert::Infallible;

/// The parameter that selects the version, as in `tailback matrix`.
const BY: &str = "otp";

/// The number of pairs without a figure that are repeated, as in `tailback matrix`.
const MADE_AGAIN: usize = 2;

/// A ladder of versions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ladders {
    /// The number of versions.
    pub versions: u32,
    /// Standard deviation of the loss of the arm with the cause between runs of one version, in
    /// ms/s. Each run of a version draws its own value.
    pub spread: f64,
    /// The boundary. If None, all versions are equal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
    /// Whether only those versions are run that `--bisect` needs.
    #[serde(default)]
    pub bisect: bool,
}

/// The place where versions differ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Boundary {
    /// The first version that differs from the one before it, from 0.
    pub at: u32,
    /// How much more its arm with the cause loses, in ms/s. Negative values mean less.
    pub change: f64,
}

/// Makes a run whose arm with the cause loses this much more.
type Run<'a> = &'a mut dyn FnMut(f64, &mut ChaCha8Rng) -> Judged;

/// Simulates a ladder. Returns its answer, and the record of the first version.
pub fn simulate(ladders: &Ladders, rng: &mut ChaCha8Rng, run: Run<'_>) -> (Answer, Judged) {
    let mut versions = Versions::new(ladders, rng, run);
    let count = versions.names.len();
    let places = match ladders.bisect {
        true => {
            let Ok(places) = bisect(count, &mut versions);
            places
        }
        false => {
            let all: Vec<usize> = (0..count).collect();
            let Ok(()) = versions.run(&all);
            all
        }
    };
    let mut found = versions.ladder(&places);
    let again = to_repeat(&found);
    for between in &again {
        if !is_due(&found, *between) {
            continue;
        }
        let repeated = versions.repeat(&found.clone(), *between, again.len());
        if let Some(step) = between.of_mut(&mut found) {
            step.repeated = repeated;
        }
    }
    let answer = match &ladders.boundary {
        Some(boundary) => answer(&found, Some(&|step| boundary.is_in(step))),
        None => answer(&found, None),
    };
    (answer, versions.first())
}

impl Boundary {
    /// Whether the boundary is between the versions of a step.
    fn is_in(&self, step: &Step) -> bool {
        let place = |name: &str| name.parse::<u32>().ok();
        place(&step.from) < Some(self.at) && place(&step.to) >= Some(self.at)
    }
}

/// The answer of a ladder. `holds` says whether a step contains the boundary; it is None if there
/// is no boundary.
///
/// A difference between the first and the last version names no place. So it is not wrong for a
/// ladder with a boundary, but it does not find the boundary either.
pub fn answer(ladder: &Ladder, holds: Option<&dyn Fn(&Step) -> bool>) -> Answer {
    let holds_it = |step: &&Step| holds.is_some_and(|holds| holds(step));
    let named: Vec<&Step> = ladder.steps.iter().filter(|step| step.is_boundary()).collect();
    let whole = ladder.whole.as_ref().is_some_and(Step::is_boundary);
    match (named.is_empty(), holds.is_none() && whole) {
        (true, false) => Answer::NoBoundary,
        (true, true) => Answer::WrongBoundary,
        (false, _) if named.iter().all(holds_it) => Answer::Boundary,
        (false, _) => Answer::WrongBoundary,
    }
}

/// The versions of a ladder, with the records of those that were run.
struct Versions<'a> {
    ladders: &'a Ladders,
    rng: &'a mut ChaCha8Rng,
    run: Run<'a>,
    names: Vec<String>,
    records: Vec<Option<Judged>>,
}

impl<'a> Versions<'a> {
    fn new(ladders: &'a Ladders, rng: &'a mut ChaCha8Rng, run: Run<'a>) -> Self {
        let names: Vec<String> = (0..ladders.versions.max(2)).map(|at| at.to_string()).collect();
        let records = names.iter().map(|_| None).collect();
        Versions { ladders, rng, run, names, records }
    }

    /// A new run of a version.
    fn fresh(&mut self, place: usize) -> Judged {
        let changed = self.ladders.boundary.as_ref().filter(|b| place >= b.at as usize);
        let own = self.ladders.spread * normal(self.rng);
        (self.run)(changed.map_or(0.0, |boundary| boundary.change) + own, self.rng)
    }

    /// Makes the pairs of a step, as `tailback matrix` does. None if they cannot be compared.
    fn repeat(
        &mut self,
        ladder: &Ladder,
        between: analysis::ladder::Between,
        among: usize,
    ) -> Option<Repeated> {
        let step = between.of(ladder)?;
        let place = |name: &str| self.names.iter().position(|other| other == name);
        let (before, after) = place(&step.from).zip(place(&step.to))?;
        let mut repeating = Repeating::new(ladder, between, among, Some(&META), Some(BY))?;
        let mut without = 0;
        while !repeating.is_over() && without <= MADE_AGAIN {
            let (old, new) = (self.fresh(before), self.fresh(after));
            without += usize::from(!repeating.add(&old, &new));
        }
        Some(repeating.end())
    }

    /// The record of the first version. Every ladder runs it.
    fn first(mut self) -> Judged {
        match self.records[0].take() {
            Some(record) => record,
            None => self.fresh(0),
        }
    }
}

impl Runs for Versions<'_> {
    type Error = Infallible;

    fn run(&mut self, places: &[usize]) -> Result<(), Infallible> {
        for place in places {
            if self.records[*place].is_none() {
                self.records[*place] = Some(self.fresh(*place));
            }
        }
        Ok(())
    }

    fn has_record(&self, place: usize) -> bool {
        self.records[place].is_some()
    }

    fn ladder(&self, places: &[usize]) -> Ladder {
        let version = |place: &usize| Version {
            name: &self.names[*place],
            release: &self.names[*place],
            record: self.records[*place].as_ref(),
        };
        let versions: Vec<Version> = places.iter().map(version).collect();
        ladder(&versions, Some(&META), Some(BY))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{Hit, Simulation, simulate};

    fn answer(ladder: Ladders, seed: u64) -> Answer {
        let stall = Hit { rate: 1.0, least: 480.0, most: 520.0 };
        let simulation =
            Simulation { stall: Some(stall), ladder: Some(ladder), ..Simulation::default() };
        simulate(&simulation, seed).unwrap().answer
    }

    #[test]
    fn a_large_boundary_is_named_whether_or_not_it_is_bisected() {
        for bisect in [false, true] {
            let boundary = Some(Boundary { at: 2, change: -300.0 });
            let ladder = Ladders { versions: 5, spread: 5.0, boundary, bisect };
            assert_eq!(answer(ladder, 1), Answer::Boundary, "bisect: {bisect}");
        }
    }

    #[test]
    fn equal_versions_that_hardly_spread_have_none() {
        let ladder = Ladders { versions: 5, spread: 1.0, boundary: None, bisect: false };
        assert_eq!(answer(ladder, 1), Answer::NoBoundary);
    }
}
