//! A study from its first trial to its verdict.

use crate::events::{Event, Listener};
use crate::order::{order_of_block, seed_of_trial};
use crate::save::{save, would_lose};
use model::record::{Plan, Progress, SCHEMA, Tool};
use model::{Headline, Machine, Need, Problem, Reason, Record, State, Trial, Verdict, What};
use os::time;
use scenarios::{AnyScenario, Context, Host, LoadSpawner, ScenarioError, Tick, TrialResult};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// A study about to be run.
pub struct Study<'a> {
    /// Its scenario.
    pub scenario: &'static dyn AnyScenario,
    /// What is done.
    pub plan: Plan,
    /// After so long no further block begins, and the study ends with what it knows; one block is
    /// run all the same. A study of a fixed number of blocks runs them.
    pub time: Duration,
    /// Where it runs.
    pub host: Host<'a>,
    /// How children are executed.
    pub spawner: LoadSpawner,
    /// The command line, for the record.
    pub argv: Vec<String>,
    /// Where the record is kept after each block; nowhere where absent.
    pub keep: Option<PathBuf>,
    /// When trials with probes are run, after those that are judged.
    pub probe: ProbeWhen,
    /// Whether somebody wants it to end.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// When trials with probes are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeWhen {
    /// Never.
    Never,
    /// Where a stall was found.
    Stalled,
    /// Where none was found too.
    Always,
}

/// The time that a study has taken, with that of earlier sittings.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    before: Duration,
    began: Instant,
}

impl Clock {
    /// Goes on after so many seconds.
    pub(crate) fn after(elapsed_s: f64) -> Self {
        let before = Duration::try_from_secs_f64(elapsed_s).unwrap_or_default();
        Clock { before, began: Instant::now() }
    }

    pub(crate) fn elapsed(&self) -> Duration {
        self.before.saturating_add(self.began.elapsed())
    }
}

/// How a study ended, beside its record.
#[derive(Debug)]
pub enum End {
    /// It came to its end.
    Complete,
    /// Somebody ended it.
    Interrupted,
    /// A setting turned out not to be usable, once it was tried.
    Unusable(Problem),
    /// A need was not met.
    Missing(Need),
    /// A trial broke.
    Broken(Problem),
}

impl Study<'_> {
    pub(crate) fn beginning(&self) -> Event<'_> {
        let block = self.plan.arms.iter().map(|arm| self.scenario.expected(arm)).sum();
        Event::Begin {
            scenario: self.scenario.meta().id,
            seed: self.plan.seed,
            arms: self.plan.arms.len(),
            min_blocks: self.plan.min_blocks,
            max_blocks: self.plan.max_blocks,
            block,
        }
    }

    pub(crate) fn run_block(
        &self,
        record: &mut Record,
        block: u32,
        clock: Clock,
        listener: &mut dyn Listener,
    ) -> Result<(), ScenarioError> {
        let order = order_of_block(self.plan.seed, block, self.plan.arms.len());
        for (place, index) in order.into_iter().enumerate() {
            if (self.interrupted)() {
                return Err(ScenarioError::Interrupted);
            }
            let arm = &self.plan.arms[index];
            let expected = self.scenario.expected(arm);
            listener.on_event(Event::TrialBegin { block, place, arm: &arm.id, expected });
            let began = clock.elapsed();
            let seen = self.run_trial(index, block, false, listener)?;
            let took = clock.elapsed().saturating_sub(began);
            record.trials.push(Trial {
                block,
                arm: arm.id.clone(),
                started_ms: time::ms(began),
                took_ms: time::ms(took),
                observation: seen.observation,
                disturbance: seen.disturbance,
            });
            if let Some(trial) = record.trials.last() {
                let observation = &trial.observation;
                listener.on_event(Event::TrialEnd { block, arm: &arm.id, observation });
            }
        }
        Ok(())
    }

    pub(crate) fn run_trial(
        &self,
        arm: usize,
        block: u32,
        probe: bool,
        listener: &mut dyn Listener,
    ) -> Result<TrialResult, ScenarioError> {
        let mut tick = |Tick { elapsed, worst }| listener.on_event(Event::Tick { elapsed, worst });
        let mut context = Context {
            host: &self.host,
            spawner: &self.spawner,
            seed: seed_of_trial(self.plan.seed, block),
            probe,
            interrupted: self.interrupted,
            tick: &mut tick,
        };
        self.scenario.trial(&self.plan.arms[arm], &mut context)
    }

    pub(crate) fn conclude(&self, record: &mut Record, end: &End) {
        // What was measured is judged first, so that a break says what it interrupted.
        scenarios::judge(record);
        scenarios::weigh_factors(record);
        let measured = (!record.trials.is_empty()).then(|| record.verdict.clone());
        record.progress = match end {
            End::Complete => Progress::Complete,
            End::Interrupted => Progress::Interrupted,
            End::Unusable(_) | End::Missing(_) | End::Broken(_) => Progress::Broken,
        };
        record.verdict = match end {
            End::Complete | End::Interrupted => {
                scenarios::judge(record);
                return;
            }
            End::Missing(need) => lacking(need, measured),
            End::Unusable(why) => {
                skipped(Reason::Unusable { why: Box::new(why.clone()) }, measured)
            }
            End::Broken(error) => {
                broken(Reason::Broke { error: Box::new(error.clone()) }, measured)
            }
        };
        // What is said of single arms follows the verdict.
        scenarios::judge(record);
    }

    pub(crate) fn keep(&self, record: &Record, listener: &mut dyn Listener) {
        let Some(path) = self.keep.as_deref().filter(|path| !would_lose(record, path)) else {
            return;
        };
        if let Err(error) = save(record, path) {
            listener.on_event(Event::NotSaved { path, why: &error.source.to_string() });
        }
    }

    /// The record of a study of which no trial was begun, with how it ended instead: a need is
    /// missing, or its load could not be tried out.
    pub fn not_run(&self, end: &End) -> Record {
        let mut record = self.empty_record();
        record.progress = Progress::NotRun;
        let again = |why| {
            let mut verdict = skipped(why, None);
            verdict.suggestions = vec![What::RunAgain.into()];
            verdict
        };
        record.verdict = match end {
            End::Missing(need) => lacking(need, None),
            End::Unusable(why) => again(Reason::Unusable { why: Box::new(why.clone()) }),
            End::Broken(error) => again(Reason::Broke { error: Box::new(error.clone()) }),
            End::Interrupted | End::Complete => again(Reason::Interrupted),
        };
        record
    }

    /// A record of this study without trials.
    pub fn empty_record(&self) -> Record {
        let scenario = self.scenario.meta().id;
        empty_record(scenario, self.plan.clone(), self.host.machine.clone(), self.argv.clone())
    }
}

/// A record without trials.
fn empty_record(scenario: &str, plan: Plan, host: Machine, argv: Vec<String>) -> Record {
    Record {
        schema: SCHEMA.to_owned(),
        tool: Tool {
            name: "tailback".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            argv,
        },
        scenario: scenario.to_owned(),
        started: jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string(),
        elapsed_s: 0.0,
        progress: Progress::Running,
        plan,
        host,
        trials: Vec::new(),
        probed: Vec::new(),
        arms: Vec::new(),
        factorial: None,
        live: None,
        verdict: Verdict::of(State::Inconclusive, Headline::NotMeasured),
    }
}

/// The verdict of a study that lacks something, with what would grant it.
fn lacking(need: &Need, measured: Option<Verdict>) -> Verdict {
    let need = || Box::new(need.clone());
    let mut verdict = skipped(Reason::Missing { what: need() }, measured);
    verdict.suggestions.insert(0, What::Grant(need()).into());
    verdict
}

/// The verdict of a study that could not be run, or not to its end.
fn skipped(why: Reason, measured: Option<Verdict>) -> Verdict {
    match measured {
        Some(measured) => broken(why, Some(measured)),
        None => Verdict { reasons: vec![why], ..Verdict::of(State::Skipped, Headline::Skipped) },
    }
}

/// The verdict of a study that broke, with what its trials said until then.
fn broken(why: Reason, measured: Option<Verdict>) -> Verdict {
    let before = measured.map(|measured| Reason::WouldHaveBeen {
        blocks: measured.test.map_or(0, |test| test.blocks),
        state: measured.state,
        headline: Box::new(measured.headline),
    });
    let again = before.is_some().then(|| What::RunAgain.into());
    Verdict {
        suggestions: again.into_iter().collect(),
        reasons: std::iter::once(why).chain(before).collect(),
        ..Verdict::of(State::Untrustworthy, Headline::Broken)
    }
}

impl From<ScenarioError> for End {
    fn from(error: ScenarioError) -> Self {
        match error {
            ScenarioError::Interrupted => End::Interrupted,
            ScenarioError::Missing(need) => End::Missing(need),
            ScenarioError::Unusable(why) => End::Unusable(why),
            ScenarioError::Broken(why) => End::Broken(why),
        }
    }
}
