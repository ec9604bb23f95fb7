//! Which processes to watch.

use host::roots::{Roots, read_start};
use os::stat::Stat;

/// The role of a process in the evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// Its waits are explained; the lock of its address space is watched.
    Victim,
    /// It may hold a resource for which the kernel has no tracepoint. Its kernel stack is
    /// recorded when it is preempted.
    Suspect,
    /// Its CPU time is counted separately from that of the other threads.
    Bystander,
}

/// A process and its role in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Watched {
    /// Process.
    pub pid: u32,
    /// Its part, for example `mapper`.
    pub part: String,
    /// Its role.
    pub role: Role,
}

impl Watched {
    /// A process with a part.
    pub fn new(pid: u32, part: &str, role: Role) -> Self {
        Watched { pid, part: part.to_owned(), role }
    }

    /// The children of a process, all with the same part; the process itself if it has no
    /// children.
    pub fn with_children(roots: &Roots, pid: u32, part: &str, role: Role) -> Vec<Self> {
        let mut pids = children(roots, pid);
        if pids.is_empty() {
            pids.push(pid);
        }
        pids.into_iter().map(|pid| Watched::new(pid, part, role)).collect()
    }

    /// All living descendants of a process, all with the same part; without the process itself.
    pub fn descendants(roots: &Roots, pid: u32, part: &str, role: Role) -> Vec<Self> {
        let parents: Vec<(u32, u32)> = pids(roots)
            .into_iter()
            .filter_map(|child| Some((child, parent(roots, child)?)))
            .collect();
        let mut found = vec![pid];
        let mut next = 0;
        while let Some(&of) = found.get(next) {
            let children = parents.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| *pid);
            let new: Vec<u32> = children.filter(|child| !found.contains(child)).collect();
            found.extend(new);
            next += 1;
        }
        found.into_iter().skip(1).map(|pid| Watched::new(pid, part, role)).collect()
    }
}

/// The children of a process; empty if /proc cannot be read.
fn children(roots: &Roots, pid: u32) -> Vec<u32> {
    let mut pids = pids(roots);
    pids.retain(|child| parent(roots, *child) == Some(pid));
    pids
}

/// All processes; empty if /proc cannot be read.
fn pids(roots: &Roots) -> Vec<u32> {
    let entries = std::fs::read_dir(&roots.proc).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}

/// The parent of a process; None if the process has ended.
fn parent(roots: &Roots, pid: u32) -> Option<u32> {
    let stat = read_start(&roots.proc.join(pid.to_string()).join("stat"), 4096).ok()?;
    u32::try_from(Stat::parse(&stat)?.parent()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_are_found_behind_odd_names() {
        let root = tempfile::tempdir().unwrap();
        for (pid, stat) in [(10, "10 (a) S 1 x"), (11, "11 (b) c) S 10 x"), (12, "12 (d) R 9 10")] {
            let dir = root.path().join("proc").join(pid.to_string());
            std::fs::create_dir_all(&dir).unwrap();
            std::fs::write(dir.join("stat"), stat).unwrap();
        }
        let roots = Roots::at(root.path());
        let pids = |pid| -> Vec<u32> {
            let all = Watched::with_children(&roots, pid, "reader", Role::Suspect);
            all.into_iter().map(|watched| watched.pid).collect()
        };
        assert_eq!(pids(10), [11]);
        assert_eq!(pids(12), [12], "one without children counts itself");
        let mut all: Vec<u32> = Watched::descendants(&roots, 9, "port", Role::Bystander)
            .into_iter()
            .map(|watched| watched.pid)
            .collect();
        all.sort_unstable();
        assert_eq!(all, [12]);
        assert_eq!(Watched::descendants(&roots, 1, "port", Role::Bystander).len(), 2);
    }
}
