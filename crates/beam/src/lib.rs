//! Erlang nodes: found, started, driven, watched, and reliably ended.
//!
//! - [`Otp`]: an available Erlang, and whether it accepts [`Flags`].
//! - [`App`]: the Erlang application, whose sources this crate contains, compiled for that OTP.
//! - [`Node`]: a VM driven by calls over pipes. It sends events, and each gets its time of arrival.
//! - [`term`]: reads and makes Erlang terms.
//! - [`run`]: runs a compiler or another program to its end, as another user if there is one.
//! - [`ThreadSampler`]: samples from outside what the VM's threads do.
//!
//! Data from a VM is not trusted: frames, depth and number of terms are bounded, and malformed
//! data is an error.

mod app;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod node;
mod otp;
mod run;
mod spawner;
mod supervisor;
pub mod term;
mod text;
mod threads;
pub mod wire;

pub use app::App;
pub use debian::{Cache, DebianError};
pub use eetf::{ExternalFun, List, Pid, Port, Reference, Term, Tuple};
pub use error::{BeamError, CallError, Death};
pub use node::{Hello, Node, NodeOptions};
pub use os::child::Ran;
pub use otp::{Fetch, Flags, OLDEST, Origin, Otp, suite_of};
pub use run::run;
pub use threads::{
    Class, Shares, ThreadKind, ThreadReport, ThreadSampler, ThreadSeries, ThreadTotal,
};
