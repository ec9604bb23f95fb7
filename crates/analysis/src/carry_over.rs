//! Whether a trial leaves something behind for the next one.
//!
//! The random order of a block undoes drift, but not what a trial with the cause leaves behind. So
//! trials of a control that ran right after a case are held against those that ran after a control
//! or a baseline. Where a study washes out, the trials after a case are not judged, and they are
//! held against those that are.

use crate::blocks::{Study, measured};
use crate::reading::{Reading, ascending, middle};
use crate::superiority::brunner_munzel;
use model::reason::CarryOver;
use model::record::Plan;
use model::{Amount, Arm, ArmResult, Measure, Role, State, Trial, Unit};

/// Trials on either side, at least: with fewer nothing can be told.
const LEAST: usize = 4;

/// The p-value below which the difference is told. It is a caveat and no verdict, so it is not part
/// of the study's error rate; a caveat in one study of a hundred is no nuisance.
const SIGNIFICANT: f64 = 0.01;

/// A control that reads otherwise after a case than after a control; none where every case is
/// washed out before the next judged trial.
pub(crate) fn carry_over(plan: &Plan, trials: &[Trial], study: &Study) -> Option<CarryOver> {
    if plan.wash_out {
        return None;
    }
    study.controls.iter().find_map(|control| {
        let (after_case, otherwise) = of_control(plan, trials, control);
        differ(plan, &control.id, &after_case, &otherwise)
    })
}

/// What the wash-outs kept out of the verdict: a control that reads otherwise right after a case
/// than in the trials that are judged.
pub fn washed_out(plan: &Plan, trials: &[Trial], wash_outs: &[Trial]) -> Option<CarryOver> {
    let figures = |trials: &[Trial], control: &Arm| -> Vec<Measure> {
        let of_arm = trials.iter().filter(|trial| trial.arm == control.id);
        of_arm.filter_map(|trial| measured(trial, &plan.judging.measure).copied()).collect()
    };
    let controls = plan.arms.iter().filter(|arm| arm.role == Role::Control);
    controls.into_iter().find_map(|control| {
        differ(plan, &control.id, &figures(wash_outs, control), &figures(trials, control))
    })
}

/// What trials leave behind, where that may be all that an outcome of this state rests on: a
/// control that is made to look better by as much as its cases are worse, or one that is made to
/// look worse where nothing shows.
pub fn may_explain(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    state: State,
) -> Option<CarryOver> {
    let study = Study::of(plan, trials)?;
    let found = carry_over(plan, trials, &study)?;
    let less = found.otherwise.value - found.after_case.value;
    let is_left = |arm: &ArmResult| {
        let shift = arm.against_control.get(plan.judging.measure.as_ref());
        shift.is_some_and(|shift| shift.shift - less > plan.judging.margin)
    };
    let affected = |arm: &&ArmResult| arm.role == Role::Case && arm.state == Some(State::Affected);
    let explains = match state {
        State::Affected => less > 0.0 && !arms.iter().filter(affected).any(is_left),
        State::NotAffected => less < 0.0,
        _ => false,
    };
    explains.then_some(found)
}

/// The readings of a control right after a case, and those after a control or a baseline.
fn of_control(plan: &Plan, trials: &[Trial], control: &Arm) -> (Vec<Measure>, Vec<Measure>) {
    let role = |id: &str| plan.arms.iter().find(|arm| arm.id == id).map(|arm| arm.role);
    let mut in_order: Vec<&Trial> = trials.iter().collect();
    in_order.sort_by(|a, b| a.started_ms.total_cmp(&b.started_ms));
    let (mut after_case, mut after_control) = (Vec::new(), Vec::new());
    for pair in in_order.windows(2).filter(|pair| pair[1].arm == control.id) {
        let Some(measure) = measured(pair[1], &plan.judging.measure) else { continue };
        match role(&pair[0].arm) {
            Some(Role::Case) => after_case.push(*measure),
            Some(Role::Control | Role::Baseline) => after_control.push(*measure),
            _ => {}
        }
    }
    (after_case, after_control)
}

/// That readings of a control differ by more than the margin, and by more than chance.
fn differ(
    plan: &Plan,
    control: &str,
    after_case: &[Measure],
    otherwise: &[Measure],
) -> Option<CarryOver> {
    if after_case.len() < LEAST || otherwise.len() < LEAST {
        return None;
    }
    let unit = after_case.first().map_or(Unit::Ratio, |measure| measure.unit);
    let readings = |of: &[Measure]| of.iter().map(Reading::from).collect::<Vec<_>>();
    let (after_case, otherwise) = (readings(after_case), readings(otherwise));
    let p = brunner_munzel(&otherwise, &after_case, plan.judging.confidence)?.p_value?;
    let median = |readings: &[Reading]| middle(&ascending(readings.iter().map(|r| r.value)));
    let (after, other) = (median(&after_case)?, median(&otherwise)?);
    let matters = (after - other).abs() > plan.judging.margin;
    (p < SIGNIFICANT && matters).then(|| CarryOver {
        control: control.to_owned(),
        after_case: Amount::exact(after, unit),
        otherwise: Amount::exact(other, unit),
    })
}
