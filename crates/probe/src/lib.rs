//! Evidence: who waited, for what, who held it, and what the holder was doing meanwhile.
//!
//! Programs in the kernel (eBPF, feature `bpf`) filter and add up; they send only what ended and
//! may matter. [`join`](mod@join) goes from a wait to its holders and to what ran instead of them,
//! from events alone. A [`Session`] watches one trial; where programs cannot be had it falls back
//! to /proc and reports what is missing and what would give it.

/// The name for an idle CPU among what ran while a thread was runnable: the thread was throttled,
/// or had not been picked yet.
pub const IDLE: &str = "idle";

pub mod calls;
pub mod elf;
mod error;
pub mod event;
mod files;
pub mod gather;
pub mod history;
pub mod idle;
pub mod join;
pub mod live;
mod options;
pub mod parts;
pub mod privilege;
pub mod quota;
#[cfg(feature = "bpf")]
mod refused;
mod session;
#[cfg(feature = "bpf")]
mod shared;
#[cfg(feature = "bpf")]
mod skeleton;
pub mod span;
pub mod suspects;
pub mod symbols;
pub mod to_model;
#[cfg(feature = "bpf")]
mod tracepoint;
#[cfg(feature = "bpf")]
mod tracer;
mod watched;

pub use error::ProbeError;
pub use options::SessionOptions;
pub use session::Session;
pub use watched::{Role, Watched};
