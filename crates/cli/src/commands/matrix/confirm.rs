//! An unexpected verdict counts only if a fresh run has the same verdict.
//!
//! One verdict in twenty studies is wrong, and one run is only one guest or one node. So a
//! version with an unexpected verdict runs again. The version differs from the expectation only
//! if the fresh run has the same verdict.

use super::names::Name;
use super::repeat::Runs;
use super::row::Row;
use crate::exit::Failure;
use crate::output;

/// Runs each version again that has a settled and unexpected verdict.
///
/// # Errors
/// If the user interrupts. The version that was running again stays open.
pub fn confirm(rows: &mut [Row], names: &[Name], runs: &Runs) -> Result<(), Failure> {
    let id = runs.scenario.meta().id;
    for row in rows.iter_mut().filter(|row| row.is_unexpected()) {
        let Some(name) = names.iter().find(|name| name.shown == row.name()) else { continue };
        output::note(&format!(
            "matrix {id}: the verdict of {} was not expected; a fresh run checks whether it \
             repeats",
            name.shown
        ));
        // Pairs count from 1, so 0 gives a seed that no other run has.
        let words = (runs.whole)(runner::seed_of_trial(runs.seed, 0) >> 11);
        for fresh in (runs.run)(&[name.again()], &words)? {
            fresh.failure(runs.scenario.meta()).iter().for_each(|line| output::complain(line));
            row.add_fresh(&fresh);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::row::Result as Came;
    use super::*;
    use crate::exit;
    use model::State::{self, Affected, Inconclusive, NotAffected};
    use std::cell::RefCell;

    fn row(name: &str, state: State) -> Row {
        let mut record = crate::testing::affected_record();
        record.judgement.state = state;
        Row::of_kernel(name, "6.12.117", Came::Judged(Box::new(record)))
    }

    /// The row of a kernel that is expected to be affected, and of one that is not.
    fn rows(states: [State; 2]) -> Vec<Row> {
        let meta = scenarios::find("cpu-quota").unwrap().meta();
        let names = ["built:slices-expire", "built:plain"];
        names
            .into_iter()
            .zip(states)
            .map(|(name, state)| row(name, state).expecting(meta, &[]))
            .collect()
    }

    /// Confirms the rows with fresh runs that have this state. Returns the versions that ran
    /// again.
    fn confirmed(rows: &mut [Row], fresh: Result<State, ()>) -> (Result<(), Failure>, Vec<String>) {
        let name = |row: &Row| Name { asked: row.name().into(), shown: row.name().into() };
        let names: Vec<Name> = rows.iter().map(name).collect();
        let ran = RefCell::new(Vec::new());
        let run = |names: &[Name], _: &[String]| {
            ran.borrow_mut().extend(names.iter().map(|name| name.shown.clone()));
            let line = "interrupted".to_owned();
            let state = fresh.map_err(|()| Failure { line, code: exit::INTERRUPTED })?;
            Ok(names.iter().map(|name| row(&name.shown, state)).collect())
        };
        let scenario = scenarios::find("cpu-quota").unwrap();
        let words = |_| Vec::new();
        let runs = Runs { run: &run, scenario, seed: 1, fresh: &words, whole: &words };
        let ended = confirm(rows, &names, &runs);
        (ended, ran.into_inner())
    }

    #[test]
    fn only_an_unexpected_verdict_is_tried_again() {
        let mut all = rows([Affected, NotAffected]);
        assert!(confirmed(&mut all, Ok(Affected)).1.is_empty());
        let mut all = rows([Affected, Inconclusive]);
        assert!(confirmed(&mut all, Ok(Affected)).1.is_empty(), "undecided is open anyway");
        let mut all = rows([Affected, Affected]);
        assert_eq!(confirmed(&mut all, Ok(Affected)).1, ["built:plain, again"]);
        assert_eq!((all[0].met(), all[1].met()), (Some(true), Some(false)));
    }

    #[test]
    fn a_verdict_that_does_not_come_again_leaves_its_version_open() {
        for fresh in [NotAffected, Inconclusive] {
            let mut all = rows([Affected, Affected]);
            assert!(confirmed(&mut all, Ok(fresh)).0.is_ok());
            assert_eq!(all[1].met(), None, "{fresh:?}");
        }
        let mut all = rows([Affected, Affected]);
        assert!(confirmed(&mut all, Err(())).0.is_err());
        assert_eq!(all[1].met(), None);
    }
}
