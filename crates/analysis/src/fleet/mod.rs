//! What many machines say together: how many are affected, and what distinguishes these from the
//! others.
//!
//! Machines of one kind share a kernel, an instance type and things that no record holds. So
//! their answers are correlated for reasons that no factor shows. No method here treats them as
//! independent: the unit is the kind.

pub mod apart;
mod cut;
mod kind;
mod owners;
mod share;
mod shuffle;

pub use apart::{Apart, Split, apart};
pub use cut::{Cut, Factor};
pub use kind::{KindCounts, OwnedKind, by_owner};
pub use share::{Sample, share};
