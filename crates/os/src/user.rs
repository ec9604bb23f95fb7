//! The user for work that needs no root, if the caller is root: the user who called sudo, else a
//! system user.

use rustix::process::geteuid;
use rustix::thread::{CapabilitySet, capabilities, set_no_new_privs};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// The system user that is preferred to `nobody`, if an administrator has made it.
const DEDICATED: &str = "tailback";

/// The user and group id that the kernel shows for owners that it cannot map.
const OVERFLOW: u32 = 65_534;

/// Most bytes that are read of a list of users or of a map of user ids.
const MOST: u64 = 16 << 20;

/// Privileges that root needs to work with processes of another user: to become that user, to end
/// the processes and to look at them.
const NEEDED: [CapabilitySet; 4] =
    [CapabilitySet::SETUID, CapabilitySet::SETGID, CapabilitySet::KILL, CapabilitySet::SYS_PTRACE];

/// A user that is not root, and its group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct User {
    uid: u32,
    gid: u32,
}

/// Why this user was chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// The user called sudo.
    Sudo,
    /// Nobody called sudo, or the user who did is unknown on this machine.
    System,
}

/// An account for work that needs no root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Account {
    /// The user.
    pub user: User,
    /// Its home folder, which need not exist.
    pub home: PathBuf,
    /// Why this account was chosen.
    pub origin: Origin,
}

impl User {
    /// A user and its group; None if either is root's or means "no change" to the kernel.
    pub fn new(uid: u32, gid: u32) -> Option<Self> {
        let fits = |id: u32| id != 0 && id != u32::MAX;
        (fits(uid) && fits(gid)).then_some(User { uid, gid })
    }

    /// Its user id.
    pub fn uid(self) -> u32 {
        self.uid
    }

    /// Its group id.
    pub fn gid(self) -> u32 {
        self.gid
    }

    /// Changes this process, with all its threads, to this user and to no other group, for good.
    /// No program that it starts gains a privilege. It loses its controlling terminal, unless it
    /// leads its session.
    ///
    /// Allocates nothing, so it may run between fork and exec. The kernel forgets the death
    /// signal of the process, so [`crate::death::die_with`] has to follow. It also gives the
    /// process's files in /proc to root, until the process executes a program or calls
    /// [`be_readable`].
    ///
    /// # Errors
    /// If the kernel refuses, or a privilege is left.
    pub fn become_it(self) -> io::Result<()> {
        leave_terminal();
        set_no_new_privs(true)?;
        // The C library changes all threads at once; the bare system calls change one.
        // SAFETY: the list of groups is empty, and the others take numbers.
        unsafe {
            checked(libc::setgroups(0, std::ptr::null()))?;
            checked(libc::setresgid(self.gid, self.gid, self.gid))?;
            checked(libc::setresuid(self.uid, self.uid, self.uid))?;
        }
        match capabilities(None)? {
            left if left.effective.is_empty() && left.permitted.is_empty() => Ok(()),
            _ => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }
}

/// Lets processes of the same user read this process's files in /proc, as before a change of
/// user.
///
/// # Errors
/// If the kernel refuses.
pub fn be_readable() -> io::Result<()> {
    let dumpable = rustix::process::DumpableBehavior::Dumpable;
    Ok(rustix::process::set_dumpable_behavior(dumpable)?)
}

/// Gives up the controlling terminal of this process. Root's shell reads that terminal, and a
/// process that has it can put words into its input (`TIOCSTI`).
///
/// A new session would do this too, but it would be another group for the kernel's scheduler
/// (autogroup).
fn leave_terminal() {
    // SAFETY: the path ends with a zero, and the other arguments are numbers.
    unsafe {
        // If the leader gave it up, all processes of the session would lose it.
        if libc::getsid(0) == libc::getpid() {
            return;
        }
        let flags = libc::O_RDONLY | libc::O_NOCTTY | libc::O_CLOEXEC;
        let terminal = libc::open(c"/dev/tty".as_ptr(), flags);
        // It cannot be opened if there is none.
        if terminal >= 0 {
            libc::ioctl(terminal, libc::TIOCNOTTY);
            libc::close(terminal);
        }
    }
}

fn checked(returned: libc::c_int) -> io::Result<()> {
    if returned == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.uid, self.gid)
    }
}

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let ids = text.split_once(':');
        let user = ids.and_then(|(uid, gid)| User::new(number(uid)?, number(gid)?));
        user.ok_or_else(|| "it is not UID:GID of a user other than root".to_owned())
    }
}

/// The account for work that needs no root, chosen once. None if the caller is not root, or if it
/// may not become another user and still end and look at what it started.
pub fn unprivileged() -> Option<&'static Account> {
    CHOSEN.get_or_init(choose).as_ref()
}

/// Whether this user id may stand for several users: in a user namespace, the kernel shows the
/// same id for all users that have no id there.
pub fn means_several(uid: u32) -> bool {
    uid == OVERFLOW && read(Path::new("/proc/self/uid_map")).is_some_and(|map| !is_whole(&map))
}

/// Makes the caller do all work itself. This is for a guest that tailback made, which has no other
/// users. An account that was chosen already stays chosen.
pub fn enter_own_guest() {
    let _ = CHOSEN.set(None);
    ALONE.store(true, Relaxed);
}

/// Whether a program that another user could have placed is a risk: the caller is root, and not
/// alone in a guest.
pub fn is_exposed() -> bool {
    geteuid().is_root() && !ALONE.load(Relaxed)
}

/// Whether this is a guest that tailback made. A static, since it is a fact of the whole process,
/// and checks in several crates depend on it.
static ALONE: AtomicBool = AtomicBool::new(false);

/// The account that was chosen. A static, since all children and files of this process must
/// belong to one user, even if the list of users changes meanwhile.
static CHOSEN: OnceLock<Option<Account>> = OnceLock::new();

fn choose() -> Option<Account> {
    let able = capabilities(None)
        .is_ok_and(|own| NEEDED.iter().all(|needed| own.effective.contains(*needed)));
    if !geteuid().is_root() || !able {
        return None;
    }
    let passwd = read(Path::new("/etc/passwd")).unwrap_or_default();
    let account = of_sudo(std::env::var("SUDO_UID").ok().as_deref(), &passwd)
        .unwrap_or_else(|| system(&passwd));
    // In a user namespace, not every id is mapped.
    let mapped = |map: &str, id: u32| {
        read(&Path::new("/proc/self").join(map)).is_none_or(|map| is_mapped(&map, id))
    };
    let user = account.user;
    (mapped("uid_map", user.uid) && mapped("gid_map", user.gid)).then_some(account)
}

/// The account of the user who called sudo, if the list of users has that id. The group comes
/// from the list of users, whatever the environment says.
fn of_sudo(uid: Option<&str>, passwd: &str) -> Option<Account> {
    let uid = number(uid?)?;
    let (user, home, _) = users(passwd).find(|(user, _, _)| user.uid == uid)?;
    Some(Account { user, home: home.into(), origin: Origin::Sudo })
}

fn system(passwd: &str) -> Account {
    let named = |wanted: &str| users(passwd).find(|(_, _, name)| *name == wanted);
    let found = named(DEDICATED).or_else(|| named("nobody")).map(|(user, _, _)| user);
    let user = found.unwrap_or(User { uid: OVERFLOW, gid: OVERFLOW });
    Account { user, home: "/".into(), origin: Origin::System }
}

/// User, home and name of each line that has all three and is not root's.
fn users(passwd: &str) -> impl Iterator<Item = (User, &str, &str)> {
    passwd.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _, uid, gid, _, home, _] = fields.as_slice() else { return None };
        Some((User::new(number(uid)?, number(gid)?)?, *home, *name))
    })
}

/// A number as the system writes it: only digits.
fn number(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

/// Whether the map of a user namespace contains this id.
fn is_mapped(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let mut fields = line.split_whitespace().map(str::parse::<u64>);
        let (Some(Ok(first)), _, Some(Ok(count))) = (fields.next(), fields.next(), fields.next())
        else {
            return false;
        };
        (first..first.saturating_add(count)).contains(&u64::from(id))
    })
}

/// Whether the map of a user namespace covers all ids, as in the initial namespace.
fn is_whole(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn read(path: &Path) -> Option<String> {
    let bytes = crate::file::read_start(path, MOST).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::fd::{FromRawFd, OwnedFd};
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/bash\n\
        toor:x:0:7::/root:/bin/sh\n\
        nobody:x:65534:65533:nobody:/nonexistent:/usr/sbin/nologin\n\
        half:x:1001:1001\n\
        wheel:x:1002:0::/home/wheel:/bin/sh\n\
        anna:x:1000:1003:,,,:/home/anna:/bin/bash\n";

    #[test]
    fn the_user_of_sudo_is_one_that_the_machine_knows() {
        let anna = of_sudo(Some("1000"), PASSWD).unwrap();
        assert_eq!((anna.user, anna.origin), (User { uid: 1000, gid: 1003 }, Origin::Sudo));
        assert_eq!(anna.home, Path::new("/home/anna"));
        for hostile in [
            "0",
            "00",
            "-1",
            "+1000",
            " 1000",
            "1000 ",
            "1000\n",
            "4294967295",
            "4294967296",
            "4242",
            "1001",
            "1002",
            "",
            "anna",
            "1000;id",
            "٣",
        ] {
            assert_eq!(of_sudo(Some(hostile), PASSWD), None, "{hostile:?}");
        }
        assert_eq!(of_sudo(None, PASSWD), None);
    }

    #[test]
    fn a_system_user_is_the_dedicated_one_then_nobody_then_the_kernels_own() {
        assert_eq!(system(PASSWD).user, User { uid: 65_534, gid: 65_533 });
        let dedicated = format!("{PASSWD}tailback:x:990:990::/:/usr/sbin/nologin\n");
        assert_eq!(system(&dedicated).user, User { uid: 990, gid: 990 });
        let forged = "tailback:x:0:0::/:/bin/sh\nnobody:x:4294967295:1::/:/bin/sh\n";
        for none in ["", forged, "root:x:0:0:root:/root:/bin/bash\n"] {
            assert_eq!(system(none).user, User { uid: OVERFLOW, gid: OVERFLOW });
        }
    }

    #[test]
    fn root_and_no_change_are_no_user() {
        for text in ["0:5", "5:0", "4294967295:5", "5:4294967295", "5", "5:5:5", "a:b", ""] {
            assert!(text.parse::<User>().is_err(), "{text}");
        }
        assert_eq!("5:6".parse(), Ok(User { uid: 5, gid: 6 }));
        assert_eq!(User { uid: 5, gid: 6 }.to_string(), "5:6");
    }

    #[test]
    fn a_namespace_maps_some_numbers_alone() {
        let all = "         0          0 4294967295\n";
        assert!(is_mapped(all, 0) && is_mapped(all, 65_534));
        let one = "0 1000 1\n";
        assert!(is_mapped(one, 0) && !is_mapped(one, 1) && !is_mapped("", 0));
        assert!(is_mapped("0 1000 1\n1 100000 65536\n", 65_534));
        assert!(is_whole(all) && !is_whole(one) && !is_whole("") && !is_whole("0 0 65536\n"));
        assert!(!means_several(0) && !means_several(1_000));
    }

    #[test]
    fn a_process_that_has_become_somebody_keeps_no_privilege() {
        let Some(account) = unprivileged() else {
            assert!(!geteuid().is_root() || std::env::var_os("TAILBACK_SKIP_NOTHING").is_none());
            return testing::skipped("only root has something to drop");
        };
        let user = account.user;
        let mut command = Command::new("cat");
        command.arg("/proc/self/status");
        // SAFETY: only system calls.
        unsafe { command.pre_exec(move || user.become_it()) };
        let status = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let four =
            |id: u32| [id.to_string(), id.to_string(), id.to_string(), id.to_string()].join(" ");
        assert_eq!((field("Uid:"), field("Gid:")), (four(user.uid), four(user.gid)));
        assert_eq!((field("Groups:"), field("NoNewPrivs:")), (String::new(), "1".to_owned()));
        for set in ["CapEff:", "CapPrm:", "CapInh:", "CapAmb:"] {
            assert_eq!(field(set), "0000000000000000", "{set}");
        }
    }

    /// Both ends of a new terminal; the second one can control processes.
    fn terminal() -> Option<[OwnedFd; 2]> {
        let mut ends = [-1; 2];
        let [near, far] = &mut ends;
        let (name, none) = (std::ptr::null_mut(), std::ptr::null());
        // SAFETY: both numbers are valid for writing, and the other pointers may be null.
        let made = unsafe { libc::openpty(near, far, name, none, std::ptr::null()) };
        // SAFETY: nothing else has these descriptors.
        (made == 0).then(|| ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) }))
    }

    /// Makes this process a member of a new session that this terminal controls. The leader of the
    /// session is another process, which waits for the end of this one.
    fn enter_session(terminal: &OwnedFd) -> io::Result<()> {
        rustix::process::setsid()?;
        rustix::process::ioctl_tiocsctty(terminal)?;
        // SAFETY: both processes only make system calls.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => Ok(()),
            member => {
                // SAFETY: the leader asks for no status, and ends here.
                unsafe {
                    libc::waitpid(member, std::ptr::null_mut(), 0);
                    libc::_exit(0)
                }
            }
        }
    }

    #[test]
    fn a_process_that_has_become_somebody_has_no_terminal() {
        let Some(account) = unprivileged() else {
            assert!(!geteuid().is_root() || std::env::var_os("TAILBACK_SKIP_NOTHING").is_none());
            return testing::skipped("only root has something to drop");
        };
        let Some([_near, far]) = terminal() else {
            return testing::skipped("no terminal can be made here");
        };
        let user = account.user;
        let number = |becomes_it: bool| {
            let far = far.try_clone().unwrap();
            let prepare = move || {
                enter_session(&far)?;
                if becomes_it { user.become_it() } else { Ok(()) }
            };
            let mut command = Command::new("cat");
            command.arg("/proc/self/stat");
            // SAFETY: only system calls.
            unsafe { command.pre_exec(prepare) };
            let stat = String::from_utf8(command.output().unwrap().stdout).unwrap();
            // After the name: state, parent, group, session, terminal.
            let (_, after) = stat.rsplit_once(") ").unwrap();
            after.split(' ').nth(4).unwrap().to_owned()
        };
        assert_ne!(number(false), "0", "the test gives it a terminal");
        assert_eq!(number(true), "0");
    }

    proptest! {
        #[test]
        fn no_text_makes_root_of_anybody(uid in ".{0,12}", passwd in "(?s).{0,200}") {
            for account in of_sudo(Some(&uid), &passwd).into_iter().chain([system(&passwd)]) {
                prop_assert!(![account.user.uid, account.user.gid].contains(&0));
            }
            let _ = is_mapped(&passwd, 7);
        }
    }
}
