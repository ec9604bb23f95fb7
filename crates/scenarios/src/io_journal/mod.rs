//! `io-journal`: a program under io.max holds a transaction of ext4's journal open, and every fsync
//! on that file system waits for it.

mod failure;
mod file_systems;
mod journal;
mod meta;
mod params;
mod plan;
mod review;
mod round;
mod running_writer;
mod sentences;
mod span;
mod stage;
mod summary;
mod trial;
mod victim;
mod writer;

pub use meta::META;
pub use params::{By, IoJournalParams, On};

use crate::{Cell, Scenario};

/// The scenario.
pub static SCENARIO: Scenario<IoJournalParams> = Scenario {
    meta: &META,
    generators: &[stage::STAGE, writer::WRITER],
    missing: plan::missing,
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: Some(|params, _| {
        plan::check(params)?;
        Ok(Cell::of_settings(params.control(), params.clone()))
    }),
    judging: None,
    expected: plan::expected,
    warm_up: None,
    trial: trial::run,
    review: Some(review::review),
    summary: summary::summary,
};
