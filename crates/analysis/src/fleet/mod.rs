//! What many machines say together: how many are affected, and what tells them from the others.
//!
//! Machines of one kind share a kernel, an instance type and things that no record holds, so their
//! answers are alike for reasons of their own. Nothing here takes them for independent: the unit is
//! the kind.

pub mod apart;
mod kind;
mod share;

pub use apart::{Apart, Cut, Factor, Split, apart};
pub use kind::KindCounts;
pub use share::share;
