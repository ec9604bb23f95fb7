//! The owner of a group or journal. Names contain the process that made the object, so that
//! objects of a killed run can be distinguished from those in use by another run.

use crate::roots::{self, FILE_LIMIT, Roots};
use os::stat::Stat;
use rustix::io::Errno;
use rustix::process::{Pid, test_kill_process};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// The prefix of every name.
const PREFIX: &str = "tailback-";

/// The first pid namespace; the kernel fixes its number.
const FIRST_NAMESPACE: u64 = 4_026_531_836;

/// The number of the next group of this process; part of its name. A static, so that no two
/// groups get the same name.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A process that makes groups; its start time tells it from a later process with the same pid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pid: u32,
    /// When it started, in clock ticks after boot.
    started: u64,
    /// The pid namespace of its pid; None for the first one.
    namespace: Option<u64>,
}

impl Owner {
    /// This process; None if its start time cannot be read.
    pub fn this(roots: &Roots) -> Option<Self> {
        let stat = roots::read_bytes(&roots.proc.join("self/stat"), FILE_LIMIT).ok()?;
        let started = Stat::parse(&stat)?.started()?;
        Some(Owner { pid: std::process::id(), started, namespace: namespace(roots) })
    }

    /// A name for the next group of this owner: `tailback-PID-STARTTIME-N`, with `-nsINODE`
    /// outside of the first pid namespace.
    pub fn next_name(&self) -> String {
        self.name(NEXT.fetch_add(1, Relaxed))
    }

    /// The name with this number: `tailback-PID-STARTTIME-N`.
    pub fn name(&self, number: u32) -> String {
        let namespace = self.namespace.map(|inode| format!("-ns{inode}")).unwrap_or_default();
        format!("{PREFIX}{}-{}-{number}{namespace}", self.pid, self.started)
    }

    /// The part of a name that identifies this owner: `PID-STARTTIME`, with `-nsINODE` outside of
    /// the first pid namespace.
    pub fn mark(&self) -> String {
        let namespace = self.namespace.map(|inode| format!("-ns{inode}")).unwrap_or_default();
        format!("{}-{}{namespace}", self.pid, self.started)
    }

    /// The pid of its process, in its pid namespace.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Whether its pid belongs to the pid namespace of this process.
    pub fn is_near(&self, roots: &Roots) -> bool {
        self.namespace == namespace(roots)
    }

    /// The owner in a name; None for names of other programs.
    pub fn parse(name: &str) -> Option<Self> {
        let mut parts = name.strip_prefix(PREFIX)?.split('-');
        let (pid, started) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
        let number: u32 = parts.next()?.parse().ok()?;
        let namespace = match parts.next() {
            None => None,
            Some(part) => Some(part.strip_prefix("ns")?.parse().ok()?),
        };
        let owner = Owner { pid, started, namespace };
        // Only exact output of `name` is accepted: no signs, no leading zeros.
        (owner.name(number) == name).then_some(owner)
    }

    /// Whether this owner has certainly ended; always false if its pid is of another pid
    /// namespace.
    pub fn is_gone(&self, roots: &Roots) -> bool {
        if !self.is_near(roots) {
            return false;
        }
        match roots::read_bytes(&roots.proc.join(format!("{}/stat", self.pid)), FILE_LIMIT) {
            Ok(stat) => Stat::parse(&stat).is_some_and(|stat| {
                stat.is_dead() || stat.started().is_some_and(|started| started != self.started)
            }),
            // With hidepid, /proc does not show processes of other users.
            Err(_) => !exists(self.pid),
        }
    }
}

/// The pid namespace of this process; None for the first one, and if it is unknown.
fn namespace(roots: &Roots) -> Option<u64> {
    let link: PathBuf = std::fs::read_link(roots.proc.join("self/ns/pid")).ok()?;
    let inode = link.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()?;
    (inode != FIRST_NAMESPACE).then_some(inode)
}

fn exists(pid: u32) -> bool {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
    pid.is_some_and(|pid| test_kill_process(pid) != Err(Errno::SRCH))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stat(name: &str, state: char, started: u64) -> String {
        let zeros = "0 ".repeat(18);
        format!("7 ({name}) {state} {zeros}{started} 0 0\n")
    }

    fn tree(pid: u32, stat: &str) -> (tempfile::TempDir, Roots) {
        let dir = tempfile::tempdir().unwrap();
        let process = dir.path().join(format!("proc/{pid}"));
        std::fs::create_dir_all(&process).unwrap();
        std::fs::write(process.join("stat"), stat).unwrap();
        let roots = Roots::at(dir.path());
        (dir, roots)
    }

    #[test]
    fn an_owner_is_gone_when_its_pid_is_dead_free_or_another_process() {
        let owner = Owner { pid: 7, started: 500, namespace: None };
        let gone = |stat: &str| owner.is_gone(&tree(7, stat).1);
        assert!(!gone(&stat("tailback", 'S', 500)));
        assert!(!gone(&stat("a) R 1 (b", 'R', 500)));
        assert!(gone(&stat("tailback", 'S', 501)));
        assert!(gone(&stat("tailback", 'Z', 500)));
        assert!(!gone("nonsense"));
        let nobody = Owner { pid: 2_000_000_000, ..owner };
        assert!(nobody.is_gone(&tree(7, "").1));
        let hidden = Owner { pid: std::process::id(), ..owner };
        assert!(!hidden.is_gone(&tree(7, "").1));
    }

    #[test]
    fn a_pid_of_another_namespace_says_nothing() {
        let (_dir, roots) = tree(7, "");
        let foreign = Owner { pid: 2_000_000_000, started: 1, namespace: Some(5) };
        assert!(!foreign.is_gone(&roots));
        let link = roots.proc.join("self/ns/pid");
        std::fs::create_dir_all(link.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink("pid:[5]", &link).unwrap();
        assert!(foreign.is_gone(&roots));
        assert!(!Owner { namespace: None, ..foreign }.is_gone(&roots));
    }

    #[test]
    fn this_process_is_alive_and_its_names_differ() {
        let roots = Roots::real();
        let this = Owner::this(&roots).unwrap();
        assert!(!this.is_gone(&roots));
        let (one, other) = (this.next_name(), this.next_name());
        assert_ne!(one, other);
        assert_eq!(Owner::parse(&one), Some(this));
        let start = format!("tailback-{}-{}-", std::process::id(), this.started);
        assert!(one.starts_with(&start), "{one}");
    }

    #[test]
    fn names_of_others_have_no_owner() {
        for name in [
            "",
            "tailback",
            "tailback-",
            "tailback-1-2",
            "tailback-1-2-3-4",
            "tailback-1-2-+3",
            "tailback-01-2-3",
            "tailback-1-2-3-ns",
            "tailback-a-2-3",
            "docker-1-2-3",
            "tailback-99999999999-2-3",
            "tailback-1-2-3 ",
        ] {
            assert_eq!(Owner::parse(name), None, "{name}");
        }
    }

    proptest! {
        #[test]
        fn a_name_names_its_owner(pid: u32, started: u64, namespace in proptest::option::of(any::<u64>()), number: u32) {
            let owner = Owner { pid, started, namespace };
            prop_assert_eq!(Owner::parse(&owner.name(number)), Some(owner));
        }

        #[test]
        fn no_text_makes_the_readers_panic(text in "(?s).*", name in "tailback-[0-9a-z-]{0,20}") {
            let _ = (Owner::parse(&text), Owner::parse(&name));
        }
    }
}
