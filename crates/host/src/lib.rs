//! Reads facts about the machine that tailback runs on, and makes a few changes: [`cgroup`] makes
//! groups and [`governor`] sets frequencies. Both undo their changes, and the changes that a
//! killed run left behind are in its [`journal`]. [`memory_disk`] makes disks that end with their
//! process. Nothing else writes.
//!
//! Every reader of files takes [`Roots`], so that it works on a fake tree as on the real one.
//! Files of `/proc` and `/sys` are not trusted: they may be missing, truncated, huge or
//! malformed. A fact that cannot be read is absent.
//!
//! - [`facts::machine`]: kernel, CPUs, memory, control groups, for the record.
//! - [`placement`]: which CPU each part of a trial uses.
//! - [`disturbance`]: external disturbances during a trial.
//! - [`private`]: whether a cache belongs to the caller alone.
//! - [`kept`]: files that daemons of root keep for themselves.
//! - [`process_files`]: the program and the mapped files of another process, opened without a
//!   path that the process chose.
//! - [`program`]: other people's programs that root runs with its own rights; [`tool`] runs them
//!   within a time limit.
//! - [`Bench`]: a folder in which a compiler works, as another user if root has one.
//! - [`wakeup`]: the cost of a wake-up on this machine, for predictions.
//! - [`cpu_groups`]: groups, quotas and counters of any process.
//! - [`limits`]: limits that a scenario has to check before it starts.

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
mod group_controller;
mod held;
mod hierarchy;
pub mod journal;
pub mod kept;
mod kernel_config;
pub mod limits;
pub mod memory_disk;
mod memory_files;
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
pub use group_controller::GroupController;
pub use memory_groups::MemoryGroups;
pub use otps::otps;
pub use placement::Placement;
pub use process_files::{MappedFile, ProcessFiles};
pub use resident::{Resident, held_alone, resident_bytes};
pub use restore::{Restored, restore};
pub use roots::Roots;
pub use temporary::Temporary;
