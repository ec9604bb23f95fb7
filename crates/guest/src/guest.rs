//! A running guest: it is started, paused, resumed and read from, and always ended.

mod control;
mod receive;
mod share;
mod start;

use crate::accel::{Accel, Clock};
use crate::console::Console;
use crate::deadline::RunClock;
use crate::ending::Ending;
use crate::error::GuestError;
use crate::frame::{Decoder, END};
use crate::job::Hello;
use crate::kernel::Kernel;
use crate::qemu::Qemu;
use control::Control;
#[cfg(feature = "fuzz")]
pub(crate) use control::answer;
use os::child::Child;
pub use start::ROOT_TAG;
use std::collections::VecDeque;
use std::io::Write;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time that a kernel has to end its machine after a panic.
const PANIC_GRACE: Duration = Duration::from_secs(3);

/// Time between the moment when QEMU closes its control port and its end.
const CLOSING_GRACE: Duration = Duration::from_secs(2);

/// The settings of a new guest.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The QEMU that runs it.
    pub qemu: &'a Qemu,
    /// Its kernel.
    pub kernel: &'a Kernel,
    /// The number of its CPUs.
    pub cpus: u32,
    /// Its memory, in bytes.
    pub memory: u64,
    /// The time base of its clock, if it is emulated.
    pub clock: Clock,
    /// Its initial file system, from [`crate::initramfs::build`].
    pub initramfs: &'a [u8],
    /// Its time limits.
    pub limits: Limits,
    /// A folder of the host that becomes its read-only root. None if it has only the initramfs.
    pub root: Option<PathBuf>,
}

/// Time limits of a guest, in running time without pauses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Limit until it is up.
    pub boot: Duration,
    /// Limit between two frames after it is up. It sends one frame each second.
    pub silence: Duration,
    /// Limit of the whole run.
    pub total: Duration,
}

impl Limits {
    /// The default time limit of a command in a guest.
    pub const WORK: Duration = Duration::from_secs(900);

    /// The limits for this number of CPUs and this total limit. Without a total limit it is
    /// [`Limits::WORK`] plus the boot limit. Emulated CPUs boot one after the other, and much
    /// more slowly if they take turns.
    pub fn new(cpus: u32, clock: Clock, total: Option<Duration>) -> Self {
        let for_each = match clock {
            Clock::Host => 3,
            Clock::Instructions => 12,
        };
        let boot = Duration::from_secs(90 + for_each * u64::from(cpus));
        Limits {
            boot,
            silence: Duration::from_secs(60 + u64::from(cpus)),
            total: total.unwrap_or(boot + Self::WORK),
        }
    }
}

/// An event of a guest.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It is up.
    Hello(Hello),
    /// Its command wrote a line to standard error.
    Line(String),
    /// Its command sent an event, as JSON.
    Told(String),
    /// Its init could not do something.
    Warning(String),
    /// It has ended; nothing follows.
    End(Outcome),
}

/// The result of a guest.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// Its command ended.
    Done {
        /// The command's exit code.
        code: u8,
        /// What it wrote to standard output.
        output: String,
        /// The record that it kept, as JSON.
        record: Option<String>,
    },
    /// It ended without the result of its command.
    Failed {
        /// How it ended.
        ending: Ending,
        /// What its command wrote to standard output, if the guest could still send it.
        output: String,
        /// The record of the measurements so far, as JSON, if the guest could still send it.
        record: Option<String>,
    },
}

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Self {
        Outcome::Failed { ending, output: String::new(), record: None }
    }
}

/// A running guest. It is killed on drop, and when this process dies.
#[derive(Debug)]
pub struct Guest {
    running: Child,
    console_port: UnixStream,
    data_port: UnixStream,
    control: Control,
    console: Console,
    decoder: Decoder,
    clock: RunClock,
    limits: Limits,
    received: Received,
    panicked: Option<Instant>,
    asked: bool,
    overtime: Option<Duration>,
    events: VecDeque<Event>,
    started: Instant,
    boot: Option<Duration>,
    _root: Option<Child>,
}

/// The data that a guest has sent so far.
#[derive(Debug, Default)]
struct Received {
    up: bool,
    lines: usize,
    output: String,
    record: Option<String>,
    code: Option<u8>,
}

impl Guest {
    /// Lets it run until the next event.
    ///
    /// # Errors
    /// If the user interrupts, or a system call fails.
    pub fn next(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Event, GuestError> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            if interrupted() {
                return Err(GuestError::Interrupted);
            }
            if let Some(outcome) = self.step()? {
                self.events.push_back(Event::End(outcome));
            }
        }
    }

    /// Stops its clock and its CPUs. No time passes in the guest.
    ///
    /// # Errors
    /// If QEMU does not answer.
    pub fn pause(&mut self) -> Result<(), GuestError> {
        self.tell_qemu("stop")?;
        self.clock.pause();
        Ok(())
    }

    /// Resumes its clock and its CPUs.
    ///
    /// # Errors
    /// If QEMU does not answer.
    pub fn resume(&mut self) -> Result<(), GuestError> {
        self.tell_qemu("cont")?;
        self.clock.resume();
        Ok(())
    }

    /// Sends a command to QEMU. A guest that has just ended by itself needs none: what it sent
    /// before is read in the next step.
    fn tell_qemu(&mut self, command: &str) -> Result<(), GuestError> {
        let told = self.control.command(command);
        // The ports of a process close a moment before it has ended.
        let has_ended =
            told.is_err() && self.running.wait_until(Instant::now() + CLOSING_GRACE).is_some();
        if has_ended { Ok(()) } else { told }
    }

    /// Ends its command like Ctrl-C. The outcome has the measurements so far. Returns whether
    /// that can work: the guest must be up, and must continue to run.
    pub fn ask_to_end(&mut self) -> bool {
        if self.received.up && !self.asked {
            // One byte always fits into an empty socket. If QEMU has ended, the next step notices
            // that.
            self.asked = self.data_port.write_all(&[END]).is_ok();
        }
        self.asked
    }

    /// Time that a guest has to end after [`Guest::ask_to_end`].
    pub fn grace(&self) -> Duration {
        self.limits.silence
    }

    /// The last lines of its console, oldest first.
    pub fn console(&self, lines: usize) -> Vec<String> {
        self.console.tail(lines)
    }

    /// The time that it took to boot.
    pub fn boot_time(&self) -> Option<Duration> {
        self.boot
    }

    /// The process of its QEMU.
    pub fn pid(&mut self) -> u32 {
        self.running.pid()
    }

    /// Whether its kernel has begun to run.
    fn has_begun(&self) -> bool {
        self.console.booting() || self.received.up
    }

    /// Reads once from its ports, and checks whether it has ended.
    fn step(&mut self) -> Result<Option<Outcome>, GuestError> {
        // Checked before reading, so that everything written before the end is read.
        let ended = self.running.ended();
        let ended =
            ended.map_err(|source| GuestError::System { what: "waiting for qemu", source })?;
        if let Err(why) = self.receive(ended.is_some())? {
            return Ok(Some(Ending::Garbled { why }.into()));
        }
        if let Some(code) = self.received.code.take() {
            let output = std::mem::take(&mut self.received.output);
            let record = self.received.record.take();
            return Ok(Some(match self.overtime {
                Some(_) => Outcome::Failed { ending: self.time_out(), output, record },
                None => Outcome::Done { code, output, record },
            }));
        }
        if let Some(line) = self.console.panic() {
            let since = *self.panicked.get_or_insert_with(Instant::now);
            if ended.is_some() || since.elapsed() > PANIC_GRACE {
                let ending = Ending::Panic { line: line.to_owned(), up: self.received.up };
                return Ok(Some(ending.into()));
            }
            return Ok(None);
        }
        let ending = match ended {
            Some(status) => Some(self.early_end(&status.to_string())),
            None => self.overdue(),
        };
        Ok(ending.map(Outcome::from))
    }

    fn early_end(&self, status: &str) -> Ending {
        let last = self.console.tail(1).pop();
        let last = last.map_or_else(
            || "no console output".to_owned(),
            |line| format!("last line of its console: {line}"),
        );
        let why = format!("qemu ended ({status}), {last}");
        match self.received.up {
            true => Ending::Died { why },
            false => Ending::BootFailure { why },
        }
    }

    fn time_out(&self) -> Ending {
        Ending::TimeOut { limit: self.limits.total }
    }

    fn overdue(&mut self) -> Option<Ending> {
        let (limits, elapsed) = (self.limits, self.clock.elapsed());
        if !self.received.up && elapsed > limits.boot.min(limits.total) {
            let limit = limits.boot.min(limits.total).as_secs();
            let output = match self.console.bytes {
                0 => "no console output".to_owned(),
                _ => format!("{} bytes of console", self.console.bytes),
            };
            return Some(Ending::BootFailure { why: format!("not within {limit} s ({output})") });
        }
        if elapsed > limits.total {
            // It may still send its results. The time for that starts at the first check after
            // the limit.
            let since = *self.overtime.get_or_insert(elapsed);
            if !self.ask_to_end() || elapsed.saturating_sub(since) > self.grace() {
                return Some(self.time_out());
            }
        }
        let silence = self.clock.silence();
        (self.received.up && silence > limits.silence).then_some(Ending::Hang { silence })
    }
}

/// Whether this guest prints a first kernel line or comes up with this accelerator. A kernel need
/// not print anything.
pub(crate) fn boots(
    setup: &Setup<'_>,
    accel: Accel,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<bool, GuestError> {
    let mut guest = Guest::start(setup, accel)?;
    while guest.clock.elapsed() < limit && !guest.has_begun() {
        if interrupted() {
            return Err(GuestError::Interrupted);
        }
        if guest.step()?.is_some() {
            break;
        }
    }
    Ok(guest.has_begun())
}
