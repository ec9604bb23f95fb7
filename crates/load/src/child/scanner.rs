//! Scanners: processes that repeatedly read a file of /proc/PID from start to end.

use super::control;
use super::line::Line;
use super::slots::Slot;
use super::worker_pool::PoolSpec;
use crate::protocol::{Failure, Report};
use clap::Args;
use os::user::User;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Size of one read in bytes, the same as in common tools.
const BUFFER: usize = 128 << 10;

/// Options of scanners.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct ScannerArgs {
    /// Process whose file is read
    #[arg(long)]
    pub pid: u32,
    /// The file in /proc/PID
    #[arg(long, default_value = "smaps")]
    pub file: String,
    /// Number of scanners
    #[arg(long, default_value_t = 1)]
    pub workers: u32,
    /// Nice value of the scanners
    #[arg(long, default_value_t = 15, allow_negative_numbers = true)]
    pub nice: i32,
    /// CPU to pin the scanners to; no pinning if absent
    #[arg(long)]
    pub cpu: Option<u32>,
    /// Control group that the scanners join, by PATH/cgroup.procs; the process that leads them
    /// stays outside
    #[arg(long)]
    pub join: Vec<PathBuf>,
    /// Time limit in milliseconds; the scanners end after it in any case; no limit if absent
    #[arg(long)]
    pub limit_ms: Option<u64>,
    /// Process whose death ends the scanners; none if absent
    #[arg(long)]
    pub parent: Option<u32>,
}

impl ScannerArgs {
    /// The command line for these options.
    pub fn to_args(&self) -> Vec<String> {
        let mut line = Line::of("scanner");
        line.put("pid", Some(self.pid));
        line.put("file", Some(&self.file));
        line.put("workers", Some(self.workers));
        line.put("nice", Some(self.nice));
        line.put("cpu", self.cpu);
        for group in &self.join {
            line.put("join", Some(group.display()));
        }
        line.put("limit-ms", self.limit_ms);
        line.put("parent", self.parent);
        line.words()
    }
}

pub(super) fn serve(args: &ScannerArgs, user: Option<User>) -> Result<(), Failure> {
    if !control::die_with(args.parent) {
        return Ok(());
    }
    let path = proc_path(args.pid, &args.file);
    let pool = PoolSpec {
        name: c"scanner",
        object: path.display().to_string(),
        user,
        parent: args.parent,
        limit: args.limit_ms.map(Duration::from_millis),
        workers: args.workers,
        set_up: &|| set_up(args.cpu, Some(args.nice)).and_then(|()| join(&args.join)),
        work: &|slot| scan_until_gone(&path, slot),
    };
    super::worker_pool::serve(&pool, Report::Scanners)
}

/// Pins the calling process and sets its nice value, if requested.
pub(super) fn set_up(cpu: Option<u32>, nice: Option<i32>) -> std::io::Result<()> {
    if let Some(cpu) = cpu {
        os::pin::pin(cpu)?;
    }
    if let Some(nice) = nice {
        rustix::process::setpriority_process(None, nice)?;
    }
    Ok(())
}

/// Moves the calling process into these control groups. They may throttle it from then on.
///
/// # Errors
/// If a group cannot be joined.
pub fn join(groups: &[PathBuf]) -> std::io::Result<()> {
    // Zero means the process that writes it.
    groups.iter().try_for_each(|group| std::fs::write(group.join("cgroup.procs"), "0"))
}

/// The path of a file of a process in /proc.
pub fn proc_path(pid: u32, file: &str) -> PathBuf {
    Path::new("/proc").join(pid.to_string()).join(file)
}

/// Reads the file repeatedly until its process has ended.
fn scan_until_gone(path: &Path, slot: &Slot) -> std::io::Result<()> {
    let mut buffer = vec![0; BUFFER];
    loop {
        match scan(path, &mut buffer, |bytes| slot.add_bytes(bytes)) {
            Ok(()) => slot.round(),
            Err(error) if is_gone(&error) => return Ok(()),
            Err(error) => return Err(error),
        }
    }
}

/// Reads a file from start to end. `seen` gets the size of each read.
///
/// # Errors
/// If the file cannot be opened or read.
pub fn scan(path: &Path, buffer: &mut [u8], mut seen: impl FnMut(usize)) -> std::io::Result<()> {
    let mut file = File::open(path)?;
    loop {
        match file.read(buffer) {
            Ok(0) => return Ok(()),
            Ok(count) => seen(count),
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Whether an error means that the process has ended.
pub fn is_gone(error: &std::io::Error) -> bool {
    error.kind() == ErrorKind::NotFound || error.raw_os_error() == Some(libc::ESRCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scan_reads_all_of_a_file_and_a_vanished_process_is_told_apart() {
        let mut bytes = 0;
        let mut buffer = vec![0; 64];
        let path = proc_path(std::process::id(), "status");
        scan(&path, &mut buffer, |count| bytes += count).unwrap();
        assert!(bytes > 64, "{bytes}");
        let error = scan(&proc_path(u32::MAX, "smaps"), &mut buffer, |_| {}).unwrap_err();
        assert!(is_gone(&error));
        let error = scan(Path::new("/proc/self/mem"), &mut buffer, |_| {}).unwrap_err();
        assert!(!is_gone(&error));
    }
}
