//! Whether a trial leaves something behind for the next one.
//!
//! The random order of a block undoes drift, but not what a trial with the cause leaves behind. So
//! trials of a control that ran right after a case are held against those that ran after a control
//! or a baseline.

use crate::blocks::{Study, measured};
use crate::reading::{Reading, ascending, middle};
use crate::superiority::brunner_munzel;
use model::record::Plan;
use model::{Amount, Arm, Caveat, Role, Trial, Unit};

/// Trials on either side, at least: with fewer nothing can be told.
const LEAST: usize = 4;

/// The p-value below which the difference is told. It is a caveat and no verdict, so it is not part
/// of the study's error rate; a caveat in one study of a hundred is no nuisance.
const SIGNIFICANT: f64 = 0.01;

/// A control that reads otherwise after a case than after a control.
pub(crate) fn carry_over(plan: &Plan, trials: &[Trial], study: &Study) -> Option<Caveat> {
    study.controls.iter().find_map(|control| of_control(plan, trials, control))
}

fn of_control(plan: &Plan, trials: &[Trial], control: &Arm) -> Option<Caveat> {
    let role = |id: &str| plan.arms.iter().find(|arm| arm.id == id).map(|arm| arm.role);
    let mut in_order: Vec<&Trial> = trials.iter().collect();
    in_order.sort_by(|a, b| a.started_ms.total_cmp(&b.started_ms));
    let (mut after_case, mut after_control) = (Vec::new(), Vec::new());
    let mut unit = Unit::Ratio;
    for pair in in_order.windows(2).filter(|pair| pair[1].arm == control.id) {
        let Some(measure) = measured(pair[1], &plan.judging.measure) else { continue };
        unit = measure.unit;
        match role(&pair[0].arm) {
            Some(Role::Case) => after_case.push(Reading::from(measure)),
            Some(Role::Control | Role::Baseline) => after_control.push(Reading::from(measure)),
            _ => {}
        }
    }
    if after_case.len() < LEAST || after_control.len() < LEAST {
        return None;
    }
    let p = brunner_munzel(&after_control, &after_case, plan.judging.confidence)?.p_value?;
    let median = |readings: &[Reading]| middle(&ascending(readings.iter().map(|r| r.value)));
    let (case, other) = (median(&after_case)?, median(&after_control)?);
    let matters = (case - other).abs() > plan.judging.margin;
    (p < SIGNIFICANT && matters).then(|| Caveat::CarryOver {
        control: control.id.clone(),
        after_case: Amount::exact(case, unit),
        otherwise: Amount::exact(other, unit),
    })
}
