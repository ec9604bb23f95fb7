//! `held-mutex`: threads sleep for a mutex whose holder is runnable but has no CPU.

mod holder;
mod meta;
mod params;
mod plan;
mod sentences;
mod shared;
mod summary;
mod trial;
mod waiter;

pub use meta::META;
pub use params::{Cause, HeldMutexParams};

use crate::params::Params;
use crate::{Cell, Review, Scenario, hang};

/// The scenario.
pub static SCENARIO: Scenario<HeldMutexParams> = Scenario {
    meta: &META,
    generators: &[waiter::WAITER, holder::HOLDER, holder::RIVAL],
    missing: plan::missing,
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: Some(|params, _| Ok(Cell::of_settings(params.clone(), params.control()))),
    judging: None,
    expected: |params| params.duration.get() + plan::SET_UP,
    warm_up: None,
    trial: trial::run,
    review: Some(|results| {
        let params = HeldMutexParams::of_case(results.plan);
        let after = params.map(|params| params.duration.get() + trial::HANG_AFTER);
        let hang = after.and_then(|after| hang::cut_off(results.arms, after, None));
        Review { caveats: hang.into_iter().collect(), ..Review::default() }
    }),
    summary: summary::summary,
};
