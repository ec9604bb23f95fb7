//! Whether a trial leaves something behind that affects the next trial.
//!
//! The random order of a block cancels drift, but it does not cancel what a trial with the cause
//! leaves behind. So trials of a control that ran right after a case are compared with trials
//! that ran after a control or a baseline. In a study with wash-outs, the trials right after a
//! case are not judged. They are compared with the judged trials.

use crate::blocks::{Study, measured};
use crate::reading::{Reading, ascending, middle};
use crate::superiority::{brunner_munzel, separated_p};
use model::reason::CarryOver;
use model::record::Plan;
use model::{Amount, Arm, ArmResult, Measure, Role, State, Trial, Unit};

/// Least number of trials on either side. With fewer trials nothing can be said.
const LEAST: usize = 4;

/// The p-value below which the difference is reported. It is a caveat and not a verdict, so it is
/// not part of the study's error rate.
///
/// The test is approximate for so few trials. Without an effect and without ties, this share of all
/// splits is below: none of 4 and 4 trials or of 4 and 5, 4.0% of 5 and 5, 3.8% of 4 and 6, 2.4% of
/// 6 and 6, 3.2% of 8 and 4. Fewer are reported, since the difference also has to exceed the
/// margin. Sides that do not overlap at all are below only from 5 and 5, or 4 and 6, on: their
/// p-value is that of the permutation test, two of all splits. No other sides take fewer trials,
/// see [`p_value`].
const SIGNIFICANT: f64 = 0.01;

/// A control whose figures after a case differ from its figures after a control or a baseline.
/// `None` if every case is washed out before the next judged trial.
pub(crate) fn carry_over(plan: &Plan, trials: &[Trial], study: &Study) -> Option<CarryOver> {
    if plan.wash_out {
        return None;
    }
    study.controls.iter().find_map(|control| {
        let (after_case, otherwise) = of_control(plan, trials, control);
        differ(plan, &control.id, &after_case, &otherwise)
    })
}

/// What the wash-outs kept out of the verdict: a control whose figures right after a case differ
/// from its judged figures. It is not known what ran before a block, so wash-outs at the start of
/// a block are left out.
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

/// What trials leave behind, if that alone may explain an outcome of this state. For `affected`:
/// the control is made to look better, and no affected arm is worse than its control by more than
/// that plus the margin. For `not-affected`: a control is made to look worse.
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

/// The readings of a control right after a case, and its readings right after a control or a
/// baseline. In studies that take turns, another study may have run a trial before a block. So
/// only a case of the same block counts as the one right before.
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

/// Whether the readings of a control differ by more than the margin and by more than chance.
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
    let p = p_value(&otherwise, &after_case, plan.judging.confidence)?;
    let median = |readings: &[Reading]| middle(&ascending(readings.iter().map(|r| r.value)));
    let (after, other) = (median(&after_case)?, median(&otherwise)?);
    let matters = (after - other).abs() > plan.judging.margin;
    (p < SIGNIFICANT && matters).then(|| CarryOver {
        control: control.to_owned(),
        after_case: Amount::exact(after, unit),
        otherwise: Amount::exact(other, unit),
    })
}

/// The p-value of the Brunner-Munzel test. It is not taken to be smaller than that of sides that do
/// not overlap at all. For sides that overlap, the test is approximate, and for few trials its
/// p-value may be smaller than that. The same holds for sides with readings that were cut off.
fn p_value(otherwise: &[Reading], after_case: &[Reading], confidence: f64) -> Option<f64> {
    let found = brunner_munzel(otherwise, after_case, confidence)?.p_value?;
    Some(found.max(separated_p(otherwise.len(), after_case.len())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::plan;

    fn is_reported(after_case: &[f64], otherwise: &[f64]) -> bool {
        let plan = plan(&[("control", Role::Control)]);
        let lost = |value: &f64| Measure::exact(*value, Unit::MillisecondsPerSecond);
        let [after_case, otherwise]: [Vec<Measure>; 2] =
            [after_case, otherwise].map(|side| side.iter().map(lost).collect());
        differ(&plan, "control", &after_case, &otherwise).is_some()
    }

    #[test]
    fn sides_that_overlap_take_no_fewer_trials_than_sides_that_do_not() {
        let (four, five) = ([0.0, 10.0, 20.0, 35.0], [0.0, 5.0, 10.0, 20.0, 35.0]);
        let apart = [40.0, 50.0, 60.0, 70.0, 80.0];
        assert!(!is_reported(&apart[..4], &four) && !is_reported(&apart[..4], &five));
        assert!(is_reported(&apart, &five));
        // One of all pairs is the other way round.
        let over = [30.0, 50.0, 60.0, 70.0, 80.0];
        assert!(!is_reported(&over[..4], &four) && !is_reported(&over[..4], &five));
        assert!(is_reported(&over, &five));
    }
}
