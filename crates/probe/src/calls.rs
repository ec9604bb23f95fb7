//! Counts calls of one function of a library, by CPU.

#[cfg(feature = "bpf")]
mod attach;
mod library;
mod table;
mod target;

use crate::ProbeError;
use host::roots::Roots;
use std::fs::File;
use std::path::PathBuf;

pub use table::{CpuCalls, Table};
pub use target::CallTarget;

/// A running count.
pub struct Calls<'a> {
    read: &'a dyn Fn() -> Table,
    before: Table,
    process: PathBuf,
}

/// Counts while `run` runs. Nothing stays attached after `run` or this process ends.
///
/// # Errors
/// If the process, the library or the function does not exist, or if the programs cannot be
/// loaded.
pub fn count(
    roots: &Roots,
    target: &CallTarget,
    run: &mut dyn FnMut(&mut Calls),
) -> Result<(), ProbeError> {
    let process = roots.proc.join(target.pid.to_string());
    let file = library::find(roots, target.pid, &target.library)?;
    let mut with = |read: &dyn Fn() -> Table| {
        run(&mut Calls { read, before: Table::default(), process: process.clone() });
    };
    attached(roots, target, file, &mut with)
}

#[cfg(feature = "bpf")]
fn attached(
    roots: &Roots,
    target: &CallTarget,
    file: File,
    run: &mut dyn FnMut(&dyn Fn() -> Table),
) -> Result<(), ProbeError> {
    crate::privilege::check(roots)?;
    attach::attached(target, file, run)
}

#[cfg(not(feature = "bpf"))]
fn attached(
    _: &Roots,
    _: &CallTarget,
    _: File,
    _: &mut dyn FnMut(&dyn Fn() -> Table),
) -> Result<(), ProbeError> {
    Err(ProbeError::NoPrograms(model::not_seen::NoPrograms::NotBuilt))
}

impl Calls<'_> {
    /// The calls since the previous call of this method, or since the start.
    pub fn gained(&mut self) -> Table {
        let now = (self.read)();
        let gained = now.since(&self.before);
        self.before = now;
        gained
    }

    /// The calls from the start to the last [`Calls::gained`].
    pub fn total(&self) -> &Table {
        &self.before
    }

    /// Whether the process still exists.
    pub fn is_alive(&self) -> bool {
        self.process.exists()
    }
}
