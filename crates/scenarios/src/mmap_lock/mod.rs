//! `mmap-lock`: readers of /proc/PID stall the memory mapping of process PID.

mod checks;
mod load;
mod margin;
mod meta;
mod observe;
mod params;
mod place;
mod plan;
mod reader_group;
mod review;
mod sentences;
mod summary;
mod trial;

pub use self::load::{CpuLoad, Cut, Event, RawTrial, TrialSpec, Twin, run_load};
pub use meta::META;
pub use params::{MmapLockParams, Target};

use crate::params::Quota;
use crate::{Cell, Scenario};

/// The scenario.
pub static SCENARIO: Scenario<MmapLockParams> = Scenario {
    meta: &META,
    generators: &[],
    missing: |host| place::missing(host.machine),
    of_old_kernels: Some(summary::of_old_kernels),
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: Some(|params, host| {
        // This only reads /proc. It creates no group.
        Cell::of(plan::sketch(params, host)?)
    }),
    judging: Some(|params| vec![margin::judging(params)]),
    expected: plan::expected,
    warm_up: Some(plan::warm_up),
    trial: |params, context| {
        let spec = plan::spec(params, context.host, context.seed)?;
        let quota = params.reader_quota.get().map(Quota::bandwidth);
        trial::run(spec, quota, context)
    },
    review: Some(review::review),
    summary: summary::summary,
};
