//! A control group with a CPU quota, the same for v1 and v2, or with limits on memory, reads and
//! writes, v2 only.
//!
//! [`ParentGroup::find`] finds the group below which this process may make such a group.
//! [`BandwidthGroup::create`] makes it, and dropping it removes it with all processes in it.
//! [`ParentGroup::find_memory`] and [`MemoryGroup`] do the same for memory, and
//! [`ParentGroup::find_io`] and [`IoGroup`] for reads and writes. [`sweep`] removes the groups that
//! a killed run left behind.

mod bandwidth;
mod clear;
pub(crate) mod controller;
mod error;
mod group;
mod io;
mod io_parent;
mod kind;
pub(crate) mod left_group;
mod made_group;
mod memory;
mod memory_usage;
mod namespace;
mod parent_group;
mod place;
mod runs;
mod sweep;
mod usage;

pub use bandwidth::{Bandwidth, Limit};
pub use controller::take_back_all;
pub use error::{BadQuota, CgroupError};
pub use group::BandwidthGroup;
pub use io::IoGroup;
pub use io_parent::NoIo;
pub use memory::{MemoryGroup, MemoryLimits};
pub use memory_usage::MemoryUsage;
pub use namespace::enter_namespace;
pub use parent_group::ParentGroup;
pub use runs::ThrottledRuns;
pub use sweep::{Swept, sweep, sweep_all};
pub use usage::Usage;

/// Reads a text as each of the files of a group.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(text: &str) {
    let usages = [Usage::from_v1(text, text), Usage::from_v2(text, text)];
    let _ = (usages[0].since(&usages[1]), bandwidth::parse_max(text));
    let memory = MemoryUsage::from_texts(text, text, text);
    let _ = memory.since(&memory);
}

#[cfg(test)]
mod tests;
