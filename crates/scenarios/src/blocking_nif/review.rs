//! What only this scenario knows of an outcome: how each of its stalls comes about, and when the
//! work was too small to show one.

use super::meta::measure;
use super::params::BlockingNifParams;
use crate::params::Params;
use analysis::Outcome;
use model::{ArmResult, Plan, Role, State};

/// A trial shorter than this many milliseconds says little: timers and samples are that coarse.
const SHORTEST_WALL_MS: f64 = 20.0;

pub(super) fn review(plan: &Plan, arms: &mut [ArmResult], outcome: &mut Outcome) {
    if outcome.state == State::Affected {
        let measures = std::iter::once(&outcome.measure).chain(&outcome.also);
        let how: Vec<String> = measures.filter_map(|name| mechanism(name, plan)).collect();
        outcome.because.splice(0..0, how);
    }
    if outcome.state == State::NotAffected {
        take_back(plan, arms, outcome);
    }
}

/// How a stall comes about, in a sentence.
fn mechanism(name: &str, plan: &Plan) -> Option<String> {
    let case = plan.arms.iter().find(|arm| arm.role == Role::Case)?;
    let mode = BlockingNifParams::of(&case.settings)?.mode;
    let what = if mode.blocks() { "a call that does not yield" } else { "the work" };
    let words = match name {
        measure::ASLEEP => format!(
            "collapse: a scheduler wakes a sleeping one when it queues work or passes through its \
             loop; while {what} holds it, it does neither, and what waits in its queue waits on, \
             though other schedulers sleep"
        ),
        measure::UNFAIRNESS => format!(
            "unfair: {what} charges few reductions or none, so the first processes of a queue run \
             to their end while the last wait for all of them"
        ),
        measure::LATE => format!(
            "late: timers and ports are served by the schedulers between two processes, so while \
             {what} holds a scheduler they wait, whatever their priority"
        ),
        _ => return None,
    };
    Some(words)
}

/// Takes `not-affected` back where there was too little work in an arm to show a stall.
fn take_back(plan: &Plan, arms: &mut [ArmResult], outcome: &mut Outcome) {
    let mut whys = Vec::new();
    for case in arms.iter_mut().filter(|arm| arm.role == Role::Case) {
        let Some(why) = too_little(plan, case) else { continue };
        case.state = Some(State::Inconclusive);
        whys.push(why);
    }
    if whys.is_empty() {
        return;
    }
    whys.dedup();
    outcome.state = State::Inconclusive;
    outcome.because.splice(0..0, whys);
    outcome.limits = vec!["give it more work: --processes 20 --work 10000 --calls 1".to_owned()];
}

/// Why nothing could have stalled in an arm, if so.
fn too_little(plan: &Plan, case: &ArmResult) -> Option<String> {
    let planned = plan.arms.iter().find(|arm| arm.id == case.id);
    let params = planned.and_then(|arm| BlockingNifParams::of(&arm.settings));
    let both = |params: BlockingNifParams| params.processes.get().zip(params.schedulers.get());
    let few = params.and_then(both).filter(|(processes, schedulers)| processes <= schedulers);
    let wall = case.measures.get(measure::WALL).map_or(0.0, |wall| wall.median);
    if let Some((processes, schedulers)) = few {
        return Some(format!(
            "{processes} processes on {schedulers} schedulers leave none waiting, so nothing could \
             have stalled"
        ));
    }
    let short = wall < SHORTEST_WALL_MS;
    short.then(|| format!("a trial took {wall:.1} ms, too short to show a stall"))
}
