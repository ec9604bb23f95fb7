//! Keeps a run from leaving anything behind, and two runs from disturbing each other.
//!
//! A helper process is started before the first change. It is `tailback restore` in its own
//! process group. It waits until this program has ended in any way, and then undoes at once what
//! is left. If the helper is killed too, the next start does that, or `tailback host restore` by
//! hand.

use crate::exit::{self, Failure};
use crate::output::{self, Output};
use host::cgroup::sweep_all;
use host::journal::{Change, Noted};
use host::restore::Refused;
use host::{Restored, Roots, temporary};
use model::machine::Hold;
use os::stat::Stat;
use os::terminal;
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::cell::{Cell, RefCell};
use std::fs::File;
use std::io::{Read, Seek, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The flag that makes the helper wait for the end of its standard input. Its value is the
/// process that the helper works for.
pub const WAIT: &str = "when-input-ends";

/// This environment variable allows several runs at the same time, as tests need.
const SHARE: &str = "TAILBACK_SHARE_HOST";

/// How long to wait for the lock of a run that has just ended. Processes that it started may end
/// a moment later.
const JUST_ENDED: Duration = Duration::from_secs(2);

/// The most that is read of the lock file, in bytes.
const MOST_HOLDER: u64 = 200;

/// The helper gets this on its input if the program ends in order.
const IN_ORDER: &[u8] = b"e";

/// How long the helper waits for a killed program to be gone. The kernel closes the program's
/// files a little earlier.
const DYING: Duration = Duration::from_secs(10);

/// Most lines that are printed about changes that were not restored, for each kind.
const MOST_TOLD: usize = 10;

/// The name of the lock that a run holds on the machine.
const RUN: &str = "run";

/// The things that this run holds on the machine and may leave behind.
#[derive(Debug, Default)]
pub struct Guard {
    /// The helper of this process, if it is running. The journal starts it, on any thread. It is
    /// no `os::child::Child`: that is killed when it is dropped, and the helper outlives this
    /// process.
    helper: Arc<Mutex<Option<Child>>>,
    /// The lock on the machine. This process holds it until its end.
    held: RefCell<Option<File>>,
    /// Files that may stay behind after a kill; None before [`Guard::begin`].
    leaves: RefCell<Option<Vec<Noted>>>,
    /// The result of the request for the machine; None before the request.
    hold: Cell<Option<Hold>>,
}

impl Guard {
    /// Undoes what killed runs left, and takes the machine for `command`.
    ///
    /// # Errors
    /// If another run has taken it.
    pub fn begin(&self, command: &str) -> Result<(), Failure> {
        tell(&host::restore(&Roots::real()), None);
        self.watch_over();
        self.leaves.replace(Some(Vec::new()));
        self.hold.set(Some(self.take_machine(command, std::env::var_os(SHARE).is_some())?));
        Ok(())
    }

    /// Makes a helper remove what this process leaves behind.
    pub fn watch_over(&self) {
        let helper = Arc::clone(&self.helper);
        host::journal::before_changes(move || start_helper(&helper));
    }

    /// Whether another run can load the machine at the same time; None if this run does not load
    /// it.
    pub fn hold(&self) -> Option<Hold> {
        self.hold.get()
    }

    /// Makes the helper remove a file that a kill would leave behind. This applies only to
    /// commands that load or change the machine. Others have no helper, and need none.
    pub fn may_leave(&self, file: &Path) {
        if let Some(leaves) = self.leaves.borrow_mut().as_mut() {
            leaves.extend(temporary::announce(&Roots::real(), file));
        }
    }

    /// Ends the helper, and waits for its end.
    pub fn end(&self) {
        host::cgroup::take_back_all();
        // Each save has ended before this, so no file is left.
        self.leaves.take().into_iter().flatten().for_each(Noted::undone);
        let Some(mut helper) = unpoisoned(&self.helper).take() else { return };
        if let Some(mut input) = helper.stdin.take() {
            // If the helper has ended, this message is not needed.
            let _ = input.write_all(IN_ORDER);
        }
        let _ = helper.wait();
    }

    /// Takes the machine, because two runs at once would measure each other.
    ///
    /// The lock ends with this process, however it ends. Nothing is locked if there is no folder
    /// for the lock, or if the kernel has no file locks. An ordinary user without a session has
    /// no such folder.
    fn take_machine(&self, command: &str, share: bool) -> Result<Hold, Failure> {
        if share {
            return Ok(Hold::Shared);
        }
        let folder = Roots::real().run.join("tailback");
        loop {
            let Ok(folder) = host::private::folder(&folder) else { return Ok(Hold::Unlocked) };
            let path = folder.join(RUN);
            let Ok(file) = host::private::lock_file(&path) else { return Ok(Hold::Unlocked) };
            let hold = self.take_lock(file, command)?;
            // A lock file that was removed before the lock was taken excludes nobody.
            let held = self.held.borrow();
            if held.as_ref().is_none_or(|file| host::private::is_still_at(file, &path)) {
                return Ok(hold);
            }
        }
    }

    fn take_lock(&self, mut file: File, command: &str) -> Result<Hold, Failure> {
        let deadline = Instant::now() + JUST_ENDED;
        loop {
            match is_taken(flock(&file, FlockOperation::NonBlockingLockExclusive)) {
                Some(true) => {}
                Some(false) => break,
                None => return Ok(Hold::Unlocked),
            }
            let holder = holder(&mut file);
            if holder.is_running() || Instant::now() > deadline {
                return Err(Failure::need(format!(
                    "another tailback loads this machine ({}), and each would measure the other; wait until \
                     it has ended, or set {SHARE}=1 to run beside it",
                    holder.words()
                )));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let written = file
            .set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| file.write_all(format!("{} {command}", std::process::id()).as_bytes()));
        // The lock holds even without this text.
        let _ = written;
        self.held.replace(Some(file));
        Ok(Hold::Exclusive)
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the folder of journals and locks exists.
pub fn has_locks() -> bool {
    Roots::real().run.join("tailback").exists()
}

/// Removes that folder, unless another process needs it.
pub fn remove_locks() {
    host::restore::remove_locks(&Roots::real(), RUN);
}

fn start_helper(helper: &Mutex<Option<Child>>) {
    let mut helper = unpoisoned(helper);
    if helper.is_some() {
        return;
    }
    // This path leads to the program even if an upgrade has removed its file.
    let mut command = Command::new("/proc/self/exe");
    let own = std::process::id().to_string();
    command.arg0("tailback").args(["restore", &format!("--{WAIT}"), &own]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without the helper, the next start undoes what a killed run left.
    *helper = command.spawn().ok();
}

/// Runs `tailback host restore`. The helper of process `of` waits first until that process has
/// ended.
pub fn restore(out: &Output, of: Option<u32>) -> u8 {
    if let Some(tool) = of {
        wait_for_end(tool);
    }
    let roots = Roots::real();
    // Groups come first: a controller can only be disabled if no group of tailback is left.
    let swept = sweep_all(&roots);
    let restored = host::restore(&roots);
    for group in &swept.removed {
        out.print(&format!("{}\n", removed(group)));
    }
    for error in &swept.failed {
        output::complain(&report::prose::group(error));
    }
    tell(&restored, Some(out));
    if swept.removed.is_empty() && swept.failed.is_empty() && restored.is_empty() {
        out.print("Nothing to put back.\n");
    }
    match swept.failed.is_empty() && restored.is_whole() {
        true => 0,
        false => exit::BROKEN,
    }
}

/// That something was removed. A user may have chosen the name of a folder above it.
fn removed(path: &Path) -> String {
    terminal::line(&format!("removed {}", path.display()))
}

/// Waits until the tool has ended, in order or not.
fn wait_for_end(tool: u32) {
    // It was started as /proc/self/exe, and would be shown as `exe`.
    let _ = rustix::thread::set_name(c"tailback");
    let mut told = Vec::new();
    // An input that cannot be read counts as ended too.
    let _ = std::io::stdin().lock().take(IN_ORDER.len() as u64).read_to_end(&mut told);
    let deadline = Instant::now() + DYING;
    let is_child = || {
        let parent = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get());
        parent.is_some_and(|parent| u32::try_from(parent) == Ok(tool))
    };
    while told.is_empty() && is_child() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Prints one line per restored change. If another command runs, they are notes on standard
/// error. The text comes from a journal, which may be forged.
fn tell(restored: &Restored, out: Option<&Output>) {
    let say = |line: String| match (terminal::line(&line), out) {
        (line, None) => output::note(&format!("left by a run that was killed: {line}")),
        (line, Some(out)) => out.print(&format!("{line}\n")),
    };
    restored.undone.iter().for_each(|change| {
        say(match change {
            Change::Temporary { path } | Change::Group { path } => removed(path),
            Change::File { .. } | Change::Controller { .. } => format!("put back {change}"),
        });
    });
    let of_left = |(change, why): &(Change, String)| format!("left as it is, {change}: {why}");
    first(&restored.left, of_left, say);
    let of_failed =
        |(path, why): &(PathBuf, String)| format!("cannot put back {}: {why}", path.display());
    first(&restored.failed, of_failed, |line| output::complain(&line));
    first(&restored.refused, of_refused, |line| output::complain(&line));
}

/// Prints the first lines, and how many more there are.
fn first<T>(all: &[T], line: impl Fn(&T) -> String, say: impl Fn(String)) {
    all.iter().take(MOST_TOLD).map(line).for_each(&say);
    if all.len() > MOST_TOLD {
        say(format!("and {} more", all.len() - MOST_TOLD));
    }
}

/// Names an entry that tailback did not make, and what to do next.
fn of_refused(refused: &Refused) -> String {
    let (journal, why) = (refused.journal.display(), &refused.why);
    match &refused.entry {
        Some(entry) => format!(
            "not put back: {entry}: an entry that tailback did not make ({why}); look at {journal}, \
             then remove it"
        ),
        None => format!(
            "not put back: {journal}: a journal that tailback did not make ({why}); look at it, \
             then remove it"
        ),
    }
}

/// Whether another process holds a lock, according to the answer to the request for it. None if
/// that is unknown, as in a kernel without file locks.
fn is_taken(answer: rustix::io::Result<()>) -> Option<bool> {
    match answer {
        Ok(()) => Some(false),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Some(true),
        Err(_) => None,
    }
}

/// The process that has the machine, according to the lock file.
struct Holder {
    pid: Option<u32>,
    command: String,
}

fn holder(file: &mut File) -> Holder {
    let mut text = String::new();
    let _ = file.rewind().and_then(|()| file.take(MOST_HOLDER).read_to_string(&mut text));
    let (pid, command) = text.split_once(' ').unwrap_or_default();
    Holder { pid: pid.parse().ok(), command: terminal::line(command) }
}

impl Holder {
    fn is_running(&self) -> bool {
        let stat = self.pid.and_then(|pid| std::fs::read(format!("/proc/{pid}/stat")).ok());
        stat.is_some_and(|stat| Stat::parse(&stat).is_some_and(|stat| !stat.is_dead()))
    }

    fn words(&self) -> String {
        match self.pid {
            Some(pid) => format!("process {pid}, tailback {}", self.command),
            None => "its process is not known".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_became_of_the_lock_is_told() {
        let guard = Guard::default();
        assert_eq!(guard.take_machine("run x", true).unwrap(), Hold::Shared);
        let place = tempfile::NamedTempFile::new().unwrap();
        assert_eq!(guard.take_lock(place.reopen().unwrap(), "run x").unwrap(), Hold::Exclusive);
        // The first guard keeps its handle, so the lock is held.
        let second = Guard::default().take_lock(place.reopen().unwrap(), "run y").unwrap_err();
        assert!(second.line.contains("tailback run x"), "{}", second.line);
        assert_eq!(second.code, exit::NEED);
    }

    #[test]
    fn the_name_of_a_group_steers_no_terminal() {
        let group = Path::new("/sys/fs/cgroup/a\u{1b}[2J\n/tailback-7-1-0");
        assert_eq!(removed(group), "removed /sys/fs/cgroup/a [2J /tailback-7-1-0");
    }

    #[test]
    fn a_kernel_without_file_locks_has_no_other_run() {
        assert_eq!(is_taken(Ok(())), Some(false));
        assert_eq!(is_taken(Err(Errno::WOULDBLOCK)), Some(true));
        assert_eq!(is_taken(Err(Errno::NOSYS)), None);
        assert_eq!(is_taken(Err(Errno::NOLCK)), None);
    }
}
