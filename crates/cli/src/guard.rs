//! What keeps a run from leaving anything behind, and two runs from disturbing each other.
//!
//! Before the first change a helper is started: `tailback restore` in a process group of its own.
//! It waits until this program has ended, however it ended, and puts back at once what is left.
//! Where it is killed too, the next start does, or `tailback host restore` by hand.

use crate::exit::{self, Failure};
use crate::output::{self, Output};
use host::cgroup::sweep_all;
use host::journal::{Change, Noted};
use host::restore::Refused;
use host::{Restored, Roots, temporary};
use model::machine::Hold;
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

/// The flag by which the helper waits for the end of its standard input, and is told whose it is.
pub const WAIT: &str = "when-input-ends";

/// Set where runs beside each other are wanted, as by the tests.
const SHARE: &str = "TAILBACK_SHARE_HOST";

/// How long the lock of a run that has just ended is waited for: what it started may end a moment
/// later.
const JUST_ENDED: Duration = Duration::from_secs(2);

/// The most that is read of the lock's file, in bytes.
const MOST_HOLDER: u64 = 200;

/// What the helper is told on its input where this program ends in order.
const IN_ORDER: &[u8] = b"e";

/// How long the helper waits for a killed program to be gone, whose files are closed a little
/// before.
const DYING: Duration = Duration::from_secs(10);

/// The most lines about what was not put back, of each kind.
const MOST_TOLD: usize = 10;

/// The name of the lock that a run holds on the machine.
const RUN: &str = "run";

/// What this run holds on the machine, and may leave behind.
#[derive(Debug, Default)]
pub struct Guard {
    /// The helper of this process, once there is one. The journal has it started, on any thread.
    helper: Arc<Mutex<Option<Child>>>,
    /// The lock that this process holds on the machine, until it ends.
    held: RefCell<Option<File>>,
    /// Files that a kill at the wrong moment leaves; none where nothing was begun.
    leaves: RefCell<Option<Vec<Noted>>>,
    /// What became of the request to have the machine alone; nothing before it was asked for.
    hold: Cell<Option<Hold>>,
}

impl Guard {
    /// Puts back what killed runs left, and takes the machine for `command`.
    ///
    /// # Errors
    /// If another run has it.
    pub fn begin(&self, command: &str) -> Result<(), Failure> {
        tell(&host::restore(&Roots::real()), None);
        self.watch_over();
        self.leaves.replace(Some(Vec::new()));
        self.hold.set(Some(self.take_machine(command, std::env::var_os(SHARE).is_some())?));
        Ok(())
    }

    /// Has a helper remove what this process leaves.
    pub fn watch_over(&self) {
        let helper = Arc::clone(&self.helper);
        host::journal::before_changes(move || start_helper(&helper));
    }

    /// Whether another run can load the machine while this one does; none where this one does not.
    pub fn hold(&self) -> Option<Hold> {
        self.hold.get()
    }

    /// Has a file removed that a kill would leave, where this command loads or changes the machine:
    /// the others have no helper, and need none.
    pub fn may_leave(&self, file: &Path) {
        if let Some(leaves) = self.leaves.borrow_mut().as_mut() {
            leaves.extend(temporary::announce(&Roots::real(), file));
        }
    }

    /// Ends the helper, and waits until it has.
    pub fn end(&self) {
        // A save ends by itself before this, and leaves nothing.
        self.leaves.take().into_iter().flatten().for_each(Noted::undone);
        let Some(mut helper) = unpoisoned(&self.helper).take() else { return };
        if let Some(mut input) = helper.stdin.take() {
            // A helper that is gone already has nothing to be told.
            let _ = input.write_all(IN_ORDER);
        }
        let _ = helper.wait();
    }

    /// Takes the machine: two runs at once would measure each other.
    ///
    /// The lock goes with this process, however it ends. Where there is no folder for it, as for an
    /// ordinary user without a session, or a kernel without file locks, nothing is locked.
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
            // One that was removed before it was locked keeps nobody else out.
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
        // Without its words the lock holds all the same.
        let _ = written;
        self.held.replace(Some(file));
        Ok(Hold::Exclusive)
    }
}

fn unpoisoned<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the folder of journals and locks is there.
pub fn has_locks() -> bool {
    Roots::real().run.join("tailback").exists()
}

/// Removes that folder, unless somebody needs it.
pub fn forget_locks() {
    host::restore::forget_locks(&Roots::real(), RUN);
}

fn start_helper(helper: &Mutex<Option<Child>>) {
    let mut helper = unpoisoned(helper);
    if helper.is_some() {
        return;
    }
    let Ok(program) = std::env::current_exe() else { return };
    let mut command = Command::new(program);
    let own = std::process::id().to_string();
    command.args(["restore", &format!("--{WAIT}"), &own]).process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without it a killed run is put right by the next start.
    *helper = command.spawn().ok();
}

/// `tailback host restore`; as the helper of the process `of` once that has ended.
pub fn restore(out: &Output, of: Option<u32>) -> u8 {
    if let Some(tool) = of {
        wait_for_end(tool);
    }
    let roots = Roots::real();
    // Groups first: a controller is taken back only where no group of tailback is left.
    let swept = sweep_all(&roots);
    let restored = host::restore(&roots);
    for group in &swept.removed {
        out.print(&format!("removed {}\n", group.display()));
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

/// Waits until the tool has ended, in order or not.
fn wait_for_end(tool: u32) {
    let mut told = Vec::new();
    // An input that cannot be read ends here too.
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

/// What was put back, a line each; as notes where something else is run, and prints nothing itself.
/// A journal may be forged, and names what it names.
fn tell(restored: &Restored, out: Option<&Output>) {
    let say = |line: String| match (terminal::line(&line), out) {
        (line, None) => output::note(&format!("left by a run that was killed: {line}")),
        (line, Some(out)) => out.print(&format!("{line}\n")),
    };
    restored.undone.iter().for_each(|change| {
        say(match change {
            Change::Temporary { path } | Change::Group { path } => {
                format!("removed {}", path.display())
            }
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

/// Says the first ones, a line each, and how many there are more.
fn first<T>(all: &[T], line: impl Fn(&T) -> String, say: impl Fn(String)) {
    all.iter().take(MOST_TOLD).map(line).for_each(&say);
    if all.len() > MOST_TOLD {
        say(format!("and {} more", all.len() - MOST_TOLD));
    }
}

/// Names what tailback did not make, and what to do next.
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

/// Whether somebody else holds a lock, by the answer to the request for it; none where that cannot
/// be told, as in a kernel without file locks.
fn is_taken(answer: rustix::io::Result<()>) -> Option<bool> {
    match answer {
        Ok(()) => Some(false),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Some(true),
        Err(_) => None,
    }
}

/// Who has the machine, as its file says.
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
        let stat = self.pid.map(|pid| std::fs::read_to_string(format!("/proc/{pid}/stat")));
        stat.is_some_and(|stat| stat.is_ok_and(|stat| !stat.contains(") Z ")))
    }

    fn words(&self) -> String {
        match self.pid {
            Some(pid) => format!("process {pid}, tailback {}", self.command),
            None => "it has not said which".to_owned(),
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
        // The first one's handle is kept, so the lock is held.
        let second = Guard::default().take_lock(place.reopen().unwrap(), "run y").unwrap_err();
        assert!(second.line.contains("tailback run x"), "{}", second.line);
        assert_eq!(second.code, exit::NEED);
    }

    #[test]
    fn a_kernel_without_file_locks_has_no_other_run() {
        assert_eq!(is_taken(Ok(())), Some(false));
        assert_eq!(is_taken(Err(Errno::WOULDBLOCK)), Some(true));
        assert_eq!(is_taken(Err(Errno::NOSYS)), None);
        assert_eq!(is_taken(Err(Errno::NOLCK)), None);
    }
}
