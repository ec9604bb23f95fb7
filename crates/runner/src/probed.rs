//! Trials with probes, run once the verdict stands. They show who held up whom, and what the
//! probes cost. They are kept apart from the trials that are judged.

use crate::events::{Event, Listener};
use crate::study::{Clock, ProbeWhen, Study};
use model::evidence::Evidence;
use model::median::{ascending, median};
use model::not_seen::NotSeen;
use model::record::{ProbeCost, Probed};
use model::{Arm, Disturbance, Judged, Observation, Problem, Role, State, Trial};
use os::time;
use scenarios::{ScenarioError, TrialResult};
use std::time::{Duration, Instant};

/// Most trials with probes, including the control's.
const MOST: usize = 5;

/// Time budget. Except for the first, a trial that would exceed it is not started.
const TIME: Duration = Duration::from_secs(20);

impl Study<'_> {
    /// Runs a trial with probes of each affected arm, and one of the control. The control's
    /// figures show best what the probes cost, since nothing else disturbs them.
    pub(crate) fn run_probed(
        &self,
        record: &mut Judged,
        clock: Clock,
        listener: &mut dyn Listener,
    ) {
        let began = Instant::now();
        for index in arms(record, self.probe == ProbeWhen::Always).into_iter().take(MOST) {
            let arm = &self.plan.arms[index];
            let expected = self.scenario.expected(arm);
            let late = began.elapsed() + expected > TIME && !record.probed.is_empty();
            if late || (self.interrupted)() {
                return;
            }
            listener.on_event(Event::ProbedBegin { arm: &arm.id, expected });
            let started = clock.elapsed();
            let seen = match self.run_trial(index, 0, true, listener) {
                Ok(seen) => seen,
                Err(ScenarioError::Interrupted) => return,
                Err(error) => without(error.problem()),
            };
            let took = clock.elapsed().saturating_sub(started);
            let trial = Trial {
                block: 0,
                arm: arm.id.clone(),
                started_ms: time::ms(started),
                took_ms: time::ms(took),
                observation: seen.observation,
                disturbance: seen.disturbance,
            };
            let cost = cost(record, &trial);
            record.facts.probed.push(Probed { trial, cost });
        }
    }
}

/// The affected arms, and all cases too if `always`: the last declared first, at most four. Then
/// the controls. Empty if there is no such arm.
fn arms(record: &Judged, always: bool) -> Vec<usize> {
    let is_affected = |arm: &Arm| {
        let result = record.judgement.arms.iter().find(|result| result.id == arm.id);
        let affected = result.is_some_and(|r| r.state == Some(State::Affected));
        arm.role != Role::Control && (affected || always && arm.role == Role::Case)
    };
    let arms = record.plan.arms.iter().enumerate();
    let mut chosen: Vec<usize> =
        arms.clone().filter(|(_, arm)| is_affected(arm)).map(|(index, _)| index).collect();
    chosen.reverse();
    chosen.truncate(MOST - 1);
    if chosen.is_empty() {
        return chosen;
    }
    chosen.extend(arms.filter(|(_, arm)| arm.role == Role::Control).map(|(index, _)| index));
    chosen
}

/// The record's entry for a trial with probes that broke.
fn without(why: Option<Problem>) -> TrialResult {
    let missing = why.map(|why| NotSeen::TrialBroke { why }).into_iter().collect();
    let evidence = Some(Evidence { missing, ..Evidence::default() });
    let observation = Observation { evidence, ..Observation::default() };
    TrialResult { observation, disturbance: Disturbance::default() }
}

/// The figures of a trial with probes beside those of the same arm without probes.
fn cost(record: &Judged, probed: &Trial) -> Vec<ProbeCost> {
    let of_arm = || record.trials.iter().filter(|trial| trial.arm == probed.arm);
    let beside = |(name, with): (&String, &model::Measure)| {
        let figures = of_arm().filter_map(|t| t.observation.measures.get(name)).map(|m| m.value);
        let without = ascending(figures);
        let (least, most) = (*without.first()?, *without.last()?);
        Some(ProbeCost {
            measure: name.clone(),
            with: with.value,
            without: median(&without)?,
            range: (least, most),
            unit: with.unit,
        })
    };
    probed.observation.measures.iter().filter_map(beside).collect()
}
