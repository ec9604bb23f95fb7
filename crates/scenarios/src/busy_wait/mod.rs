//! `busy-wait`: schedulers that spin away the CPU, above all under a CPU quota.

mod also;
mod calibrate;
mod meta;
mod meter;
mod observe;
mod params;
mod plan;
mod quota_use;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use params::{BusyWaitParams, Load};

use crate::{Scenario, erlang, quota};

/// The scenario.
pub static SCENARIO: Scenario<BusyWaitParams> = Scenario {
    meta: &META,
    generators: &[],
    missing: |host| erlang::missing().or_else(|| quota::missing(host)),
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: Some(calibrate::calibrate),
    cell: Some(plan::cell),
    sketch: Some(plan::sketch),
    judging: None,
    expected: plan::expected,
    warm_up: None,
    trial: |params, context| trial::run(&plan::spec(params, context.host)?, context),
    review: Some(review::review),
    summary: summary::summary,
};
