//! From trials to a verdict.

use crate::blocks::{Figure, Study, hangs, hung_more_often, study_error_rate, thresholds};
use crate::carry_over::carry_over;
use crate::evidence::Evidence;
use crate::limits::limits;
use crate::missed::{missed, too_coarse};
use crate::trust::{Ground, doubts};
use crate::words::{number, percent, plural, shift};
use model::record::Plan;
use model::{ArmResult, Role, State, Test, Trial};

/// Name and sources of the test, as they stand in the record.
const METHOD: &str = "betting on randomised blocks, anytime-valid (Ville 1939; Vovk and Wang 2021; \
                      Waudby-Smith and Ramdas 2023)";

/// What no study in an emulated guest can tell.
const EMULATED: &str = "the guest was emulated, so its time stretches with what the host has to \
                        do: what sets its arms apart counts, the sizes do not carry over to a real \
                        machine";

/// What follows from the trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Outcome {
    /// The verdict in one word; never `skipped`.
    pub state: State,
    /// The figure that decided.
    pub measure: String,
    /// Other figures that show a stall as well.
    pub also: Vec<String>,
    /// Other figures that are not settled yet.
    pub open: Vec<String>,
    /// The test that decided.
    pub test: Test,
    /// The grounds, a sentence each; where the machine was disturbed, that first.
    pub because: Vec<String>,
    /// What the study cannot tell, and what would settle it, a sentence each.
    pub limits: Vec<String>,
}

/// Judges a study from its trials and the estimates that [`crate::estimate_arms`] made of them.
///
/// `ground` is what is known of the machine. Nothing in the trials makes this panic: a block that
/// lacks a trial or the judged figure is left out.
pub fn decide(plan: &Plan, trials: &[Trial], arms: &[ArmResult], ground: Ground) -> Outcome {
    let Some(study) = Study::of(plan, trials) else {
        return without_control(plan);
    };
    let evidence = study.evidence(Figure::Plain);
    let doubts = doubts(plan, trials, arms, &study, ground);
    let coarse = too_coarse(plan, arms, &study);
    let missed = missed(plan, trials, arms, &study);
    let state = match evidence.state(thresholds(plan)) {
        state if doubts.forbid(state) => State::Untrustworthy,
        State::NotAffected if missed.is_none() || coarse.is_some() => State::Inconclusive,
        State::NotAffected if !hung(trials, &study).is_empty() => State::Inconclusive,
        state => state,
    };
    let mut because = Vec::new();
    let mut limits = limits(plan, arms, &study, &evidence, state);
    match state {
        // Doubts about some arms do not touch what the others support.
        State::Affected | State::NotAffected => limits.extend(doubts.sentences()),
        _ => because.extend(doubts.sentences()),
    }
    because.extend(coarse.filter(|_| state == State::Inconclusive));
    if ground.emulated {
        limits.push(EMULATED.to_owned());
    }
    limits.extend(carry_over(plan, trials, &study));
    because.extend(grounds(plan, trials, arms, &study, &evidence, state));
    let measure = plan.judging.measure.to_string();
    let missed = missed.filter(|_| state == State::NotAffected);
    Outcome {
        state,
        measure,
        also: Vec::new(),
        open: Vec::new(),
        test: Test { missed, ..test(plan, &evidence) },
        because,
        limits,
    }
}

/// The arms with the cause that hung more often than the control.
fn hung<'a>(trials: &[Trial], study: &Study<'a>) -> Vec<&'a str> {
    let more = |arm: &&&model::Arm| hung_more_often(trials, &arm.id, &study.control_of(arm).id);
    study.cases.iter().filter(more).map(|arm| arm.id.as_str()).collect()
}

fn test(plan: &Plan, evidence: &Evidence) -> Test {
    Test {
        method: METHOD.to_owned(),
        blocks: evidence.blocks(),
        evidence_affected: evidence.effect(),
        evidence_not_affected: evidence.absence(),
        threshold: thresholds(plan).affected,
        threshold_not_affected: Some(thresholds(plan).not_affected),
        error_rate: plan.judging.error_rate,
        missed: None,
    }
}

fn without_control(plan: &Plan) -> Outcome {
    Outcome {
        state: State::Inconclusive,
        measure: plan.judging.measure.to_string(),
        also: Vec::new(),
        open: Vec::new(),
        test: test(plan, &Evidence::new(0, plan.judging.margin)),
        because: vec!["the plan has no control arm to hold the others against".to_owned()],
        limits: vec!["add an arm without the cause".to_owned()],
    }
}

fn grounds(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    study: &Study,
    evidence: &Evidence,
    state: State,
) -> Vec<String> {
    if study.cases.is_empty() {
        return vec!["no arm with the cause was run".to_owned()];
    }
    if evidence.blocks() == 0 {
        return vec![format!(
            "no block is whole: a verdict takes blocks in which every arm yielded {}",
            plan.judging.measure
        )];
    }
    let hung = hung(trials, study);
    let cases = study.cases.iter().filter(|arm| hung.contains(&arm.id.as_str()));
    let hangs = cases.map(|arm| hang_sentence(trials, &arm.id, &study.control_of(arm).id));
    let mut grounds = vec![evidence_sentence(plan, study, evidence, state)];
    grounds.extend(arms.iter().filter_map(|arm| arm_sentence(plan, arm)));
    grounds.extend(hangs);
    grounds
}

fn evidence_sentence(plan: &Plan, study: &Study, evidence: &Evidence, state: State) -> String {
    let cases = study.cases.iter().zip(evidence.absences()).enumerate();
    let counts: Vec<String> = cases
        .map(|(place, (arm, bet))| match place {
            0 => format!(
                "{} was clearly worse than {} in {} and better in {}",
                arm.id,
                control_word(study, arm),
                bet.worse(),
                bet.better()
            ),
            _ => format!("{} in {} and {}", arm.id, bet.worse(), bet.better()),
        })
        .collect();
    let thresholds = thresholds(plan);
    let rate = plan.judging.error_rate;
    let effect = format!(
        "the e-value against no effect is {}, and {} is needed for an error rate of {}",
        number(evidence.effect()),
        number(thresholds.affected),
        percent(rate)
    );
    let absence = format!(
        "the e-value against a stall in one trial of three is {}, and {} is needed for an error \
         rate of {}",
        number(evidence.absence()),
        number(thresholds.not_affected),
        percent(study_error_rate(plan))
    );
    let tests = match state {
        State::Affected => effect,
        State::NotAffected => absence,
        _ => format!("{effect}; {absence}"),
    };
    format!("of {} {}; {tests}", plural(evidence.blocks(), "block"), counts.join(", "))
}

/// The control by its name where there are several.
fn control_word(study: &Study, arm: &model::Arm) -> String {
    match study.controls.len() {
        1 => "the control".to_owned(),
        _ => study.control_of(arm).id.clone(),
    }
}

fn arm_sentence(plan: &Plan, arm: &ArmResult) -> Option<String> {
    let measure = plan.judging.measure.as_ref();
    let affected = arm.role == Role::Case && arm.state == Some(State::Affected);
    let comparison = arm.against_control.get(measure)?;
    affected.then(|| format!("{}: {measure} {} over its control", arm.id, shift(comparison)))
}

fn hang_sentence(trials: &[Trial], arm: &str, control: &str) -> String {
    let ((hung, of), (control_hung, control_of)) = (hangs(trials, arm), hangs(trials, control));
    format!("{arm} hung in {hung} of {of} trials, {control} in {control_hung} of {control_of}")
}
