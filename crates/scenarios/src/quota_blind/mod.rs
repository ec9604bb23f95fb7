//! `quota-blind`: a runtime with more threads at work than its CPU quota allows.

mod meta;
mod params;
mod plan;
mod programs;
mod review;
mod runtime;
mod sentences;
mod stream;
mod summary;
mod trial;
mod worker;

pub use meta::META;
pub use params::{QuotaBlindParams, QuotaGroup, Runtime};

use crate::Scenario;

/// The scenario.
pub static SCENARIO: Scenario<QuotaBlindParams> = Scenario {
    meta: &META,
    generators: &[stream::REQUESTS, worker::RUNTIME],
    missing: plan::missing,
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: Some(trial::calibrate),
    cell: None,
    sketch: None,
    judging: None,
    expected: |params| params.duration.get() + plan::SET_UP,
    warm_up: None,
    trial: trial::run,
    review: Some(review::review),
    summary: summary::summary,
};
