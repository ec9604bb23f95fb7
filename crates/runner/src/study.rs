//! A study from its first trial to its verdict.

use crate::events::{Event, Listener};
use crate::order::{order_of_block, seed_of_trial};
use crate::save::{save, would_lose};
use model::record::Plan;
use model::{
    Cause, Disturbance, Ended, Facts, Judged, Judgement, Need, Observation, Problem, Role, Trial,
};
use os::time;
use scenarios::{
    AnyScenario, Context, Host, LoadSpawner, ScenarioError, Tick, TrialResult, is_due, judged,
};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// An interrupted trial that took more than this multiple of the longest trial of its arm hung.
const HUNG: f64 = 2.0;

/// A study about to be run.
pub struct Study<'a> {
    /// Its scenario.
    pub scenario: &'static dyn AnyScenario,
    /// What is run.
    pub plan: Plan,
    /// Time budget: no new block begins after it, except up to two that would settle the verdict.
    /// Then the study ends with what it knows. One block is run in any case. A study with a fixed
    /// number of blocks runs all of them.
    pub time: Duration,
    /// Where it runs.
    pub host: Host<'a>,
    /// How children are executed.
    pub spawner: LoadSpawner,
    /// The command line, for the record.
    pub argv: Vec<String>,
    /// The path at which the record is saved after each block; None to save it nowhere.
    pub keep: Option<PathBuf>,
    /// When trials with probes are run, after those that are judged.
    pub probe: ProbeWhen,
    /// Whether the study is asked to end.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// When trials with probes are run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeWhen {
    /// Never.
    Never,
    /// If a stall was found.
    Stalled,
    /// Even if no stall was found.
    Always,
}

/// The time that a study has taken, including earlier sittings.
#[derive(Clone, Copy)]
pub(crate) struct Clock {
    before: Duration,
    began: Instant,
}

impl Clock {
    /// A clock that continues after this many seconds.
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
    /// The study is complete.
    Complete,
    /// It was interrupted.
    Interrupted,
    /// A setting turned out to be unusable when it was tried.
    Unusable(Problem),
    /// A need was not met.
    Missing(Need),
    /// A trial broke.
    Broken(Problem),
}

impl Study<'_> {
    pub(crate) fn beginning(&self) -> Event<'_> {
        Event::Begin {
            scenario: self.scenario.meta().id,
            seed: self.plan.seed,
            arms: self.plan.arms.len(),
            min_blocks: self.plan.min_blocks,
            max_blocks: self.plan.max_blocks,
            block: self.expected_of_block(),
        }
    }

    /// The expected time of a block until the verdict stands.
    pub(crate) fn expected_of_block(&self) -> Duration {
        let arms = scenarios::arms_of_verdict(&self.plan);
        self.scenario.expected_of_block(&arms, self.plan.wash_out)
    }

    pub(crate) fn run_block(
        &self,
        (facts, judgement): (&mut Facts, &Judgement),
        block: u32,
        clock: Clock,
        listener: &mut dyn Listener,
    ) -> Result<(), ScenarioError> {
        let mut order = order_of_block(self.plan.seed, block, self.plan.arms.len());
        order.retain(|index| is_due(&self.plan.arms[*index], block, facts, judgement));
        for (place, index) in order.into_iter().enumerate() {
            if let Some(control) = self.to_wash_out(facts, block) {
                let trial = self.timed_trial((block, place), control, clock, listener)?;
                facts.wash_outs.push(trial);
            }
            let began = clock.elapsed();
            match self.timed_trial((block, place), index, clock, listener) {
                Ok(trial) => facts.trials.push(trial),
                Err(error) => {
                    let interrupted = matches!(error, ScenarioError::Interrupted);
                    let hung = interrupted.then(|| self.hung(facts, block, index, began, clock));
                    facts.trials.extend(hung.flatten());
                    return Err(error);
                }
            }
        }
        Ok(())
    }

    /// The trial that was interrupted, if it took so much longer than every other of its arm that
    /// it hung. If it were forgotten, a study that is interrupted whenever a trial hangs would show
    /// no hang.
    fn hung(
        &self,
        facts: &Facts,
        block: u32,
        arm: usize,
        began: Duration,
        clock: Clock,
    ) -> Option<Trial> {
        let arm = &self.plan.arms[arm];
        let others = facts.trials.iter().filter(|trial| trial.arm == arm.id);
        let longest = others.map(|trial| trial.took_ms).fold(0.0, f64::max);
        let usual = longest.max(time::ms(self.scenario.expected(arm)));
        let took_ms = time::ms(clock.elapsed().saturating_sub(began));
        (took_ms > HUNG * usual).then(|| Trial {
            block,
            arm: arm.id.clone(),
            started_ms: time::ms(began),
            took_ms,
            observation: Observation { window_ms: took_ms, hang: true, ..Observation::default() },
            disturbance: Disturbance::default(),
        })
    }

    fn timed_trial(
        &self,
        (block, place): (u32, usize),
        index: usize,
        clock: Clock,
        listener: &mut dyn Listener,
    ) -> Result<Trial, ScenarioError> {
        if (self.interrupted)() {
            return Err(ScenarioError::Interrupted);
        }
        let arm = &self.plan.arms[index];
        let expected = self.scenario.expected(arm);
        listener.on_event(Event::TrialBegin { block, place, arm: &arm.id, expected });
        let began = clock.elapsed();
        let seen = self.run_trial(index, block, false, listener)?;
        let took = clock.elapsed().saturating_sub(began);
        let observation = &seen.observation;
        listener.on_event(Event::TrialEnd { block, arm: &arm.id, observation });
        Ok(Trial {
            block,
            arm: arm.id.clone(),
            started_ms: time::ms(began),
            took_ms: time::ms(took),
            observation: seen.observation,
            disturbance: seen.disturbance,
        })
    }

    /// The control that has to run, unjudged, before the next judged trial. It runs after a trial
    /// with the cause, and where a block begins: another study may have had its turn before.
    fn to_wash_out(&self, facts: &Facts, block: u32) -> Option<usize> {
        let arms = &self.plan.arms;
        let of_id = |id: &str| arms.iter().position(|arm| arm.id == id);
        let first = || arms.iter().position(|arm| arm.role == Role::Control);
        if !self.plan.wash_out {
            return None;
        }
        let Some(last) = facts.trials.last().filter(|last| last.block == block) else {
            return first();
        };
        let ran = &arms[of_id(&last.arm)?];
        let own = ran.against.as_deref().and_then(of_id);
        matches!(ran.role, Role::Case | Role::Fix).then(|| own.or_else(first)).flatten()
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

    pub(crate) fn keep(&self, record: &Judged, listener: &mut dyn Listener) {
        let Some(path) = self.keep.as_deref().filter(|path| !would_lose(record, path)) else {
            return;
        };
        if let Err(error) = save(record, path) {
            listener.on_event(Event::NotSaved { path, why: &error.source.to_string() });
        }
    }

    /// The record of a study in which no trial began, with the reason: a need is missing, or its
    /// load could not be tried out.
    pub fn not_run(&self, end: &End) -> Judged {
        let cause = end.cause().unwrap_or(Cause::Interrupted);
        judged(Facts { ended: Ended::NotRun(Box::new(cause)), ..self.facts() })
    }

    /// What is known before the first trial.
    pub fn facts(&self) -> Facts {
        let now = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default();
        let (scenario, machine) = (self.scenario.meta().id, self.host.machine.clone());
        Facts::new(scenario, self.plan.clone(), machine, self.argv.clone(), now.to_string())
    }
}

impl End {
    /// This end, in the words of a study that has begun.
    pub(crate) fn ended(&self) -> Ended {
        match (self, self.cause()) {
            (_, Some(cause)) => Ended::Broken(Box::new(cause)),
            (End::Interrupted, None) => Ended::Interrupted,
            (_, None) => Ended::Complete,
        }
    }

    /// What kept the study from completing; None if nothing did.
    fn cause(&self) -> Option<Cause> {
        match self {
            End::Complete | End::Interrupted => None,
            End::Missing(need) => Some(Cause::Missing(need.clone())),
            End::Unusable(why) => Some(Cause::Unusable(why.clone())),
            End::Broken(why) => Some(Cause::Broke(why.clone())),
        }
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
