//! The kernel's CFS bandwidth controller as a discrete-event model.
//!
//! The model is pure and deterministic: no I/O, no clock, no threads. [`simulate`] runs a
//! [`Workload`] in a group with a quota, under the rules of one kernel [`Era`]. It returns an
//! [`Outcome`]: the CPU time of the group, its throttling, the latency of its requests, and where
//! the quota went. [`find_quota`] answers the inverse question: which quota is enough?
//!
//! `docs/bandwidth.md` describes the rules, the limits of the model, and how it compares with
//! real kernels.

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
