//! The verdict of a comparison.

use super::design::{Design, MOST_PAIRS, usual_pairs};
use super::figures::strongest;
use super::sides::{Named, Sides, judgings};
use crate::blocks::hangs;
use crate::quantile::count;
use model::change::{ChangeHeadline, ChangeReason, ChangeSuggestion, Purpose};
use model::{Basis, Change, ChangeState, Comparison, Difference, Role};

/// Sets the state, the headline, the reasons and the suggestions from the arms.
pub(super) fn judge(change: &mut Change, sides: &Sides, design: Design) {
    let state = strongest(change.arms.iter().filter_map(|arm| arm.state));
    let suggestion = suggestion(change, sides, state, &design);
    let claim = ChangeReason::Claim { error_rate: 1.0 - sides.confidence() };
    let others = [
        hung(change, sides),
        no_interval(change),
        one_sided(sides),
        control(change, sides),
        Some(claim),
    ];
    change.state = state;
    change.headline = headline(change, state);
    change.reasons = design.reasons.into_iter().chain(others.into_iter().flatten()).collect();
    change.suggestions = suggestion.into_iter().collect();
}

fn judged_differences(change: &Change) -> impl Iterator<Item = (&str, &str, &Difference)> {
    let cases = change.arms.iter().filter(|arm| arm.role == Role::Case);
    cases.flat_map(|arm| {
        let judged = arm.measures.iter().filter(|(_, difference)| difference.state.is_some());
        judged.map(|(name, difference)| (arm.id.as_str(), name.as_str(), difference))
    })
}

/// The largest change with the verdict that decided.
fn headline(change: &Change, state: ChangeState) -> ChangeHeadline {
    let largest = judged_differences(change)
        .filter(|(.., difference)| difference.state == Some(state))
        .max_by(|a, b| a.2.size().total_cmp(&b.2.size()));
    largest.map_or(ChangeHeadline::NoFigure, |(arm, measure, difference)| ChangeHeadline::Largest {
        arm: arm.to_owned(),
        measure: measure.to_owned(),
        difference: Box::new(difference.clone()),
    })
}

/// The arm whose share of trials that hung changed, the first if there are several.
fn hung(change: &Change, sides: &Sides) -> Option<ChangeReason> {
    let of_side = |side: &[Named], id: &str| {
        let counts = side.iter().map(|(record, _)| hangs(&record.trials, id));
        counts.fold((0, 0), |(hung, all), (more, of)| (hung + count(more), all + count(of)))
    };
    let cases = change.arms.iter().filter(|arm| arm.role == Role::Case);
    cases.map(|arm| arm.id.as_str()).find_map(|id| {
        let (before, after) = (of_side(sides.before, id), of_side(sides.after, id));
        let share = |(hung, all): (u32, u32)| f64::from(hung) / f64::from(all.max(1));
        (share(before) != share(after)).then(|| ChangeReason::Hung {
            arm: id.to_owned(),
            before,
            after,
        })
    })
}

/// Arms with the cause that not all records have.
fn one_sided(sides: &Sides) -> Option<ChangeReason> {
    let common = sides.common(Role::Case);
    let mut arms: Vec<String> = Vec::new();
    for (record, _) in sides.all() {
        let cases = record.plan.arms.iter().filter(|arm| arm.role == Role::Case);
        let others = cases.filter(|arm| !common.contains(&arm.id.as_str()));
        arms.extend(others.map(|arm| arm.id.clone()));
    }
    arms.sort_unstable();
    arms.dedup();
    (!arms.is_empty()).then_some(ChangeReason::OneSided { arms })
}

/// Arms with too little data for an interval.
fn no_interval(change: &Change) -> Option<ChangeReason> {
    let open = |d: &Comparison| d.low.is_none() && d.high.is_none();
    let mut arms: Vec<String> = judged_differences(change)
        .filter(|(.., d)| open(&d.comparison))
        .map(|(arm, ..)| arm.to_owned())
        .collect();
    arms.dedup();
    (!arms.is_empty()).then_some(ChangeReason::NoInterval { arms })
}

/// A control that changed by more than the margin. The change is subtracted, but it is still
/// reported.
fn control(change: &Change, sides: &Sides) -> Option<ChangeReason> {
    let ((first, _), _) = sides.first()?;
    let controls = change.arms.iter().filter(|arm| arm.role == Role::Control);
    controls.flat_map(|arm| judgings(first).into_iter().map(move |j| (arm, j))).find_map(
        |(arm, j)| {
            let shift = &arm.measures.get(j.measure.as_ref())?.comparison;
            let moved = shift.low.is_some_and(|low| low > j.margin)
                || shift.high.is_some_and(|high| high < -j.margin);
            moved.then(|| ChangeReason::ControlChanged {
                arm: arm.id.clone(),
                measure: j.measure.to_string(),
                shift: shift.clone(),
            })
        },
    )
}

fn suggestion(
    change: &Change,
    sides: &Sides,
    state: ChangeState,
    design: &Design,
) -> Option<ChangeSuggestion> {
    let usual = usual_pairs(design.needed);
    let pairs = |pairs, purpose| Some(ChangeSuggestion::MakePairs { pairs, purpose });
    match (state, change.basis) {
        (ChangeState::Differs, _) => pairs(usual, Purpose::Cause),
        (ChangeState::NoDifferenceShown, Basis::Blocks) => pairs(usual, Purpose::Detect),
        (ChangeState::NoDifferenceShown, Basis::Pairs) => {
            let more = 2 * design.pairs.all.len();
            // Above a hundred pairs there is no way to measure more precisely.
            (more <= MOST_PAIRS).then(|| pairs(usual.max(more), Purpose::Narrow)).flatten()
        }
        (ChangeState::Worse, _) => {
            // Without probes no cause can be named.
            let (_, name) = sides.after.iter().find(|(record, _)| !record.probed.is_empty())?;
            Some(ChangeSuggestion::Explain { record: (*name).to_owned() })
        }
        (ChangeState::Better | ChangeState::NotComparable, _) => None,
    }
}
