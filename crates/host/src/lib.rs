//! What tailback reads of the machine it runs on, and the little that it changes: [`cgroup`] makes
//! groups and [`governor`] sets frequencies. Both put back what they found, and what a killed run
//! left changed stands in its [`journal`]; nothing else writes.
//!
//! Every reader of files takes [`Roots`], so that it works on a fake tree as on the real one.
//! Files of `/proc` and `/sys` are not trusted: they may be missing, torn, huge or malformed, and
//! a fact that cannot be read is absent.
//!
//! - [`facts::machine`]: kernel, CPUs, memory, control groups, for the record.
//! - [`placement`]: which CPU for what.
//! - [`disturbance`]: what disturbed a trial from outside.
//! - [`private`]: whether a cache is the caller's alone.
//! - [`kept`]: what daemons of root keep for themselves.
//! - [`process_files`]: what another process executes and has mapped, opened by no path of its own.
//! - [`program`]: other people's programs that root runs with its own rights; [`tool`] runs them
//!   within a limit.
//! - [`Bench`]: a folder in which a compiler works, as another user where root has one.
//! - [`wakeup`]: what a wake-up costs here, for predictions.
//! - [`cpu_groups`]: groups, quotas and counters of any process.
//! - [`limits`]: what a scenario has to ask before it sets itself up.

mod bench;
pub mod cgroup;
pub mod cgroup_facts;
mod cgroup_tree;
pub mod cpu_groups;
mod cpufreq;
pub mod disturbance;
mod error;
pub mod facts;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod governor;
mod held;
mod hierarchy;
pub mod journal;
pub mod kept;
mod kernel_config;
pub mod limits;
pub mod memory_groups;
mod otps;
mod owner;
pub mod placement;
mod preemption;
pub mod private;
pub mod process_files;
pub mod program;
mod resident;
pub mod restore;
pub mod roots;
pub mod temporary;
mod text;
pub mod tool;
mod topology;
pub mod wakeup;

pub use bench::Bench;
pub use cpu_groups::{CpuGroups, IDLE_WEIGHT};
pub use disturbance::Snapshot;
pub use error::HostError;
pub use facts::machine;
pub use memory_groups::MemoryGroups;
pub use otps::otps;
pub use placement::Placement;
pub use process_files::{MappedFile, ProcessFiles};
pub use resident::resident_bytes;
pub use restore::{Restored, restore};
pub use roots::Roots;
pub use temporary::Temporary;
