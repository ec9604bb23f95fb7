//! `preempted-holder`: threads spin for a lock whose holder is preempted.

mod load;
mod lock;
mod meta;
mod offers;
mod params;
mod plan;
mod review;
mod round;
mod sentences;
mod spec;
mod summary;
mod trial;

pub use lock::LockKind;
pub use meta::META;
pub use params::{Fault, LockFix, PreemptedHolderParams};

use crate::Scenario;

/// The scenario.
pub static SCENARIO: Scenario<PreemptedHolderParams> = Scenario {
    meta: &META,
    generators: &[load::GENERATOR],
    missing: |_| None,
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: None,
    judging: None,
    expected: |params| params.duration.get() + plan::SET_UP,
    warm_up: None,
    trial: |params, context| trial::run(&plan::spec(params, context.host)?, context),
    review: Some(review::review),
    summary: summary::summary,
};
