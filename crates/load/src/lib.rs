//! Load generators: the processes that cause a stall, and the processes that suffer from it.
//!
//! Each generator is a hidden subcommand of the tool's own binary, which runs as a child process.
//! So it has its own memory map and its own priority, and can be killed alone. [`child`] is the
//! code in the child process. [`parent`] starts, releases, stops and reads the child. [`protocol`]
//! defines the messages between them.

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
