//! `group-move`: a process that is moved into another control group, and what the move waits for.

mod margin;
mod meta;
mod mover;
mod params;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use params::{By, GroupMoveParams};

use crate::{Cell, Scenario};

/// The scenario.
pub static SCENARIO: Scenario<GroupMoveParams> = Scenario {
    meta: &META,
    generators: &[mover::MOVER, mover::SLEEPER],
    missing: plan::missing,
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: Some(|params, _| {
        plan::check(params)?;
        Ok(Cell::of_settings(params.control(), params.clone()))
    }),
    judging: Some(|params| vec![margin::judging(params)]),
    expected: |params| params.duration.get() + plan::SET_UP,
    warm_up: None,
    trial: trial::run,
    review: Some(review::review),
    summary: summary::summary,
};
