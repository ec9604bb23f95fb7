//! A guest, from its flags to its end.

use crate::exit::{self, Failure};
use crate::output;
use crate::progress::Step;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use guest::{
    Accel, Cache, Choice, Clock, Ending, ErrorKind, Event, Guest, GuestError, Job, Kernel, Limits,
    Outcome, Qemu, Search, Setup, initramfs,
};
use model::machine::{Guest as Facts, ROOT_OF_HOST};
use model::units;
use os::arch::Arch;
use os::{memory, terminal};
use runner::studies::GuestSize;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Default CPUs of a guest.
const CPUS: u32 = 2;

/// Default memory of a guest, in bytes.
const MEMORY: u64 = 1 << 30;

/// Number of console lines that are shown if a guest fails.
const TAIL: usize = 20;

// The hardware of guests. No doc comment: clap would show it as the help of the command.
#[derive(Debug, Clone, clap::Args)]
pub struct Machine {
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = CPUS)]
    cpus: u32,
    /// Memory of the guest
    #[arg(long, value_name = "SIZE", default_value = "1GiB", value_parser = units::parse_size)]
    memory: u64,
    /// Use KVM or emulation (tcg). auto uses KVM if a test shows that it works
    #[arg(long, value_name = "WORD", default_value = "auto", value_parser = accelerators())]
    accel: Choice,
    /// Clock of an emulated guest: it counts instructions, or the time of the host. auto counts
    /// instructions if the kernel is known to boot that way
    #[arg(long, value_name = "WORD", default_value = "auto")]
    clock: ClockChoice,
    /// End a guest that takes longer than TIME, and keep its results so far [default: 15min, plus
    /// the time that this number of CPUs may need to boot]
    #[arg(long, value_name = "TIME", value_parser = units::parse_duration)]
    limit: Option<Duration>,
    /// Fetch debian:SERIES again, even if it is cached
    #[arg(long)]
    refresh: bool,
    /// Give the guest this folder as its root, read-only; `host` is the root of this machine.
    /// File systems mounted below it are left out. Needs root, and a kernel with virtiofs: built
    /// in, as in debian:6.12, or as a module of its Debian package
    #[arg(long, value_name = "DIR")]
    #[arg(value_parser = |word: &str| Ok::<PathBuf, String>(root(word)))]
    root: Option<PathBuf>,
    /// Program to run in the guest instead of this one: a tailback for x86_64 or arm64. The guest
    /// has the architecture of this program, and is emulated if the host has another one
    #[arg(long, value_name = "FILE")]
    program: Option<PathBuf>,
}

/// The clock of an emulated guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum ClockChoice {
    Auto,
    Instructions,
    Host,
}

impl ClockChoice {
    fn clock(self) -> Option<Clock> {
        match self {
            ClockChoice::Auto => None,
            ClockChoice::Instructions => Some(Clock::Instructions),
            ClockChoice::Host => Some(Clock::Host),
        }
    }
}

/// The values of `--accel`.
fn accelerators() -> impl TypedValueParser<Value = Choice> {
    PossibleValuesParser::new(["auto", "kvm", "tcg"]).map(|word| match word.as_str() {
        "kvm" => Choice::Only(Accel::Kvm),
        "tcg" => Choice::Only(Accel::Tcg),
        _ => Choice::Auto,
    })
}

/// The folder for an argument: `host` is the root of this machine.
fn root(word: &str) -> PathBuf {
    PathBuf::from(if word == ROOT_OF_HOST { "/" } else { word })
}

/// The argument for a folder.
fn name_of_root(root: &Path) -> String {
    match root == Path::new("/") {
        true => ROOT_OF_HOST.to_owned(),
        false => root.display().to_string(),
    }
}

impl Machine {
    /// The size that a study file gives, and the defaults of `tailback vm` for the rest.
    pub fn sized(size: &GuestSize) -> Self {
        Machine {
            cpus: size.cpus.unwrap_or(CPUS),
            memory: size.memory.unwrap_or(MEMORY),
            accel: Choice::Auto,
            clock: ClockChoice::Auto,
            limit: None,
            refresh: false,
            root: size.root.as_deref().map(root),
            program: None,
        }
    }

    /// The program that guests run.
    fn program(&self) -> &Path {
        self.program.as_deref().unwrap_or(Path::new("/proc/self/exe"))
    }

    /// The architecture of guests.
    fn arch(&self) -> Result<Arch, GuestError> {
        self.program.as_deref().map_or(Ok(Arch::OWN), guest::arch_of)
    }
}

/// Why a guest does not run on.
pub enum Pause {
    /// It reported a step that the caller waits for.
    Step,
    /// The guest ended.
    End(Outcome),
    /// The user interrupted. Holds the partial outcome, if there is one.
    Interrupted(Option<Outcome>),
}

/// A guest that was started, and the known facts about it.
pub struct GuestSession {
    /// The guest.
    pub guest: Guest,
    facts: Facts,
    kernel: Kernel,
    /// The path of its program, if that is not this program.
    program: Option<String>,
}

/// What guests need from the host.
pub struct Host {
    qemu: Qemu,
    cache: Cache,
    machine: Machine,
    facts: model::Machine,
    /// Whether the command of the guests makes file systems on loop devices.
    loop_devices: bool,
    /// The kernels whose driver of loop devices was not found. It is searched for only once.
    without_loop: RefCell<BTreeSet<String>>,
    /// The kernels that `--refresh` has fetched again. Each is looked up before each boot.
    refreshed: RefCell<BTreeSet<String>>,
}

impl Host {
    /// Finds QEMU and checks the sizes, for `guests` guests at the same time. With `loop_devices`,
    /// these guests get what [`scenarios::needs_loop_devices`] is about.
    ///
    /// # Errors
    /// If there is no QEMU, or a size is impossible here.
    pub fn look(
        facts: model::Machine,
        machine: Machine,
        guests: usize,
        loop_devices: bool,
    ) -> Result<Self, Failure> {
        let host_cpus = u32::try_from(facts.allowed_cpus.len()).unwrap_or(1);
        let arch = machine.arch().map_err(failure)?;
        let program = std::fs::metadata(machine.program()).map_or(0, |metadata| metadata.len());
        let available = memory::available(Path::new("/proc"));
        let Machine { cpus, memory, .. } = machine;
        guest::check_size(cpus, memory, guests, host_cpus, available, program).map_err(failure)?;
        if let Some(root) = machine.root.as_ref().filter(|root| !root.is_dir()) {
            return Err(Failure::usage(format!("--root {}: no folder", root.display())));
        }
        Ok(Host {
            qemu: Qemu::find(arch).map_err(failure)?,
            cache: Cache::of_user("kernels"),
            machine,
            facts,
            loop_devices,
            without_loop: RefCell::default(),
            refreshed: RefCell::default(),
        })
    }

    /// The kernel with this name.
    ///
    /// # Errors
    /// If it cannot be found or fetched, or is not for this host.
    pub fn kernel(&self, name: &str, interrupted: &dyn Fn() -> bool) -> Result<Kernel, Failure> {
        let mut note = |line: &str| output::note(line);
        let loop_devices = self.loop_devices && !self.without_loop.borrow().contains(name);
        let mut find = |refresh| {
            let arch = self.qemu.arch;
            let search = Search { refresh, loop_devices };
            guest::find_kernel(name, arch, &self.cache, search, &mut note, interrupted)
                .map_err(failure)
        };
        let kernel = match self.machine.refresh {
            true => once(&mut self.refreshed.borrow_mut(), name, &mut find)?,
            false => find(false)?,
        };
        if loop_devices && kernel.lacks_loop() {
            output::complain(&format!(
                "{name}: its driver of loop devices is a module that is not beside it, so its \
                 guest has none; use debian:6.12, or build the kernel with CONFIG_BLK_DEV_LOOP=y"
            ));
            self.without_loop.borrow_mut().insert(name.to_owned());
        }
        match self.machine.root.is_some() && kernel.lacks_virtiofs() {
            // A kernel in the cache without modules is fetched again, with its modules.
            true if name.starts_with("debian:") && !self.machine.refresh => find(true),
            true => Err(Failure::usage(format!(
                "--root: {name} needs the module virtiofs, but its modules are not beside it; name \
                 its Debian package, or use debian:6.12"
            ))),
            false => Ok(kernel),
        }
    }

    /// The SHA-256 of the image, or of the package, of the kernel with this name. None if there is
    /// none that a guest can boot: [`Host::kernel`] says why.
    ///
    /// # Errors
    /// If the user interrupts.
    pub fn checksum(
        &self,
        name: &str,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Option<String>, Failure> {
        let mut note = |line: &str| output::note(line);
        match guest::kernel_checksum(name, self.qemu.arch, &self.cache, &mut note, interrupted) {
            Ok(sum) => Ok(Some(sum)),
            Err(GuestError::Interrupted) => Err(failure(GuestError::Interrupted)),
            Err(_) => Ok(None),
        }
    }

    /// Starts a guest with this kernel. The guest runs this command line.
    ///
    /// # Errors
    /// If it cannot start.
    pub fn start(
        &self,
        kernel: &Kernel,
        args: &[String],
        interrupted: &dyn Fn() -> bool,
    ) -> Result<GuestSession, Failure> {
        let clock = self.machine.clock.clock().unwrap_or_else(|| guest::clock_of(&kernel.name));
        let has_root = self.machine.root.is_some();
        let mut job = Job {
            args: args.to_vec(),
            root: has_root.then(|| guest::ROOT_TAG.to_owned()),
            modules: names(&kernel.modules_for(has_root, self.loop_devices)),
            loop_devices: self.loop_devices,
            cache: self.cache.folder().parent().map(Path::to_owned),
            guest: self.guest_facts(kernel),
        };
        let pack = |job: &Job| initramfs::build(self.machine.program(), kernel, job);
        let setup = |initramfs| Setup {
            qemu: &self.qemu,
            kernel,
            cpus: self.machine.cpus,
            memory: self.machine.memory,
            clock,
            initramfs,
            limits: Limits::new(self.machine.cpus, clock, self.machine.limit),
            root: self.machine.root.clone(),
        };
        let first = pack(&job).map_err(failure)?;
        let mut note = |line: &str| output::note(line);
        let choice = self.machine.accel;
        let accel =
            guest::choose_accel(choice, &setup(&first), &self.cache, &mut note, interrupted)
                .map_err(failure)?;
        job.guest.accelerator = accel.word().to_owned();
        let emulated = job.guest.emulated();
        job.guest.clock = emulated.then(|| clock.word().to_owned());
        let initramfs = pack(&job).map_err(failure)?;
        let guest = Guest::start(&setup(&initramfs), accel).map_err(failure)?;
        let program = self.machine.program.as_deref().map(absolute);
        Ok(GuestSession { guest, facts: job.guest, kernel: kernel.clone(), program })
    }

    fn guest_facts(&self, kernel: &Kernel) -> Facts {
        Facts {
            accelerator: String::new(),
            clock: None,
            qemu: self.qemu.version.clone(),
            kernel_name: kernel.name.clone(),
            kernel_sha256: kernel.sha256.clone(),
            boot_s: 0.0,
            host_kernel: self.facts.kernel.clone(),
            host_cpus: u32::try_from(self.facts.allowed_cpus.len()).unwrap_or(u32::MAX),
            root: self.machine.root.as_deref().map(name_of_root),
        }
    }
}

/// Finds something that is fetched again only if that has not been done under this name.
fn once<T>(
    refreshed: &mut BTreeSet<String>,
    name: &str,
    find: &mut dyn FnMut(bool) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let found = find(!refreshed.contains(name))?;
    refreshed.insert(name.to_owned());
    Ok(found)
}

/// The whole path, as text.
fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
}

/// The file name of each path.
fn names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().map(|name| name.to_string_lossy().into_owned());
    paths.iter().filter_map(name).collect()
}

impl GuestSession {
    /// The known facts about the guest, with the time it took to boot.
    pub fn facts(&self) -> Facts {
        let boot_s = self.guest.boot_time().map_or(0.0, |time| time.as_secs_f64());
        Facts { boot_s, ..self.facts.clone() }
    }

    /// The path of its program, if that is not this program.
    pub fn program(&self) -> Option<&str> {
        self.program.as_deref()
    }

    /// Stops the guest's clock and CPUs.
    ///
    /// # Errors
    /// If QEMU does not answer.
    pub fn pause(&mut self) -> Result<(), Failure> {
        self.guest.pause().map_err(failure)
    }

    /// Resumes the guest.
    ///
    /// # Errors
    /// If QEMU does not answer.
    pub fn resume(&mut self) -> Result<(), Failure> {
        self.guest.resume().map_err(failure)
    }

    /// Whether to boot a guest again that ended in this way. If so, this prints the end of its
    /// console and a note. It applies if an emulated kernel panicked at boot, before anything was
    /// measured. During boot a kernel patches its own code, and an emulated CPU may see a
    /// half-written instruction.
    pub fn boots_again(&self, ending: &Ending) -> bool {
        let again = self.facts.emulated() && matches!(ending, Ending::Panic { up: false, .. });
        if again {
            self.show_console();
            output::complain(&format!(
                "guest {}: {}; an emulated CPU may fail when a kernel patches its own code: \
                 booting once more",
                self.kernel.name,
                ending.sentence()
            ));
        }
        again
    }

    /// Prints the last lines of the guest's console, and returns them.
    pub fn show_console(&self) -> Vec<String> {
        let tail = self.guest.console(TAIL);
        output::note(&format!("guest {}: the last lines of its console:", self.name()));
        tail.iter().for_each(|line| output::note(&format!("  {line}")));
        tail
    }

    /// The name of the kernel.
    pub fn name(&self) -> &str {
        &self.kernel.name
    }

    /// Prints what is booted.
    pub fn announce(&self) {
        let how = if self.facts.emulated() { ", emulated" } else { "" };
        output::note(&format!(
            "guest {}: booting Linux {} ({}{how})",
            self.kernel.name, self.kernel.release, self.facts.accelerator
        ));
    }

    /// Lets the guest run until a step of its study for which `stop` is true, or until its end.
    ///
    /// # Errors
    /// If the host fails.
    pub fn run_until(
        &mut self,
        stop: &dyn Fn(&Step) -> bool,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Pause, Failure> {
        loop {
            match self.guest.next(interrupted) {
                Ok(Event::End(outcome)) => return Ok(Pause::End(outcome)),
                Ok(Event::Told(event)) => {
                    if self.show_step(&event).is_some_and(|step| stop(&step)) {
                        return Ok(Pause::Step);
                    }
                }
                Ok(event) => self.show(&event),
                Err(GuestError::Interrupted) => {
                    return Ok(Pause::Interrupted(self.partial_outcome()));
                }
                Err(error) => return Err(failure(error)),
            }
        }
    }

    fn show(&self, event: &Event) {
        let name = &self.kernel.name;
        match event {
            Event::Hello(hello) => output::note(&format!(
                "guest {name}: up after {:.1} s: Linux {}, {} CPUs",
                self.facts().boot_s,
                terminal::line(&hello.release),
                hello.cpus
            )),
            Event::Warning(line) => output::complain(&format!("guest {name}: {line}")),
            Event::Line(line) => output::note(&format!("guest {name}: {}", terminal::line(line))),
            Event::Told(_) | Event::End(_) => {}
        }
    }

    /// Shows a step of the guest's study. A guest may send anything; a message that is no step is
    /// ignored.
    fn show_step(&self, event: &str) -> Option<Step> {
        let step: Step = serde_json::from_str(event).ok()?;
        let line = format!("guest {}: {}", self.kernel.name, step.line());
        match step.is_wrong() {
            true => output::complain(&line),
            false => output::note(&line),
        }
        Some(step)
    }

    /// The failure if a guest was interrupted and sent no result.
    pub fn ended_without_result(&self) -> Failure {
        let line = format!("guest {}: interrupted; no results of its study came back", self.name());
        Failure { line, code: exit::INTERRUPTED }
    }

    /// Asks the guest to end its command and send its results so far. None if that is impossible
    /// or takes too long. A paused guest has to be resumed first.
    pub fn partial_outcome(&mut self) -> Option<Outcome> {
        if !self.guest.ask_to_end() {
            return None;
        }
        output::note(&format!(
            "guest {}: asked for its results so far; a second signal ends it at once",
            self.kernel.name
        ));
        let deadline = Instant::now() + self.guest.grace();
        loop {
            match self.guest.next(&|| Instant::now() > deadline) {
                Ok(Event::End(outcome)) => return Some(outcome),
                Ok(_) => {}
                Err(_) => return None,
            }
        }
    }
}

/// Gives an error of a guest its exit code.
pub fn failure(error: GuestError) -> Failure {
    let line = error.to_string();
    match error.kind() {
        ErrorKind::Usage => Failure::usage(line),
        ErrorKind::Need => Failure::need(line),
        ErrorKind::Broken => Failure::broken(line),
        ErrorKind::Interrupted => Failure { line, code: exit::INTERRUPTED },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_is_fetched_again_until_that_worked_once() {
        let mut refreshed = BTreeSet::new();
        let mut asked = |name: &str, works: bool| {
            let mut find = |refresh: bool| match works {
                true => Ok(refresh),
                false => Err(Failure::need("no network")),
            };
            once(&mut refreshed, name, &mut find).ok()
        };
        let (one, other) = ("debian:6.1", "debian:6.12");
        assert_eq!(asked(one, false), None);
        assert_eq!([asked(one, true), asked(one, true)], [Some(true), Some(false)]);
        assert_eq!(asked(other, true), Some(true));
    }
}
