//! What records say, in English: the only place where a verdict is put into words.
//!
//! A record holds typed facts. Text, page, exports and other commands all take their sentences from
//! here, so all of them say the same. Whatever comes from a record is made fit to be shown
//! ([`plain()`]); commands are made here too, from what a scenario declares.

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
pub use group::group;
pub use not_seen::no_programs;
pub use os::terminal::line as plain;
pub use problem::{need, problem, unusable_cpu};
pub use record::Prose;
pub(crate) use series::series;
pub use suggestion::Step;
