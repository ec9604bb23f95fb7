//! Evidence: which threads waited, for what, which threads held it, and what the holders did
//! meanwhile.
//!
//! Programs in the kernel (eBPF, feature `bpf`) filter and add up; they send only ended events
//! that may matter. [`join`](mod@join) goes from a wait to its holders and to what ran instead of
//! them, using events only. A [`Session`] watches one trial. If the programs cannot be loaded, it
//! falls back to /proc, and reports what is missing and what would provide it.

/// The name of an idle CPU in the list of what ran while a thread was runnable: the thread was
/// throttled, or the scheduler had not picked it yet.
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
