//! Finding the version where a stall begins, when each answer may be wrong.
//!
//! A plain bisection takes each answer for the truth, and one that is wrong sends it to the wrong
//! half for good. Here a version is booted again and again until the evidence for one answer is so
//! strong that the whole bisection is wrong in at most [`ERROR_RATE`] of all cases.

mod budget;
mod evidence;
mod halving;
mod search;

pub use budget::{Budget, ERROR_RATE};
pub use evidence::{Answer, By, Evidence, Said};
pub use halving::Halving;
pub use search::{Boot, Boots, Event, Found, Outcome, Rule, Source, Step, search};
