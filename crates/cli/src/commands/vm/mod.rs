//! `tailback vm`: runs a command in a guest with another kernel.

pub mod inner;
pub mod session;

use crate::command::{Failure, Run, Session as Program, below};
use crate::exit;
use crate::ktap;
use crate::{output, paths};
use guest::{Ending, Outcome};
use inner::Inner;
use model::{Facts, Judged};
use report::export::ktap::Test;
use report::{Look, Shown};
use scenarios::AnyScenario;
use session::{GuestSession, Host, Machine, Pause};
use std::path::{Path, PathBuf};

const HELP: &str = "KERNEL is one of:\n  \
    debian:SERIES   fetched with apt (with its own package lists), and cached: debian:6.12\n  \
    built:NAME      see make kernels: built:slices-expire\n  \
    a file          a bzImage (arm64: an Image) or a Debian kernel package\n  \
    a folder        an unpacked kernel package, or a kernel tree after make\n\n\
    Without KVM, the guest is emulated. Its times are stretched, so only differences between the arms of a study count. If a guest does not boot, \
    panics, hangs or takes too long, the exit code is 4 and the last lines of its console are \
    shown. An emulated kernel that panics during boot is booted once more, since the emulation may \
    be the cause.";

/// Run a command in a guest with another kernel
#[derive(clap::Args)]
#[command(after_help = format!("{HELP}\n\n{}", below("", [
    "tailback vm --kernel debian:6.12 -- run mmap-lock --quick",
    "tailback vm --kernel built:plain --cpus 4 -- check",
])))]
pub struct Vm {
    #[command(flatten)]
    machine: Machine,
    /// The kernel: a file, a folder, or a name such as debian:6.12 or built:slices-expire
    #[arg(long, value_name = "KERNEL")]
    kernel: String,
    /// Command to run in the guest: -- run mmap-lock --quick
    #[arg(value_name = "COMMAND", required = true, num_args = 1.., last = true)]
    command: Vec<String>,
}

/// Number of console lines that are shown if a guest fails.
const TAIL: usize = 20;

impl Run for Vm {
    /// Runs the command after `--` in a guest. The exit code is the one of that command.
    fn run(&self, program: &Program) -> Result<u8, Failure> {
        let inner = Inner::parse(&self.command)?;
        ktap::print_failure(program, inner.ktap, self.ran(program, &inner))
    }

    fn load(&self) -> Option<String> {
        Some("vm".to_owned())
    }
}

impl Vm {
    fn ran(&self, program: &Program, inner: &Inner) -> Result<u8, Failure> {
        let interruption = program.interruption();
        let interrupted = || interruption.noticed();
        let host = Host::look(program.machine(), self.machine.clone(), 1)?;
        let path = match &inner.scenario {
            Some(scenario) => Some(paths::record(program, inner.record.as_ref(), scenario)?),
            None => None,
        };
        let kernel = host.kernel(&self.kernel, &interrupted)?;
        let mut session = host.start(&kernel, &inner.args, &interrupted)?;
        session.announce();
        let mut came = session.run_until(&|_| false, &interrupted)?;
        if let Pause::End(Outcome::Failed { ending, .. }) = &came
            && session.boots_again(ending)
        {
            console(&session, ending);
            // The memory check allows only one guest at a time.
            drop(session);
            session = host.start(&kernel, &inner.args, &interrupted)?;
            session.announce();
            came = session.run_until(&|_| false, &interrupted)?;
        }
        match came {
            Pause::End(Outcome::Done { code, output, record }) => {
                finish(program, &session, inner, path, code, &output, record)
            }
            Pause::End(Outcome::Failed { ending, record }) => {
                let kept = path.and_then(|path| keep_partial(&session, record.as_deref()?, &path));
                Ok(failed(program, &session, &ending, kept.as_deref(), inner))
            }
            Pause::Interrupted(partial) => match partial {
                Some(Outcome::Done { output, record, .. }) => {
                    finish(program, &session, inner, path, exit::INTERRUPTED, &output, record)
                }
                _ => Err(session.ended_without_result()),
            },
            Pause::Step => Err(Failure::broken("the guest was left before its end")),
        }
    }
}

/// Keeps the results of a guest whose time was over. Returns the file, if it could be written.
pub fn keep_partial(session: &GuestSession, text: &str, path: &Path) -> Option<PathBuf> {
    let saved = taken_over(session, text).and_then(|record| {
        runner::save(&record, path).map_err(|error| Failure::need(format!("record {error}")))
    });
    match saved {
        Ok(()) => Some(path.to_owned()),
        Err(failure) => {
            output::complain(&failure.line);
            None
        }
    }
}

/// Takes over the record of a guest whose command ended.
fn finish(
    program: &Program,
    session: &GuestSession,
    inner: &Inner,
    path: Option<PathBuf>,
    code: u8,
    output: &str,
    record: Option<String>,
) -> Result<u8, Failure> {
    let (Some(text), Some(path)) = (record, path) else {
        // The guest's init may have started nothing. To kselftest its exit code means: skipped.
        if inner.ktap.is_some() && code != exit::INTERRUPTED && output.trim().is_empty() {
            return Err(Failure::broken(format!(
                "guest {}: its command ended with exit code {code} and without a result",
                session.name()
            )));
        }
        program.out.print(&os::terminal::lines(output));
        return Ok(code);
    };
    let record = taken_over(session, &text)?;
    let meta = scenarios::find(&record.scenario).map(AnyScenario::meta);
    let name = path.display().to_string();
    let shown = Shown::new(&record, meta, &name);
    if let Some(undecided) = inner.ktap {
        // The guest already ended with the exit code for KTAP.
        ktap::print(program, &[Test::of(shown)], undecided, code);
    } else if inner.json {
        program.out.json(&record.to_json());
    } else {
        let look = Look { why: inner.why, ..output::look() };
        program.out.print(&report::record(&shown, look));
    }
    match runner::save(&record, &path) {
        Ok(()) => output::note(&format!("record: {}", path.display())),
        Err(error) => {
            output::complain(&format!("record {error}; print the record with --json"));
            return Ok(exit::NEED);
        }
    }
    Ok(code)
}

/// Checks the record of a guest, and adds the facts that only the host knows.
pub fn taken_over(session: &GuestSession, text: &str) -> Result<Judged, Failure> {
    let mut facts = Facts::from_json(text).map_err(|error| {
        Failure::broken(format!("guest {}: its record: {error}", session.name()))
    })?;
    facts.machine.guest = Some(session.facts());
    Ok(scenarios::judged(facts))
}

/// Reports a guest that did not end by the end of its command. Returns the exit code.
fn failed(
    program: &Program,
    session: &GuestSession,
    ending: &Ending,
    kept: Option<&Path>,
    inner: &Inner,
) -> u8 {
    let tail = console(session, ending);
    if inner.scenario.is_some() {
        show_kept(session, kept);
    }
    if let Some(undecided) = inner.ktap {
        let test = Test { name: inner.test_name().to_owned(), came: Err(ending.sentence()) };
        return ktap::print(program, &[test], undecided, exit::BROKEN);
    }
    if inner.json {
        let facts = session.facts();
        let result = serde_json::json!({
            "schema": "tailback/guest/1",
            "result": ending.word(),
            "why": ending.sentence(),
            "guest": facts,
            "record": kept,
            "console": tail,
        });
        program.out.value(&result);
    }
    exit::BROKEN
}

/// Reports what is left of the study of such a guest.
pub fn show_kept(session: &GuestSession, kept: Option<&Path>) {
    output::note(&match kept {
        Some(path) => format!("partial record: {}", path.display()),
        None => format!("guest {}: no results of its study came back", session.name()),
    });
}

/// Shows the end of a guest's console and how the guest ended. Returns the lines.
pub fn console(session: &GuestSession, ending: &Ending) -> Vec<String> {
    let tail = session.guest.console(TAIL);
    output::note(&format!("guest {}: the last lines of its console:", session.name()));
    tail.iter().for_each(|line| output::note(&format!("  {line}")));
    output::complain(&format!(
        "guest {}: {}: {}",
        session.name(),
        ending.word(),
        ending.sentence()
    ));
    tail
}
