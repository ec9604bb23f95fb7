//! Finding the version where a stall begins, when each answer may be wrong.
//!
//! A plain bisection trusts each answer. One wrong answer sends it to the wrong half for good.
//! This bisection boots a version several times. It stops when the evidence for one answer is so
//! strong that the whole bisection is wrong with at most probability [`ERROR_RATE`].

mod budget;
mod evidence;
mod halving;
mod search;

pub use budget::{Budget, ERROR_RATE};
pub use evidence::{Answer, By, Evidence, Said};
pub use halving::Halving;
pub use search::{Boot, Boots, Event, Found, Outcome, Rule, Source, Step, search};
