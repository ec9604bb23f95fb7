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
    calibrate: Some(|arms, host, interrupted| {
        let Some(open) = arms.iter().find(|arm| plan::is_open(&arm.settings)) else {
            return Ok(());
        };
        let speed = trial::speed(&open.settings, host, interrupted)?;
        plan::set_speed(arms, speed);
        Ok(())
    }),
    cell: None,
    sketch: None,
    judging: None,
    expected: |params| params.duration.get() + plan::SET_UP,
    warm_up: None,
    trial: trial::run,
    review: Some(review::review),
    summary: summary::summary,
};
