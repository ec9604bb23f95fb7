//! The known stalls, one folder for each, and the list of all of them.
//!
//! To add a scenario, add a folder with a [`Scenario`] and a line in [`ALL`] (`list.rs`). Flags,
//! help, man page and completions are derived from its [`model::Meta`] and its struct of
//! parameters ([`params`]).

mod any;
mod arms;
pub mod blocking_nif;
mod brief;
pub mod busy_wait;
mod cell;
mod context;
mod control_fix;
pub mod cpu_quota;
pub mod cpus;
mod disturbances;
pub mod erlang;
mod error;
mod factors;
#[cfg(feature = "fuzz")]
pub mod fuzz;
pub mod group_move;
mod hang;
pub mod held_mutex;
pub mod io_journal;
mod judging;
mod list;
pub mod mailbox_flood;
pub mod memory_high;
pub mod mmap_lock;
pub mod params;
pub mod preempted_holder;
mod probing;
mod quota;
pub mod quota_blind;
mod review;
mod scenario;
mod suggest;
mod summary;
#[cfg(test)]
mod testing;
mod wait;

pub use any::AnyScenario;
pub use arms::Arms;
pub use brief::brief;
pub use cell::Cell;
pub use context::{Context, Host, Tick, TrialResult};
pub use disturbances::Disturbances;
pub use error::ScenarioError;
pub use judging::{arms_of_verdict, blocks_left, is_due, judge, judged, settled, stands};
pub use list::{ALL, find, generators, needs_loop_devices};
pub use load::{LoadSpawner, OwnGenerator};
pub use probing::{Part, Probing};
pub use review::{Objection, Results, Review};
pub use scenario::Scenario;
pub use summary::Summary;
