//! The steps of the new process between fork and exec.

use super::options::NodeOptions;
use crate::supervisor;
use os::pin::Mask;
use os::user::User;
use rustix::fd::BorrowedFd;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::{FdFlags, fcntl_setfd};
use rustix::process::{getpgid, getpid, getpriority_process, setpgid, setpriority_process};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The names of the steps by number; the files to join have the numbers after these.
const STEPS: [&str; 6] = [
    "starting its supervisor",
    "making its process group",
    "binding it to its CPUs",
    "setting its niceness",
    "passing its pipes to it",
    "changing to its user",
];

/// Everything that the new process needs. It is made before the fork, since the child may not
/// allocate.
pub(super) struct ChildSetup {
    tool: u32,
    cpus: Option<Mask>,
    nice: i32,
    join: Vec<CString>,
    /// Its ends of the pipes of the protocol.
    ends: [OwnedFd; 2],
    /// Other files that the new process keeps open.
    open: Vec<Arc<OwnedFd>>,
    /// The user that the process becomes at the end; None for the caller.
    user: Option<User>,
    /// Receives the new process's id, and the number of a step that failed.
    report: OwnedFd,
}

impl ChildSetup {
    /// Prepares what the options require.
    ///
    /// # Errors
    /// A description and the reason, if a requirement cannot be met.
    pub fn new(
        options: &NodeOptions,
        ends: [OwnedFd; 2],
        report: OwnedFd,
        user: Option<User>,
    ) -> Result<Self, (String, io::Error)> {
        let cpus = match &options.cpus {
            Some(cpus) => {
                Some(Mask::from_cpus(cpus).map_err(|error| (STEPS[2].to_owned(), error))?)
            }
            // The kernel's mask may be larger than this set; then the spawner's mask is used.
            None => Mask::current().ok(),
        };
        let nice = match options.nice {
            Some(nice) => nice,
            None => getpriority_process(None).map_err(|e| (STEPS[3].to_owned(), e.into()))?,
        };
        let names = options.join.iter().map(|path| {
            CString::new(path.as_os_str().as_bytes()).map_err(|error| (joining(path), error.into()))
        });
        let join = names.collect::<Result<_, _>>()?;
        let open = options.open.clone();
        Ok(ChildSetup { tool: std::process::id(), cpus, nice, join, ends, open, user, report })
    }

    /// Keeps this file open in the new process; returns the path by which the process reaches it.
    pub fn keep(&mut self, open: Arc<OwnedFd>) -> PathBuf {
        let path = Path::new("/proc/self/fd").join(open.as_raw_fd().to_string());
        self.open.push(open);
        path
    }

    /// The descriptors of the protocol, for the command line.
    pub fn descriptors(&self) -> [RawFd; 2] {
        self.ends.each_ref().map(AsRawFd::as_raw_fd)
    }

    /// Runs in the first child; returns in the second child, which is to become the VM.
    ///
    /// Allocates nothing and takes no lock.
    ///
    /// # Errors
    /// If a step fails; its number is in the report.
    pub fn in_child(&self) -> io::Result<()> {
        let supervisor = self.step(0, || supervisor::split(self.tool))?;
        let pid = getpid().as_raw_nonzero().get();
        rustix::io::write(&self.report, &pid.to_ne_bytes())?;
        self.step(1, || Ok(setpgid(None, None).or_else(already_leads)?))?;
        self.step(2, || self.cpus.as_ref().map_or(Ok(()), Mask::apply))?;
        self.step(3, || Ok(setpriority_process(None, self.nice)?))?;
        self.step(4, || {
            // Only in this process: a child that is started at the same time must not inherit
            // them.
            let mut all = self.ends.iter().chain(self.open.iter().map(AsRef::as_ref));
            all.try_for_each(|end| Ok(fcntl_setfd(end, FdFlags::empty())?))
        })?;
        for (number, path) in (6u8..).zip(&self.join) {
            self.step(number, || join(path, pid))?;
        }
        // The last step, since the others may need the caller's rights.
        self.step(5, || supervisor.hand_over(self.user))
    }

    fn step<T>(&self, number: u8, act: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        act().inspect_err(|_| {
            // The error itself is returned; if this write fails, only the name of the step is
            // missing.
            let _ = rustix::io::write(self.report.as_fd(), &[number]);
        })
    }
}

fn already_leads(error: rustix::io::Errno) -> Result<(), rustix::io::Errno> {
    if getpgid(None) == Ok(getpid()) { Ok(()) } else { Err(error) }
}

/// Writes the process's id as a line into an existing file.
fn join(path: &CString, pid: i32) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC | OFlags::TRUNC;
    let file = openat(CWD, path.as_c_str(), flags, Mode::empty())?;
    let mut digits = [0; 12];
    rustix::io::write(file, decimal(pid, &mut digits))?;
    Ok(())
}

/// Writes a non-negative number as a decimal line into existing memory.
fn decimal(number: i32, digits: &mut [u8; 12]) -> &[u8] {
    let (mut left, mut at) = (number.unsigned_abs(), digits.len() - 1);
    digits[at] = b'\n';
    loop {
        at -= 1;
        digits[at] = b'0' + (left % 10) as u8;
        left /= 10;
        if left == 0 {
            return &digits[at..];
        }
    }
}

fn joining(path: &Path) -> String {
    format!("joining {}", path.display())
}

/// The new process's id, and the name of the step that failed, from the report.
pub(super) fn read_report(
    report: BorrowedFd<'_>,
    options: &NodeOptions,
) -> (Option<u32>, Option<String>) {
    let mut bytes = [0; 8];
    let length = rustix::io::read(report, &mut bytes).unwrap_or(0);
    let (pid, rest) = match bytes[..length].split_first_chunk::<4>() {
        Some((pid, rest)) => (u32::try_from(i32::from_ne_bytes(*pid)).ok(), rest),
        None => (None, &bytes[..length]),
    };
    let step = rest.first().map(|number| usize::from(*number));
    let name = step.map(|number| match STEPS.get(number) {
        Some(step) => (*step).to_owned(),
        None => {
            options.join.get(number - STEPS.len()).map_or_else(String::new, |path| joining(path))
        }
    });
    (pid, name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_allocating() {
        for number in [0, 9, 10, 4_194_304, i32::MAX] {
            assert_eq!(decimal(number, &mut [0; 12]), format!("{number}\n").as_bytes());
        }
    }
}
