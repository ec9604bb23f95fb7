//! Packages of Debian's suites: fetched by apt with lists of its own, kept in a cache that only the
//! caller can write to, and taken apart within bounds. The system's sources stay untouched.
//!
//! [`Apt`] finds and fetches, [`Cache`] keeps, [`package`] takes files out, [`sums`] says whether
//! what was taken out is still the same.

mod apt;
mod cache;
mod error;
pub mod package;
pub mod sums;

pub use apt::{Apt, MIRROR, Package};
pub use cache::{Cache, Lock, failed, sha256, sha256_of};
pub use error::DebianError;
