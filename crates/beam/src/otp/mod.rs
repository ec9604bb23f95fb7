//! Erlangs that are installed or can be fetched: finds them, and asks them for their versions.

mod choose;
mod command;
mod flags;
mod found;
mod probe;
mod suite;

pub(crate) use command::{QUIET, strip};
pub use flags::Flags;
#[cfg(feature = "fuzz")]
pub(crate) use found::fuzz;
pub use found::{OLDEST, Origin, Otp};
pub use suite::{Fetch, suite_of};
