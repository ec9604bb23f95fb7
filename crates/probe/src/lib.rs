//! Evidence: who waited, for what, who held it, and what the holder was doing meanwhile.
//!
//! Programs in the kernel (eBPF, feature `bpf`) filter and add up; they send only what ended and
//! may matter. [`join`](mod@join) goes from a wait to its holders and to those they stood behind,
//! from events alone. A [`Session`] watches one trial; where programs cannot be had it falls back
//! to /proc and says what is missing and what would give it.

/// What stands among those who ran while a thread was runnable, where its CPU ran nobody: the thread
/// was throttled, or had not been fetched yet.
pub const IDLE: &str = "idle";

pub mod calls;
mod error;
pub mod event;
mod files;
pub mod gather;
pub mod history;
pub mod idle;
pub mod join;
pub mod parts;
pub mod privilege;
pub mod quota;
mod session;
pub mod span;
pub mod suspects;
pub mod symbols;
#[cfg(feature = "bpf")]
mod tracer;
mod watched;
mod wish;
pub mod words;

pub use error::ProbeError;
pub use session::Session;
pub use watched::{Role, Watched};
pub use wish::Wish;
