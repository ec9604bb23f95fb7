//! `tailback vm`: runs a command in a guest with another kernel.

pub mod inner;
pub mod session;

use crate::command::{Failure, Run, Session as Program, below};
use crate::exit;
use crate::ktap;
use crate::{output, paths, records};
use guest::{Ending, Outcome};
use inner::Inner;
use model::{Facts, Judged};
use report::export::ktap::Test;
use report::{Look, Shown};
use runner::SaveError;
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

impl Run for Vm {
    /// Runs the command after `--` in a guest. The exit code is the one of that command.
    fn run(&self, program: &Program) -> Result<u8, Failure> {
        let inner = Inner::parse(&self.command)?;
        ktap::print_failure(program, inner.ktap, self.ran(program, &inner))
    }

    fn refused(&self, program: &Program, failure: Failure) -> Result<u8, Failure> {
        let inner = Inner::parse(&self.command)?;
        ktap::print_failure(program, inner.ktap, Err(failure))
    }

    fn load(&self) -> Option<String> {
        Some("vm".to_owned())
    }
}

impl Vm {
    fn ran(&self, program: &Program, inner: &Inner) -> Result<u8, Failure> {
        let interruption = program.interruption();
        let interrupted = || interruption.noticed();
        let host = Host::look(program.machine(), self.machine.clone(), 1, inner.loop_devices)?;
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
            Pause::End(Outcome::Failed { ending, output, record }) => {
                let kept = path.and_then(|path| keep_partial(&session, record.as_deref()?, &path));
                Ok(failed(program, &session, &ending, &output, kept.as_deref(), inner))
            }
            Pause::Interrupted(partial) => match partial.and_then(results) {
                Some((output, record)) => {
                    finish(program, &session, inner, path, exit::INTERRUPTED, &output, record)
                }
                None => Err(session.ended_without_result()),
            },
            Pause::Step => Err(Failure::broken("the guest was left before its end")),
        }
    }
}

/// The standard output and the record that an interrupted guest sent, if it sent any. A guest whose
/// time was over before has sent them too.
fn results(outcome: Outcome) -> Option<(String, Option<String>)> {
    match outcome {
        Outcome::Done { output, record, .. } => Some((output, record)),
        Outcome::Failed { output, record, .. } => {
            (record.is_some() || !output.is_empty()).then_some((output, record))
        }
    }
}

/// Keeps the results of a guest whose time was over. Returns the file, if it was written.
pub fn keep_partial(session: &GuestSession, text: &str, path: &Path) -> Option<PathBuf> {
    let saved = taken_over(session, text).and_then(|record| {
        save(&record, path).map_err(|error| Failure::need(format!("record {error}")))
    });
    match saved {
        Ok(is_saved) => is_saved.then(|| path.to_owned()),
        Err(failure) => {
            output::complain(&failure.line);
            None
        }
    }
}

/// Saves the record of a guest. Returns whether it was saved: a record without trials does not
/// replace an older one.
fn save(record: &Judged, path: &Path) -> Result<bool, SaveError> {
    if runner::would_lose(record, path) {
        output::note(&format!(
            "record: no trial of this study ended, so {} stays as it was",
            path.display()
        ));
        return Ok(false);
    }
    runner::save(record, path).map(|()| true)
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
            return Err(Failure::broken(without_result(session, code)));
        }
        program.out.print(&os::terminal::lines(output));
        if is_verdict_alone(inner, code) {
            output::complain(&format!(
                "guest {}: its command ended with exit code {code}, but no record came back, so \
                 this is no verdict",
                session.name()
            ));
            return Ok(exit::BROKEN);
        }
        if is_unexplained(code, output) {
            output::complain(&without_result(session, code));
        }
        return Ok(code);
    };
    let record = taken_over(session, &text)?;
    let meta = scenarios::find(&record.scenario).map(AnyScenario::meta);
    // An older record that stays in the file is not the one that is shown.
    let loses = runner::would_lose(&record, &path);
    let name = if loses { String::new() } else { path.display().to_string() };
    let shown = Shown::new(&record, meta, &name);
    if let Some(undecided) = inner.ktap {
        // The guest already ended with the exit code for KTAP.
        ktap::print(program, &[Test::of(shown)], undecided, code);
    } else if inner.json {
        program.out.json(&record.to_json());
    } else if inner.brief {
        program.out.json(output);
    } else {
        let look = Look { why: inner.why, ..output::look() };
        program.out.print(&report::record(&shown, look));
    }
    match save(&record, &path) {
        Ok(true) => output::note(&format!("record: {}", path.display())),
        Ok(false) => {}
        Err(error) => {
            output::complain(&format!("record {error}; print the record with --json"));
            return Ok(exit::NEED);
        }
    }
    Ok(code)
}

/// Whether it is the exit code of a verdict that came without a record. With a verdict `run` keeps
/// its record or fails, so such a code says nothing about the kernel.
fn is_verdict_alone(inner: &Inner, code: u8) -> bool {
    inner.scenario.is_some() && inner.ktap.is_none() && code < exit::USAGE
}

/// Whether nothing on standard output explains an exit code. A lower code than that of a missing
/// need is a verdict or wrong usage, and an interruption is the user's own.
fn is_unexplained(code: u8, output: &str) -> bool {
    code >= exit::NEED && code != exit::INTERRUPTED && output.trim().is_empty()
}

/// The message about a command that ended without a result. Its own message, if it had one, is
/// above.
fn without_result(session: &GuestSession, code: u8) -> String {
    let name = session.name();
    format!("guest {name}: its command ended with exit code {code} and without a result")
}

/// Checks the record of a guest, and adds the facts that only the host knows. The path of a program
/// that the user named becomes the first word of its command line, so that the commands that make
/// the record again name it too.
pub fn taken_over(session: &GuestSession, text: &str) -> Result<Judged, Failure> {
    let mut facts = facts_of_guest(session.name(), text)?;
    facts.machine.guest = Some(session.facts());
    if let (Some(program), Some(first)) = (session.program(), facts.tool.argv.first_mut()) {
        program.clone_into(first);
    }
    Ok(scenarios::judged(facts))
}

/// The facts in the record that a guest sent. A guest may send anything, so its record is
/// checked as a file from anybody is.
fn facts_of_guest(guest: &str, text: &str) -> Result<Facts, Failure> {
    let refuse = |why: String| Failure::broken(format!("guest {guest}: its record: {why}"));
    records::facts(text).map_err(refuse)
}

/// Reports a guest that did not end by the end of its command, and what its command had printed.
/// Returns the exit code.
fn failed(
    program: &Program,
    session: &GuestSession,
    ending: &Ending,
    output: &str,
    kept: Option<&Path>,
    inner: &Inner,
) -> u8 {
    let tail = console(session, ending);
    let output = unkept(inner, output, kept);
    if inner.scenario.is_some() && output.is_none() {
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
            "output": output,
            "console": tail,
        });
        program.out.value(&result);
    } else if let Some(output) = output {
        program.out.print(&os::terminal::lines(output));
    }
    exit::BROKEN
}

/// What the command of such a guest had printed, if that is all that is left of it: a record has
/// everything. Half of a KTAP output would be a wrong one.
fn unkept<'a>(inner: &Inner, output: &'a str, kept: Option<&Path>) -> Option<&'a str> {
    let is_wanted = kept.is_none() && inner.ktap.is_none();
    (is_wanted && !output.trim().is_empty()).then_some(output)
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
    let tail = session.show_console();
    output::complain(&format!(
        "guest {}: {}: {}",
        session.name(),
        ending.word(),
        ending.sentence()
    ));
    tail
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_failure_in_a_guest_ends_without_a_word() {
        let unexplained = |code| is_unexplained(code, "\n");
        assert!([exit::NEED, exit::BROKEN, 101, 137].into_iter().all(unexplained));
        assert!(![0, 1, exit::USAGE, exit::INTERRUPTED].into_iter().any(unexplained));
        assert!(!is_unexplained(exit::BROKEN, "{\"result\": \"..\"}"));
    }

    #[test]
    fn what_a_guest_sent_after_its_limit_is_kept_when_a_signal_comes() {
        let failed = |output: &str, record: Option<&str>| {
            let ending = Ending::TimeOut { limit: std::time::Duration::from_secs(9) };
            let record = record.map(str::to_owned);
            results(Outcome::Failed { ending, output: output.to_owned(), record })
        };
        assert_eq!(failed("", Some("{}")), Some((String::new(), Some("{}".to_owned()))));
        assert_eq!(failed("a table", None), Some(("a table".to_owned(), None)));
        assert_eq!(failed("", None), None);
    }

    #[test]
    fn at_the_limit_the_output_is_printed_unless_a_record_was_kept() {
        let unkept = |line: &str, output: &str, kept: Option<&str>| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            let inner = Inner::parse(&words).unwrap();
            unkept(&inner, output, kept.map(Path::new)).is_some()
        };
        assert!(unkept("check", "a table", None) && unkept("watch --for 9s --json", "{}", None));
        assert!(!unkept("run mmap-lock", "a table", Some("a.json")));
        assert!(!unkept("check --format ktap", "KTAP version 1", None));
        assert!(!unkept("check", "\n", None));
    }

    #[test]
    fn a_record_without_trials_replaces_no_older_one() {
        let place = tempfile::tempdir().unwrap();
        let (path, other) = (place.path().join("a.json"), place.path().join("b.json"));
        let mut record = crate::testing::affected_record();
        assert!(save(&record, &path).unwrap());
        let full = std::fs::read(&path).unwrap();
        record.facts.trials.clear();
        assert!(!save(&record, &path).unwrap());
        assert_eq!(std::fs::read(&path).unwrap(), full);
        assert!(save(&record, &other).unwrap(), "there is nothing to lose");
    }

    /// The judgement of such a record would take too much memory.
    #[test]
    fn a_record_with_a_long_name_is_not_taken_over() {
        let mut record = crate::testing::affected_record();
        assert!(facts_of_guest("k", &record.to_json()).is_ok());
        record.facts.machine.kernel = "6".repeat(5000);
        let failure = facts_of_guest("k", &record.to_json()).unwrap_err();
        assert_eq!(failure.code, exit::BROKEN);
        assert!(failure.line.starts_with("guest k: its record: a name in it is"), "{failure:?}");
    }

    #[test]
    fn a_verdict_without_its_record_is_none() {
        let alone = |line: &str, code| {
            let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
            is_verdict_alone(&Inner::parse(&words).unwrap(), code)
        };
        assert!(alone("run mmap-lock", 0) && alone("run mmap-lock --exit-for bisect", 1));
        assert!(!alone("run mmap-lock", exit::NEED) && !alone("run mmap-lock --format ktap", 1));
        assert!(!alone("list", 0) && !alone("watch --for 3s", 1));
    }
}
