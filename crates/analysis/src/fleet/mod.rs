//! What many machines say together: how many are affected, and what tells them from the others.
//!
//! Machines of one kind share a kernel, an instance type and things that no record holds, so their
//! answers are alike for reasons of their own. Nothing here takes them for independent: the unit is
//! the kind.

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
