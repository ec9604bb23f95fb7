//! `blocking-nif`: native functions that make the Erlang VM's schedulers unfair or put them to
//! sleep.

mod meta;
mod observe;
mod params;
mod plan;
mod review;
mod sentences;
mod summary;
mod ticks;
mod trial;

pub use meta::META;
pub use params::{BlockingNifParams, Mode, NifFix};

use crate::{Scenario, erlang};

/// The scenario.
pub static SCENARIO: Scenario<BlockingNifParams> = Scenario {
    meta: &META,
    generators: &[],
    missing: |_| erlang::missing(),
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: Some(plan::sketch),
    judging: Some(|_| vec![meta::ASLEEP, meta::UNFAIRNESS, meta::LATE]),
    expected: plan::expected,
    warm_up: None,
    trial: |params, context| trial::run(&plan::spec(params, context.host)?, context),
    review: Some(review::review),
    summary: summary::summary,
};
