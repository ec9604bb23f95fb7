//! The kernel's CFS bandwidth controller as a discrete-event model.
//!
//! Pure and deterministic: no I/O, no clock, no thread. [`simulate`] runs a [`Workload`] in a
//! group with a quota under the rules of one kernel [`Era`] and returns an [`Outcome`]: what the
//! group used, how often it was throttled, how long its requests took, and where the quota went.
//! [`find_quota`] answers the inverse question: which quota is enough?
//!
//! The rules, what is left out, and how the model compares with real kernels are written up in
//! `docs/bandwidth.md`.

mod arrivals;
mod config;
mod controller;
#[cfg(test)]
mod controller_tests;
mod cpu_set;
mod distribution;
mod engine;
mod era;
mod error;
mod plan;
mod queue;
mod request;
mod result;
mod scheduler;
mod search;
mod tally;
mod threads;
mod trace;
mod workload;

pub use arrivals::{Arrivals, Bursts, Service};
pub use config::{Config, TickLayout};
pub use engine::simulate;
pub use era::{Era, Rules};
pub use error::Error;
pub use plan::{Answer, Goal, Holding, Tried, find_quota};
pub use request::Request;
pub use result::{Outcome, QuotaSpent, Stranded, ThreadUse};
pub use trace::parse_trace;
pub use workload::{Fibtest, Periodic, Workload};
