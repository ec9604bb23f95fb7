//! What the arms that should fix a stall did to it, in this very study.
//!
//! Two claims, each with a test of its own. *Less*: by the test that found the stall, in each block
//! random order alone says which of case and fix is the better trial, unless the fix does something.
//! *Gone*: of the blocks in which the case stalled, the fix left a stall in less than a quarter. Both
//! have to reach the same threshold, and the error rate is split over the fixes that were tried.

use crate::bet::GoneBet;
use crate::blocks::{Figure, Study, study_error_rate};
use crate::compare::compare;
use crate::proportion::proportion;
use crate::reading::Reading;
use model::record::Plan;
use model::{Arm, ArmResult, Comparison, Fix, FixOutcome, Role, State, Trial};

/// What is left of a block's stall that counts as gone, as part of what the case had there.
pub const MOST_LEFT: f64 = 0.1;

/// The fewest blocks after which a fix is given up that has not been called fixed.
const LEAST_BLOCKS: f64 = 6.0;

/// What each fix of an affected study did; nothing where no arm with the cause is affected.
///
/// `arms` are the estimates for the judged figure of `plan`.
pub fn fixes(plan: &Plan, trials: &[Trial], arms: &[ArmResult]) -> Vec<Fix> {
    let Some(study) = Study::of(plan, trials) else { return Vec::new() };
    study.fixes.iter().filter_map(|arm| fix(plan, trials, &study, arms, arm)).collect()
}

/// Whether more blocks could still call a fix fixed: it left little of the stall so far.
pub fn is_open(fix: &Fix) -> bool {
    let Some(gone) = fix.evidence_gone else { return false };
    let seen = fix.left.as_ref().map_or(0.0, |left| f64::from(left.of));
    // Once it is settled that the stall is gone, more blocks wait for nothing but `less`.
    let settled = fix.threshold.is_some_and(|threshold| gone >= threshold);
    !settled && (gone >= 1.0 || seen < LEAST_BLOCKS)
}

/// The affected arm that lost the most, among those with the same control as a fix: what stalls
/// elsewhere, as on another OTP, says nothing of it.
fn worst_case<'a>(
    plan: &Plan,
    study: &Study,
    arms: &'a [ArmResult],
    fix: &Arm,
) -> Option<&'a ArmResult> {
    let shift = |arm: &ArmResult| judged(plan, arm).map_or(0.0, |comparison| comparison.shift);
    let control = &study.control_of(fix).id;
    let same = |id: &str| {
        study.cases.iter().any(|case| case.id == id && study.control_of(case).id == *control)
    };
    arms.iter()
        .filter(|arm| arm.role == Role::Case && arm.state == Some(State::Affected))
        .filter(|arm| same(&arm.id))
        .max_by(|a, b| shift(a).total_cmp(&shift(b)))
}

fn judged<'a>(plan: &Plan, arm: &'a ArmResult) -> Option<&'a Comparison> {
    arm.against_control.get(plan.judging.measure.as_ref())
}

fn fix(plan: &Plan, trials: &[Trial], study: &Study, arms: &[ArmResult], arm: &Arm) -> Option<Fix> {
    let case = worst_case(plan, study, arms, arm)?;
    let result = arms.iter().find(|result| result.id == arm.id)?;
    let threshold = study.fixes.len() as f64 / study_error_rate(plan).max(1e-12);
    let less = evidence_less(plan, trials, &arm.id, &case.id);
    let gone = gone(plan, study, arm, &case.id);
    // A fix that leaves enough of a stall to be affected itself has not fixed it.
    let still = result.state == Some(State::Affected);
    let outcome = match (less >= threshold, gone.wealth() >= threshold && !still) {
        (true, true) => FixOutcome::Fixed,
        (true, false) => FixOutcome::Helped,
        (false, _) => FixOutcome::NotShown,
    };
    let (spared, left) = gone.counts();
    Some(Fix {
        arm: arm.id.clone(),
        change: arm.change.clone().unwrap_or_else(|| arm.id.clone()),
        outcome,
        case: case.id.clone(),
        measure: plan.judging.measure.to_string(),
        with: result.measures.clone(),
        without: case.measures.clone(),
        evidence_less: Some(less),
        evidence_gone: Some(gone.wealth()),
        threshold: Some(threshold),
        left: Some(proportion(left as u32, (spared + left) as u32, plan.judging.confidence)),
        comparison: comparison(plan, trials, &arm.id, &case.id),
    })
}

/// Evidence that the arm with the stall is worse than the fix.
fn evidence_less(plan: &Plan, trials: &[Trial], fix: &str, case: &str) -> f64 {
    let mut pair = plan.clone();
    pair.arms.retain(|arm| arm.id == fix || arm.id == case);
    for arm in &mut pair.arms {
        arm.role = if arm.id == fix { Role::Control } else { Role::Case };
        arm.against = None;
    }
    let study = Study::of(&pair, trials);
    study.map_or(1.0, |study| study.evidence(Figure::Plain).effect_of(0))
}

/// In which blocks with a stall the fix left one: more than the margin, and more than a tenth of what
/// the case had there. Both are held against the control of the fix in that block.
fn gone(plan: &Plan, study: &Study, fix: &Arm, case: &str) -> GoneBet {
    let margin = plan.judging.margin;
    let control = &study.control_of(fix).id;
    let mut bet = GoneBet::default();
    for block in &study.blocks {
        let value = |id: &str| block.get(id).map(|entry| entry.value);
        let (Some(control), Some(case), Some(fix)) = (value(control), value(case), value(&fix.id))
        else {
            continue;
        };
        let stall = case - control;
        if stall > margin {
            let left = fix - control;
            // A hang of the case is infinite; a tenth of it is no measure.
            let most = if stall.is_finite() { margin.max(MOST_LEFT * stall) } else { margin };
            bet.record(left > most || left.is_nan());
        }
    }
    bet
}

fn comparison(plan: &Plan, trials: &[Trial], fix: &str, case: &str) -> Option<Comparison> {
    let measure = plan.judging.measure.as_ref();
    let readings = |id: &str| {
        let of_arm = trials.iter().filter(|trial| trial.arm == id);
        let measures = of_arm.filter_map(|trial| crate::blocks::measured(trial, measure));
        measures.map(|m| (m.unit, Reading::from(m))).collect::<Vec<_>>()
    };
    let (with, without) = (readings(fix), readings(case));
    let unit = with.first()?.0;
    let values = |all: Vec<(model::Unit, Reading)>| {
        all.into_iter().filter(|(u, _)| *u == unit).map(|(_, reading)| reading).collect::<Vec<_>>()
    };
    compare(&values(without), &values(with), unit, plan.judging.confidence)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate_arms;
    use model::{Judging, Measure, Observation, Settings, Surroundings, Unit};

    fn plan() -> Plan {
        let arm = |id: &str, role| Arm {
            id: id.to_owned(),
            role,
            against: None,
            settings: Settings::default(),
            change: (role == Role::Fix).then(|| format!("+{id}")),
        };
        Plan {
            arms: vec![
                arm("control", Role::Control),
                arm("case", Role::Case),
                arm("good", Role::Fix),
                arm("half", Role::Fix),
                arm("vain", Role::Fix),
            ],
            seed: 1,
            min_blocks: 6,
            max_blocks: 6,
            stop_when_settled: false,
            error_rate: Some(0.05),
            settle_fixes: false,
            judging: Judging {
                measure: "lost".into(),
                margin: 1.0,
                control_limit: 50.0,
                wants_cpu: true,
                error_rate: 0.05,
                confidence: 0.95,
            },
            also: Vec::new(),
            left_out: Vec::new(),
        }
    }

    fn trial(block: u32, arm: &str, value: f64) -> Trial {
        let mut observation = Observation::default();
        let measure = Measure::exact(value, Unit::Milliseconds);
        observation.measures.insert("lost".to_owned(), measure);
        Trial {
            block,
            arm: arm.to_owned(),
            started_ms: 0.0,
            took_ms: 0.0,
            observation,
            surroundings: Surroundings::default(),
        }
    }

    fn outcomes(values: [f64; 5]) -> Vec<(String, FixOutcome)> {
        let plan = plan();
        let trials: Vec<Trial> = (0..16u32)
            .flat_map(|block| {
                let noise = f64::from(block % 3) * 0.1;
                let arm = |i: usize| trial(block, &plan.arms[i].id, values[i] + noise);
                (0..5).map(arm).collect::<Vec<_>>()
            })
            .collect();
        let arms = estimate_arms(&plan, &trials);
        let fixes = fixes(&plan, &trials, &arms);
        fixes.into_iter().map(|fix| (fix.change, fix.outcome)).collect()
    }

    #[test]
    fn a_fix_is_held_against_the_stall_and_against_the_control() {
        let outcomes = outcomes([0.0, 600.0, 0.5, 300.0, 600.5]);
        let words: Vec<&str> = outcomes.iter().map(|(_, outcome)| outcome.word()).collect();
        assert_eq!(words, ["fixed", "helped", "not shown to help"]);
        assert_eq!(outcomes[0].0, "+good");
    }

    #[test]
    fn without_a_stall_nothing_is_fixed() {
        assert_eq!(outcomes([0.0, 0.0, 0.0, 0.0, 0.0]), []);
    }
}
