//! The verdict on a difference, in words.

use super::{Change, ChangeState, Difference, MOST_TRIALS, Record, Role, judgings, shift};
use crate::words::percent;
use model::ArmChange;

/// Fills in state, headline and grounds from the arms.
pub(super) fn judge(change: &mut Change, before: &Record, after: &Record) {
    let judged: Vec<&str> = judgings(before).into_iter().map(|j| j.measure.as_ref()).collect();
    let found = |wanted: ChangeState| {
        change.arms.iter().any(|arm| arm.role == Role::Case && arm.state == Some(wanted))
    };
    let state = match (found(ChangeState::Worse), found(ChangeState::Better)) {
        (true, _) => ChangeState::Worse,
        (_, true) => ChangeState::Better,
        _ => ChangeState::NoDifferenceShown,
    };
    let sentences: Vec<String> =
        judged_differences(change).map(|(arm, name, d)| sentence(arm, name, d)).collect();
    let headline = headline(change, state);
    let mut because = sentences;
    because.extend(control(change, &judged));
    because.extend(unbounded(change).map(|arm| {
        format!("Of {arm} there are too few trials for an interval; nothing is said about it.")
    }));
    let many = |arm: &&ArmChange| {
        arm.measures.values().any(|d| d.before.trials.max(d.after.trials) as usize == MOST_TRIALS)
    };
    because.extend(
        change
            .arms
            .iter()
            .find(many)
            .map(|_| format!("Of an arm with more trials the first {MOST_TRIALS} are compared.")),
    );
    because.push(format!(
        "An interval wholly beyond the margin of {} is called worse or better; over all of them the \
         confidence is {}.",
        margins(before),
        percent(before.plan.judging.confidence)
    ));
    because.push(
        "The two records were not made in turns, so whatever else changed on the machine between them \
         is part of the difference. Each was ended by its own verdict, which can shift its figures a \
         little."
            .to_owned(),
    );
    if state == ChangeState::NoDifferenceShown {
        let trials = [before, after].map(|record| record.trials.len());
        change.next = vec![format!(
            "None shown is not the same as none: with {} and {} trials a small one can hide. More \
             blocks narrow the interval: run both again with --samples 24.",
            trials[0], trials[1]
        )];
    }
    (change.state, change.headline, change.because) = (state, headline, because);
}

fn judged_differences(change: &Change) -> impl Iterator<Item = (&str, &str, &Difference)> {
    let cases = change.arms.iter().filter(|arm| arm.role == Role::Case);
    cases.flat_map(|arm| {
        let judged = arm.measures.iter().filter(|(_, difference)| difference.state.is_some());
        judged.map(|(name, difference)| (arm.id.as_str(), name.as_str(), difference))
    })
}

fn sentence(arm: &str, name: &str, difference: &Difference) -> String {
    let state = difference.state.unwrap_or(ChangeState::NoDifferenceShown).word().replace('-', " ");
    let chance = percent(difference.comparison.superiority);
    format!(
        "{arm}: {name} {}, then {}: changed by {}; a trial of the second is higher than one of the \
         first with a chance of {chance}: {state}.",
        difference.before,
        difference.after,
        shift(&difference.comparison)
    )
}

/// The largest change of the kind that decided, in a sentence.
fn headline(change: &Change, state: ChangeState) -> String {
    let of_state = judged_differences(change).filter(|(.., d)| d.state == Some(state));
    let largest =
        of_state.max_by(|a, b| a.2.comparison.shift.abs().total_cmp(&b.2.comparison.shift.abs()));
    match (state, largest) {
        (ChangeState::Worse | ChangeState::Better, Some((arm, name, difference))) => format!(
            "The second record is {}: {name} of {arm} was {}, then {}; changed by {}.",
            state.word(),
            difference.before,
            difference.after,
            shift(&difference.comparison)
        ),
        _ => {
            let widest = judged_differences(change)
                .max_by(|a, b| a.2.comparison.shift.abs().total_cmp(&b.2.comparison.shift.abs()));
            let words = widest.map_or_else(String::new, |(arm, name, difference)| {
                format!(
                    ": the largest change is that of {name} in {arm}, {}",
                    shift(&difference.comparison)
                )
            });
            format!("No difference beyond the margin is shown between the two records{words}.")
        }
    }
}

/// The control has no cause to stall: where it changed, the machine did.
fn control(change: &Change, judged: &[&str]) -> Vec<String> {
    let controls = change.arms.iter().filter(|arm| arm.role == Role::Control);
    let moved = |(name, difference): (&String, &Difference)| {
        let comparison = &difference.comparison;
        let apart =
            comparison.low.is_some_and(|low| low > 0.0) || comparison.high.is_some_and(|h| h < 0.0);
        (apart && judged.contains(&name.as_str())).then(|| {
            format!(
                "The control, which has no cause to stall, changed too: {name} by {}; so the machine or \
                 what else ran on it is not the same.",
                shift(comparison)
            )
        })
    };
    controls.flat_map(|arm: &ArmChange| arm.measures.iter().filter_map(moved)).collect()
}

fn unbounded(change: &Change) -> impl Iterator<Item = &str> {
    let open = |(arm, _, d): (_, &str, &Difference)| {
        (d.comparison.low.is_none() && d.comparison.high.is_none()).then_some(arm)
    };
    judged_differences(change).filter_map(open)
}

fn margins(record: &Record) -> String {
    let margins = judgings(record).into_iter().map(|judging| {
        let unit = record.arms.iter().find_map(|arm| arm.measures.get(judging.measure.as_ref()));
        let unit = unit.map_or("", |estimate| estimate.unit.symbol());
        format!("{} {unit} in {}", crate::words::number(judging.margin), judging.measure)
    });
    margins.collect::<Vec<String>>().join(" and ")
}
