//! Fresh runs of the versions between which the first ones differ.

use super::names::Name;
use super::row::Row;
use super::way::Way;
use crate::exit::Failure;
use crate::output;
use analysis::ladder::{Between, Repeating, to_repeat};
use model::ladder::{Ladder, Repeated, Spread};
use model::{Judged, Meta};
use scenarios::AnyScenario;

/// Pairs of a step that are made again at most, where one of them gave no figure.
const MADE_AGAIN: usize = 2;

/// The arms of a pair are its two versions.
const TWO: usize = 2;

/// What fresh runs are made with.
pub struct Runs<'a> {
    /// Where versions are run.
    pub way: &'a Way<'a>,
    /// The scenario.
    pub scenario: &'static dyn AnyScenario,
    /// The seed of the matrix.
    pub seed: u64,
    /// The words of a run with a seed of its own.
    pub fresh: &'a dyn Fn(u64) -> Vec<String>,
}

/// Runs the versions again between which the first runs differ, and says of each step what came of
/// it, and how much runs of one version differ.
///
/// # Errors
/// If the user interrupts; the records made until then were kept, and what they say is told.
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
    ladder.spread = analysis::ladder::spread(ladder, firsts(names, rows).chain(fresh));
    ended
}

/// How much the rows of one version differ.
pub fn spread(ladder: &Ladder, names: &[Name], rows: &[Row]) -> Option<Spread> {
    analysis::ladder::spread(ladder, firsts(names, rows))
}

/// The first runs, each with its version.
fn firsts<'a>(names: &'a [Name], rows: &'a [Row]) -> impl Iterator<Item = (&'a str, &'a Judged)> {
    rows.iter().filter_map(|row| {
        let name = names.iter().find(|name| name.shown == row.name())?;
        Some((name.asked.as_str(), row.record()?))
    })
}

/// Makes the pairs of a step, and says how that ended; none where its versions are not known.
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
        "matrix {}: {} | {} differ in the first runs; {needed} pairs of fresh runs say whether they \
         do again",
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

/// Runs both versions side by side, in random order; their records in the order given.
fn pair_of(two: [&Name; TWO], pair: usize, runs: &Runs) -> Result<[Option<Judged>; TWO], Failure> {
    let number = u32::try_from(pair).unwrap_or(u32::MAX);
    let order = runner::order_of_block(runs.seed, number, TWO);
    // A seed that JSON readers of every language keep whole is below 2^53.
    let words = (runs.fresh)(runner::seed_of_trial(runs.seed, number) >> 11);
    let names: Vec<Name> = order.iter().map(|place| two[*place].fresh(pair)).collect();
    let mut records: [Option<Judged>; TWO] = [None, None];
    for (place, row) in order.iter().zip(runs.way.rows(&names, runs.scenario, &words)?) {
        row.failure(runs.scenario.meta()).iter().for_each(|line| output::complain(line));
        records[*place] = row.into_record().ok();
    }
    Ok(records)
}
