//! Makes a plan from the words on the command line.

use crate::exit::Failure;
use model::machine::Guest;
use model::record::Plan;
use model::{Machine, Meta, Parameter, ParameterKind, Role, Settings, units};
use runner::ProbeWhen;
use scenarios::{AnyScenario, Arms, arms_of_verdict};
use std::time::Duration;

/// Blocks before a verdict may end a study. With fewer, no median has a 95% interval.
pub const MIN_BLOCKS: u32 = 6;

/// Most blocks after the minimum. They leave time for a verdict, and for trying its fixes.
const MORE_BLOCKS: u32 = 34;

/// Number of blocks for which a study has time to try its fixes. This many can show that a fix
/// helps.
const BLOCKS_OF_FIXES: u32 = 8;

/// The parameter for the length of a trial.
const LENGTH: &str = "duration";

/// Default time budget of a study.
const USUAL_TIME: Duration = Duration::from_secs(60);

/// Factor for trials that take longer than expected.
const SLACK: f64 = 1.25;

/// The same factor in an emulated guest, where the set-up of a trial takes several times as long.
const EMULATED_SLACK: f64 = 4.0;

/// The options of a study.
#[derive(Debug, Clone)]
pub struct StudyOptions {
    /// The parameters.
    pub settings: Settings,
    /// The exact number of blocks, if given.
    pub samples: Option<u32>,
    /// The minimum number of blocks, if `samples` is None.
    pub at_least: u32,
    /// Time budget; no new block starts after it. None means the default, which is long enough
    /// for a verdict.
    pub time: Option<Duration>,
    /// Seed of every random choice.
    pub seed: u64,
    /// Trials are made long enough to show a random freeze that comes once in this time.
    pub rare: Option<Duration>,
    /// Whether an unjudged trial of the control runs after each trial with the cause.
    pub wash_out: bool,
    /// When to run trials with probes.
    pub probe: ProbeWhen,
    /// Whether arms that try a fix are run.
    pub fixes: bool,
    /// Number of studies that share one error rate, including this one.
    pub studies: u32,
    /// Whether to continue an undecided study with the same settings.
    pub go_on: bool,
}

impl StudyOptions {
    /// The parameters, with trials that are long enough to show what `rare` asks for.
    ///
    /// # Errors
    /// If trials of this scenario cannot be made that long.
    pub fn settings(&self, scenario: &dyn AnyScenario) -> Result<Settings, Failure> {
        let mut settings = self.settings.clone();
        let Some(rare) = self.rare else { return Ok(settings) };
        let meta = scenario.meta();
        let refused = |why: &str| Failure::usage(format!("--rare: {}: {why}", meta.id));
        if meta.parameter(LENGTH).is_none() {
            return Err(refused("the length of its trials cannot be set"));
        }
        let plan = self.plan(scenario, &settings, Arms::default());
        let trial = analysis::missed::trial_that_shows(&plan, rare);
        let set = settings.0.get(LENGTH).map(ToString::to_string);
        if set.and_then(|set| units::parse_duration(&set).ok()).is_some_and(|set| set >= trial) {
            return Ok(settings);
        }
        let text = format!("{}ms", trial.as_millis().saturating_add(1));
        let value = (meta.parameters.read)(LENGTH, &text);
        let value = value.map_err(|why| refused(&format!("trials of {text}: {why}")))?;
        settings.set(LENGTH, value);
        Ok(settings)
    }

    /// The time of the trials that a study of this plan needs for `not-affected`.
    pub fn to_not_affected(&self, scenario: &dyn AnyScenario, plan: &Plan) -> Duration {
        let block = scenario.expected_of_block(&arms_of_verdict(plan), plan.wash_out);
        let blocks = analysis::blocks_to_not_affected(plan);
        block.saturating_mul(blocks.max(plan.min_blocks).min(plan.max_blocks))
    }

    /// The time after which a study of this plan begins no new block.
    ///
    /// With long trials, the blocks that `not-affected` needs may not fit into the default
    /// minute. Quotas on 64 CPUs are an example. Then that verdict could never come, so the study
    /// may take longer. The same holds for its fixes.
    pub fn time(&self, scenario: &dyn AnyScenario, plan: &Plan, machine: &Machine) -> Duration {
        let emulated = machine.guest.as_ref().is_some_and(Guest::emulated);
        let slack = if emulated { EMULATED_SLACK } else { SLACK };
        let fixes = plan.settle_fixes && plan.arms.iter().any(|arm| arm.role == Role::Fix);
        let fixes = if fixes { BLOCKS_OF_FIXES } else { 0 };
        let fixes = scenario.expected_of_block(&plan.arms, plan.wash_out).saturating_mul(fixes);
        let needed = self.to_not_affected(scenario, plan).saturating_add(fixes);
        let needed = Duration::try_from_secs_f64(needed.as_secs_f64() * slack);
        self.time.unwrap_or(USUAL_TIME.max(needed.unwrap_or(Duration::MAX)))
    }

    /// The plan with these arms, of a study with these settings.
    pub fn plan(&self, scenario: &dyn AnyScenario, settings: &Settings, mut arms: Arms) -> Plan {
        arms.arms.retain(|arm| self.fixes || arm.role != Role::Fix);
        let mut judging = scenario.judging(settings).into_iter();
        let first = judging.next().unwrap_or_else(|| scenario.meta().judging.clone());
        let mut plan = Plan {
            arms: arms.arms,
            left_out: arms.left_out,
            also: judging.collect(),
            seed: self.seed,
            min_blocks: self.samples.unwrap_or(self.at_least),
            max_blocks: self.samples.unwrap_or(self.at_least.saturating_add(MORE_BLOCKS)),
            stop_when_settled: self.samples.is_none(),
            error_rate: None,
            settle_fixes: self.studies == 1,
            wash_out: self.wash_out,
            judging: first,
        };
        plan.split_error_rate(self.studies);
        plan
    }
}

/// The parameter that selects the OTP of a scenario; None if the scenario runs no OTP.
pub fn otp_of(meta: &'static Meta) -> Option<&'static Parameter> {
    (meta.parameters.all)().iter().find(|parameter| parameter.kind == ParameterKind::Programs)
}

/// Reads a seed.
///
/// # Errors
/// If the text is no seed.
pub fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "it is not a whole number below 2^64".to_owned())
}

/// A random seed.
pub fn draw_seed() -> u64 {
    // The seed is below 2^53, because JSON readers of every language keep such a number exactly.
    os::random::number() >> 11
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Arm, Role};
    use scenarios::cpu_quota::CpuQuotaParams;
    use scenarios::params::{Params, Time};

    fn options(time: Option<Duration>) -> StudyOptions {
        StudyOptions {
            settings: Settings::default(),
            rare: None,
            wash_out: false,
            samples: None,
            at_least: MIN_BLOCKS,
            time,
            seed: 1,
            probe: ProbeWhen::Never,
            fixes: true,
            studies: 1,
            go_on: false,
        }
    }

    #[test]
    fn a_study_without_fixes_has_none_of_their_arms() {
        let scenario = scenarios::find("cpu-quota").unwrap();
        let arm = |id: &str, role| Arm {
            id: id.to_owned(),
            role,
            against: None,
            settings: CpuQuotaParams::default().settings(),
            change: None,
        };
        let arms = || {
            let all = [arm("a", Role::Control), arm("b", Role::Case), arm("c", Role::Fix)];
            Arms { arms: all.to_vec(), ..Arms::default() }
        };
        let planned = |fixes| {
            let options = StudyOptions { fixes, ..options(None) };
            options.plan(scenario, &options.settings, arms()).arms.len()
        };
        assert_eq!((planned(true), planned(false)), (3, 2));
    }

    #[test]
    fn longer_trials_are_judged_by_the_margin_of_their_length() {
        let scenario = scenarios::find("mmap-lock").unwrap();
        let options = StudyOptions { rare: Some(Duration::from_secs(60)), ..options(None) };
        let margin =
            |settings: &Settings| options.plan(scenario, settings, Arms::default()).judging.margin;
        let long = options.settings(scenario).unwrap();
        assert!(margin(&long) < margin(&options.settings) / 5.0, "{}", margin(&long));
    }

    /// The time of a `cpu-quota` study with three arms and trials of `seconds`.
    fn time(options: &StudyOptions, seconds: u64, machine: &Machine) -> u64 {
        let scenario = scenarios::find("cpu-quota").unwrap();
        let params = CpuQuotaParams { duration: Time::s(seconds), ..CpuQuotaParams::default() };
        let settings = params.settings();
        let arm = |id: &str| Arm {
            id: id.to_owned(),
            role: Role::Case,
            against: None,
            settings: settings.clone(),
            change: None,
        };
        let arms = Arms { arms: ["a", "b", "c"].map(arm).to_vec(), ..Arms::default() };
        let plan = options.plan(scenario, &settings, arms);
        options.time(scenario, &plan, machine).as_secs()
    }

    #[test]
    fn a_study_of_long_trials_has_time_for_either_verdict() {
        let here = Machine::default();
        let guest = Guest { accelerator: "tcg".to_owned(), ..Guest::default() };
        let emulated = Machine { guest: Some(guest), ..Machine::default() };
        assert_eq!(time(&options(None), 1, &here), 60);
        // 10 blocks of three trials, each of which takes a little longer.
        assert_eq!(time(&options(None), 3, &here), 114);
        assert_eq!(time(&options(None), 3, &emulated), 367);
        assert_eq!(time(&options(Some(Duration::from_secs(5))), 3, &emulated), 5);
    }
}
