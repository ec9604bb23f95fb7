//! Spinners: processes that call stat on a file of /proc/PID until the process has ended.

use super::control;
use super::line::Line;
use super::scanner::{is_gone, proc_path, set_up};
use super::slots::Slot;
use super::worker_pool::PoolSpec;
use crate::protocol::{Failure, Report};
use clap::Args;
use os::time;
use os::time::now_ns;
use os::user::User;
use std::path::Path;
use std::time::Duration;

/// The pause between two busy periods.
const REST: Duration = Duration::from_millis(1);

/// Options of spinners.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct SpinnerArgs {
    /// Process whose file is polled
    #[arg(long)]
    pub pid: u32,
    /// The file in /proc/PID
    #[arg(long, default_value = "smaps")]
    pub file: String,
    /// Number of spinners
    #[arg(long, default_value_t = 1)]
    pub workers: u32,
    /// Busy time in milliseconds before each sleep of 1 ms; 0 spins without sleep
    #[arg(long, default_value_t = 0)]
    pub busyduration: u64,
    /// CPU to pin the spinners to; no pinning if absent
    #[arg(long)]
    pub cpu: Option<u32>,
    /// Time limit in milliseconds; the spinners end after it in any case; no limit if absent
    #[arg(long)]
    pub limit_ms: Option<u64>,
    /// Process whose death ends the spinners; none if absent
    #[arg(long)]
    pub parent: Option<u32>,
}

impl SpinnerArgs {
    /// The command line for these options.
    pub fn to_args(&self) -> Vec<String> {
        let mut line = Line::of("spinner");
        line.put("pid", Some(self.pid));
        line.put("file", Some(&self.file));
        line.put("workers", Some(self.workers));
        line.put("busyduration", Some(self.busyduration));
        line.put("cpu", self.cpu);
        line.put("limit-ms", self.limit_ms);
        line.put("parent", self.parent);
        line.words()
    }
}

pub(super) fn serve(args: &SpinnerArgs, user: Option<User>) -> Result<(), Failure> {
    if !control::die_with(args.parent) {
        return Ok(());
    }
    let path = proc_path(args.pid, &args.file);
    let busy = Duration::from_millis(args.busyduration);
    let pool = PoolSpec {
        name: c"spinner",
        object: path.display().to_string(),
        user,
        parent: args.parent,
        limit: args.limit_ms.map(Duration::from_millis),
        workers: args.workers,
        set_up: &|| set_up(args.cpu, None),
        work: &|slot: &Slot| spin_until_gone(&path, busy, || slot.round()),
    };
    super::worker_pool::serve(&pool, Report::Spinners)
}

/// Calls stat on a path until the path is gone, and sleeps a millisecond after each busy period.
/// If the busy period is zero, it never sleeps.
///
/// # Errors
/// If stat fails for any other reason.
pub fn spin_until_gone(
    path: &Path,
    busy: Duration,
    mut looked: impl FnMut(),
) -> std::io::Result<()> {
    let busy_ns = time::whole_ns(busy);
    loop {
        let until = now_ns().saturating_add(busy_ns);
        while busy_ns == 0 || now_ns() < until {
            match rustix::fs::stat(path) {
                Ok(_) => looked(),
                Err(error) if is_gone(&error.into()) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
        std::thread::sleep(REST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spinner_ends_when_its_file_is_gone() {
        let file = std::env::temp_dir().join(format!("tailback-spinner-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let mut looks = 0;
        let result = spin_until_gone(&file, Duration::ZERO, || {
            looks += 1;
            if looks == 3 {
                std::fs::remove_file(&file).unwrap();
            }
        });
        assert!(result.is_ok());
        assert_eq!(looks, 3);
    }
}
