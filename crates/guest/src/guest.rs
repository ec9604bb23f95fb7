//! A guest that runs: started, paused, resumed, read from, and always brought to an end.

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

/// How long a kernel that gave up may take to end its machine.
const PANIC_GRACE: Duration = Duration::from_secs(3);

/// A guest about to be started.
#[derive(Debug)]
pub struct Setup<'a> {
    /// The QEMU that shows its machine.
    pub qemu: &'a Qemu,
    /// Its kernel.
    pub kernel: &'a Kernel,
    /// Its CPUs.
    pub cpus: u32,
    /// Its memory, in bytes.
    pub memory: u64,
    /// What its clock counts where it is emulated.
    pub clock: Clock,
    /// Its first file system, from [`crate::initramfs::build`].
    pub initramfs: &'a [u8],
    /// How long it may take.
    pub limits: Limits,
    /// A folder of the host that it sees as its root, read-only; none for the initramfs alone.
    pub root: Option<PathBuf>,
}

/// How long a guest may take; time in which it is paused does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Until it is up.
    pub boot: Duration,
    /// Between two frames of it, once it is up; it sends one each second.
    pub silence: Duration,
    /// In all.
    pub total: Duration,
}

impl Limits {
    /// What a command may take in a guest without a given limit.
    pub const WORK: Duration = Duration::from_secs(900);

    /// Limits for so many CPUs, with this one in all; without one, [`Limits::WORK`] and what it may
    /// take to come up. Emulated CPUs come up one after the other, and much slower where they take
    /// turns.
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

/// Something that a guest does.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// It is up.
    Hello(Hello),
    /// Its command wrote a line to standard error.
    Line(String),
    /// Its command told an event, as JSON.
    Told(String),
    /// Its init could not do something.
    Warning(String),
    /// It has ended; nothing follows.
    End(Outcome),
}

/// What came of a guest.
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
    /// It ended in another way.
    Failed {
        /// In which.
        ending: Ending,
        /// The record of what was measured before, as JSON, where it could still be sent.
        record: Option<String>,
    },
}

impl From<Ending> for Outcome {
    fn from(ending: Ending) -> Self {
        Outcome::Failed { ending, record: None }
    }
}

/// A guest that runs; it is killed when this is dropped, and when this process dies.
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

/// What a guest has sent so far.
#[derive(Debug, Default)]
struct Received {
    up: bool,
    lines: usize,
    output: String,
    record: Option<String>,
    code: Option<u8>,
}

impl Guest {
    /// Lets it run until it does something.
    ///
    /// # Errors
    /// If the user interrupts, or the host's kernel fails.
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

    /// Stops its clock and its CPUs: for the guest no time passes.
    ///
    /// # Errors
    /// If QEMU does not answer.
    pub fn pause(&mut self) -> Result<(), GuestError> {
        self.control.command("stop")?;
        self.clock.pause();
        Ok(())
    }

    /// Resumes its clock and its CPUs.
    ///
    /// # Errors
    /// If QEMU does not answer.
    pub fn resume(&mut self) -> Result<(), GuestError> {
        self.control.command("cont")?;
        self.clock.resume();
        Ok(())
    }

    /// Ends its command as Ctrl-C would; what it has measured comes back with the outcome. Returns
    /// whether that can work: the guest has to be up, and has to be let run.
    pub fn ask_to_end(&mut self) -> bool {
        if self.received.up && !self.asked {
            // A byte finds room in an empty socket; where QEMU is gone its end is noticed next.
            self.asked = self.data_port.write_all(&[END]).is_ok();
        }
        self.asked
    }

    /// How long a guest that was asked to end may take for it.
    pub fn grace(&self) -> Duration {
        self.limits.silence
    }

    /// The last lines of its console, oldest first.
    pub fn console(&self, lines: usize) -> Vec<String> {
        self.console.tail(lines)
    }

    /// How long it took to come up.
    pub fn boot_time(&self) -> Option<Duration> {
        self.boot
    }

    /// Its QEMU.
    pub fn pid(&mut self) -> u32 {
        self.running.pid()
    }

    /// Reads once, and checks whether it has ended.
    fn step(&mut self) -> Result<Option<Outcome>, GuestError> {
        // Asked before reading: what was written before the end is then there to be read.
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
                Some(_) => Outcome::Failed { ending: self.time_out(), record },
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
            // It may still send what it has; the time for that starts at the first check past the
            // limit.
            let since = *self.overtime.get_or_insert(elapsed);
            if !self.ask_to_end() || elapsed.saturating_sub(since) > self.grace() {
                return Some(self.time_out());
            }
        }
        let silence = self.clock.silence();
        (self.received.up && silence > limits.silence).then_some(Ending::Hang { silence })
    }
}

/// Whether this guest, started under that accelerator, prints a first line of a kernel.
pub(crate) fn boots(
    setup: &Setup<'_>,
    accel: Accel,
    limit: Duration,
    interrupted: &dyn Fn() -> bool,
) -> Result<bool, GuestError> {
    let mut guest = Guest::start(setup, accel)?;
    while guest.clock.elapsed() < limit && !guest.console.booting() {
        if interrupted() {
            return Err(GuestError::Interrupted);
        }
        if guest.step()?.is_some() {
            break;
        }
    }
    Ok(guest.console.booting())
}
