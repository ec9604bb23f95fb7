//! Refuses records with names that would take too much memory.
//!
//! A judgement and a table repeat the names of a record: each effect of a study names its levels,
//! and each row of figures names its arm and its kernel. So a record of some megabytes could take
//! many gigabytes, if one of its names is long. This is checked before a record is judged.

use model::record::MOST_TEXT;
use model::{Factorial, Facts, Trial};
use std::iter::once;

/// The longest name in a record, in bytes.
const LONGEST: usize = 4 << 10;

/// The most bytes that the names of a record may take if they are repeated with each figure. In a
/// record of a study they take less than its text.
const MOST_REPEATED: usize = 2 * MOST_TEXT;

/// Why the names of a record would take too much memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum LongNames {
    /// One name is too long.
    #[error("a name in it is longer than {LONGEST} bytes; tailback writes no such name")]
    One,
    /// All names together are too long.
    #[error("its names are too long for its number of figures; tailback writes no such record")]
    Together,
}

/// Checks the names of a record.
///
/// # Errors
/// If they would take too much memory.
pub fn check_names(facts: &Facts) -> Result<(), LongNames> {
    let trials = facts.trials.iter().chain(&facts.wash_outs);
    let trials = trials.chain(facts.probed.iter().map(|probed| &probed.trial));
    let factorial = facts.factorial.iter().flat_map(of_factorial);
    let mut names = of_study(facts).chain(factorial).chain(trials.flat_map(of_trial));
    if names.any(|name| name.len() > LONGEST) {
        return Err(LongNames::One);
    }
    match repeated(facts) > MOST_REPEATED {
        true => Err(LongNames::Together),
        false => Ok(()),
    }
}

/// The names of the study and of its arms.
fn of_study(facts: &Facts) -> impl Iterator<Item = &str> {
    let plan = &facts.plan;
    let own = [&facts.scenario, &facts.started, &facts.machine.kernel];
    let arms = plan.arms.iter().flat_map(|arm| once(&arm.id).chain(&arm.against));
    let judged = once(&plan.judging).chain(&plan.also).map(|judging| &*judging.measure);
    own.into_iter().chain(arms).map(String::as_str).chain(judged)
}

/// The names of the factors and of their levels.
fn of_factorial(factorial: &Factorial) -> impl Iterator<Item = &str> {
    let factors = factorial.factors.iter().flat_map(|one| once(&one.name).chain(&one.levels));
    let cells = factorial.cells.iter().flat_map(|cell| once(&cell.arm).chain(&cell.levels));
    let found = factorial.found.iter().flat_map(|found| [&found.factor, &found.level]);
    let all = once(&factorial.name).chain(&factorial.control).chain(factors);
    all.chain(cells).chain(found).map(String::as_str)
}

/// The names in a trial.
fn of_trial(trial: &Trial) -> impl Iterator<Item = &str> {
    let seen = &trial.observation;
    let columns = seen.series.values().flat_map(|series| &series.columns);
    let figures = seen.measures.keys().chain(seen.latencies.keys()).chain(seen.series.keys());
    once(&trial.arm).chain(figures).chain(columns).map(String::as_str)
}

/// The bytes of the names that a table of all figures repeats.
fn repeated(facts: &Facts) -> usize {
    let always = [&facts.scenario, &facts.started, &facts.machine.kernel];
    let always: usize = always.into_iter().map(String::len).sum();
    let of_trial = |trial: &Trial| {
        // A trial without figures has a row too.
        let rows = trial.observation.measures.len().max(1);
        rows.saturating_mul(always.saturating_add(trial.arm.len()))
    };
    facts.trials.iter().map(of_trial).fold(0, usize::saturating_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::factorial::{Cell, Factor};
    use model::record::Probed;
    use model::testing::{facts, judging, plan, trial};
    use model::{Judging, Role, Series, Unit};

    fn study() -> Facts {
        let trials = vec![trial(0, "control", 1.0), trial(0, "case", 9.0)];
        facts("s", plan(&[("control", Role::Control), ("case", Role::Case)]), trials)
    }

    fn long() -> String {
        "x".repeat(LONGEST + 1)
    }

    #[test]
    fn a_name_that_is_repeated_is_not_long() {
        assert_eq!(check_names(&study()), Ok(()));
        let factor = || Factor { name: "busy".to_owned(), levels: vec![long()] };
        let cell = || Cell { arm: "case".to_owned(), levels: vec![long()] };
        let changes: [fn(&mut Facts); 8] = [
            |facts| facts.machine.kernel = long(),
            |facts| facts.plan.arms[1].id = long(),
            |facts| facts.plan.arms[1].against = Some(long()),
            |facts| facts.plan.also = vec![Judging { measure: long().into(), ..judging("lost") }],
            |facts| {
                let series = Series::new(Unit::Count, vec![long()]);
                facts.trials[0].observation.series = [("queued".to_owned(), series)].into();
            },
            |facts| {
                let trial = Trial { arm: long(), ..facts.trials[0].clone() };
                facts.probed = vec![Probed { trial, cost: Vec::new() }];
            },
            |facts| facts.factorial = Some(Factorial { control: vec![long()], ..<_>::default() }),
            |facts| facts.started = long(),
        ];
        for (place, change) in changes.into_iter().enumerate() {
            let mut changed = study();
            change(&mut changed);
            assert_eq!(check_names(&changed), Err(LongNames::One), "{place}");
        }
        for factorial in [
            Factorial { factors: vec![factor()], ..Factorial::default() },
            Factorial { cells: vec![cell()], ..Factorial::default() },
        ] {
            let changed = Facts { factorial: Some(factorial), ..study() };
            assert_eq!(check_names(&changed), Err(LongNames::One));
        }
    }

    #[test]
    fn names_that_each_figure_repeats_are_short_if_there_are_many_figures() {
        let mut many = study();
        let figure = many.trials[0].observation.measures["lost"];
        let figures = (0..40_000).map(|number| (number.to_string(), figure));
        many.trials[0].observation.measures = figures.collect();
        assert_eq!(check_names(&many), Ok(()));
        many.machine.kernel = "6".repeat(LONGEST);
        assert_eq!(check_names(&many), Err(LongNames::Together));
    }
}
