//! `preempted-holder`: threads spin for a lock whose holder is preempted.

mod load;
mod lock;
mod meta;
mod offers;
mod params;
mod plan;
mod round;
mod sentences;
mod spec;
mod summary;
mod trial;

pub use lock::LockKind;
pub use meta::META;
pub use params::{Fault, LockFix, PreemptedHolderParams};

use crate::params::Params;
use crate::{Review, Scenario, hang};

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
    review: Some(|results| {
        let params = PreemptedHolderParams::of_case(results.plan);
        let after = params.map(|params| params.duration.get() + trial::HANG_AFTER);
        let hang = after.and_then(|after| hang::cut_off(results.arms, after, None));
        Review { caveats: hang.into_iter().collect(), ..Review::default() }
    }),
    summary: summary::summary,
};
