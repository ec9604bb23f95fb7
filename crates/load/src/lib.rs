//! Load generators: what provokes a stall, and what suffers from it.
//!
//! Each generator is a hidden subcommand of the one binary, re-executed as a child, so that it has
//! a memory map and a priority of its own and can be killed alone. [`child`] is what runs there,
//! [`parent`] what starts, releases, stops and reads it, [`protocol`] the messages between them.

pub mod child;
pub mod histogram;
pub mod live;
pub mod page;
pub mod parent;
pub mod protocol;
pub mod region;
pub mod slice;

pub use child::own::{OwnArgs, OwnGenerator, Work};
pub use child::{Load, run};
pub use parent::{Awaited, Child, Death, LoadError, LoadSpawner};
