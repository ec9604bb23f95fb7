//! Runs tailback as a child of the module. The output of the child is kept. The child is stopped
//! when Ansible closes the pipe for the answer.

use super::folders::ModuleFolders;
use crate::exit::{self, Failure};
use crate::signals::Interruption;
use os::child::Child;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use std::fs::File;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most output that is kept per stream, in bytes. This is room for sixty brief records of the
/// largest size.
const MOST: u64 = 2 << 20;

/// How often to check whether the child has ended, and whether somebody still waits.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long the child may take to end after it is asked to.
const ENDING: Duration = Duration::from_secs(30);

/// How the run ended.
pub enum End {
    /// The child ended by itself with this exit code.
    Exit(u8),
    /// Nobody reads the answer: the connection is gone, or somebody interrupted the run.
    Gone,
    /// The run took too long.
    Overdue,
}

/// The output of the child.
#[derive(Debug, Default)]
pub struct Captured {
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
}

/// A running tailback.
pub struct ChildRun {
    child: Child,
    readers: Option<[JoinHandle<String>; 2]>,
}

impl ChildRun {
    /// Starts tailback. Records stay in `keep`; without it, they are removed with the work
    /// folder.
    ///
    /// # Errors
    /// If there is no work folder, or tailback cannot be started.
    pub fn start(
        words: &[String],
        folders: &ModuleFolders,
        keep: Option<&Path>,
    ) -> Result<Self, Failure> {
        let work = folders.work()?;
        let mut command = Command::new("/proc/self/exe");
        command.args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.env("XDG_CACHE_HOME", work.join("cache"));
        command.env("XDG_STATE_HOME", keep.map_or_else(|| work.join("state"), Path::to_owned));
        // When a terminal goes away, only this process gets the signal. It then ends the child in
        // order.
        command.process_group(0);
        os::death::bind(&mut command, Signal::KILL);
        let failed = |error| Failure::need(format!("tailback cannot start itself: {error}"));
        // Alone, since its own end ends its loads.
        let mut child = Child::alone(command.spawn().map_err(failed)?);
        // The child still prints while it ends in order, so threads read all of its output.
        let readers = [child.take_stdout(), child.take_stderr()];
        let readers = readers.map(|pipe| {
            let pipe = File::from(pipe?);
            Some(std::thread::spawn(|| read(pipe)))
        });
        let readers = match readers {
            [Some(out), Some(err)] => Some([out, err]),
            _ => None,
        };
        Ok(ChildRun { child, readers })
    }

    /// Waits until the child ends, `deadline` passes, or Ansible closes the pipe for the answer.
    pub fn wait(&mut self, interruption: &Interruption, deadline: Instant) -> End {
        loop {
            if let Some(code) = self.ended() {
                return End::Exit(code);
            }
            let gone = is_gone();
            if gone || interruption.noticed() {
                self.stop();
                return End::Gone;
            }
            if Instant::now() > deadline {
                self.stop();
                return End::Overdue;
            }
        }
    }

    fn ended(&mut self) -> Option<u8> {
        match self.child.ended() {
            Ok(Some(status)) => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                Some(code.unwrap_or(exit::BROKEN))
            }
            Ok(None) => None,
            Err(_) => Some(exit::BROKEN),
        }
    }

    /// Asks the child to end. If that takes too long, kills it; its helper then restores the
    /// machine.
    fn stop(&mut self) {
        self.child.signal(Signal::TERM);
        if self.child.wait_until(Instant::now() + ENDING).is_none() {
            self.child.end();
        }
    }

    /// The output of the child.
    pub fn heard(&mut self) -> Captured {
        let Some([out, err]) = self.readers.take() else { return Captured::default() };
        Captured { out: out.join().unwrap_or_default(), err: err.join().unwrap_or_default() }
    }
}

/// Whether the reader of this process's output has gone; waits up to [`LOOK`] for it to go.
fn is_gone() -> bool {
    let out = std::io::stdout();
    let mut watched = [PollFd::new(&out, PollFlags::empty())];
    match poll(&mut watched, Some(&LOOK)) {
        Ok(0) | Err(_) => false,
        Ok(_) => watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
    }
}

/// Reads all output and keeps the first [`MOST`] bytes. The rest is read too, so that the child
/// never blocks on a full pipe.
fn read(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = pipe.by_ref().take(MOST).read_to_end(&mut kept);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}
