//! Plans, trials and results for tests. The values that do not matter to a test are set here
//! once.

use crate::arm::{Arm, Settings};
use crate::change::ChangeState;
use crate::estimate::{ArmResult, Comparison, Estimate, Proportion};
use crate::ladder::{Ladder, Repeated, Step};
use crate::machine::{Disturbance, Machine};
use crate::measure::{Measure, Unit};
use crate::record::{Ended, Facts, Observation, Plan, Trial};
use crate::role::Role;
use crate::scenario::Judging;
use crate::state::State;
use std::collections::BTreeMap;

/// The judged figure of [`plan`], [`trial`] and [`result`].
pub const LOST: &str = "lost";

/// An arm without settings.
pub fn arm(id: &str, role: Role) -> Arm {
    Arm { id: id.to_owned(), role, against: None, settings: Settings::default(), change: None }
}

/// A plan of these arms, judged by [`LOST`] with a margin of 1 ms/s and an error rate of 5%.
pub fn plan(arms: &[(&str, Role)]) -> Plan {
    Plan {
        arms: arms.iter().map(|(id, role)| arm(id, *role)).collect(),
        seed: 1,
        min_blocks: 3,
        max_blocks: 24,
        stop_when_settled: true,
        error_rate: None,
        settle_fixes: false,
        wash_out: false,
        judging: judging(LOST),
        also: Vec::new(),
        left_out: Vec::new(),
    }
}

/// Judging by this figure, with a margin of 1 and an error rate of 5%.
pub fn judging(measure: &str) -> Judging {
    Judging {
        measure: measure.to_owned().into(),
        margin: 1.0,
        control_limit: 50.0,
        wants_cpu: true,
        error_rate: 0.05,
        confidence: 0.95,
    }
}

/// A trial of 300 ms with this much lost time, in ms/s.
pub fn trial(block: u32, arm: &str, lost: f64) -> Trial {
    let lost = Measure::exact(lost, Unit::MillisecondsPerSecond);
    Trial {
        block,
        arm: arm.to_owned(),
        started_ms: 0.0,
        took_ms: 320.0,
        observation: Observation {
            window_ms: 300.0,
            measures: [(LOST.to_owned(), lost)].into(),
            ..Observation::default()
        },
        disturbance: Disturbance::default(),
    }
}

/// An estimate from six trials that all read the same.
pub fn estimate(median: f64, unit: Unit) -> Estimate {
    Estimate {
        unit,
        trials: 6,
        median,
        median_at_least: false,
        low: Some(median),
        high: Some(median),
        high_unbounded: false,
        confidence: 0.97,
        min: median,
        max: median,
        max_at_least: false,
    }
}

/// The result of an arm with six trials, none of which hung. It has no figures.
pub fn result(id: &str, role: Role, state: Option<State>) -> ArmResult {
    ArmResult {
        id: id.to_owned(),
        role,
        state,
        trials: 6,
        hangs: Proportion { count: 0, of: 6, low: 0.0, high: 0.5, confidence: 0.95 },
        worse: None,
        measures: BTreeMap::new(),
        against_control: BTreeMap::new(),
        e_value: None,
    }
}

/// A shift of this many ms/s, without an interval.
pub fn shift(shift: f64) -> Comparison {
    Comparison {
        unit: Unit::MillisecondsPerSecond,
        shift,
        shift_at_least: false,
        low: None,
        high: None,
        confidence: 0.95,
        superiority: 1.0,
        superiority_low: None,
        superiority_high: None,
        p_value: None,
    }
}

/// A step from one version to the next with this verdict and nothing else.
pub fn step(from: &str, to: &str, state: ChangeState) -> Step {
    Step {
        from: from.to_owned(),
        to: to.to_owned(),
        state,
        shift: None,
        verdicts: None,
        reasons: Vec::new(),
        own: Vec::new(),
        known: Vec::new(),
        repeated: None,
    }
}

/// This many pairs of fresh runs, each with the effect higher by the same amount.
pub fn repeated(by: f64, pairs: usize) -> Repeated {
    Repeated { pairs: vec![by; pairs], alike: pairs, needed: pairs, among: 1 }
}

/// A ladder of these steps.
pub fn ladder(steps: Vec<Step>) -> Ladder {
    Ladder {
        schema: String::new(),
        scenario: String::new(),
        arm: None,
        measure: None,
        margin: None,
        confidence: 0.95,
        rungs: Vec::new(),
        steps,
        whole: None,
        would_show: None,
        spread: None,
        would_be_named: None,
    }
}

/// A complete study of this scenario with these trials.
pub fn facts(scenario: &str, plan: Plan, trials: Vec<Trial>) -> Facts {
    let started = "2026-11-21T10:00:00Z".to_owned();
    let begun = Facts::new(scenario, plan, Machine::default(), Vec::new(), started);
    Facts { ended: Ended::Complete, trials, ..begun }
}
