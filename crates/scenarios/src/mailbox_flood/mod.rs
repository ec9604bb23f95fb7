//! `mailbox-flood`: an Erlang process that becomes slower with each message in its mailbox.

mod meta;
mod observe;
mod params;
mod plan;
mod read;
mod review;
mod sentences;
mod sink;
mod summary;
mod trial;

pub use meta::META;
pub use params::{Dam, FloodFix, Mailbox, MailboxFloodParams, Message, Pace, QueueData, SinkKind};

use crate::{Scenario, erlang};

/// The scenario.
pub static SCENARIO: Scenario<MailboxFloodParams> = Scenario {
    meta: &META,
    generators: &[],
    missing: |_| erlang::missing(),
    of_old_kernels: None,
    arms: plan::arms,
    calibrate: None,
    cell: None,
    sketch: Some(|params, _| plan::sketch(params)),
    judging: None,
    expected: plan::expected,
    warm_up: None,
    trial: |params, context| trial::run(&plan::spec(params, context.host)?, context),
    review: Some(review::review),
    summary: summary::summary,
};
