//! From the words on the command line to a plan.

use clap::ArgMatches;
use model::record::Plan;
use model::{Meta, Settings, Value};
use runner::ProbeWhen;
use scenarios::{Arms, Scenario};
use std::time::Duration;

/// Blocks before a verdict may end a study: with fewer no median has a 95% interval.
const MIN_BLOCKS: u32 = 6;

/// Blocks at most.
const MAX_BLOCKS: u32 = 24;

/// Time for a study of `check`.
const CHECK_TIME: Duration = Duration::from_secs(60);

/// The same for advice, which holds more arms against each other.
const ADVICE_TIME: Duration = Duration::from_secs(240);

/// How a study is run.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The knobs.
    pub settings: Settings,
    /// Exactly so many blocks.
    pub samples: Option<u32>,
    /// No further block after so long.
    pub time: Duration,
    /// Seed of every random choice.
    pub seed: u64,
    /// When it is looked once more, with probes.
    pub probe: ProbeWhen,
}

impl Wish {
    /// As the flags of `run SCENARIO` say.
    pub fn of_run(meta: &'static Meta, matches: &ArgMatches) -> Self {
        let mut settings = Settings::defaults(meta.knobs, matches.get_flag("quick"));
        for knob in meta.knobs {
            if let Some(value) = matches.get_one::<Value>(knob.name) {
                settings.set(knob.name, value.clone());
            }
        }
        Wish {
            settings,
            samples: matches.get_one("samples").copied(),
            time: matches.get_one("time").copied().unwrap_or(CHECK_TIME),
            seed: seed(matches),
            probe: probe(matches),
        }
    }

    /// As `advise` runs the scenario that it asks.
    pub fn of_advice(scenario: &dyn Scenario, matches: &ArgMatches) -> Self {
        let settings = Settings::defaults(scenario.meta().knobs, matches.get_flag("quick"));
        Wish {
            settings,
            samples: None,
            time: ADVICE_TIME,
            seed: seed(matches),
            probe: ProbeWhen::Never,
        }
    }

    /// As `check` runs a scenario: several share the time, so each takes its quick settings.
    pub fn of_check(meta: &'static Meta, matches: &ArgMatches, several: bool) -> Self {
        let settings = Settings::defaults(meta.knobs, several || matches.get_flag("quick"));
        let probe = probe(matches);
        Wish { settings, samples: None, time: CHECK_TIME, seed: seed(matches), probe }
    }

    /// The plan for these arms.
    pub fn plan(&self, scenario: &dyn Scenario, arms: Arms) -> Plan {
        let mut judging = scenario.judging(&self.settings).into_iter();
        let first = judging.next().unwrap_or_else(|| scenario.meta().judging.clone());
        Plan {
            arms: arms.arms,
            left_out: arms.left_out,
            also: judging.collect(),
            seed: self.seed,
            min_blocks: self.samples.unwrap_or(MIN_BLOCKS),
            max_blocks: self.samples.unwrap_or(MAX_BLOCKS),
            stop_when_settled: self.samples.is_none(),
            judging: first,
        }
    }
}

fn probe(matches: &ArgMatches) -> ProbeWhen {
    // `check` has no flag for always.
    let always = matches!(matches.try_get_one("probe"), Ok(Some(true)));
    match matches.get_flag("no-probe") {
        true => ProbeWhen::Never,
        false if always => ProbeWhen::Always,
        false => ProbeWhen::Stalled,
    }
}

fn seed(matches: &ArgMatches) -> u64 {
    matches.get_one("seed").copied().unwrap_or_else(draw_seed)
}

/// A seed by lot.
pub fn draw_seed() -> u64 {
    // A seed that JSON readers of every language keep whole is below 2^53.
    rand::random::<u64>() >> 11
}
