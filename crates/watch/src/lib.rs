//! What holds up a live system now: whom, and by whom.
//!
//! A [`Sampler`] reads, once a second, what the kernel has added up, and makes a [`Tick`] of it.
//! Ticks are folded into a [`Window`]; parts, findings and answers are pure functions of a window
//! ([`live`]), so that a test needs no machine. All that is known of a kind of finding, with its
//! sentences, stands in one file ([`findings`]).
//!
//! Nothing of the machine is changed, and what is read of /proc takes no lock of the process that
//! it is about: neither `cmdline` nor `maps` nor `smaps`. Of Erlang nodes alone `cmdline` is read
//! once, and `maps` once or when there is new code; of a runtime whose group is throttled `cmdline`
//! and `environ` are read once. What users of the machine wrote, and what engines keep about their
//! containers ([`workload`]), is read by a process of its own, without privileges ([`reader`]).

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
mod since;
mod size;
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
pub use node::{NodeFacts, NodeTick, SchedulerTick, Seen};
pub use runtime::LiveRuntime;
pub use sample::{Sampled, Sampler, Sampling, ScopeError, StartError, Step, Steps};
pub use since::Since;
pub use summary::{Loss, NOTICED_MS_PER_S, NOTICED_SHARE, Summary, To, summary};
pub use tick::{GroupTick, Job, MachineTick, Outside, Process, RuntimeTick, Spent, Tick};
pub use view::{interval, live, losses};
pub use window::Window;
