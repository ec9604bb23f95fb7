//! `tailback probe calls`.

use crate::exit::{self, Failure};
use crate::output;
use crate::signals::Interruption;
use clap::ArgMatches;
use host::Roots;
use probe::ProbeError;
use probe::calls::{CallTarget, Calls, Table, count};
use std::fmt::Write as _;
use std::time::{Duration, Instant};

/// How often an interruption is noticed.
const TICK: Duration = Duration::from_millis(50);

/// A megabyte, as the figures count it.
const MEGABYTE: f64 = (1 << 20) as f64;

/// Looks at a running process; the exit code.
pub fn probe(matches: &ArgMatches) -> Result<u8, Failure> {
    match matches.subcommand() {
        Some(("calls", matches)) => calls(matches),
        _ => Err(Failure::usage("no such probe; see tailback probe --help")),
    }
}

fn calls(matches: &ArgMatches) -> Result<u8, Failure> {
    let text = |name: &str| matches.get_one::<String>(name).cloned().unwrap_or_default();
    let target = CallTarget {
        pid: matches.get_one("pid").copied().unwrap_or(0),
        library: text("lib"),
        symbol: text("symbol"),
        size_argument: matches.get_one("size-arg").copied(),
    };
    let every = matches.get_one("every").copied().unwrap_or(Duration::from_secs(5));
    let most: Option<u32> = matches.get_one("count").copied();
    let interruption = Interruption::watch();
    let mut interrupted = false;
    let json = matches.get_flag("json");
    count(&Roots::real(), &target, &mut |calls| {
        output::note(&format!("counting {} of pid {}; ^C ends it", target.symbol, target.pid));
        let mut done = 0;
        while most.is_none_or(|most| done < most) && calls.is_alive() && !interrupted {
            interrupted = !wait(every, &interruption, calls);
            show(calls, &target, json);
            done += 1;
        }
        if !calls.is_alive() {
            output::note(&format!("pid {} has ended", target.pid));
        }
    })
    .map_err(failure)?;
    // An interruption is how a count without an end comes to it.
    Ok(if interrupted && most.is_some() { exit::INTERRUPTED } else { 0 })
}

/// Waits so long; false where the user interrupts. A process that ends, ends the wait too.
fn wait(every: Duration, interruption: &Interruption, calls: &Calls) -> bool {
    let until = Instant::now() + every;
    while Instant::now() < until && calls.is_alive() {
        if interruption.noticed() {
            return false;
        }
        std::thread::sleep(TICK.min(until.saturating_duration_since(Instant::now())));
    }
    true
}

fn show(calls: &mut Calls, target: &CallTarget, json: bool) {
    let gained = calls.gained();
    if json {
        let line = serde_json::json!({ "gained": gained, "total": calls.total() });
        output::json(&format!("{line}\n"));
    } else {
        output::print(&table(&gained, calls.total(), target.size_argument.is_some()));
    }
}

fn table(gained: &Table, total: &Table, sizes: bool) -> String {
    let mut text = String::from("   CPU        calls");
    text.push_str(if sizes { "        MiB\n" } else { "\n" });
    for (cpu, on) in &gained.cpus {
        let _ = write!(text, "{cpu:>6} {:>12}", on.calls);
        if sizes {
            let _ = write!(text, " {:>10.1}", on.bytes as f64 / MEGABYTE);
        }
        text.push('\n');
    }
    let sum = total.sum();
    let _ = write!(text, "Total calls: {}", sum.calls);
    if sizes {
        let _ = write!(text, "; total MiB: {:.1}", sum.bytes as f64 / MEGABYTE);
    }
    text.push_str("\n\n");
    text
}

fn failure(error: ProbeError) -> Failure {
    match error {
        ProbeError::NoPrograms(why) => Failure::need(report::prose::no_programs(&why)),
        error => Failure::usage(error.to_string()),
    }
}
