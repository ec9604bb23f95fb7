//! What only this scenario knows of an outcome: how each of its stalls comes about, and when the
//! work was too small to show one.

use super::meta::{META, measure};
use super::plan::blocks;
use super::sentences::say;
use super::summary::asked;
use crate::{hang, suggest};
use analysis::Outcome;
use model::{Amount, Arm, ArmResult, Fact, Plan, Reason, Role, State, Unit};

/// A trial shorter than this many milliseconds says little: timers and samples are that coarse.
const SHORTEST_WALL_MS: f64 = 20.0;

/// Work that shows a stall on any machine.
const MORE_WORK: [(&str, &str); 3] = [("processes", "20"), ("work", "10000"), ("calls", "1")];

pub(super) fn review(plan: &Plan, arms: &mut [ArmResult], outcome: &mut Outcome) {
    if outcome.state == State::Affected {
        let measures = std::iter::once(&outcome.measure).chain(&outcome.also);
        let how: Vec<Reason> = measures.filter_map(|name| mechanism(name, plan)).collect();
        outcome.reasons.splice(0..0, how);
    }
    if outcome.state == State::NotAffected {
        take_back(plan, arms, outcome);
    }
    let limit = plan.arms.first().and_then(|arm| arm.settings.duration("time-limit"));
    outcome.caveats.extend(limit.and_then(|limit| hang::cut_off(arms, limit, Some("time-limit"))));
}

/// How a stall comes about.
fn mechanism(name: &str, plan: &Plan) -> Option<Reason> {
    let mode = plan.arms.iter().find(|arm| arm.role == Role::Case)?.settings.text("mode")?;
    let id = match name {
        measure::ASLEEP => say::WHY_COLLAPSE,
        measure::UNFAIRNESS => say::WHY_UNFAIR,
        measure::LATE => say::WHY_LATE,
        _ => return None,
    };
    Some(Reason::Scenario(Fact::new(id).with("blocks", blocks(mode))))
}

/// Takes `not-affected` back where there was too little work in an arm to show a stall.
fn take_back(plan: &Plan, arms: &mut [ArmResult], outcome: &mut Outcome) {
    let mut whys = Vec::new();
    let mut idle = None;
    for result in arms.iter_mut().filter(|arm| arm.role == Role::Case) {
        let case = plan.arms.iter().find(|arm| arm.id == result.id);
        let Some(why) = too_little(case, result) else { continue };
        result.state = Some(State::Inconclusive);
        whys.push(Reason::Scenario(why));
        idle = idle.or(case);
    }
    if whys.is_empty() {
        return;
    }
    whys.dedup();
    outcome.state = State::Inconclusive;
    outcome.reasons.splice(0..0, whys);
    // More blocks like these would not settle it.
    outcome.caveats.clear();
    let more = idle.and_then(|case| suggest::with(&META, &asked(case), &MORE_WORK));
    let suggestion = more.map(|all| suggest::other_run(&META, Fact::new(say::MORE_WORK), &all));
    outcome.suggestions.extend(suggestion);
}

/// Why nothing could have stalled in an arm, if so.
fn too_little(case: Option<&Arm>, result: &ArmResult) -> Option<Fact> {
    let number = |knob: &str| {
        let number = case.and_then(|case| case.settings.number(knob));
        number.and_then(|number| u64::try_from(number).ok()).unwrap_or(0)
    };
    let (processes, schedulers) = (number("processes"), number("schedulers"));
    if processes <= schedulers {
        let fact = Fact::new(say::NONE_WAITS);
        return Some(fact.with("processes", processes).with("schedulers", schedulers));
    }
    let wall_ms = result.measures.get(measure::WALL).map_or(0.0, |wall| wall.median);
    let wall = Amount::exact(wall_ms, Unit::Milliseconds);
    (wall_ms < SHORTEST_WALL_MS).then(|| Fact::new(say::TOO_SHORT).with("wall", wall))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::told;
    use model::testing::{self, estimate};
    use model::{Settings, Test, Value};

    fn plan_of(processes: i64) -> Plan {
        let mut settings = Settings::defaults(META.knobs, false);
        settings.set("schedulers", Value::Number(2));
        settings.set("processes", Value::Number(processes));
        let arm = |id, role| Arm { settings: settings.clone(), ..testing::arm(id, role) };
        let arms = vec![arm("control", Role::Control), arm("nif_sleep", Role::Case)];
        Plan { arms, ..testing::plan(&[]) }
    }

    fn reviewed(processes: i64, wall_ms: f64, state: State) -> Outcome {
        let mut case = testing::result("nif_sleep", Role::Case, Some(state));
        let wall = estimate(wall_ms, Unit::Milliseconds);
        case.measures.insert(measure::WALL.to_owned(), wall);
        let mut outcome = Outcome::new(state, measure::ASLEEP, Test::default());
        outcome.also = vec![measure::LATE.to_owned(), measure::UNFAIRNESS.to_owned()];
        review(&plan_of(processes), &mut [case], &mut outcome);
        outcome
    }

    fn said(reason: &Reason) -> &str {
        let Reason::Scenario(fact) = reason else { panic!("{reason:?}") };
        told(&META, fact);
        &fact.id
    }

    #[test]
    fn too_little_work_shows_nothing_and_more_is_suggested() {
        for (processes, wall_ms, why) in [(2, 900.0, say::NONE_WAITS), (9, 3.0, say::TOO_SHORT)] {
            let outcome = reviewed(processes, wall_ms, State::NotAffected);
            assert_eq!(outcome.state, State::Inconclusive);
            assert_eq!(said(&outcome.reasons[0]), why);
            let run = outcome.suggestions[0].run.as_ref().unwrap();
            assert_eq!(run.parameters.number("processes"), Some(20));
        }
        assert_eq!(reviewed(9, 900.0, State::NotAffected).state, State::NotAffected);
    }

    #[test]
    fn each_stall_comes_with_how_it_comes_about() {
        let outcome = reviewed(9, 900.0, State::Affected);
        let ids: Vec<&str> = outcome.reasons.iter().map(said).collect();
        assert_eq!(ids, [say::WHY_COLLAPSE, say::WHY_LATE, say::WHY_UNFAIR]);
    }
}
