//! Erlang nodes: found, started, driven, watched, and ended for certain.
//!
//! - [`Otp`]: the Erlang that is there, and whether it takes [`Flags`].
//! - [`App`]: the Erlang application, which this crate carries as sources, compiled for that OTP.
//! - [`Node`]: a VM driven by calls over pipes, which sends events; each gets its time of arrival.
//! - [`term`]: reading and making Erlang terms.
//! - [`run`]: a compiler or another program run to its end, as another user where there is one.
//! - [`ThreadSampler`]: what the VM's threads do, seen from outside.
//!
//! What a VM sends is not trusted: frames, depth and number of terms are bounded, and what is
//! malformed is an error.

mod app;
mod error;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod node;
mod otp;
mod run;
mod spawner;
mod stat;
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
