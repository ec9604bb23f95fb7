//! `tailback sim cpu-quota`: the CPU time that a group gets from the CFS bandwidth controller.

use super::load::LoadFlags;
use super::render;
use super::times::refused;
use crate::command::{Failure, Run, Session, below};
use model::units::parse_duration;
use os::time::whole_ns;
use sim::{Config, Era, Goal, Rules, Workload};
use std::time::Duration;

const HELP: &str = "docs/bandwidth.md explains how far to trust the model. A trace has one request \
    per line: its arrival time and the CPU time it takes, as in `1.5ms, 20us`; # begins a \
    comment.\n\n";

/// Simulate how much CPU time a group with a quota gets from the kernel's CFS bandwidth
/// controller
#[derive(clap::Args)]
#[command(after_help = format!("{HELP}{}", below("", [
    "tailback sim cpu-quota --cpus 64 --quota 10ms",
    "tailback sim cpu-quota --load arrivals --find-quota --p99 20ms",
])))]
pub struct CpuQuota {
    /// CPUs of the machine
    #[arg(long, value_name = "N", default_value_t = 64, help_heading = "Machine")]
    cpus: u32,
    /// Simulate the rules of this kernel version [default: the running kernel]
    #[arg(long, value_name = "VERSION", help_heading = "Machine")]
    kernel: Option<String>,
    /// Scheduler ticks per second [default: 250]
    #[arg(long, value_name = "N", help_heading = "Machine")]
    hz: Option<u32>,
    /// Simulate the race in handing out quota [default: as in the kernel]
    #[arg(long, value_name = "WORD", help_heading = "Machine")]
    race: Option<Switch>,
    /// Let unused slices expire, as Linux 4.18 to 5.3 do [default: as in the kernel]
    #[arg(long, value_name = "WORD", help_heading = "Machine")]
    slices_expire: Option<Switch>,
    /// CPU time per period [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Group")]
    quota: Option<Duration>,
    /// Length of a period [default: 100ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Group")]
    period: Option<Duration>,
    /// Unused CPU time that may be saved for later periods. With --find-quota, the largest value
    /// that the search may choose [default: 0s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Group")]
    burst: Option<Duration>,
    /// CPU time that a CPU takes from the quota at once [default: 5ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Group")]
    slice: Option<Duration>,
    #[command(flatten)]
    load: LoadFlags,
    /// Length of the simulation [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Simulation")]
    duration: Option<Duration>,
    /// Seed of every random choice [default: 1]
    #[arg(long, value_name = "S", help_heading = "Simulation")]
    seed: Option<u64>,
    /// Print JSON
    #[arg(long, help_heading = "Simulation")]
    json: bool,
    /// Find the smallest quota that meets a latency target
    #[arg(long, help_heading = "Planning")]
    find_quota: bool,
    /// Latency target for 50% of the requests
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Planning")]
    p50: Option<Duration>,
    /// Latency target for 90% of the requests
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Planning")]
    p90: Option<Duration>,
    /// Latency target for 99% of the requests
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Planning")]
    p99: Option<Duration>,
    /// Latency target for 99.9% of the requests
    #[arg(long, value_name = "TIME", value_parser = parse_duration, help_heading = "Planning")]
    p999: Option<Duration>,
}

/// A rule of the kernel, on or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Switch {
    On,
    Off,
}

impl Run for CpuQuota {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        self.check_planning()?;
        let mut config = self.config()?;
        // The search sets quota and burst itself. A given burst is its upper limit.
        let most_burst_ns = match self.find_quota {
            true => std::mem::take(&mut config.burst_ns),
            false => 0,
        };
        let workload = self.load.workload(&config)?;
        config.check().and_then(|()| workload.check(&config)).map_err(refused)?;
        let text = match self.find_quota {
            true => self.search(&config, &workload, most_burst_ns)?,
            false => self.simulate(&config, &workload)?,
        };
        session.out.print(&text);
        Ok(0)
    }
}

impl CpuQuota {
    /// The latency targets, each with its percentile.
    fn targets(&self) -> impl Iterator<Item = (Duration, f64)> {
        let all = [(self.p50, 50.0), (self.p90, 90.0), (self.p99, 99.0), (self.p999, 99.9)];
        all.into_iter().filter_map(|(target, percentile)| Some((target?, percentile)))
    }

    /// Refuses flags that would do nothing.
    fn check_planning(&self) -> Result<(), Failure> {
        if !self.find_quota && self.targets().next().is_some() {
            return Err(Failure::usage(
                "--p50, --p90, --p99 and --p999 work only with --find-quota",
            ));
        }
        if self.find_quota && self.quota.is_some() {
            return Err(Failure::usage("--find-quota finds the quota itself; leave out --quota"));
        }
        Ok(())
    }

    fn simulate(&self, config: &Config, workload: &Workload) -> Result<String, Failure> {
        let outcome = sim::simulate(config, workload).map_err(refused)?;
        Ok(match self.json {
            true => render::outcome_json(config, &outcome),
            false => render::outcome_text(config, &outcome),
        })
    }

    fn search(
        &self,
        config: &Config,
        workload: &Workload,
        most_burst_ns: u64,
    ) -> Result<String, Failure> {
        let mut asked = self.targets();
        let (target, percentile) = asked
            .next()
            .ok_or_else(|| Failure::usage("--find-quota needs a target, such as --p99 20ms"))?;
        if asked.next().is_some() {
            return Err(Failure::usage(
                "--find-quota takes one target: give --p50, --p90, --p99 or --p999, and run it \
                 again for another",
            ));
        }
        let mut goal = Goal::new(percentile, whole_ns(target));
        goal.burst_ns = most_burst_ns;
        let answer = sim::find_quota(config, workload, &goal).map_err(refused)?;
        Ok(match self.json {
            true => render::answer_json(config, &goal, &answer),
            false => render::answer_text(config, &goal, &answer),
        })
    }

    /// The configuration of the machine and the group.
    fn config(&self) -> Result<Config, Failure> {
        let kernel = self.kernel.clone().unwrap_or_else(own_kernel);
        let era = Era::for_kernel(&kernel).map_err(refused)?;
        let mut config = Config::new(self.cpus, era);
        config.rules = Rules::for_kernel(&kernel).map_err(refused)?;
        if let Some(race) = self.race {
            config.rules.distribution_race = race == Switch::On;
        }
        if let Some(expire) = self.slices_expire {
            config.rules.slices_expire = expire == Switch::On;
        }
        let times = [
            (self.period, &mut config.period_ns),
            (self.burst, &mut config.burst_ns),
            (self.slice, &mut config.slice_ns),
            (self.duration, &mut config.duration_ns),
        ];
        for (given, value) in times {
            *value = given.map_or(*value, whole_ns);
        }
        config.quota_ns = self.quota.map(whole_ns).or(config.quota_ns);
        config.hz = self.hz.unwrap_or(config.hz);
        config.seed = self.seed.unwrap_or(config.seed);
        Ok(config)
    }
}

fn own_kernel() -> String {
    host::machine(&host::Roots::real()).kernel
}
