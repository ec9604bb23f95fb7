//! `held-mutex`: threads sleep for a mutex whose holder is runnable but has no CPU.

mod holder;
mod meta;
mod params;
mod plan;
mod review;
mod sentences;
mod shared;
mod summary;
mod trial;
mod waiter;

pub use meta::META;
pub use params::{Cause, HeldMutexParams};

use crate::{Cell, Scenario};

/// The scenario.
pub static SCENARIO: Scenario<HeldMutexParams> = Scenario {
    meta: &META,
    generators: &[waiter::WAITER, holder::HOLDER, holder::RIVAL],
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
    expected: |params| params.duration.get() + plan::SET_UP,
    warm_up: None,
    trial: trial::run,
    review: Some(review::review),
    summary: summary::summary,
};
