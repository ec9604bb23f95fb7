//! The processes of a node: the supervisor, and the VM below it.

use super::child_setup::{ChildSetup, read_report};
use super::options::NodeOptions;
use super::reader::Pipes;
use crate::app::{App, trust};
use crate::error::BeamError;
use crate::otp::{Otp, QUIET};
use crate::spawner;
use host::journal::Noted;
use host::{Roots, temporary};
use os::child::Child;
use os::user::User;
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, fchown, mkdirat, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a supervisor may take to end everything; then the supervisor itself is killed.
const GRACE: Duration = Duration::from_secs(5);

/// Largest size of a crash dump, in bytes.
const DUMP_BYTES: &str = "67108864";

/// Longest time for writing a crash dump, in seconds.
const DUMP_SECONDS: &str = "10";

/// The processes of a node.
#[derive(Debug)]
pub(super) struct Process {
    supervisor: Child,
    /// The pid of the VM's process; zero if there was none.
    pub vm: u32,
    /// The path of a possible crash dump that was not reported yet.
    dump: Option<PathBuf>,
    /// Its journal entry, which removes the dump if the tool is killed while it is written; None
    /// without a journal.
    noted: Option<Noted>,
}

/// The tool's ends of the pipes.
pub(super) struct Ends {
    /// Takes the frames to the node.
    pub requests: OwnedFd,
    /// Closed to end the reading thread.
    pub stop: OwnedFd,
    /// The pipes for the reading thread.
    pub pipes: Pipes,
}

/// Starts the processes.
///
/// # Errors
/// If a pipe, the process, or something that the options require cannot be created.
pub(super) fn start(
    otp: &Otp,
    app: &App,
    options: &NodeOptions,
) -> Result<(Process, Ends), BeamError> {
    let failed = |step: &str| {
        let (erl, step) = (otp.erl.clone(), step.to_owned());
        move |source| BeamError::Start { erl, step, source }
    };
    if let Some(dir) = options.dir.as_ref().filter(|dir| !dir.is_dir()) {
        let source = io::ErrorKind::NotADirectory.into();
        return Err(failed(&format!("working in {}", dir.display()))(source));
    }
    let pipe =
        || pipe_with(PipeFlags::CLOEXEC).map_err(|error| failed("making a pipe")(error.into()));
    let (calls_out, requests) = pipe()?;
    let (frames, answers_in) = pipe()?;
    let (written, writes) = pipe()?;
    let (stop_out, stop) = pipe()?;
    let (report_out, report) = pipe()?;
    let mut setup = ChildSetup::new(options, [calls_out, answers_in], report, otp.user())
        .map_err(|(step, source)| failed(&step)(source))?;
    let dump = dump_path(options, otp.user())?;
    let noted = dump.as_ref().and_then(|dump| temporary::announce(&Roots::real(), dump));
    let paths = Paths::of(app, dump.as_deref(), otp.user().map(|_| &mut setup))?;
    let command = command(otp, &paths, options, setup, writes);
    let spawned = command.and_then(spawner::spawn_as_is);
    let (vm, step) = read_report(report_out.as_fd(), options);
    let supervisor = match spawned {
        Ok(supervisor) => Child::leading(supervisor),
        Err(error) => {
            noted.into_iter().for_each(Noted::undone);
            return Err(failed(step.as_deref().unwrap_or("executing it"))(error));
        }
    };
    let process = Process { supervisor, vm: vm.unwrap_or(0), dump, noted };
    let pipes = Pipes { frames, written, stop: stop_out };
    Ok((process, Ends { requests, stop, pipes }))
}

fn command(
    otp: &Otp,
    paths: &Paths,
    options: &NodeOptions,
    setup: ChildSetup,
    writes: OwnedFd,
) -> io::Result<Command> {
    let mut command = otp.command();
    command.args(options.flags.words()).args(QUIET).arg("-pa").arg(&paths.ebin);
    command.args(["-run", "tailback_port", "start"]);
    command.args(setup.descriptors().map(|descriptor| descriptor.to_string()));
    if let Some(dump) = &paths.dump {
        command.env("ERL_CRASH_DUMP", dump);
        command.env("ERL_CRASH_DUMP_SECONDS", DUMP_SECONDS);
        command.env("ERL_CRASH_DUMP_BYTES", DUMP_BYTES);
    }
    command.envs(options.env.iter().map(|(name, value)| (name, value)));
    if let Some(dir) = &options.dir {
        command.current_dir(dir);
    }
    let again = writes.try_clone()?;
    command.stdin(Stdio::null()).stdout(writes).stderr(again).process_group(0);
    // SAFETY: `in_child` makes system calls only; it neither allocates nor takes a lock.
    unsafe { command.pre_exec(move || setup.in_child()) };
    Ok(command)
}

/// The files that the node reads and writes, with paths that its user can reach.
struct Paths {
    ebin: PathBuf,
    dump: Option<PathBuf>,
}

impl Paths {
    /// The paths themselves. For another user, paths through folders that its process has open,
    /// since the folders above may be closed to that user.
    fn of(
        app: &App,
        dump: Option<&Path>,
        other: Option<&mut ChildSetup>,
    ) -> Result<Self, BeamError> {
        let Some(setup) = other else {
            return Ok(Paths { ebin: app.ebin.clone(), dump: dump.map(Path::to_owned) });
        };
        let mut within = |path: &Path, levels: usize| {
            let folder = path.ancestors().nth(levels).unwrap_or(path);
            let failed =
                |source| BeamError::File { path: folder.to_owned(), what: "open it", source };
            let opened = setup.keep(Arc::new(folder_at(folder).map_err(failed)?));
            Ok(opened.join(path.strip_prefix(folder).unwrap_or(path)))
        };
        // The VM identifies an application by the name of the folder around `ebin`.
        let ebin = within(&app.ebin, 2)?;
        let dump = dump.map(|dump| within(dump, 1)).transpose()?;
        Ok(Paths { ebin, dump })
    }
}

/// Opens a folder for access to its entries.
pub(crate) fn folder_at(path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?)
}

/// The folder for this user's dumps inside the common folder; created if missing.
fn dumps_of(folder: &Path, user: User) -> io::Result<PathBuf> {
    let name = format!("user-{}", user.uid());
    let common = folder_at(folder)?;
    match mkdirat(&common, &name, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let own = openat(&common, &name, flags, Mode::empty())?;
    fchown(&own, Some(Uid::from_raw(user.uid())), Some(Gid::from_raw(user.gid())))?;
    Ok(folder.join(name))
}

/// A path in the folder for dumps at which no file exists.
fn dump_path(options: &NodeOptions, user: Option<User>) -> Result<Option<PathBuf>, BeamError> {
    // Counts the dumps of this process; their names also contain its pid.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let Some(folder) = &options.dumps else { return Ok(None) };
    let failed = |source| BeamError::File { path: folder.clone(), what: "make it", source };
    let folder = trust::folder(folder)?;
    let folder = match user {
        Some(user) => dumps_of(&folder, user).map_err(failed)?,
        None => folder,
    };
    let tool = std::process::id();
    let names = std::iter::repeat_with(|| {
        folder.join(format!("erl_crash.{tool}.{}.dump", COUNT.fetch_add(1, Ordering::Relaxed)))
    });
    Ok(names.take(10_000).find(|path| path.symlink_metadata().is_err()))
}

impl Process {
    /// Waits until `deadline` for the end of all processes.
    pub fn wait_until(&mut self, deadline: Instant) -> Option<ExitStatus> {
        self.supervisor.wait_until(deadline)
    }

    /// Ends all processes reliably, and reaps them.
    pub fn kill(&mut self) -> Option<ExitStatus> {
        self.supervisor.signal(Signal::TERM);
        // If the supervisor is killed, the VM dies too, by its own parent-death signal.
        self.wait_until(Instant::now() + GRACE).or_else(|| self.supervisor.end())
    }

    /// The crash dump, if one was written; the file stays.
    pub fn keep_dump(&mut self) -> Option<PathBuf> {
        let written = |dump: &mut PathBuf| std::fs::metadata(dump).is_ok_and(|file| file.len() > 0);
        let kept = self.dump.take_if(written);
        if kept.is_some() {
            self.noted.take().into_iter().for_each(Noted::undone);
        }
        kept
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        // A dump of an unreported end, for example an end while the dump was being written.
        if let Some(dump) = &self.dump {
            let _ = std::fs::remove_file(dump);
        }
        self.noted.take().into_iter().for_each(Noted::undone);
    }
}
