//! Functions of the operating system that several crates need. Depends on no other crate of ours.
//!
//! - [`arch`]: the architectures that tailback is built for, and their names.
//! - [`death`]: programs that end when this one does.
//! - [`child`]: programs that were started, until their end; [`pipe`]: what they write;
//!   [`stat`]: what /proc tells about any process.
//! - [`user`]: the user for work that needs no root.
//! - [`pin`]: the CPUs of a thread; [`cpulist`]: CPU lists in the kernel's format; [`policy`]:
//!   scheduling policies.
//! - [`mod@file`]: reading files whose path another user may control; [`write_back`]: writing data
//!   back before somebody waits for it; [`loop_device`]: disks whose content is a file;
//!   [`memory_file`]: files in memory.
//! - [`folders`]: where the user's state and caches belong; [`removal`]: removing a folder.
//! - [`memory`]: how much memory there is, and giving it back; [`random`]: numbers that nobody
//!   can guess.
//! - [`time`]: durations as numbers, and clocks.
//! - [`sandbox`]: limits what a process may do from then on.
//! - [`terminal`]: makes foreign text safe to show; [`quote`]: makes it safe to paste into a
//!   shell.

pub mod arch;
pub mod child;
pub mod cpulist;
pub mod death;
pub mod file;
pub mod folders;
pub mod loop_device;
pub mod memory;
pub mod memory_file;
pub mod pin;
pub mod pipe;
pub mod policy;
pub mod quote;
pub mod random;
pub mod removal;
pub mod sandbox;
pub mod stat;
pub mod terminal;
pub mod time;
pub mod user;
pub mod write_back;
