//! `cpu-quota`: a group that gets less or more CPU time than its quota.

mod meta;
mod params;
mod plan;
mod review;
mod sentences;
mod summary;
mod trial;

pub use meta::META;
pub use params::CpuQuotaParams;
pub use trial::{RawTrial, TrialSpec, Window, run_load};

use crate::Scenario;
use model::Judging;
use std::borrow::Cow;

/// The scenario.
pub static SCENARIO: Scenario<CpuQuotaParams> = Scenario {
    meta: &META,
    generators: &[],
    missing: plan::missing,
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: Some(plan::cell),
    sketch: Some(plan::sketch),
    judging: Some(|_| {
        let excess = Judging { measure: Cow::Borrowed(meta::measure::BEYOND), ..META.judging };
        vec![META.judging, excess]
    }),
    expected: plan::expected,
    warm_up: Some(plan::warm_up),
    trial: |params, context| trial::run(&plan::spec(params, context.host)?, context),
    review: Some(review::review),
    summary: summary::summary,
};
