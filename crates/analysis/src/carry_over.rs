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
/// than in the trials that are judged. What ran before a block is not known, so wash-outs where a
/// block begins have no part in it.
pub fn washed_out(plan: &Plan, trials: &[Trial], wash_outs: &[Trial]) -> Option<CarryOver> {
    let figures = |trials: &mut dyn Iterator<Item = &Trial>| -> Vec<Measure> {
        trials.filter_map(|trial| measured(trial, &plan.judging.measure).copied()).collect()
    };
    let is_case = |id: &str| plan.arms.iter().any(|arm| arm.id == id && arm.role == Role::Case);
    let after_case = |wash_out: &Trial| {
        let before = trials.iter().filter(|trial| {
            trial.block == wash_out.block && trial.started_ms < wash_out.started_ms
        });
        let last = before.max_by(|a, b| a.started_ms.total_cmp(&b.started_ms));
        last.is_some_and(|last| is_case(&last.arm))
    };
    let controls = plan.arms.iter().filter(|arm| arm.role == Role::Control);
    controls.into_iter().find_map(|control| {
        let of_arm = |trial: &&Trial| trial.arm == control.id;
        let washed = wash_outs.iter().filter(of_arm).filter(|trial| after_case(trial));
        let (mut washed, mut judged) = (washed, trials.iter().filter(of_arm));
        differ(plan, &control.id, &figures(&mut washed), &figures(&mut judged))
    })
}

/// What trials leave behind, where that may be all that an outcome of this state rests on: each
/// affected arm is worse than its control by no more than its control is made to look better, or
/// a control is made to look worse where nothing shows.
pub fn may_explain(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    state: State,
) -> Option<CarryOver> {
    if plan.wash_out {
        return None;
    }
    let study = Study::of(plan, trials)?;
    let of = |control: &Arm| {
        let (after_case, otherwise) = of_control(plan, trials, control);
        differ(plan, &control.id, &after_case, &otherwise)
    };
    let less = |found: &CarryOver| found.otherwise.value - found.after_case.value;
    let affected = |case: &&&Arm| {
        let result = arms.iter().find(|result| result.id == case.id);
        result.is_some_and(|result| result.state == Some(State::Affected))
    };
    match state {
        State::Affected => {
            let explained = study.cases.iter().filter(affected).map(|case| {
                let found = of(study.control_of(case)).filter(|found| less(found) > 0.0)?;
                let result = arms.iter().find(|result| result.id == case.id)?;
                let shift = result.against_control.get(plan.judging.measure.as_ref())?.shift;
                (shift - less(&found) <= plan.judging.margin).then_some(found)
            });
            explained.collect::<Option<Vec<CarryOver>>>()?.into_iter().next()
        }
        State::NotAffected => {
            let mut found = study.controls.iter().filter_map(|control| of(control));
            found.find(|found| less(found) < 0.0)
        }
        _ => None,
    }
}

/// The readings of a control right after a case, and those of which nothing says that a trial with
/// the cause ran right before. Where studies take turns, another one may have run before a block,
/// so only a trial of the same block is taken for the one right before.
fn of_control(plan: &Plan, trials: &[Trial], control: &Arm) -> (Vec<Measure>, Vec<Measure>) {
    let role = |id: &str| plan.arms.iter().find(|arm| arm.id == id).map(|arm| arm.role);
    let mut in_order: Vec<&Trial> = trials.iter().collect();
    in_order.sort_by(|a, b| a.started_ms.total_cmp(&b.started_ms));
    let (mut after_case, mut otherwise) = (Vec::new(), Vec::new());
    for pair in in_order.windows(2).filter(|pair| pair[1].arm == control.id) {
        let Some(measure) = measured(pair[1], &plan.judging.measure) else { continue };
        match role(&pair[0].arm) {
            Some(Role::Case) if pair[0].block == pair[1].block => after_case.push(*measure),
            Some(Role::Control | Role::Baseline) => otherwise.push(*measure),
            _ => {}
        }
    }
    (after_case, otherwise)
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
