//! What holds up a live system: which programs, and by whom.
//!
//! A [`Sampler`] reads the kernel's sums once a second, and makes a [`Tick`] of them. Ticks are
//! folded into a [`Window`]. Parts, findings and answers are pure functions of a window
//! ([`live`]), so a test needs no machine. Everything about one kind of finding, with its
//! sentences, is in one file ([`findings`]).
//!
//! Nothing on the machine is changed. What is read of /proc takes no lock of the process
//! concerned: not `cmdline`, `maps` or `smaps`. There are two exceptions. Of Erlang nodes,
//! `cmdline` is read once, and `maps` once or when there is new code. Of a runtime whose group is
//! throttled, `cmdline` and `environ` are read once. A separate process without privileges
//! ([`reader`]) reads what users of the machine wrote, and what engines keep about their
//! containers ([`workload`]).

pub mod findings;
#[cfg(feature = "fuzz")]
pub mod fuzz;
mod incidents;
mod inside;
mod node;
mod nodes;
mod parts;
pub mod reader;
mod runtime;
mod sample;
mod scope;
mod since;
mod size;
mod subject;
mod summary;
mod sums;
#[cfg(test)]
mod testing;
mod tick;
mod view;
mod why;
mod window;
pub mod workload;

pub use incidents::{Change, Event, Incidents, Moment};
pub use inside::InsideTick;
pub use node::{NodeFacts, NodeProcess, NodeTick, SchedulerTick, Seen};
pub use runtime::LiveRuntime;
pub use sample::{Sampled, Sampler, Sampling, StartError, Step, Steps};
pub use scope::ScopeError;
pub use since::Since;
pub use subject::Subject;
pub use summary::{
    Loss, NOTICED_MS_PER_S, NOTICED_SHARE, Stolen, Summary, To, Together, sees_all, summary,
};
pub use tick::{GroupTick, Job, MachineTick, Outside, Process, RuntimeTick, Spent, Tick};
pub use view::{interval, live, losses};
pub use window::Window;
