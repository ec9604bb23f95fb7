//! What the arms that should mend a stall did to it, in this very study.
//!
//! A fix is held against the arm with the stall by the same test that found the stall: in each block
//! the lot alone says which of the two is the better trial, unless the fix does something. Each fix
//! is judged by itself at the study's error rate; nothing is corrected for their number.

use crate::blocks::{Study, threshold};
use crate::compare::compare;
use crate::reading::Reading;
use model::record::Plan;
use model::{Arm, ArmResult, Comparison, Fix, FixOutcome, Role, State, Trial};

/// What is left of a stall that counts as mended, as part of what it was.
pub const MOST_LEFT: f64 = 0.1;

/// What each fix of an affected study did; nothing where no arm with the cause is affected.
///
/// `arms` are the estimates for the judged figure of `plan`.
pub fn fixes(plan: &Plan, trials: &[Trial], arms: &[ArmResult]) -> Vec<Fix> {
    let Some(case) = worst_case(plan, arms) else { return Vec::new() };
    let fixes = plan.arms.iter().filter(|arm| arm.role == Role::Fix);
    fixes.filter_map(|arm| fix(plan, trials, arms, arm, case)).collect()
}

/// The affected arm that lost the most.
fn worst_case<'a>(plan: &Plan, arms: &'a [ArmResult]) -> Option<&'a ArmResult> {
    let shift = |arm: &ArmResult| judged(plan, arm).map_or(0.0, |comparison| comparison.shift);
    arms.iter()
        .filter(|arm| arm.role == Role::Case && arm.state == Some(State::Affected))
        .max_by(|a, b| shift(a).total_cmp(&shift(b)))
}

fn judged<'a>(plan: &Plan, arm: &'a ArmResult) -> Option<&'a Comparison> {
    arm.against_control.get(plan.judging.measure.as_ref())
}

fn fix(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    arm: &Arm,
    case: &ArmResult,
) -> Option<Fix> {
    let result = arms.iter().find(|result| result.id == arm.id)?;
    let better = is_better(plan, trials, &arm.id, &case.id);
    let outcome = match better {
        true if is_gone(plan, result, case) => FixOutcome::Fixed,
        true => FixOutcome::Helped,
        false => FixOutcome::NotShown,
    };
    Some(Fix {
        arm: arm.id.clone(),
        change: arm.change.clone().unwrap_or_else(|| arm.id.clone()),
        outcome,
        case: case.id.clone(),
        measure: plan.judging.measure.to_string(),
        with: result.measures.clone(),
        without: case.measures.clone(),
        comparison: comparison(plan, trials, &arm.id, &case.id),
    })
}

/// Whether the arm with the stall is worse than the fix beyond doubt.
fn is_better(plan: &Plan, trials: &[Trial], fix: &str, case: &str) -> bool {
    let mut pair = plan.clone();
    pair.arms.retain(|arm| arm.id == fix || arm.id == case);
    for arm in &mut pair.arms {
        arm.role = if arm.id == fix { Role::Control } else { Role::Case };
    }
    let study = Study::of(&pair, trials);
    study.is_some_and(|study| study.evidence().effect_of(0) >= threshold(plan))
}

/// Whether little or nothing is left of the stall.
fn is_gone(plan: &Plan, fix: &ArmResult, case: &ArmResult) -> bool {
    let (Some(left), Some(was)) = (judged(plan, fix), judged(plan, case)) else { return false };
    let most = (was.shift * MOST_LEFT).max(plan.judging.margin);
    fix.hangs.count == 0 && left.shift <= most
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
        let trials: Vec<Trial> = (0..8u32)
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
        let outcomes = outcomes([0.0, 600.0, 2.0, 300.0, 600.5]);
        let words: Vec<&str> = outcomes.iter().map(|(_, outcome)| outcome.word()).collect();
        assert_eq!(words, ["mended", "helped", "not shown to help"]);
        assert_eq!(outcomes[0].0, "+good");
    }

    #[test]
    fn without_a_stall_nothing_is_mended() {
        assert_eq!(outcomes([0.0, 0.0, 0.0, 0.0, 0.0]), []);
    }
}
