//! `tailback watch`: reads a live system, and changes nothing.

pub mod flags;
mod record;

use crate::exit::{self, Failure};
use crate::output;
use crate::records;
use crate::signals::Interruption;
use clap::ArgMatches;
use host::Roots;
use model::Live;
use model::live::Scope;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use watch::{Sampler, Since, Tick, Window, live};

/// How often the sums are read.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often an interruption is noticed.
const PAUSE: Duration = Duration::from_millis(50);

/// Intervals that a line of JSON is about.
const RECENT: usize = 5;

/// The schema of a line of JSON.
const SCHEMA: &str = "tailback/watch/1";

/// Watches; the exit code.
pub fn watch(matches: &ArgMatches) -> Result<u8, Failure> {
    let scope = scope(matches);
    let interruption = Interruption::watch();
    let sampler = Sampler::start(&Roots::real(), &scope)
        .map_err(|error| Failure::usage(error.to_string()))?;
    if !sampler.measures_anything() {
        return Err(Failure::need("nothing can be measured here; run it as root"));
    }
    let length = matches.get_one::<Duration>("for").copied();
    let mut session = Session::new(sampler);
    let json = matches.get_flag("json");
    let began = Instant::now();
    while !interruption.noticed() && length.is_none_or(|length| began.elapsed() < length) {
        let left = length.map_or(INTERVAL, |length| length.saturating_sub(began.elapsed()));
        wait(INTERVAL.min(left), &interruption);
        session.tick();
        if json && length.is_none_or(|length| began.elapsed() < length) {
            print_line(&session.recent());
        }
    }
    if session.all.over_ns == 0 {
        return Ok(exit::INTERRUPTED);
    }
    let all = session.all();
    if json {
        print_line(&all);
    } else {
        output::print(&report::live(&all, records::meta_of, output::look_of(matches)));
    }
    if let Some(path) = matches.get_one::<PathBuf>("record") {
        record::write(&all, path)?;
    }
    Ok(u8::from(!all.findings.is_empty()))
}

fn scope(matches: &ArgMatches) -> Scope {
    let text = |name: &str| matches.get_one::<String>(name).cloned();
    Scope {
        pids: matches.get_many::<u32>("pid").into_iter().flatten().copied().collect(),
        cgroup: text("cgroup"),
        comm: text("comm"),
    }
}

fn wait(time: Duration, interruption: &Interruption) {
    let until = Instant::now() + time;
    while !interruption.noticed() && Instant::now() < until {
        std::thread::sleep(PAUSE.min(until.saturating_duration_since(Instant::now())));
    }
}

/// What was seen so far: all of it as sums, and the last intervals one by one.
struct Session {
    sampler: Sampler,
    from: String,
    all: Window,
    recent: VecDeque<Tick>,
    since: Since,
}

impl Session {
    fn new(sampler: Sampler) -> Self {
        Session {
            sampler,
            from: record::now(),
            all: Window::default(),
            recent: VecDeque::new(),
            since: Since::default(),
        }
    }

    fn tick(&mut self) {
        let tick = self.sampler.tick();
        let began_s = self.all.seconds();
        self.since.look(&Window::of([&tick]), began_s);
        self.all.add(&tick);
        self.recent.push_back(tick);
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
    }

    fn view(&self, window: &Window) -> Live {
        let (scope, sources) = (self.sampler.scope(), self.sampler.sources());
        live(window, &self.since, scope, sources, &self.from)
    }

    /// Of the last intervals.
    fn recent(&self) -> Live {
        self.view(&Window::of(&self.recent))
    }

    /// Of all.
    fn all(&self) -> Live {
        self.view(&self.all)
    }
}

fn print_line(live: &Live) {
    let line = serde_json::json!({ "schema": SCHEMA, "live": live });
    output::json(&format!("{line}\n"));
}
