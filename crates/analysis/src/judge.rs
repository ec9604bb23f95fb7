//! Derives a verdict from trials.

use crate::blocks::{Figure, Study, hangs, hung_more_often, study_error_rate, thresholds};
use crate::carry_over::carry_over;
use crate::evidence::Evidence;
use crate::limits::limits;
use crate::missed::{missed, too_coarse};
use crate::quantile::count;
use crate::sufficient;
use crate::trust::{Ground, doubts};
use model::reason::{BlocksSeen, EValue, PairSeen};
use model::record::Plan;
use model::{ArmResult, Caveat, Reason, Role, State, Suggestion, Test, Trial};

/// Name and sources of the test, as written in the record.
const METHOD: &str = "betting on randomised blocks, anytime-valid (Ville 1939; Vovk and Wang 2021; \
                      Waudby-Smith and Ramdas 2023)";

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
    /// The reasons. If the machine was disturbed, that comes first.
    pub reasons: Vec<Reason>,
    /// What the study cannot tell, and what would settle it.
    pub caveats: Vec<Caveat>,
    /// What to do next, if the review of the scenario knows more than its summary.
    pub suggestions: Vec<Suggestion>,
}

impl Outcome {
    /// An outcome by this figure, without reasons yet.
    pub fn new(state: State, measure: &str, test: Test) -> Self {
        Outcome {
            state,
            measure: measure.to_owned(),
            also: Vec::new(),
            open: Vec::new(),
            test,
            reasons: Vec::new(),
            caveats: Vec::new(),
            suggestions: Vec::new(),
        }
    }
}

/// Judges a study from its trials and the estimates that [`crate::estimate_arms`] made of them.
///
/// `ground` is what is known about the machine. No trials make this panic: a block without a
/// trial or without the judged figure is left out.
pub fn decide(plan: &Plan, trials: &[Trial], arms: &[ArmResult], ground: Ground) -> Outcome {
    let Some(study) = Study::of(plan, trials) else {
        return without_control(plan);
    };
    let evidence = study.evidence(Figure::Plain);
    let tested = sufficient::of_study(plan, trials, arms, &study);
    let explained = sufficient::is_explained(&tested);
    let doubts = doubts(plan, trials, arms, &study, ground, explained);
    let coarse = too_coarse(plan, arms, &study);
    let missed = missed(plan, trials, arms, &study);
    let state = sufficient::state(&tested, !doubts.machine.is_empty());
    // Doubts alone do not rule out not-affected.
    let mut reasons: Vec<Reason> =
        coarse.into_iter().filter(|_| state == State::Inconclusive).collect();
    let any_hung = !hung(trials, &study).is_empty();
    let mut caveats = limits(plan, arms, &study, &evidence, state, any_hung);
    match state {
        // Doubts about some arms do not affect what the other arms support.
        State::Affected | State::NotAffected => {
            caveats.extend(doubts.all().cloned().map(Caveat::Doubt));
        }
        _ => reasons.extend(doubts.all().cloned().map(Reason::Doubt)),
    }
    if ground.emulated {
        caveats.push(Caveat::Emulated);
    }
    if ground.shared {
        caveats.push(Caveat::SharedMachine);
    }
    caveats.extend(carry_over(plan, trials, &study).map(Caveat::CarryOver));
    reasons.extend(grounds(plan, trials, arms, &study, &evidence, state));
    let missed = missed.filter(|_| state == State::NotAffected);
    let test = Test { missed, ..test(plan, &evidence) };
    Outcome { reasons, caveats, ..Outcome::new(state, &plan.judging.measure, test) }
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
        e_value_affected: evidence.effect(),
        e_value_not_affected: evidence.absence(),
        threshold: thresholds(plan).affected,
        threshold_not_affected: Some(thresholds(plan).not_affected),
        error_rate: plan.judging.error_rate,
        missed: None,
    }
}

fn without_control(plan: &Plan) -> Outcome {
    let test = test(plan, &Evidence::new(0, plan.judging.margin));
    Outcome {
        reasons: vec![Reason::NoControl],
        caveats: vec![Caveat::NeedsControl],
        ..Outcome::new(State::Inconclusive, &plan.judging.measure, test)
    }
}

fn grounds(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    study: &Study,
    evidence: &Evidence,
    state: State,
) -> Vec<Reason> {
    if study.cases.is_empty() {
        return vec![Reason::NoCase];
    }
    if evidence.blocks() == 0 {
        return vec![Reason::NoWholeBlock { measure: plan.judging.measure.to_string() }];
    }
    let hung = hung(trials, study);
    let cases = study.cases.iter().filter(|arm| hung.contains(&arm.id.as_str()));
    let hangs = cases.map(|arm| hung_reason(trials, &arm.id, &study.control_of(arm).id));
    let mut grounds = vec![Reason::Evidence(blocks_seen(plan, study, evidence, state))];
    grounds.extend(arms.iter().filter_map(|arm| over_control(plan, arm)));
    grounds.extend(hangs);
    grounds
}

/// In how many blocks each arm was worse or better, and the tests of that. For a settled verdict,
/// the test of the other verdict is left out.
fn blocks_seen(plan: &Plan, study: &Study, evidence: &Evidence, state: State) -> BlocksSeen {
    let several = study.controls.len() > 1;
    let cases = study.cases.iter().zip(evidence.absences());
    let pairs = cases.map(|(arm, bet)| PairSeen {
        arm: arm.id.clone(),
        control: several.then(|| study.control_of(arm).id.clone()),
        worse: bet.near().worse() as u32,
        better: bet.near().better() as u32,
    });
    let thresholds = thresholds(plan);
    let affected = EValue {
        value: evidence.effect(),
        needed: thresholds.affected,
        error_rate: plan.judging.error_rate,
    };
    let not_affected = EValue {
        value: evidence.absence(),
        needed: thresholds.not_affected,
        error_rate: study_error_rate(plan),
    };
    BlocksSeen {
        blocks: evidence.blocks(),
        pairs: pairs.collect(),
        affected: (state != State::NotAffected).then_some(affected),
        not_affected: (state != State::Affected).then_some(not_affected),
    }
}

fn over_control(plan: &Plan, arm: &ArmResult) -> Option<Reason> {
    let measure = plan.judging.measure.as_ref();
    let affected = arm.role == Role::Case && arm.state == Some(State::Affected);
    let shift = arm.against_control.get(measure)?;
    affected.then(|| Reason::OverControl {
        arm: arm.id.clone(),
        measure: measure.to_owned(),
        shift: shift.clone(),
    })
}

fn hung_reason(trials: &[Trial], arm: &str, control: &str) -> Reason {
    let counts = |id: &str| {
        let (hung, all) = hangs(trials, id);
        (count(hung), count(all))
    };
    Reason::Hung {
        arm: arm.to_owned(),
        hung: counts(arm),
        control: control.to_owned(),
        control_hung: counts(control),
    }
}
