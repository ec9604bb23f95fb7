//! tailback as the module runs it: a child whose output is kept, and which ends when nobody waits
//! for the answer any more.

use super::folders::ModuleFolders;
use crate::exit::{self, Failure};
use crate::signals::Interruption;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, kill_process};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The most that is kept of what it prints, in bytes: sixty brief records of the largest size.
const MOST: u64 = 2 << 20;

/// How often it is looked whether it has ended, or whether somebody still waits.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

/// How long it may take to end in order once it is asked to.
const ENDING: Duration = Duration::from_secs(30);

/// How it ended.
pub enum End {
    /// By itself, with this exit code.
    Exit(u8),
    /// Nobody reads the answer: the connection is gone, or somebody interrupted.
    Gone,
    /// It took too long.
    Overdue,
}

/// What it printed.
#[derive(Debug, Default)]
pub struct Heard {
    /// On standard output.
    pub out: String,
    /// On standard error.
    pub err: String,
}

/// A run of tailback.
pub struct Carried {
    child: Child,
    readers: Option<[JoinHandle<String>; 2]>,
}

impl Carried {
    /// Starts it. Records stay in `keep`, or go with the place.
    ///
    /// # Errors
    /// If there is no place, or it cannot be started.
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
        // A terminal that goes away tells this process alone, which ends the other in order.
        command.process_group(0);
        os::death::bind(&mut command, Signal::KILL);
        let failed = |error| Failure::need(format!("tailback cannot start itself: {error}"));
        let mut child = command.spawn().map_err(failed)?;
        let readers = [
            child.stdout.take().map(|pipe| std::thread::spawn(|| read(pipe))),
            child.stderr.take().map(|pipe| std::thread::spawn(|| read(pipe))),
        ];
        let readers = match readers {
            [Some(out), Some(err)] => Some([out, err]),
            _ => None,
        };
        Ok(Carried { child, readers })
    }

    /// Waits for its end, until `deadline` at most, and while somebody waits for the answer.
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
        match self.child.try_wait() {
            Ok(Some(status)) => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                Some(code.unwrap_or(exit::BROKEN))
            }
            Ok(None) => None,
            Err(_) => Some(exit::BROKEN),
        }
    }

    /// Ends it in order, and if that takes too long, at once; its helper then puts things back.
    fn stop(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        if let Some(pid) = pid {
            let _ = kill_process(pid, Signal::TERM);
        }
        let deadline = Instant::now() + ENDING;
        while self.ended().is_none() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        if self.ended().is_none() {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }

    /// What it printed.
    pub fn heard(&mut self) -> Heard {
        let Some([out, err]) = self.readers.take() else { return Heard::default() };
        Heard { out: out.join().unwrap_or_default(), err: err.join().unwrap_or_default() }
    }
}

/// Whether the reader of this process's output has gone; waits a moment for it.
fn is_gone() -> bool {
    let out = std::io::stdout();
    let mut watched = [PollFd::new(&out, PollFlags::empty())];
    match poll(&mut watched, Some(&LOOK)) {
        Ok(0) | Err(_) => false,
        Ok(_) => watched[0].revents().intersects(PollFlags::ERR | PollFlags::HUP),
    }
}

/// What comes, as far as it is kept; the rest is read too, so that nobody waits for it.
fn read(mut pipe: impl Read) -> String {
    let mut kept = Vec::new();
    let _ = pipe.by_ref().take(MOST).read_to_end(&mut kept);
    let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    String::from_utf8_lossy(&kept).into_owned()
}
