//! The verdict on a difference, in words.

use super::design::Design;
use super::figures::strongest;
use super::sides::{Sides, judgings};
use crate::words::{figure, number, percent, shift};
use model::{Basis, Change, ChangeState, Comparison, Difference, Estimate, Role};

/// Fills in state, headline, grounds and next steps from the arms.
pub(super) fn judge(change: &mut Change, sides: &Sides, design: Design) {
    let state = strongest(change.arms.iter().filter_map(|arm| arm.state));
    let because = [
        design.limit.clone(),
        unbounded(change),
        control(change, sides),
        Some(claim(change, sides)),
    ];
    change.state = state;
    change.headline = headline(change, state);
    change.because = because.into_iter().flatten().collect();
    change.next = next(change, sides, state, &design).into_iter().collect();
}

fn judged_differences(change: &Change) -> impl Iterator<Item = (&str, &str, &Difference)> {
    let cases = change.arms.iter().filter(|arm| arm.role == Role::Case);
    cases.flat_map(|arm| {
        let judged = arm.measures.iter().filter(|(_, difference)| difference.state.is_some());
        judged.map(|(name, difference)| (arm.id.as_str(), name.as_str(), difference))
    })
}

/// The largest change of the kind that decided, in a sentence.
fn headline(change: &Change, state: ChangeState) -> String {
    let size = |d: &Difference| d.comparison.shift.abs();
    let largest = judged_differences(change)
        .filter(|(.., difference)| difference.state == Some(state))
        .max_by(|a, b| size(a.2).total_cmp(&size(b.2)));
    let words = largest.map(|(arm, name, difference)| sentence(arm, name, difference));
    let words = words.unwrap_or_else(|| "no judged figure is in all records".to_owned());
    let records = format!("{} records before, {} after", change.before.len(), change.after.len());
    match state {
        ChangeState::Worse => format!("It is worse after the change: {words}; {records}."),
        ChangeState::Better => format!("It is better after the change: {words}; {records}."),
        ChangeState::Differs => format!(
            "These runs differ: {words}. Whether the change did that, or something else that was not \
             the same in these runs, cannot be told."
        ),
        ChangeState::NoDifferenceShown | ChangeState::NotComparable => {
            format!("No difference beyond the margin is shown; the largest: {words}.")
        }
    }
}

fn sentence(arm: &str, name: &str, difference: &Difference) -> String {
    let over = difference.over.as_ref().map_or_else(String::new, |over| format!(" over {over}"));
    format!(
        "{name} of {arm}{over} was {}, then {}, changed by {}",
        median(&difference.before),
        median(&difference.after),
        shift(&difference.comparison)
    )
}

fn median(estimate: &Estimate) -> String {
    let at_least = if estimate.median_at_least { "at least " } else { "" };
    format!("{at_least}{}", figure(estimate.median, estimate.unit))
}

/// Arms of which too little is known for an interval.
fn unbounded(change: &Change) -> Option<String> {
    let open = |d: &Comparison| d.low.is_none() && d.high.is_none();
    let mut arms: Vec<&str> = judged_differences(change)
        .filter(|(.., d)| open(&d.comparison))
        .map(|(arm, ..)| arm)
        .collect();
    arms.dedup();
    let counted = match change.basis {
        Basis::Blocks => "blocks",
        Basis::Records => "records",
    };
    (!arms.is_empty()).then(|| {
        format!(
            "Of {} there are too few {counted} for an interval, or too many were cut off; nothing is \
             said about it.",
            arms.join(", ")
        )
    })
}

/// A change of a control by more than matters. It is subtracted, and still good to know.
fn control(change: &Change, sides: &Sides) -> Option<String> {
    let ((first, _), _) = sides.first()?;
    let controls = change.arms.iter().filter(|arm| arm.role == Role::Control);
    controls.flat_map(|arm| judgings(first).into_iter().map(move |j| (arm, j))).find_map(|(arm, j)| {
        let comparison = &arm.measures.get(j.measure.as_ref())?.comparison;
        let moved = comparison.low.is_some_and(|low| low > j.margin)
            || comparison.high.is_some_and(|high| high < -j.margin);
        moved.then(|| {
            format!(
                "{}, which has no cause to stall, changed too: {} by {}. That is a change of the machine; \
                 it is subtracted.",
                arm.id,
                j.measure,
                shift(comparison)
            )
        })
    })
}

/// What the words claim, and with which error.
fn claim(change: &Change, sides: &Sides) -> String {
    let claimed = match change.basis {
        Basis::Blocks => "differs",
        Basis::Records => "worse or better",
    };
    format!(
        "An interval wholly beyond the margin of {} is called {claimed}; over all judged figures \
         together that is wrong in at most {}.",
        margins(change, sides),
        percent(1.0 - sides.confidence())
    )
}

fn margins(change: &Change, sides: &Sides) -> String {
    let judgings = sides.first().map_or_else(Vec::new, |((first, _), _)| judgings(first));
    let margins = judgings.into_iter().map(|judging| {
        let found = change.arms.iter().find_map(|arm| arm.measures.get(judging.measure.as_ref()));
        let margin = found.map_or_else(
            || number(judging.margin),
            |found| figure(judging.margin, found.before.unit),
        );
        format!("{margin} in {}", judging.measure)
    });
    margins.collect::<Vec<String>>().join(" and ")
}

fn next(change: &Change, sides: &Sides, state: ChangeState, design: &Design) -> Option<String> {
    let many = design.needed.max(sides.before.len()).max(sides.after.len());
    let turns = |many: usize| {
        format!(
            "make {many} records of each in turns (before, after, before, after, ..), then tailback \
             compare --before before*.json --after after*.json"
        )
    };
    match (state, change.basis) {
        (ChangeState::Differs, _) => Some(format!("To tell what did it, {}", turns(many))),
        (ChangeState::NoDifferenceShown, Basis::Blocks) => Some(format!(
            "None shown is not the same as none: a small one can hide in few blocks. To look closer, {}",
            turns(many)
        )),
        (ChangeState::NoDifferenceShown, Basis::Records) => Some(format!(
            "None shown is not the same as none. More records narrow the interval: {}",
            turns(2 * many)
        )),
        (ChangeState::Worse, _) => Some(
            "To see who held up whom, run tailback explain on one of the records after.".to_owned(),
        ),
        (ChangeState::Better | ChangeState::NotComparable, _) => None,
    }
}
