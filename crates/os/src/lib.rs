//! What several crates need of the operating system, each once. Uses nothing of ours.
//!
//! - [`death`]: programs that end when this one does.
//! - [`child`]: programs that were started, until their end; [`pipe`]: what they say.
//! - [`user`]: who does what needs no root.
//! - [`pin`]: the CPUs of a thread; [`cpulist`] reads and writes them as the kernel does.
//! - [`mod@file`]: reading files whose path another user may have a say in.
//! - [`folders`]: where the user's state and caches belong.
//! - [`memory`]: how much of it there is, and giving it back; [`random`]: numbers that nobody can
//!   guess.
//! - [`time`]: lengths of time as numbers, and clocks.
//! - [`sandbox`]: what a process may do from here on.
//! - [`terminal`]: text of others, made fit to be shown; [`quote`]: and to be pasted into a shell.

pub mod child;
pub mod cpulist;
pub mod death;
pub mod file;
pub mod folders;
pub mod memory;
pub mod pin;
pub mod pipe;
pub mod policy;
pub mod quote;
pub mod random;
pub mod sandbox;
pub mod terminal;
pub mod time;
pub mod user;
