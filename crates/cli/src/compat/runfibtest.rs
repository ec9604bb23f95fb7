//! `compat runfibtest [THREADS]`: runs threads in a group with a tenth of a CPU, for five
//! seconds.

use super::fibtest::iterations;
use super::options::{Next, Options};
use crate::exit::Failure;
use crate::output;
use crate::session::Session;
use host::Roots;
use host::cgroup::{Bandwidth, ParentGroup, sweep};
use host::governor::{Governor, State};
use load::child::fibonacci::MOST_THREADS;
use report::prose;
use scenarios::LoadSpawner;
use scenarios::cpu_quota::{RawTrial, SCENARIO, TrialSpec, run_load};
use std::fmt::Write as _;
use std::time::Duration;

const USAGE: &str = "Usage: runfibtest [THREADS]
Runs fibtest with THREADS threads (default: one on each CPU) for 5 s in a group that may use 10 ms of
CPU time in each 100 ms.
";

/// The quota of the original: a tenth of a CPU.
const BANDWIDTH: Bandwidth = Bandwidth { quota_us: 10_000, period_us: 100_000, burst_us: 0 };

/// How long the original runs.
const DURATION: Duration = Duration::from_secs(5);

/// How long its slow threads sleep.
const WAKE: Duration = Duration::from_millis(10);

/// Runs the test once and prints the three lines.
pub fn run(args: &[String], session: &Session) -> Result<u8, Failure> {
    let roots = Roots::real();
    let cpus = host::machine(&roots).allowed_cpus;
    let Some(threads) = parse(args, cpus.len())? else { return Ok(0) };
    let parent_group =
        ParentGroup::find(&roots).map_err(|error| Failure::need(prose::group(&error)))?;
    sweep(&parent_group);
    let interruption = session.interruption();
    let governor = Governor::performance(&roots);
    if let State::Absent | State::Refused(_) = governor.state() {
        output::note("No existing scaling_governor found, not attempting to set it to performance");
    }
    let spec = TrialSpec {
        bandwidth: BANDWIDTH,
        threads,
        fast: 1,
        fast_first: false,
        wake: WAKE,
        duration: DURATION,
        cpus,
        window: None,
    };
    let interrupted = || interruption.noticed();
    let raw = run_load(&spec, &roots, &LoadSpawner::default(), &interrupted, &mut |_| {})
        .map_err(|error| Failure::of(error, Some(SCENARIO.meta)))?;
    session.out.print(&lines(&raw));
    Ok(0)
}

fn parse(args: &[String], cpus: usize) -> Result<Option<u32>, Failure> {
    let mut options = Options::new(args, USAGE);
    let mut threads = u32::try_from(cpus).unwrap_or(1).max(1);
    loop {
        match options.next() {
            Next::End => return Ok(Some(threads)),
            Next::Help => return Ok(None),
            Next::Word(word) => match word.parse() {
                Ok(number) if (1..=MOST_THREADS).contains(&number) => threads = number,
                _ => return Err(options.mistake(&format!("{word} is not a number of threads"))),
            },
        }
    }
}

fn lines(raw: &RawTrial) -> String {
    let mut text = iterations(raw.report.iterations);
    let _ = writeln!(text, "Throttled for: {} ", raw.usage.nr_throttled.unwrap_or(0));
    let usage_ns = raw.usage.usage_ns.unwrap_or(raw.report.cpu_ns);
    let _ = writeln!(text, "CPU Usage (msecs) = {}", usage_ns / 1_000_000);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_are_one_a_cpu_unless_a_number_says_otherwise() {
        assert_eq!(parse(&[], 64).unwrap(), Some(64));
        assert_eq!(parse(&["1".to_owned()], 64).unwrap(), Some(1));
        for wrong in ["0", "-1", "x", "99999999"] {
            assert!(parse(&[wrong.to_owned()], 2).is_err(), "{wrong}");
        }
    }
}
