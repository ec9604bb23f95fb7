//! `tailback vm`: a command inside another kernel.

pub mod flags;
pub mod inner;
pub mod session;

use crate::exit::{self, Failure};
use crate::signals::Interruption;
use crate::{output, paths};
use clap::ArgMatches;
use guest::{Ending, Outcome};
use inner::Inner;
use model::{Facts, Judged};
use report::{Look, Shown};
use scenarios::AnyScenario;
use session::{Host, Machine, Pause, Session};
use std::path::{Path, PathBuf};

/// Lines of the console that are shown of a guest that failed.
const TAIL: usize = 20;

/// Runs the command behind `--` in a guest; the exit code of what it found.
pub fn vm(matches: &ArgMatches) -> Result<u8, Failure> {
    let words: Vec<String> =
        matches.get_many::<String>("command").into_iter().flatten().cloned().collect();
    let inner = Inner::parse(&words)?;
    let interruption = Interruption::watch();
    let interrupted = || interruption.noticed();
    let host = Host::look(Machine::of(matches), 1)?;
    let path = match &inner.scenario {
        Some(scenario) => Some(paths::record(inner.record.as_ref(), scenario)?),
        None => None,
    };
    let name = matches.get_one::<String>("kernel").map_or("", String::as_str);
    let kernel = host.kernel(name, &interrupted)?;
    let mut session = host.start(&kernel, &inner.args, &interrupted)?;
    session.announce();
    match session.run_until(&|_| false, &interrupted)? {
        Pause::End(Outcome::Done { code, output, record }) => {
            finish(&session, &inner, path, code, &output, record)
        }
        Pause::End(Outcome::Failed { ending, record }) => {
            let kept = path.and_then(|path| keep_partial(&session, record.as_deref()?, &path));
            Ok(failed(&session, &ending, kept.as_deref(), &inner))
        }
        Pause::Interrupted(partial) => match partial {
            Some(Outcome::Done { output, record, .. }) => {
                finish(&session, &inner, path, exit::INTERRUPTED, &output, record)
            }
            _ => Err(session.ended_without_result()),
        },
        Pause::Step => Err(Failure::broken("the guest was left before its end")),
    }
}

/// Keeps what a guest had measured when its time was over; where, if that went well.
pub fn keep_partial(session: &Session, text: &str, path: &Path) -> Option<PathBuf> {
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

/// A guest whose command ended: its record is the host's now.
fn finish(
    session: &Session,
    inner: &Inner,
    path: Option<PathBuf>,
    code: u8,
    output: &str,
    record: Option<String>,
) -> Result<u8, Failure> {
    let (Some(text), Some(path)) = (record, path) else {
        output::print(&os::terminal::lines(output));
        return Ok(code);
    };
    let record = taken_over(session, &text)?;
    if inner.json {
        output::json(&record.to_json());
    } else {
        let meta = scenarios::find(&record.scenario).map(AnyScenario::meta);
        let name = path.display().to_string();
        let look = Look { why: inner.why, ..output::look() };
        output::print(&report::record(&Shown::new(&record, meta, &name), look));
    }
    match runner::save(&record, &path) {
        Ok(()) => output::note(&format!("record: {}", path.display())),
        Err(error) => {
            output::complain(&format!("record {error}; print it with --json"));
            return Ok(exit::NEED);
        }
    }
    Ok(code)
}

/// A guest's record, checked, with what only the host knows of the guest.
pub fn taken_over(session: &Session, text: &str) -> Result<Judged, Failure> {
    let mut facts = Facts::from_json(text).map_err(|error| {
        Failure::broken(format!("guest {}: its record: {error}", session.name()))
    })?;
    facts.machine.guest = Some(session.facts());
    Ok(scenarios::judged(facts))
}

/// A guest that came to another end; the exit code.
fn failed(session: &Session, ending: &Ending, kept: Option<&Path>, inner: &Inner) -> u8 {
    let tail = console(session, ending);
    if inner.scenario.is_some() {
        show_kept(session, kept);
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
        output::json(&format!("{result:#}\n"));
    }
    exit::BROKEN
}

/// Says what there is of the study of a guest that came to another end than its command's.
pub fn show_kept(session: &Session, kept: Option<&Path>) {
    output::note(&match kept {
        Some(path) => format!("record of what was measured before: {}", path.display()),
        None => format!("guest {}: nothing of its study came back", session.name()),
    });
}

/// Shows the end of a guest's console, and how it ended; the lines.
pub fn console(session: &Session, ending: &Ending) -> Vec<String> {
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
