//! The names of temporaries. By the name and its folder, a restore recognizes a temporary and its
//! owner.

use crate::held;
use crate::owner::Owner;
use rustix::process::geteuid;
use std::ffi::OsStr;
use std::path::Path;

/// The prefixes of temporaries that are made here.
const PREFIXES: [&str; 10] = [
    ".building-",
    ".compiling-",
    ".copying-",
    ".taking-in-",
    ".unpacking-",
    ".writing-",
    "tailback-apt-",
    "tailback-module-",
    "tailback-root-",
    GIVEN_AWAY,
];

/// The prefix of temporaries that are given to the load's user.
const GIVEN_AWAY: &str = "tailback-worker-";

/// The suffix of a record's name while it is incomplete.
const UNFINISHED: &str = ".tailback.tmp";

/// The folder for dumps of nodes; another user than the caller has a folder of its own in it.
const DUMPS: &str = "crash-dumps";

/// What the path of a temporary shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TemporaryKind {
    /// A file or folder that belongs to the caller.
    Made,
    /// A file or folder that may belong to another user by now.
    GivenAway,
    /// A file that belongs to the caller: a record or a lock.
    File,
    /// The dump of a node of this user, in a folder of that user.
    DumpOf(u32),
}

/// Whether this is a prefix of temporaries.
pub(super) fn is_prefix(prefix: &str) -> bool {
    PREFIXES.contains(&prefix)
}

/// The name of a temporary of this owner.
pub(super) fn make(prefix: &str, owner: Option<&Owner>, number: u64) -> String {
    let mark = owner.map(|owner| owner.mark() + "-").unwrap_or_default();
    format!("{prefix}{mark}{number:016x}")
}

impl TemporaryKind {
    /// The kind of a path of this owner; None if tailback makes no file with that name there.
    pub(super) fn read(path: &Path, owner: &Owner) -> Option<Self> {
        let parts = held::parts(path)?;
        let [above @ .., name] = &parts[..] else { return None };
        let name = name.to_str()?;
        if is_made(name, owner) {
            return Some(if name.starts_with(GIVEN_AWAY) {
                TemporaryKind::GivenAway
            } else {
                TemporaryKind::Made
            });
        }
        let dump = is_dump(name, owner).then(|| dump_in(above)).flatten();
        let file = is_unfinished(name, owner) || is_lock(name, above);
        dump.or(file.then_some(TemporaryKind::File))
    }
}

/// `PREFIXPID-STARTTIME-NUMBER`.
fn is_made(name: &str, owner: &Owner) -> bool {
    let rest = PREFIXES.iter().find_map(|prefix| name.strip_prefix(prefix));
    let number = rest
        .and_then(|rest| rest.strip_prefix(owner.mark().as_str()))
        .and_then(|rest| rest.strip_prefix('-'));
    number.is_some_and(is_number)
}

/// Sixteen hexadecimal digits: the form of a random number in a name.
fn is_number(text: &str) -> bool {
    text.len() == 16 && text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'))
}

/// `.RECORD.PID.tailback.tmp`, which the crate `runner` makes.
fn is_unfinished(name: &str, owner: &Owner) -> bool {
    let inner = name.strip_prefix('.').and_then(|name| name.strip_suffix(UNFINISHED));
    let parts = inner.and_then(|inner| inner.rsplit_once('.'));
    parts.is_some_and(|(record, pid)| !record.is_empty() && pid == owner.pid().to_string())
}

/// `locks-USER/NUMBER`, the lock of a record.
fn is_lock(name: &str, above: &[&OsStr]) -> bool {
    let folder = format!("locks-{}", geteuid().as_raw());
    is_number(name) && above.last().is_some_and(|last| *last == folder.as_str())
}

/// `erl_crash.PID.N.dump`, which `beam` lets a node write.
fn is_dump(name: &str, owner: &Owner) -> bool {
    let inner = name.strip_prefix("erl_crash.").and_then(|name| name.strip_suffix(".dump"));
    let parts = inner.and_then(|inner| inner.split_once('.'));
    parts.is_some_and(|(pid, count)| {
        let counted = count.parse::<u32>().is_ok_and(|number| number.to_string() == count);
        counted && pid == owner.pid().to_string()
    })
}

/// The kind of a dump in this folder.
fn dump_in(above: &[&OsStr]) -> Option<TemporaryKind> {
    match above {
        [.., last] if *last == DUMPS => Some(TemporaryKind::File),
        [.., dumps, last] if *dumps == DUMPS => {
            let user = last.to_str()?.strip_prefix("user-")?.parse().ok()?;
            (*last == format!("user-{user}").as_str()).then_some(TemporaryKind::DumpOf(user))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn owner() -> Owner {
        Owner::parse("tailback-7-500-0").unwrap()
    }

    fn kind(path: &str) -> Option<TemporaryKind> {
        TemporaryKind::read(Path::new(path), &owner())
    }

    #[test]
    fn what_is_made_is_known_by_its_name() {
        for prefix in PREFIXES {
            let path = format!("/tmp/{}", make(prefix, Some(&owner()), 255));
            assert!(path.ends_with("-7-500-00000000000000ff"), "{path}");
            let kind = kind(&path);
            assert!(
                matches!(kind, Some(TemporaryKind::Made | TemporaryKind::GivenAway)),
                "{path}: {kind:?}"
            );
            assert_eq!(kind == Some(TemporaryKind::GivenAway), prefix == GIVEN_AWAY);
        }
        let own = geteuid().as_raw();
        let lock = format!("/home/x/tailback/locks-{own}/0123456789abcdef");
        for file in ["/a/.b.json.7.tailback.tmp", "/c/crash-dumps/erl_crash.7.0.dump", &lock] {
            assert_eq!(kind(file), Some(TemporaryKind::File), "{file}");
        }
        let dump = "/c/crash-dumps/user-65534/erl_crash.7.12.dump";
        assert_eq!(kind(dump), Some(TemporaryKind::DumpOf(65_534)));
    }

    #[test]
    fn what_another_process_or_program_makes_is_not() {
        for other in [
            "/etc",
            "/etc/passwd",
            "/",
            "",
            "tmp/.building-7-500-00000000000000ff",
            "/tmp/.building-8-500-00000000000000ff",
            "/tmp/.building-7-501-00000000000000ff",
            "/tmp/.building-7-500-ns5-00000000000000ff",
            "/tmp/.building-7-500-00000000000000f",
            "/tmp/.building-7-500-00000000000000FF",
            "/tmp/.building-7-500-00000000000000ff/",
            "/tmp/.building-7-500-00000000000000ff/etc",
            "/tmp/../tmp/.building-7-500-00000000000000ff",
            "/tmp/x.building-7-500-00000000000000ff",
            "/tmp/.building-00000000000000ff",
            "/tmp/.half-7-500-00000000000000ff",
            "/a/.b.json.8.tailback.tmp",
            "/a/.b.json.07.tailback.tmp",
            "/a/..7.tailback.tmp",
            "/a/b.json.7.tailback.tmp",
            "/c/dumps/erl_crash.7.0.dump",
            "/c/crash-dumps/erl_crash.8.0.dump",
            "/c/crash-dumps/erl_crash.7.+0.dump",
            "/c/crash-dumps/user-x/erl_crash.7.0.dump",
            "/c/crash-dumps/user-07/erl_crash.7.0.dump",
            "/home/x/locks-4000000000/0123456789abcdef",
            "/home/x/locks/0123456789abcdef",
        ] {
            assert_eq!(kind(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn no_path_makes_the_reader_panic(path in "(?s).*", name in "[./a-z0-9-]{0,60}") {
            let _ = (kind(&path), kind(&format!("/tmp/{name}")));
        }
    }
}
