//! What `watch` reports about itself as a service, since it runs for weeks and nobody looks at
//! it.

use crate::output;
use crate::signals::Asked;
use rustix::fs::{Mode, OFlags, fstat, open};
use signal_hook::consts::SIGHUP;
use std::os::fd::OwnedFd;
use std::time::Duration;
use watch::reader::ReaderState;

/// How long the eBPF programs of an ended process may stay in the kernel.
const ENDED: Duration = Duration::from_secs(1);

/// A service.
pub struct Service {
    /// The file of this program; None once its replacement was reported.
    program: Option<OwnedFd>,
    /// None if SIGHUP means that the terminal has gone.
    hangup: Option<Asked>,
    /// Its reader; None once the end of the reader was reported.
    reader: Option<ReaderState>,
}

impl Service {
    /// Begins to notice what happens to the service.
    pub fn start() -> Self {
        Service {
            program: own_program().filter(|file| !is_replaced(file)),
            hangup: (!has_terminal()).then(|| Asked::watch(SIGHUP)),
            reader: None,
        }
    }

    /// Looks after this reader, if there is one.
    pub fn look_after(&mut self, reader: Option<ReaderState>) {
        self.reader = reader;
    }

    /// Reports another running watch. Called before this process loads its programs.
    pub fn look_for_another(&self) {
        if is_beside_another() {
            output::note(
                "watch: another `tailback watch` runs on this machine; each of them costs CPU time, \
                 and one is enough",
            );
        }
    }

    /// Whether SIGHUP is only a request, and does not end the service.
    pub fn hears_hangup(&self) -> bool {
        self.hangup.is_some()
    }

    /// Reports what has happened since the last look.
    pub fn look(&mut self) {
        if self.hangup.as_ref().is_some_and(Asked::noticed) {
            output::note(
                "watch: SIGHUP: there is no configuration to read again; restart watch to change \
                 its options",
            );
        }
        if self.program.take_if(|file| is_replaced(file)).is_some() {
            output::note(
                "watch: the file of this program was replaced or removed; the old version runs \
                 until watch is restarted",
            );
        }
        if self.reader.take_if(|reader| reader.has_ended()).is_some() {
            output::note(
                "watch: the reader of programs has ended; new functions, containers and runtimes \
                 have no names until watch is restarted",
            );
        }
    }
}

/// Whether another watch runs. The programs of a process that has just ended stay in the kernel
/// for a moment.
fn is_beside_another() -> bool {
    let is_there = || probe::live::watchers() > 0;
    is_there() && {
        std::thread::sleep(ENDED);
        is_there()
    }
}

/// This program's own file; None if it cannot be opened.
fn own_program() -> Option<OwnedFd> {
    open("/proc/self/exe", OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()
}

/// Whether a file has been unlinked.
fn is_replaced(file: &OwnedFd) -> bool {
    fstat(file).is_ok_and(|of| of.st_nlink == 0)
}

/// Whether a terminal controls this process.
fn has_terminal() -> bool {
    open("/dev/tty", OFlags::RDONLY | OFlags::NOCTTY | OFlags::CLOEXEC, Mode::empty()).is_ok()
}
