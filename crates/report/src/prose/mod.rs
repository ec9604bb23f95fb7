//! Records in English: the only module that puts a verdict into words.
//!
//! A record holds typed facts. Text, page, exports and other commands all take their sentences
//! from here, so they all agree. Text from a record is made safe to show ([`plain()`]). Commands
//! are also built here, from what a scenario declares.

pub mod arm;
pub mod caveat;
pub mod census;
pub mod change;
mod command;
mod doubt;
pub mod explanation;
pub mod fact;
pub mod fix;
mod generator;
mod group;
pub mod headline;
pub mod ladder;
pub mod live;
#[cfg(any(test, feature = "testing"))]
pub mod live_samples;
pub mod not_seen;
pub mod problem;
pub mod reason;
mod record;
mod series;
pub mod suggestion;

pub use arm::left_out;
pub use command::InGuest;
pub use group::group;
pub use not_seen::no_programs;
pub use os::terminal::line as plain;
pub use problem::{need, problem, unusable_cpu};
pub use record::Prose;
pub(crate) use series::series;
pub use suggestion::Step;
