//! `tailback sim`: the bandwidth controller, and fleets, simulated.

pub mod flags;
mod fleet;
mod load;
mod render;
mod times;

use crate::exit::Failure;
use crate::output;
use clap::ArgMatches;
use sim::{Config, Era, Goal, Rules, Workload};
use std::time::Duration;
use times::{ns, refused};

/// Simulates, or finds a quota.
pub fn sim(matches: &ArgMatches) -> Result<u8, Failure> {
    match matches.subcommand() {
        Some(("cpu-quota", matches)) => cpu_quota(matches),
        Some(("fleet", matches)) => fleet::fleet(matches),
        _ => Err(Failure::usage("no such simulation; see tailback sim --help")),
    }
}

fn cpu_quota(matches: &ArgMatches) -> Result<u8, Failure> {
    let mut config = config(matches)?;
    // The search sets quota and burst itself; a burst that is named is the most it may grant.
    let most_burst_ns = match matches.get_flag("find-quota") {
        true => std::mem::take(&mut config.burst_ns),
        false => 0,
    };
    let workload = load::workload(matches, &config)?;
    config.check().and_then(|()| workload.check(&config)).map_err(refused)?;
    let text = match matches.get_flag("find-quota") {
        true => find_quota(matches, &config, &workload, most_burst_ns)?,
        false => simulate(matches, &config, &workload)?,
    };
    output::print(&text);
    Ok(0)
}

fn simulate(matches: &ArgMatches, config: &Config, workload: &Workload) -> Result<String, Failure> {
    let outcome = sim::simulate(config, workload).map_err(refused)?;
    Ok(match matches.get_flag("json") {
        true => render::outcome_json(config, &outcome),
        false => render::outcome_text(config, &outcome),
    })
}

fn find_quota(
    matches: &ArgMatches,
    config: &Config,
    workload: &Workload,
    most_burst_ns: u64,
) -> Result<String, Failure> {
    let goals = [("p50", 50.0), ("p90", 90.0), ("p99", 99.0), ("p999", 99.9)];
    let asked = goals
        .iter()
        .find_map(|(flag, percentile)| Some((matches.get_one::<Duration>(flag)?, *percentile)));
    let (target, percentile) =
        asked.ok_or_else(|| Failure::usage("--find-quota needs a target, as --p99 20ms"))?;
    let mut goal = Goal::new(percentile, ns(*target));
    goal.burst_ns = most_burst_ns;
    let answer = sim::find_quota(config, workload, &goal).map_err(refused)?;
    Ok(match matches.get_flag("json") {
        true => render::answer_json(config, &goal, &answer),
        false => render::answer_text(config, &goal, &answer),
    })
}

/// The machine and the group, from the flags.
fn config(matches: &ArgMatches) -> Result<Config, Failure> {
    let kernel = matches.get_one::<String>("kernel").cloned();
    let kernel = kernel.unwrap_or_else(own_kernel);
    let era = Era::for_kernel(&kernel).map_err(refused)?;
    let cpus = matches.get_one::<u32>("cpus").copied().unwrap_or(64);
    let mut config = Config::new(cpus, era);
    config.rules = Rules::for_kernel(&kernel).map_err(refused)?;
    if let Some(race) = matches.get_one::<String>("race") {
        config.rules.distribution_race = race == "on";
    }
    if let Some(expire) = matches.get_one::<String>("slices-expire") {
        config.rules.slices_expire = expire == "on";
    }
    let set = |flag: &str, value: &mut u64| {
        if let Some(duration) = matches.get_one::<Duration>(flag) {
            *value = ns(*duration);
        }
    };
    set("period", &mut config.period_ns);
    set("burst", &mut config.burst_ns);
    set("slice", &mut config.slice_ns);
    set("duration", &mut config.duration_ns);
    if let Some(quota) = matches.get_one::<Duration>("quota") {
        config.quota_ns = Some(ns(*quota));
    }
    config.hz = matches.get_one::<u32>("hz").copied().unwrap_or(config.hz);
    config.seed = matches.get_one::<u64>("seed").copied().unwrap_or(config.seed);
    Ok(config)
}

fn own_kernel() -> String {
    host::machine(&host::Roots::real()).kernel
}
