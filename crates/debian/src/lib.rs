//! Packages of Debian's suites. apt fetches them with its own lists in a separate folder. They are
//! kept in a cache that only the caller can write to, and are unpacked within limits. The system's
//! package sources are not changed.
//!
//! [`Apt`] finds and fetches packages, [`Cache`] keeps them, [`package`] unpacks files, and
//! [`sums`] checks that the unpacked files are unchanged.

mod apt;
mod cache;
mod error;
pub mod package;
pub mod sums;

pub use apt::{Apt, MIRROR, Package};
pub use cache::{Cache, Lock, failed, sha256, sha256_of};
pub use error::DebianError;
