//! A short form of a study, made from its record.

use crate::find;
use crate::judging::ground;
use analysis::{sufficient, trust};
use model::brief::{ArmBrief, Brief, FixBrief, Ground, PlanBrief, SCHEMA, VerdictBrief};
use model::identity::HostName;
use model::record::{Plan, Progress};
use model::{ArmResult, Fix, Identity, Judged, Judging, Role, State, Test, Tested};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// The longest headline or reason in a brief, in bytes of JSON.
const LONGEST_FACT: usize = 1 << 10;

/// The brief of a study. `identity` is the identity of its machine, and `host` its name.
pub fn brief(record: &Judged, identity: Identity, host: Option<HostName>) -> Brief {
    let known = ground(record);
    let tests = tests(record);
    let tainted = trust::new_taint(&record.trials, known);
    let by_test = sufficient::state_by_all(&tests, tainted != 0);
    let state = record.judgement.state;
    let brief = Brief {
        schema: SCHEMA.to_owned(),
        host,
        version: record.tool.version.clone(),
        scenario: record.scenario.clone(),
        started: record.started.clone(),
        elapsed_s: record.elapsed_s,
        progress: record.ended.progress(),
        identity,
        otp: otp(record),
        plan: plan(record),
        ground: Ground { tainted, emulated: known.emulated, shared: known.shared },
        verdict: verdict(record),
        review: by_test.filter(|by_test| *by_test != state).map(|_| state),
        tests,
        arms: arms(record),
        fixes: record.judgement.fixes.iter().map(fix).collect(),
        left_out: None,
    };
    brief.fitted()
}

/// The OTP version of the trials.
fn otp(record: &Judged) -> Option<String> {
    let vm = record.trials.iter().find_map(|trial| trial.observation.vm.as_ref())?;
    Some(vm.otp.clone())
}

/// The counts for each judged figure. As in the plan, the figure that decides alone comes first.
fn tests(record: &Judged) -> Vec<Tested> {
    let judged = !matches!(record.ended.progress(), Progress::NotRun | Progress::Broken);
    if !judged || find(&record.scenario).is_none() {
        return Vec::new();
    }
    let plan = &record.plan;
    let by = |judging: &Judging| {
        let plan = Plan { judging: judging.clone(), ..plan.clone() };
        let arms = analysis::estimate_arms(&plan, &record.trials);
        sufficient::tested(&plan, &record.trials, &arms)
    };
    std::iter::once(&plan.judging).chain(&plan.also).filter_map(by).collect()
}

fn plan(record: &Judged) -> PlanBrief {
    let blocks = record.trials.iter().map(|trial| trial.block.saturating_add(1)).max();
    let count = |len: usize| u32::try_from(len).unwrap_or(u32::MAX);
    PlanBrief {
        seed: record.plan.seed,
        sha256: hash(&record.plan),
        blocks: blocks.unwrap_or(0),
        trials: count(record.trials.len()),
        arms: count(record.plan.arms.len()),
        confidence: record.plan.judging.confidence,
    }
}

/// SHA-256 of a plan without its seed.
fn hash(plan: &Plan) -> String {
    // Text keys in a fixed order and finite numbers always serialise.
    let text = serde_json::to_string(&Plan { seed: 0, ..plan.clone() }).unwrap_or_default();
    Sha256::digest(text).iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

fn verdict(record: &Judged) -> VerdictBrief {
    let verdict = &record.judgement;
    let settled = matches!(verdict.state, State::Affected | State::NotAffected);
    VerdictBrief {
        state: verdict.state,
        kind: verdict.kind.clone(),
        headline: Some(verdict.headline.clone()).filter(is_short),
        reason: verdict.reasons.first().filter(|why| !settled && is_short(why)).cloned(),
        measure: verdict.measure.clone(),
        also: verdict.also.clone(),
        open: verdict.open.clone(),
        test: verdict.test.clone().map(|test| Test { method: String::new(), ..test }),
    }
}

fn is_short(fact: &impl serde::Serialize) -> bool {
    serde_json::to_string(fact).is_ok_and(|text| text.len() <= LONGEST_FACT)
}

/// The arms with their judged figures. The control comes first, then the most informative arms.
fn arms(record: &Judged) -> Vec<ArmBrief> {
    let figures = || std::iter::once(&record.plan.judging).chain(&record.plan.also);
    let first = record.plan.judging.measure.as_ref();
    let shift =
        |arm: &ArmResult| arm.against_control.get(first).map_or(f64::NEG_INFINITY, |c| c.shift);
    let mut arms: Vec<&ArmResult> = record.judgement.arms.iter().collect();
    let rank = |arm: &ArmResult| match (arm.role, arm.state) {
        (Role::Control, _) => 0,
        (Role::Case, Some(State::Affected)) => 1,
        (Role::Case, _) => 2,
        (Role::Fix, _) => 3,
        (Role::Baseline, _) => 4,
    };
    arms.sort_by(|a, b| rank(a).cmp(&rank(b)).then(shift(b).total_cmp(&shift(a))));
    let brief = |arm: &ArmResult| ArmBrief {
        id: arm.id.clone(),
        role: arm.role,
        state: arm.state,
        trials: arm.trials,
        hung: arm.hangs.count,
        e_value: arm.e_value,
        measures: chosen(&arm.measures, figures()),
        against_control: chosen(&arm.against_control, figures()),
    };
    arms.into_iter().map(brief).collect()
}

/// The judged figures among these.
fn chosen<'a, T: Clone>(
    all: &BTreeMap<String, T>,
    judged: impl Iterator<Item = &'a Judging>,
) -> BTreeMap<String, T> {
    let found = judged.filter_map(|judging| all.get_key_value(judging.measure.as_ref()));
    found.map(|(name, figure)| (name.clone(), figure.clone())).collect()
}

fn fix(fix: &Fix) -> FixBrief {
    FixBrief {
        arm: fix.arm.clone(),
        outcome: fix.outcome,
        e_value_less: fix.e_value_less,
        e_value_gone: fix.e_value_gone,
        threshold: fix.threshold,
        comparison: fix.comparison.clone(),
    }
}
