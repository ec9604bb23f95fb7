//! `tailback watch`: reads a live system, and changes nothing.

pub mod flags;
mod hindsight;
mod listen;
mod nodes;
pub mod record;
mod screen;
mod session;
mod terminal;

use crate::briefs::{self, Briefs};
use crate::exit::{self, Failure};
use crate::output;
use crate::records;
use crate::signals::Interruption;
use clap::ArgMatches;
use hindsight::Ring;
use host::Roots;
use listen::Listener;
use model::Live;
use model::live::Scope;
use session::Session;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use terminal::Terminal;
use watch::Sampler;

/// How often the sums are read.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often keys and an interruption are noticed.
const PAUSE: Duration = Duration::from_millis(50);

/// The schema of a line of JSON.
const SCHEMA: &str = "tailback/watch/1";

/// What was asked for.
struct Wanted<'a> {
    length: Option<Duration>,
    json: bool,
    record: Option<&'a PathBuf>,
    ring: Option<u64>,
    briefs: Option<Briefs>,
    screen: bool,
}

/// Watches; the exit code.
pub fn watch(matches: &ArgMatches) -> Result<u8, Failure> {
    let wanted = Wanted::of(matches)?;
    let interruption = Interruption::watch();
    let dump = crate::signals::Asked::watch();
    let listener = listener(matches)?;
    let nodes = nodes::asked(matches)?;
    let mut sampler = Sampler::start(&Roots::real(), &scope(matches))
        .map_err(|error| Failure::usage(error.to_string()))?;
    sampler.ask(nodes);
    if !sampler.measures_anything() {
        return Err(Failure::need("nothing can be measured here; run it as root"));
    }
    let mut ring = wanted.ring.map(Ring::new);
    let mut session = Session::new(sampler, wanted.record.is_some() && ring.is_none());
    let mut terminal = if wanted.screen { Some(Terminal::enter()?) } else { None };
    let began = Instant::now();
    let is_over = || wanted.length.is_some_and(|length| began.elapsed() >= length);
    let mut goes_on = true;
    while goes_on && !interruption.noticed() && !is_over() {
        let left = wanted.length.map_or(INTERVAL, |all| all.saturating_sub(began.elapsed()));
        goes_on = wait(INTERVAL.min(left), &interruption, &mut terminal, &session);
        let tick = session.tick();
        if let (Some(ring), Some(path)) = (&mut ring, wanted.record) {
            ring.add(tick);
            keep_what_led_to_it(ring, &session, path, dump.noticed())?;
        }
        if terminal.is_some() || listener.is_some() || wanted.json {
            session.look();
        }
        if let (Some(listener), Some(live)) = (&listener, session.seen()) {
            listener.show(live);
        }
        if let (true, false, Some(live)) = (wanted.json, is_over(), session.seen()) {
            print_line(live);
        }
    }
    drop(terminal);
    finish(&session, &wanted, matches)
}

impl<'a> Wanted<'a> {
    fn of(matches: &'a ArgMatches) -> Result<Self, Failure> {
        let wanted = Wanted {
            length: matches.get_one::<Duration>("for").copied(),
            json: matches.get_flag("json"),
            record: matches.get_one::<PathBuf>("record"),
            ring: matches.get_one::<u64>("ring").copied(),
            briefs: Briefs::asked(matches)?,
            screen: false,
        };
        if wanted.ring.is_some() && wanted.record.is_none() {
            return Err(Failure::usage(
                "--ring: name the file that a finding is written to: --record FILE",
            ));
        }
        let quiet = wanted.json || wanted.length.is_some();
        let listens = matches.get_one::<SocketAddr>("listen").is_some();
        let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
        if !quiet && !is_terminal && !listens && wanted.ring.is_none() {
            return Err(Failure::usage(
                "watch: no terminal for the live screen; use --for 30s, or --json",
            ));
        }
        Ok(Wanted { screen: !quiet && is_terminal, ..wanted })
    }
}

fn listener(matches: &ArgMatches) -> Result<Option<Listener>, Failure> {
    let Some(address) = matches.get_one::<SocketAddr>("listen") else { return Ok(None) };
    let listener = Listener::start(*address, matches.get_flag("listen-anywhere"))?;
    output::note(&format!("metrics: http://{}/metrics", listener.address()));
    Ok(Some(listener))
}

/// What is said at the end.
fn finish(session: &Session, wanted: &Wanted, matches: &ArgMatches) -> Result<u8, Failure> {
    if session.is_empty() {
        return Ok(exit::INTERRUPTED);
    }
    let all = session.all();
    if let Some(briefs) = &wanted.briefs {
        briefs.give(std::iter::once(&record::of(&all)))?;
    } else if wanted.json {
        print_line(&Live { intervals: Vec::new(), ..all.clone() });
    } else {
        output::print(&report::live(&all, records::meta_of, output::look_of(matches)));
    }
    // With a ring only what a finding is about is written.
    if let (Some(path), None) = (wanted.record, wanted.ring) {
        record::write(&all, path)?;
    }
    Ok(briefs::code(wanted.briefs.as_ref(), u8::from(!all.findings.is_empty())))
}

fn scope(matches: &ArgMatches) -> Scope {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    Scope {
        pids: matches.get_many::<u32>("pid").into_iter().flatten().copied().collect(),
        cgroup: text("cgroup"),
        comm: text("comm"),
    }
}

/// Waits, and takes keys meanwhile; whether to go on.
fn wait(
    time: Duration,
    interruption: &Interruption,
    terminal: &mut Option<Terminal>,
    session: &Session,
) -> bool {
    let until = Instant::now() + time;
    loop {
        let left = PAUSE.min(until.saturating_duration_since(Instant::now()));
        match terminal {
            None => std::thread::sleep(left),
            Some(terminal) => {
                if !terminal.show(session.seen(), left) {
                    return false;
                }
            }
        }
        if interruption.noticed() || Instant::now() >= until {
            return true;
        }
    }
}

/// Writes what led to a finding that has just begun, or what there is where a signal asks for it.
fn keep_what_led_to_it(
    ring: &mut Ring,
    session: &Session,
    path: &Path,
    asked: bool,
) -> Result<(), Failure> {
    if !asked && !session.has_begun() {
        return Ok(());
    }
    let live = session.view_of(ring.ticks());
    match ring.next_file(path) {
        Some(file) => record::write(&live, &file),
        None => Ok(()),
    }
}

fn print_line(live: &Live) {
    let line = serde_json::json!({ "schema": SCHEMA, "live": live });
    output::json(&format!("{line}\n"));
}
