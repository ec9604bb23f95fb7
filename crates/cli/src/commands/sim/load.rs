//! The load of a simulation, made from the flags.

use super::times::refused;
use crate::exit::Failure;
use crate::{input, output};
use model::units::{self, parse_duration};
use os::time::whole_ns;
use sim::{Arrivals, Bursts, Config, Fibtest, Periodic, Service, Workload};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Size limit of a trace that is read, in bytes.
const MOST: u64 = 1 << 30;

/// Default mean time between two requests.
const GAP: Duration = Duration::from_millis(1);

/// Default CPU time per request.
const SERVICE: Duration = Duration::from_micros(200);

/// Default number of requests per burst.
const BURST_SIZE: u32 = 10;

/// Spread of log-normal service times: the standard deviation of the logarithm.
const SIGMA: f64 = 1.0;

// No doc comment: clap would show it as the help of the command.
#[derive(clap::Args)]
#[command(next_help_heading = "Load")]
pub struct LoadFlags {
    /// What the threads do [default: fibtest, or trace with --trace]
    #[arg(long, value_name = "WORD")]
    load: Option<LoadKind>,
    /// Number of threads [default: one per CPU]
    #[arg(long, value_name = "N")]
    threads: Option<u32>,
    /// fibtest: threads that never sleep [default: 1]
    #[arg(long, value_name = "N")]
    fast: Option<u32>,
    /// fibtest: CPU time of a slow thread between two sleeps [default: 5us]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    slow_burst: Option<Duration>,
    /// fibtest: use the cost of a wake-up on this machine as --slow-burst. Measuring it takes
    /// half a second
    #[arg(long, conflicts_with = "slow_burst")]
    measure_wakeup: bool,
    /// fibtest: how long a slow thread sleeps [default: 10ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    sleep: Option<Duration>,
    /// arrivals: mean time between two requests [default: 1ms]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    gap: Option<Duration>,
    /// arrivals: CPU time per request [default: 200us]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    service: Option<Duration>,
    /// arrivals: distribution of the CPU times [default: exponential]
    #[arg(long, value_name = "WORD")]
    service_kind: Option<ServiceKind>,
    /// arrivals: mean time between two bursts of requests [default: no bursts]
    #[arg(long, value_name = "TIME", value_parser = parse_duration)]
    burst_gap: Option<Duration>,
    /// arrivals: requests per burst [default: 10]
    #[arg(long, value_name = "N")]
    burst_size: Option<u32>,
    /// periodic: a thread, as 100ms:5ms:0. May be repeated
    #[arg(long, value_name = "PERIOD:COST:CPU")]
    task: Vec<String>,
    /// Read requests from FILE; - reads standard input
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
}

/// What the threads do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum LoadKind {
    Fibtest,
    Arrivals,
    Periodic,
    Trace,
}

impl LoadKind {
    /// Its name on the command line.
    fn word(self) -> &'static str {
        match self {
            LoadKind::Fibtest => "fibtest",
            LoadKind::Arrivals => "arrivals",
            LoadKind::Periodic => "periodic",
            LoadKind::Trace => "trace",
        }
    }
}

/// The distribution of service times.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, clap::ValueEnum)]
enum ServiceKind {
    Fixed,
    #[default]
    Exponential,
    #[value(name = "lognormal")]
    LogNormal,
}

impl LoadFlags {
    /// The requested load.
    ///
    /// # Errors
    /// If flags contradict each other, or the trace cannot be read.
    pub fn workload(&self, config: &Config) -> Result<Workload, Failure> {
        let kind = self.kind();
        self.check_flags(kind)?;
        match (kind, &self.trace) {
            (LoadKind::Trace, Some(path)) => self.trace_of(config, path),
            (LoadKind::Trace, None) => Err(Failure::usage("--load trace needs --trace FILE")),
            (LoadKind::Arrivals, _) => Ok(self.arrivals(config)),
            (LoadKind::Periodic, _) => self.periodic(),
            (LoadKind::Fibtest, _) => Ok(self.fibtest(config)),
        }
    }

    fn kind(&self) -> LoadKind {
        let usual = if self.trace.is_some() { LoadKind::Trace } else { LoadKind::Fibtest };
        self.load.unwrap_or(usual)
    }

    /// Refuses a flag of another load. It would do nothing, and the answer would be about a load
    /// that nobody asked for.
    fn check_flags(&self, kind: LoadKind) -> Result<(), Failure> {
        let given = [
            ("--fast", self.fast.is_some(), LoadKind::Fibtest),
            ("--slow-burst", self.slow_burst.is_some(), LoadKind::Fibtest),
            ("--measure-wakeup", self.measure_wakeup, LoadKind::Fibtest),
            ("--sleep", self.sleep.is_some(), LoadKind::Fibtest),
            ("--gap", self.gap.is_some(), LoadKind::Arrivals),
            ("--service", self.service.is_some(), LoadKind::Arrivals),
            ("--service-kind", self.service_kind.is_some(), LoadKind::Arrivals),
            ("--burst-gap", self.burst_gap.is_some(), LoadKind::Arrivals),
            ("--burst-size", self.burst_size.is_some(), LoadKind::Arrivals),
            ("--task", !self.task.is_empty(), LoadKind::Periodic),
            ("--trace", self.trace.is_some(), LoadKind::Trace),
        ];
        if let Some((flag, _, of)) = given.into_iter().find(|(_, is, of)| *is && *of != kind) {
            return Err(Failure::usage(format!("{flag} works only with --load {}", of.word())));
        }
        if self.burst_size.is_some() && self.burst_gap.is_none() {
            return Err(Failure::usage("--burst-size works only with --burst-gap"));
        }
        Ok(())
    }

    fn threads(&self, config: &Config) -> u32 {
        self.threads.unwrap_or(config.cpus)
    }

    fn fibtest(&self, config: &Config) -> Workload {
        let mut load = Fibtest::new(self.threads(config));
        load.fast = self.fast.unwrap_or(load.fast);
        load.slow_burst_ns = self.slow_burst.map_or(load.slow_burst_ns, whole_ns);
        load.sleep_ns = self.sleep.map_or(load.sleep_ns, whole_ns);
        match self.measure_wakeup.then(host::wakeup::cost) {
            Some(Some(cost)) => {
                output::note(&format!("a wake-up costs {} here", units::format_duration(cost)));
                load.slow_burst_ns = whole_ns(cost);
            }
            Some(None) => output::note(
                "the clock of this kernel is too coarse for the cost of a wake-up; --slow-burst \
                 keeps its default",
            ),
            None => {}
        }
        Workload::Fibtest(load)
    }

    fn arrivals(&self, config: &Config) -> Workload {
        let mean_ns = whole_ns(self.service.unwrap_or(SERVICE));
        let service = match self.service_kind.unwrap_or_default() {
            ServiceKind::Fixed => Service::Fixed(mean_ns),
            ServiceKind::LogNormal => Service::LogNormal { median_ns: mean_ns, sigma: SIGMA },
            ServiceKind::Exponential => Service::Exponential { mean_ns },
        };
        let size = self.burst_size.unwrap_or(BURST_SIZE);
        let bursts = self.burst_gap.map(|gap| Bursts { mean_gap_ns: whole_ns(gap), size });
        let (mean_gap_ns, workers) = (whole_ns(self.gap.unwrap_or(GAP)), self.threads(config));
        Workload::Arrivals(Arrivals { mean_gap_ns, bursts, service, workers })
    }

    fn periodic(&self) -> Result<Workload, Failure> {
        let tasks = self.task.iter().map(|task| parse_task(task));
        tasks.collect::<Result<_, _>>().map(Workload::Periodic)
    }

    fn trace_of(&self, config: &Config, path: &Path) -> Result<Workload, Failure> {
        let refuse = |why: &dyn std::fmt::Display| {
            Failure::usage(format!("--trace {}: {why}", path.display()))
        };
        let text = input::read_text(path, MOST).map_err(|error| refuse(&error))?;
        let requests = sim::parse_trace(&text).map_err(|error| refuse(&refused(error).line))?;
        Ok(Workload::Trace { requests, workers: self.threads(config) })
    }
}

fn parse_task(text: &str) -> Result<Periodic, Failure> {
    let wrong = || Failure::usage(format!("--task {text}: not PERIOD:COST:CPU, as 100ms:5ms:0"));
    let [period, cost, cpu] = text.split(':').collect::<Vec<_>>()[..] else { return Err(wrong()) };
    let time = |text: &str| units::parse_duration(text).map(whole_ns).map_err(|_| wrong());
    let cpu = cpu.parse().map_err(|_| wrong())?;
    Ok(Periodic { period_ns: time(period)?, cost_ns: time(cost)?, offset_ns: 0, cpu })
}
