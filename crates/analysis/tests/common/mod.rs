//! Plans and trials for the tests of judging.

#![allow(dead_code, reason = "each test file uses the part of it that it needs")]

use model::record::Plan;
use model::{Arm, Judging, Measure, Observation, Role, Settings, Surroundings, Trial, Unit};

/// The judged figure of all plans here.
pub const LOST: &str = "lost";

/// A plan of these arms: judged on `lost` with a margin of 1 ms/s, at 5%.
pub fn plan(arms: &[(&str, Role)]) -> Plan {
    let arm = |(id, role): &(&str, Role)| Arm {
        id: (*id).to_owned(),
        role: *role,
        against: None,
        settings: Settings::default(),
        change: None,
    };
    Plan {
        arms: arms.iter().map(arm).collect(),
        seed: 1,
        min_blocks: 3,
        max_blocks: 24,
        stop_when_settled: true,
        error_rate: None,
        settle_fixes: false,
        judging: Judging {
            measure: LOST.into(),
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

/// A trial that lost so many ms/s.
pub fn trial(block: u32, arm: &str, lost: f64) -> Trial {
    let measure = Measure::exact(lost, Unit::MillisecondsPerSecond);
    Trial {
        block,
        arm: arm.to_owned(),
        started_ms: 0.0,
        took_ms: 320.0,
        observation: Observation {
            window_ms: 300.0,
            measures: [(LOST.to_owned(), measure)].into(),
            ..Observation::default()
        },
        surroundings: Surroundings::default(),
    }
}
