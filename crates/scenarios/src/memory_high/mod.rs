//! `memory-high`: tasks of a group above memory.high must sleep each time they take memory.

mod leader;
mod load;
mod meta;
mod params;
mod plan;
mod region;
mod review;
mod sentences;
mod summary;
mod trial;
mod watched;
mod worker;

pub use meta::META;
pub use params::{By, MemoryHighParams};

use crate::{Cell, Scenario};

/// The scenario.
pub static SCENARIO: Scenario<MemoryHighParams> = Scenario {
    meta: &META,
    generators: &[leader::GENERATOR, worker::GENERATOR],
    missing: plan::missing,
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: Some(|params, _| {
        params.check()?;
        Ok(Cell::of_settings(params.control(), params.clone()))
    }),
    judging: None,
    expected: |params| params.duration.get() + plan::SET_UP,
    warm_up: None,
    trial: trial::run,
    review: Some(review::review),
    summary: summary::summary,
};
