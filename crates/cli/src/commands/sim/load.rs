//! The load of a simulation, from the flags.

use super::times::{ns, refused};
use crate::exit::Failure;
use crate::{input, output};
use clap::ArgMatches;
use model::units;
use sim::{Arrivals, Bursts, Config, Fibtest, Periodic, Service, Workload};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The largest trace that is read, in bytes.
const MOST: u64 = 1 << 30;

/// Spread of log-normal service times: the standard deviation of the logarithm.
const SIGMA: f64 = 1.0;

/// The load that was asked for.
pub fn workload(matches: &ArgMatches, config: &Config) -> Result<Workload, Failure> {
    let trace = matches.get_one::<PathBuf>("trace");
    let kind = matches.get_one::<String>("load").map(String::as_str);
    match (kind, trace) {
        (Some("trace") | None, Some(path)) => trace_of(matches, config, path),
        (Some("trace"), None) => Err(Failure::usage("--load trace needs --trace FILE")),
        (Some(_), Some(_)) => Err(Failure::usage("--trace goes with --load trace only")),
        (Some("arrivals"), None) => Ok(arrivals(matches, config)),
        (Some("periodic"), None) => periodic(matches),
        _ => Ok(fibtest(matches, config)),
    }
}

fn threads(matches: &ArgMatches, config: &Config) -> u32 {
    matches.get_one::<u32>("threads").copied().unwrap_or(config.cpus)
}

fn nanoseconds(matches: &ArgMatches, flag: &str) -> Option<u64> {
    matches.get_one::<Duration>(flag).map(|duration| ns(*duration))
}

fn fibtest(matches: &ArgMatches, config: &Config) -> Workload {
    let mut load = Fibtest::new(threads(matches, config));
    load.fast = matches.get_one::<u32>("fast").copied().unwrap_or(load.fast);
    load.slow_burst_ns = nanoseconds(matches, "slow-burst").unwrap_or(load.slow_burst_ns);
    load.sleep_ns = nanoseconds(matches, "sleep").unwrap_or(load.sleep_ns);
    if let Some(cost) = matches.get_flag("measure-wakeup").then(host::wakeup::cost).flatten() {
        output::note(&format!("a wake-up costs {} here", units::format_duration(cost)));
        load.slow_burst_ns = ns(cost);
    }
    Workload::Fibtest(load)
}

fn arrivals(matches: &ArgMatches, config: &Config) -> Workload {
    let mean_ns = nanoseconds(matches, "service").unwrap_or(200_000);
    let service = match matches.get_one::<String>("service-kind").map(String::as_str) {
        Some("fixed") => Service::Fixed(mean_ns),
        Some("lognormal") => Service::LogNormal { median_ns: mean_ns, sigma: SIGMA },
        _ => Service::Exponential { mean_ns },
    };
    let bursts = nanoseconds(matches, "burst-gap").map(|mean_gap_ns| Bursts {
        mean_gap_ns,
        size: matches.get_one::<u32>("burst-size").copied().unwrap_or(10),
    });
    Workload::Arrivals(Arrivals {
        mean_gap_ns: nanoseconds(matches, "gap").unwrap_or(1_000_000),
        bursts,
        service,
        workers: threads(matches, config),
    })
}

fn periodic(matches: &ArgMatches) -> Result<Workload, Failure> {
    let tasks = matches.get_many::<String>("task").map(Iterator::collect).unwrap_or_default();
    let tasks: Vec<&String> = tasks;
    tasks.into_iter().map(|task| parse_task(task)).collect::<Result<_, _>>().map(Workload::Periodic)
}

fn parse_task(text: &str) -> Result<Periodic, Failure> {
    let wrong = || Failure::usage(format!("--task {text}: not PERIOD:COST:CPU, as 100ms:5ms:0"));
    let [period, cost, cpu] = text.split(':').collect::<Vec<_>>()[..] else { return Err(wrong()) };
    let time = |text: &str| units::parse_duration(text).map(ns).map_err(|_| wrong());
    let cpu = cpu.parse().map_err(|_| wrong())?;
    Ok(Periodic { period_ns: time(period)?, cost_ns: time(cost)?, offset_ns: 0, cpu })
}

fn trace_of(matches: &ArgMatches, config: &Config, path: &Path) -> Result<Workload, Failure> {
    let refuse =
        |why: &dyn std::fmt::Display| Failure::usage(format!("--trace {}: {why}", path.display()));
    let text = input::read_text(path, MOST).map_err(|error| refuse(&error))?;
    let requests = sim::parse_trace(&text).map_err(|error| refuse(&refused(error).line))?;
    Ok(Workload::Trace { requests, workers: threads(matches, config) })
}
