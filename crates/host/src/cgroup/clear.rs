//! Emptying and removing a group.

use super::error::{self, CgroupError, shown};
use crate::journal::write_existing;
use crate::roots;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open, pidfd_send_signal};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How long to wait for killed processes: a throttled one can end only in a later period.
const LIMIT: Duration = Duration::from_secs(5);

/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(2);

/// Most groups that are removed below a group.
const MOST_GROUPS: usize = 1000;

/// Kills all processes in a group and in the groups below it, and removes these groups. A group
/// that does not exist any more is no error.
pub(super) fn clear(group: &Path) -> Result<(), CgroupError> {
    if !group.exists() {
        return Ok(());
    }
    let groups = with_descendants(group);
    let own = std::process::id();
    if let Some(path) = groups.iter().find(|dir| holds(dir, own)) {
        return Err(CgroupError::OwnProcess { path: shown(path), pid: own });
    }
    lift_limits(group);
    let deadline = Instant::now() + LIMIT;
    groups.iter().try_for_each(|group| empty_and_remove(group, deadline))
}

/// Removes the quota, memory.high and io.max: a killed process still needs CPU time to end, and one
/// that is held up would have to wait for it.
pub(super) fn lift_limits(group: &Path) {
    for (file, none) in [("cpu.max", "max"), ("cpu.cfs_quota_us", "-1"), ("memory.high", "max")] {
        // A group lacks some of these files. If a write fails, ending only takes longer.
        let _ = write_existing(&group.join(file), none);
    }
    let limits = group.join("io.max");
    for line in roots::read_text(&limits).unwrap_or_default().lines() {
        // A line begins with the numbers of its disk.
        if let Some(disk) = line.split_ascii_whitespace().next() {
            let none = format!("{disk} rbps=max wbps=max riops=max wiops=max");
            let _ = write_existing(&limits, &none);
        }
    }
}

fn empty_and_remove(group: &Path, deadline: Instant) -> Result<(), CgroupError> {
    loop {
        kill_all(group);
        let busy = match fs::remove_dir(group) {
            Ok(()) => return Ok(()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => error,
        };
        if Errno::from_io_error(&busy) != Some(Errno::BUSY) {
            return Err(error::io(group, busy));
        }
        if Instant::now() >= deadline {
            return Err(CgroupError::Busy { path: shown(group), left: listed(group) });
        }
        std::thread::sleep(PAUSE);
    }
}

fn kill_all(group: &Path) {
    // This also kills processes that are being forked at this moment; since 5.14, v2 only.
    if write_existing(&group.join("cgroup.kill"), "1").is_ok() {
        return;
    }
    let pids: Vec<Pid> = listed(group).into_iter().filter_map(Pid::from_raw).collect();
    let handles: Vec<_> =
        pids.iter().map(|&pid| (pid, pidfd_open(pid, PidfdFlags::empty()))).collect();
    // If a pid is still listed after its handle was opened, it belongs to the process of the
    // handle. The pid alone could have been reused in between.
    let still = listed(group);
    for (pid, handle) in handles {
        let member = still.contains(&pid.as_raw_nonzero().get());
        // A process that has ended since then needs no signal.
        let _ = match handle {
            Ok(handle) if member => pidfd_send_signal(handle, Signal::KILL),
            // Before 5.3 there are no handles.
            Err(Errno::NOSYS) if member => kill_process(pid, Signal::KILL),
            _ => Ok(()),
        };
    }
}

/// Processes in a group; 0 for those of another pid namespace.
fn listed(group: &Path) -> Vec<i32> {
    let text = roots::read_text(&group.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|line| line.trim().parse().ok()).collect()
}

fn holds(group: &Path, pid: u32) -> bool {
    listed(group).iter().any(|&member| u32::try_from(member) == Ok(pid))
}

/// A group and all groups below it, the deepest first.
fn with_descendants(group: &Path) -> Vec<PathBuf> {
    let mut groups = vec![group.to_owned()];
    let mut next = 0;
    while next < groups.len() && groups.len() < MOST_GROUPS {
        let children = fs::read_dir(&groups[next]).into_iter().flatten().flatten();
        let directories =
            children.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let paths: Vec<PathBuf> = directories.map(|entry| entry.path()).collect();
        groups.extend(paths);
        next += 1;
    }
    groups.reverse();
    groups
}
