//! A control group with a CPU quota, the same for v1 and v2.
//!
//! [`ParentGroup::find`] finds the group below which this process may make such a group,
//! [`BandwidthGroup::create`] makes it, and dropping it removes it with all that runs inside.
//! [`sweep`] removes what a run that was killed left behind.

mod bandwidth;
mod clear;
pub(crate) mod controller;
mod error;
mod group;
mod namespace;
mod parent_group;
mod runs;
mod sweep;
mod usage;

pub use bandwidth::{Bandwidth, Limit};
pub use error::{BadQuota, CgroupError};
pub use group::BandwidthGroup;
pub use namespace::enter_namespace;
pub use parent_group::ParentGroup;
pub use runs::ThrottledRuns;
pub use sweep::{Swept, sweep};
pub use usage::Usage;

/// Reads a text as each of the files of a group.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(text: &str) {
    let usages = [Usage::from_v1(text, text), Usage::from_v2(text, text)];
    let _ = (usages[0].since(&usages[1]), bandwidth::parse_max(text));
}

#[cfg(test)]
mod tests;
