//! Estimates for each arm, from its trials.

use crate::blocks::{Figure, Study, beside, hangs, hung_more_often, measured, thresholds};
use crate::compare::compare;
use crate::missed::would_show;
use crate::proportion::proportion;
use crate::quantile::{count, median};
use crate::reading::Reading;
use crate::trust;
use model::record::Plan;
use model::{Arm, ArmResult, Comparison, Estimate, Proportion, Role, State, Trial, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// Estimates of every arm, control first, then in the order of the plan.
///
/// Every figure that the trials have gets a median. Figures of cases and fixes are compared with
/// their own control. `worse`, `state` and `evidence` use whole blocks only. A fix is judged by
/// itself, at the same threshold, and has no influence on the study's verdict. An arm is
/// `untrustworthy` if a disturbance of that arm explains its effect, whatever the other arms are.
/// A baseline gets only estimates.
pub fn estimate_arms(plan: &Plan, trials: &[Trial]) -> Vec<ArmResult> {
    let study = Study::of(plan, trials);
    let findings = study.as_ref().map(|study| find(plan, trials, study)).unwrap_or_default();
    let first = study.as_ref().map(|study| study.controls[0].id.as_str());
    let mut arms: Vec<&Arm> = plan.arms.iter().collect();
    arms.sort_by_key(|arm| Some(arm.id.as_str()) != first);
    arms.into_iter()
        .map(|arm| {
            let judged = matches!(arm.role, Role::Case | Role::Fix);
            let own = study.as_ref().map(|study| study.control_of(arm));
            let finding = findings.get(arm.id.as_str());
            estimate(plan, trials, arm, own.filter(|_| judged), finding)
        })
        .collect()
}

/// What the whole blocks show about an arm.
struct Finding {
    state: State,
    evidence: f64,
    worse: Proportion,
}

fn find<'a>(plan: &Plan, trials: &[Trial], study: &Study<'a>) -> BTreeMap<&'a str, Finding> {
    let thresholds = thresholds(plan);
    let together = study.evidence(Figure::Plain);
    let (named, absent) = (together.named(thresholds.affected), together.absent(thresholds));
    let cases = study.cases.iter().enumerate().map(|(i, arm)| {
        let stands = || trust::stands(plan, trials, study, arm);
        let absent = absent[i] && would_show(plan, study, arm);
        let state = state(named[i], stands, absent, hung(trials, arm, study));
        (arm.id.as_str(), finding(plan, study, arm, state, together.effect_of(i)))
    });
    let fixes = study.fixes.iter().map(|arm| {
        let alone = study.evidence_on(&[*arm], Figure::Plain);
        let is = |flags: Vec<bool>| flags.first() == Some(&true);
        let affected = is(alone.named(thresholds.affected));
        let absent = is(alone.absent(thresholds)) && would_show(plan, study, arm);
        let stands = || trust::stands(plan, trials, study, arm);
        let state = state(affected, stands, absent, hung(trials, arm, study));
        (arm.id.as_str(), finding(plan, study, arm, state, alone.effect()))
    });
    cases.chain(fixes).collect()
}

fn hung(trials: &[Trial], arm: &Arm, study: &Study) -> bool {
    hung_more_often(trials, &arm.id, &study.control_of(arm).id)
}

/// The verdict on an arm. An effect that a disturbance of this arm explains is not trustworthy.
fn state(affected: bool, stands: impl Fn() -> bool, absent: bool, hung: bool) -> State {
    match (affected, absent) {
        (true, _) if stands() => State::Affected,
        (true, _) => State::Untrustworthy,
        (false, true) if !hung => State::NotAffected,
        _ => State::Inconclusive,
    }
}

fn finding(plan: &Plan, study: &Study, arm: &Arm, state: State, evidence: f64) -> Finding {
    let blocks = study.pairs(&study.control_of(arm).id, &arm.id).count();
    let (worse, of) = (count(study.worse(arm)), count(blocks));
    Finding { state, evidence, worse: proportion(worse, of, plan.judging.confidence) }
}

fn estimate(
    plan: &Plan,
    trials: &[Trial],
    arm: &Arm,
    control: Option<&Arm>,
    finding: Option<&Finding>,
) -> ArmResult {
    let confidence = plan.judging.confidence;
    let of_arm = readings(trials.iter(), &arm.id);
    let of_control = control.map(|control| readings(beside(trials, &arm.id), &control.id));
    let of_control = of_control.unwrap_or_default();
    let (hung, all) = hangs(trials, &arm.id);
    let judged = matches!(arm.role, Role::Case | Role::Fix);
    ArmResult {
        id: arm.id.clone(),
        role: arm.role,
        state: judged.then(|| finding.map_or(State::Inconclusive, |finding| finding.state)),
        trials: count(all),
        hangs: proportion(count(hung), count(all), confidence),
        worse: finding.map(|finding| finding.worse.clone()),
        measures: medians(&of_arm, confidence),
        against_control: comparisons(&of_control, &of_arm, confidence),
        e_value: finding.map(|finding| finding.evidence),
    }
}

/// All readings of an arm with their units, by the name of the figure.
type Readings<'a> = BTreeMap<&'a str, (Unit, Vec<Reading>)>;

fn readings<'a>(trials: impl Iterator<Item = &'a Trial>, arm: &str) -> Readings<'a> {
    let of_arm: Vec<&Trial> = trials.filter(|trial| trial.arm == arm).collect();
    let of_arm = || of_arm.iter().copied();
    let names: BTreeSet<&str> =
        of_arm().flat_map(|trial| trial.observation.measures.keys()).map(String::as_str).collect();
    let of_name = |name: &'a str| {
        let measures = || of_arm().filter_map(|trial| measured(trial, name));
        let unit = measures().next()?.unit;
        // Figures with another unit cannot be pooled. Only a record that was edited by hand has
        // them.
        let readings = measures().filter(|measure| measure.unit == unit).map(Reading::from);
        Some((name, (unit, readings.collect())))
    };
    names.into_iter().filter_map(of_name).collect()
}

fn medians(readings: &Readings, confidence: f64) -> BTreeMap<String, Estimate> {
    let estimate = |(name, (unit, readings)): (&&str, &(Unit, Vec<Reading>))| {
        Some(((*name).to_owned(), median(readings, *unit, confidence)?))
    };
    readings.iter().filter_map(estimate).collect()
}

fn comparisons(
    control: &Readings,
    arm: &Readings,
    confidence: f64,
) -> BTreeMap<String, Comparison> {
    let against = |(name, (unit, readings)): (&&str, &(Unit, Vec<Reading>))| {
        let (_, of_control) = control.get(name).filter(|(other, _)| other == unit)?;
        Some(((*name).to_owned(), compare(of_control, readings, *unit, confidence)?))
    };
    arm.iter().filter_map(against).collect()
}
