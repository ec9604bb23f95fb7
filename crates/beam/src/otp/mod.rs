//! The Erlang that is there, or that can be fetched: finding it, and asking what it is.

mod choose;
mod command;
mod flags;
mod found;
mod probe;
mod suite;

pub(crate) use command::QUIET;
pub use flags::Flags;
pub use found::{OLDEST, Origin, Otp};
pub use suite::{Fetch, SUITES, suite_of};
