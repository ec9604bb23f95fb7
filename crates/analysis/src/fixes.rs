//! The effect of each fix on a stall, in the same study.
//!
//! There are two claims, and each has its own test. *Less* uses the test that found the stall: if
//! the fix has no effect, random order alone decides which of case and fix is the better trial in
//! a block. *Gone* claims that the fix left a stall in less than 15% of the blocks in which the
//! case stalled.
//!
//! *Fixed* covers everything that is affected and that the fix is meant for: every arm with the
//! same control, by every judged figure. The same trials show which of them are affected. That is
//! a choice by the data, and [`to_be_fixed`] computes its cost. The error rate is split over the
//! fixes.

use crate::arms::estimate_arms;
use crate::bet::GoneBet;
use crate::blocks::{Figure, Study, affected_error_rate, beside};
use crate::compare::compare;
use crate::proportion::proportion;
use crate::reading::Reading;
use model::record::Plan;
use model::{Arm, ArmResult, Changed, Comparison, Fix, FixOutcome, Role, State, Trial};

/// The part of a case's stall in a block up to which the stall counts as gone.
pub const MOST_LEFT: f64 = 0.1;

/// Least number of trials of a fix, or of blocks in which it was compared with a stall, before
/// anything is said against it.
pub const FEWEST: u32 = 6;

/// A judged figure: the plan that is judged by it, and the results of the arms by it.
struct ByFigure {
    plan: Plan,
    arms: Vec<ArmResult>,
}

/// An arm with the cause that is affected by a figure, and the effect of a fix on that.
struct Tested<'a> {
    figure: &'a ByFigure,
    case: &'a ArmResult,
    less: f64,
    gone: GoneBet,
}

/// The effect of each fix of an affected study; empty if no arm with the cause is affected.
///
/// `arms` are the results of the arms by the figure that `decided`.
pub fn fixes(plan: &Plan, trials: &[Trial], arms: &[ArmResult], decided: &str) -> Vec<Fix> {
    let Some(study) = Study::of(plan, trials) else { return Vec::new() };
    if study.fixes.is_empty() {
        return Vec::new();
    }
    let figures = by_figure(plan, trials, arms, decided);
    study.fixes.iter().filter_map(|arm| fix(trials, &study, &figures, plan, arm)).collect()
}

/// All judged figures, with the deciding figure first.
fn by_figure(plan: &Plan, trials: &[Trial], arms: &[ArmResult], decided: &str) -> Vec<ByFigure> {
    let all = std::iter::once(&plan.judging).chain(&plan.also);
    let by = |judging: &model::Judging| {
        let plan = Plan { judging: judging.clone(), ..plan.clone() };
        let arms = match judging.measure == decided {
            true => arms.to_vec(),
            false => estimate_arms(&plan, trials),
        };
        ByFigure { plan, arms }
    };
    let mut figures: Vec<ByFigure> = all.map(by).collect();
    figures.sort_by_key(|figure| figure.plan.judging.measure != decided);
    figures
}

/// Whether more blocks could still show that a fix helps, or that it fixes the stall because it
/// left little of it so far.
pub fn is_open(fix: &Fix) -> bool {
    let promising = fix.e_value_less.is_some_and(|less| less > 1.0);
    fix.outcome == FixOutcome::NotShown && promising || could_be_fixed(fix)
}

fn could_be_fixed(fix: &Fix) -> bool {
    let Some(gone) = fix.e_value_gone else { return false };
    let seen = fix.left.as_ref().map_or(0.0, |left| f64::from(left.of));
    // When "gone" is settled, more blocks can only settle `less`.
    let settled = fix.threshold.is_some_and(|threshold| gone >= threshold);
    !settled && (gone >= 1.0 || seen < f64::from(FEWEST))
}

/// The wealth that each of the `affected` stalls needs before a fix is called fixed. `all` is the
/// number that could have been affected, and a single one would need `wealth`.
///
/// The affected stalls were picked by the same trials that test the fix. Suppose that the fix
/// fails for `m` of all. If `fixed` is wrong, at least `max(1, m - (all - affected))` of these
/// are among the affected ones and have this wealth. Together that is `m * wealth` or more, so
/// the mean over the `m` is `wealth` or more. That mean is itself a wealth. So the probability of
/// this event is at most the probability that belongs to `wealth`, however the affected ones were
/// picked and whenever the study stopped. (The mean is a merged e-value and this is its closed
/// test: Vovk and Wang 2021, Annals of Statistics 49, 1736-1754. The idea of a count that falls
/// with each refutation: Holm 1979, Scandinavian Journal of Statistics 6, 65-70.)
fn to_be_fixed(all: usize, affected: usize, wealth: f64) -> f64 {
    let others = all.saturating_sub(affected);
    (others as f64 + 1.0) * wealth
}

/// The affected stalls that a fix is meant for, with the deciding figure and the largest stall
/// first, and the number that could have been affected. An arm with another control, such as
/// another OTP, stalls elsewhere and shows nothing about this fix.
fn tested<'a>(
    trials: &[Trial],
    study: &Study,
    figures: &'a [ByFigure],
    fix: &Arm,
) -> (Vec<Tested<'a>>, usize) {
    let control = &study.control_of(fix).id;
    let meant = |arm: &ArmResult| {
        let of_control = |case: &&&Arm| study.control_of(case).id == *control;
        study.cases.iter().filter(of_control).any(|case| case.id == arm.id)
    };
    let (mut found, mut all) = (Vec::new(), 0);
    for figure in figures {
        let mut cases: Vec<&ArmResult> = figure.arms.iter().filter(|arm| meant(arm)).collect();
        all += cases.len();
        cases.retain(|arm| arm.state == Some(State::Affected));
        cases.sort_by(|a, b| shift(figure, b).total_cmp(&shift(figure, a)));
        found.extend(cases.into_iter().filter_map(|case| test(trials, figure, case, fix)));
    }
    (found, all)
}

fn shift(figure: &ByFigure, arm: &ArmResult) -> f64 {
    let judged = arm.against_control.get(figure.plan.judging.measure.as_ref());
    judged.map_or(0.0, |comparison| comparison.shift)
}

fn test<'a>(
    trials: &[Trial],
    figure: &'a ByFigure,
    case: &'a ArmResult,
    fix: &Arm,
) -> Option<Tested<'a>> {
    let study = Study::of(&figure.plan, trials)?;
    let less = e_value_less(&figure.plan, trials, &fix.id, &case.id);
    let gone = gone(&figure.plan, &study, fix, &case.id);
    Some(Tested { figure, case, less, gone })
}

fn fix(
    trials: &[Trial],
    study: &Study,
    figures: &[ByFigure],
    plan: &Plan,
    arm: &Arm,
) -> Option<Fix> {
    let (tested, all) = tested(trials, study, figures, arm);
    let result = figures.first()?.arms.iter().find(|result| result.id == arm.id)?;
    let one = study.fixes.len() as f64 / affected_error_rate(plan).max(1e-12);
    let threshold = to_be_fixed(all, tested.len(), one);
    let least = |wealth: fn(&Tested) -> f64| tested.iter().map(wealth).reduce(f64::min);
    let (least_less, least_gone) = (least(|one| one.less)?, least(|one| one.gone.wealth())?);
    let all_less = least_less >= threshold;
    // A fix that helped with only one of the stalls must stand out among all that could have been
    // affected.
    let alone = tested.iter().find(|tested| tested.less >= to_be_fixed(all, 1, one));
    let outcome = match (all_less, least_gone >= threshold && !stalls(figures, arm), alone) {
        (true, true, _) => FixOutcome::Fixed,
        (true, false, _) | (false, _, Some(_)) => FixOutcome::Helped,
        (false, _, None) => FixOutcome::NotShown,
    };
    let shown = alone.filter(|_| !all_less).or(tested.first())?;
    let worst = tested.iter().min_by(|a, b| a.gone.wealth().total_cmp(&b.gone.wealth()))?;
    let (spared, left) = worst.gone.counts();
    let by = &shown.figure.plan;
    Some(Fix {
        arm: arm.id.clone(),
        change: arm.change.clone().unwrap_or_else(|| Changed::Said(arm.id.clone())),
        outcome,
        case: shown.case.id.clone(),
        measure: by.judging.measure.to_string(),
        with: result.measures.clone(),
        without: shown.case.measures.clone(),
        e_value_less: Some(if all_less { least_less } else { shown.less }),
        e_value_gone: Some(least_gone),
        threshold: Some(threshold),
        left_at_most: Some(worst.gone.left_at_most(threshold)),
        left: Some(proportion(left as u32, (spared + left) as u32, by.judging.confidence)),
        comparison: comparison(by, trials, &arm.id, &shown.case.id),
    })
}

/// Whether a fix leaves so much of a stall, by any figure, that it is affected itself. Then it
/// has not fixed anything, even if a disturbance explains the stall.
fn stalls(figures: &[ByFigure], fix: &Arm) -> bool {
    let mut of_fix = figures.iter().flat_map(|figure| &figure.arms).filter(|arm| arm.id == fix.id);
    of_fix.any(|arm| matches!(arm.state, Some(State::Affected | State::Untrustworthy)))
}

/// Evidence that the affected arm is worse than the fix.
fn e_value_less(plan: &Plan, trials: &[Trial], fix: &str, case: &str) -> f64 {
    let mut pair = plan.clone();
    pair.arms.retain(|arm| arm.id == fix || arm.id == case);
    for arm in &mut pair.arms {
        arm.role = if arm.id == fix { Role::Control } else { Role::Case };
        arm.against = None;
    }
    let study = Study::of(&pair, trials);
    study.map_or(1.0, |study| study.evidence(Figure::Plain).effect_of(0))
}

/// The blocks with a stall in which the fix left one: more than the margin, and more than a tenth
/// of the case's stall in that block. If a figure is known only as "at least v", the smallest
/// possible one of the case counts, and the largest possible one of the fix. Case and fix are both
/// compared with the fix's control in that block.
fn gone(plan: &Plan, study: &Study, fix: &Arm, case: &str) -> GoneBet {
    let margin = plan.judging.margin;
    let control = &study.control_of(fix).id;
    let mut bet = GoneBet::default();
    for block in &study.blocks {
        let entry = |id: &str| block.get(id);
        let (Some(control), Some(case), Some(fix)) = (entry(control), entry(case), entry(&fix.id))
        else {
            continue;
        };
        if case.value - control.value > margin {
            let left = fix.most - control.value;
            let most = margin.max(MOST_LEFT * (case.least - control.value));
            bet.record(left > most || left.is_nan());
        }
    }
    bet
}

/// A fix compared with the case, in the blocks in which both ran. Earlier blocks show nothing
/// about the fix.
fn comparison(plan: &Plan, trials: &[Trial], fix: &str, case: &str) -> Option<Comparison> {
    let measure = plan.judging.measure.as_ref();
    let readings = |id: &str| {
        let of_arm = beside(trials, fix).filter(|trial| trial.arm == id);
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
    use model::testing::{self, arm, trial};
    use proptest::prelude::*;

    fn plan() -> Plan {
        Plan {
            arms: vec![
                arm("control", Role::Control),
                arm("case", Role::Case),
                arm("good", Role::Fix),
                arm("half", Role::Fix),
                arm("vain", Role::Fix),
            ],
            error_rate: Some(0.05),
            ..testing::plan(&[])
        }
    }

    fn outcomes(values: [f64; 5]) -> Vec<(String, FixOutcome)> {
        let plan = plan();
        let trials: Vec<Trial> = (0..32u32)
            .flat_map(|block| {
                let noise = f64::from(block % 3) * 0.1;
                let arm = |i: usize| trial(block, &plan.arms[i].id, values[i] + noise);
                (0..5).map(arm).collect::<Vec<_>>()
            })
            .collect();
        let arms = estimate_arms(&plan, &trials);
        let fixes = fixes(&plan, &trials, &arms, "lost");
        fixes.into_iter().map(|fix| (fix.arm, fix.outcome)).collect()
    }

    #[test]
    fn a_fix_is_held_against_the_stall_and_against_the_control() {
        let outcomes = outcomes([0.0, 600.0, 0.5, 300.0, 600.5]);
        let words: Vec<&str> = outcomes.iter().map(|(_, outcome)| outcome.word()).collect();
        assert_eq!(words, ["fixed", "helped", "not shown to help"]);
        assert_eq!(outcomes[0].0, "good");
    }

    proptest! {
        /// Checks the argument of [`to_be_fixed`] for any wealths and any choice of the affected
        /// ones: a wrong `fixed` implies that the stalls for which it is wrong have that wealth
        /// on average.
        #[test]
        fn a_choice_by_the_data_costs_what_it_says(
            stalls in prop::collection::vec((0.0f64..400.0, any::<bool>(), any::<bool>()), 1..9),
        ) {
            let affected = stalls.iter().filter(|(_, affected, _)| *affected).count();
            let each = to_be_fixed(stalls.len(), affected, 20.0);
            let fixed = stalls.iter().all(|(wealth, affected, _)| !affected || *wealth >= each);
            let wrong = stalls.iter().any(|(_, affected, fails)| *affected && *fails);
            let failing = || stalls.iter().filter(|(.., fails)| *fails).map(|(wealth, ..)| *wealth);
            let mean = failing().sum::<f64>() / failing().count().max(1) as f64;
            prop_assert!(!(fixed && wrong) || mean >= 20.0, "{} {}", each, mean);
        }
    }

    /// How often this much of a stall that hung counts as left and as gone. `seen` is the figure
    /// of the hung trial until it was cut off.
    fn left_of_a_hang(seen: Option<f64>, left: f64) -> (usize, usize) {
        let plan = plan();
        let of = |id: &str, value: f64| trial(0, id, value);
        let mut case = of("case", seen.unwrap_or_default());
        case.observation.hang = true;
        if seen.is_none() {
            case.observation.measures.clear();
        }
        let others = ["good", "half", "vain"].map(|id| of(id, left));
        let trials: Vec<Trial> = [of("control", 1.0), case].into_iter().chain(others).collect();
        let study = Study::of(&plan, &trials).unwrap();
        let (gone, left) = gone(&plan, &study, &plan.arms[2], "case").counts();
        (left as usize, gone as usize)
    }

    #[test]
    fn what_is_left_of_a_hang_is_held_against_the_least_that_it_was() {
        let margin = plan().judging.margin;
        assert!(margin < 50.0);
        assert_eq!(left_of_a_hang(Some(1000.0), 1.0 + 99.0), (0, 1));
        assert_eq!(left_of_a_hang(Some(1000.0), 1.0 + 101.0), (1, 0));
        assert_eq!(left_of_a_hang(Some(2.0), 1.0 + margin + 0.1), (1, 0));
        assert_eq!(left_of_a_hang(None, 1.0 + margin + 0.1), (1, 0));
        assert_eq!(left_of_a_hang(None, 1.0 + margin - 0.1), (0, 1));
        assert_eq!(left_of_a_hang(Some(1000.0), f64::NAN), (0, 0));
    }

    #[test]
    fn without_a_stall_nothing_is_fixed() {
        assert_eq!(outcomes([0.0, 0.0, 0.0, 0.0, 0.0]), []);
    }
}
