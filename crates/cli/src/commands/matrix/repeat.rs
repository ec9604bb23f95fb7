//! Fresh runs of the versions whose first runs differ.

use super::names::Name;
use super::row::Row;
use crate::exit::Failure;
use crate::output;
use analysis::ladder::{Between, Repeating, add_spread, add_would_be_named, is_due, to_repeat};
use model::ladder::{Ladder, Repeated};
use model::{Judged, Meta};
use scenarios::AnyScenario;

/// Most pairs of a step that are made again because a run gave no figure.
const MADE_AGAIN: usize = 2;

/// The number of versions in a pair.
const TWO: usize = 2;

/// Runs versions side by side, each with these words. Returns their rows in the same order.
pub type RunSideBySide<'a> = dyn Fn(&[Name], &[String]) -> Result<Vec<Row>, Failure> + 'a;

/// The inputs of fresh runs.
pub struct Runs<'a> {
    /// Runs the versions.
    pub run: &'a RunSideBySide<'a>,
    /// The scenario.
    pub scenario: &'static dyn AnyScenario,
    /// The seed of the matrix.
    pub seed: u64,
    /// The words of a run in a pair, for a given seed.
    pub fresh: &'a dyn Fn(u64) -> Vec<String>,
    /// The words of a run until its verdict, for a given seed.
    pub whole: &'a dyn Fn(u64) -> Vec<String>,
}

/// Runs the versions again whose first runs differ. Adds the result to each step, and how much
/// runs of one version differ.
///
/// # Errors
/// If the user interrupts. The records so far are kept, and their results are added.
pub fn repeat(
    ladder: &mut Ladder,
    names: &[Name],
    rows: &[Row],
    runs: &Runs,
) -> Result<(), Failure> {
    let again = to_repeat(ladder);
    let mut all: Vec<(String, Judged)> = Vec::new();
    let mut ended = Ok(());
    for between in &again {
        if !is_due(ladder, *between) {
            continue;
        }
        let found = step(ladder, *between, again.len(), names, runs, &mut all);
        let Some((repeated, end)) = found else { continue };
        if let Some(step) = between.of_mut(ladder) {
            step.repeated = Some(repeated);
        }
        ended = end;
        if ended.is_err() {
            break;
        }
    }
    let fresh = all.iter().map(|(version, record)| (version.as_str(), record));
    add_spread(ladder, firsts(names, rows).chain(fresh));
    if ended.is_ok() {
        add_would_be_named(ladder);
    }
    ended
}

/// Adds to the ladder how much the rows of one version differ.
pub fn first_spread(ladder: &mut Ladder, names: &[Name], rows: &[Row]) {
    add_spread(ladder, firsts(names, rows));
}

/// The first runs, each with its version.
fn firsts<'a>(names: &'a [Name], rows: &'a [Row]) -> impl Iterator<Item = (&'a str, &'a Judged)> {
    rows.iter().filter_map(|row| {
        let name = names.iter().find(|name| name.shown == row.name())?;
        Some((name.asked.as_str(), row.record()?))
    })
}

/// Makes the pairs of a step. Returns the result and how the work ended; None if its versions are
/// not known.
fn step(
    ladder: &Ladder,
    between: Between,
    among: usize,
    names: &[Name],
    runs: &Runs,
    all: &mut Vec<(String, Judged)>,
) -> Option<(Repeated, Result<(), Failure>)> {
    let step = between.of(ladder)?;
    let named = |shown: &str| names.iter().find(|name| name.shown == shown);
    let (before, after) = named(&step.from).zip(named(&step.to))?;
    let meta: &Meta = runs.scenario.meta();
    let mut repeating = Repeating::new(ladder, between, among, Some(meta), Some("otp"))?;
    let needed = repeating.needed();
    output::note(&format!(
        "matrix {}: {} | {} differ in the first runs; {needed} pairs of fresh runs check whether \
         this repeats",
        meta.id, step.from, step.to
    ));
    let mut again = 0;
    for pair in 1.. {
        if repeating.is_over() {
            break;
        }
        let records = match pair_of([before, after], pair, runs) {
            Ok(records) => records,
            Err(failure) => return Some((repeating.end(), Err(failure))),
        };
        let told = match &records {
            [Some(before), Some(after)] => repeating.add(before, after),
            _ => false,
        };
        for (name, record) in [before, after].into_iter().zip(records) {
            all.extend(record.map(|record| (name.asked.clone(), record)));
        }
        if !told {
            again += 1;
            output::note(&format!("matrix {}: pair {pair} gave no figure", meta.id));
        }
        if again > MADE_AGAIN {
            break;
        }
    }
    Some((repeating.end(), Ok(())))
}

/// Runs both versions side by side, in random order. Returns their records in the order of `two`.
fn pair_of(two: [&Name; TWO], pair: usize, runs: &Runs) -> Result<[Option<Judged>; TWO], Failure> {
    let number = u32::try_from(pair).unwrap_or(u32::MAX);
    let order = runner::order_of_block(runs.seed, number, TWO);
    // The seed is below 2^53, because JSON readers of every language keep such a number exactly.
    let words = (runs.fresh)(runner::seed_of_trial(runs.seed, number) >> 11);
    let names: Vec<Name> = order.iter().map(|place| two[*place].fresh(pair)).collect();
    let mut records: [Option<Judged>; TWO] = [None, None];
    for (place, row) in order.iter().zip((runs.run)(&names, &words)?) {
        row.failure(runs.scenario.meta()).iter().for_each(|line| output::complain(line));
        records[*place] = row.into_record().ok();
    }
    Ok(records)
}

#[cfg(test)]
mod tests {
    use super::super::ladder;
    use super::super::row::Result as Came;
    use super::*;
    use crate::exit;
    use crate::testing::affected_record;
    use model::{Measure, Role};
    use std::cell::RefCell;

    /// The loss of the case in this version, in ms/s.
    fn lost(version: &str) -> f64 {
        if version == "new" { 300.0 } else { 100.0 }
    }

    /// A record in which the cases lose `lost` ms/s in every block, and the controls nothing.
    fn record(lost: f64) -> Judged {
        let mut facts = affected_record().facts;
        let (plan, trials) = (&facts.plan, &mut facts.trials);
        let measure = plan.judging.measure.as_ref();
        for trial in trials {
            let is_case = plan.arms.iter().any(|arm| arm.id == trial.arm && arm.role == Role::Case);
            trial.observation.hang = false;
            if let Some(read) = trial.observation.measures.get_mut(measure) {
                *read = Measure::exact(if is_case { lost } else { 0.0 }, read.unit);
            }
        }
        scenarios::judged(facts)
    }

    fn row(name: &str, version: &str) -> Row {
        Row::of_kernel(name, "", Came::Judged(Box::new(record(lost(version)))))
    }

    /// Repeats the step between two versions that differ. `run` gets the number of the call and
    /// returns the rows. Returns the result, how it ended, and the names of each call.
    fn repeated(
        run: impl Fn(usize, &[Name]) -> Result<Vec<Row>, Failure>,
    ) -> (Repeated, Result<(), Failure>, Vec<Vec<String>>) {
        let name = |text: &str| Name { asked: text.to_owned(), shown: text.to_owned() };
        let names = ["old", "new"].map(name);
        let rows = names.each_ref().map(|name| row(&name.shown, &name.asked));
        let scenario = scenarios::find("mmap-lock").unwrap();
        let mut found = ladder::of(&rows, scenario.meta());
        let calls = RefCell::new(Vec::new());
        let counted = |names: &[Name], _: &[String]| {
            let mut calls = calls.borrow_mut();
            calls.push(names.iter().map(|name| name.shown.clone()).collect::<Vec<String>>());
            run(calls.len(), names)
        };
        let words = |_| Vec::new();
        let runs = Runs { run: &counted, scenario, seed: 1, fresh: &words, whole: &words };
        let ended = repeat(&mut found, &names, &rows, &runs);
        let step = found.steps.remove(0);
        (step.repeated.unwrap(), ended, calls.take())
    }

    fn rows(names: &[Name]) -> Vec<Row> {
        names.iter().map(|name| row(&name.shown, &name.asked)).collect()
    }

    #[test]
    fn records_go_to_their_versions_whichever_ran_first() {
        let (repeated, ended, calls) = repeated(|_, names| Ok(rows(names)));
        assert!(ended.is_ok() && repeated.holds(), "{repeated:?}");
        assert_eq!(repeated.pairs, vec![200.0; repeated.needed]);
        let firsts: Vec<bool> = calls.iter().map(|names| names[0].starts_with("old")).collect();
        assert!(firsts.contains(&true) && firsts.contains(&false), "{calls:?}");
        assert!(calls[2].iter().all(|name| name.ends_with(", pair 3")), "{calls:?}");
    }

    #[test]
    fn a_pair_without_a_figure_is_made_again_twice_at_most() {
        let nothing = |name: &Name| Row::of_kernel(&name.shown, "", Came::Nothing("gone".into()));
        let (once, ended, calls) = repeated(|call, names| match call {
            2 => Ok(vec![nothing(&names[0]), row(&names[1].shown, &names[1].asked)]),
            _ => Ok(rows(names)),
        });
        assert!(ended.is_ok() && once.holds());
        assert_eq!(calls.len(), once.needed + 1);
        let (never, ended, calls) = repeated(|_, names| Ok(names.iter().map(nothing).collect()));
        assert!(ended.is_ok() && !never.holds());
        assert_eq!((never.pairs.len(), calls.len()), (0, 1 + MADE_AGAIN));
    }

    /// Neighbours that differ only in their first runs, and ends that differ in fresh runs too.
    #[test]
    fn the_ends_run_again_where_no_step_between_them_holds() {
        let name = |text: &str| Name { asked: text.to_owned(), shown: text.to_owned() };
        let names = ["first", "middle", "last"].map(name);
        let lost = |version: &str| match version {
            "first" => 100.0,
            _ => 300.0,
        };
        let of = |version: &str, lost: f64| {
            Row::of_kernel(version, "", Came::Judged(Box::new(record(lost))))
        };
        let rows = names.each_ref().map(|name| of(&name.shown, lost(&name.asked)));
        let scenario = scenarios::find("mmap-lock").unwrap();
        let mut found = ladder::of(&rows, scenario.meta());
        // In a pair of neighbours, the middle has the same result as the first version.
        let again = |names: &[Name], _: &[String]| {
            let ends = names.iter().any(|name| name.asked == "last");
            let lost = |name: &Name| if ends { lost(&name.asked) } else { 100.0 };
            Ok(names.iter().map(|name| of(&name.shown, lost(name))).collect())
        };
        let words = |_| Vec::new();
        let runs = Runs { run: &again, scenario, seed: 1, fresh: &words, whole: &words };
        assert!(repeat(&mut found, &names, &rows, &runs).is_ok());
        assert!(!found.steps[0].is_boundary() && found.steps[0].repeated.is_some());
        let ends = found.whole.as_ref().unwrap();
        assert!(ends.is_boundary(), "{ends:?}");
        assert_eq!(ends.repeated.as_ref().map(|repeated| repeated.among), Some(2));
    }

    #[test]
    fn an_interruption_keeps_the_pairs_that_were_made() {
        let (some, ended, _) = repeated(|call, names| match call {
            3 => Err(Failure { line: "interrupted".to_owned(), code: exit::INTERRUPTED }),
            _ => Ok(rows(names)),
        });
        assert!(ended.is_err() && !some.holds());
        assert_eq!(some.pairs, [200.0, 200.0]);
    }
}
