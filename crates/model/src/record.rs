//! The facts of a study. They are the only content that a record owns; the rest follows from
//! them.

use crate::arm::{Arm, LeftOut};
use crate::at_work::AtWork;
use crate::evidence::Evidence;
use crate::fact::Note;
use crate::factorial::Factorial;
use crate::latency::Latency;
use crate::live::Live;
use crate::machine::{Disturbance, Machine};
use crate::measure::Measure;
use crate::pair::Pair;
use crate::problem::{Need, Problem};
use crate::role::Role;
use crate::scenario::Judging;
use crate::series::Series;
use crate::vm::Vm;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The schema that this version writes. Its number grows when older readers would misread it.
pub const SCHEMA: &str = "tailback/record/3";

/// The highest joint rate of wrong verdicts of studies that are reported together.
pub const ERROR_RATE: f64 = 0.05;

/// All that a study or a watch observed, and how it ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Facts {
    /// [`SCHEMA`].
    pub schema: String,
    /// The program that wrote it.
    pub tool: Tool,
    /// The scenario.
    pub scenario: String,
    /// When the study began (RFC 3339, UTC).
    pub started: String,
    /// Wall time of the study so far, in seconds.
    pub elapsed_s: f64,
    /// How the study ended.
    pub ended: Ended,
    /// What the study was set to do.
    pub plan: Plan,
    /// The machine on which it ran.
    pub machine: Machine,
    /// Every trial, in the order in which they ran.
    pub trials: Vec<Trial>,
    /// Trials of a control that run so that what the previous trial left behind does not affect a
    /// judged trial. They are never judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wash_outs: Vec<Trial>,
    /// Trials with probes, which run after the verdict is settled. They are never judged.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probed: Vec<Probed>,
    /// The factors behind the arms, if a study file made them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub factorial: Option<Factorial>,
    /// The place of this run among pairs of runs, if `tailback compare --run` made it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pair: Option<Pair>,
    /// What `tailback watch` observed. A record of a watch has neither trials nor arms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live: Option<Live>,
}

/// The program that wrote a record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The command line.
    pub argv: Vec<String>,
}

/// How a study ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// It has not ended, or the tool was killed before it could write the end.
    Running,
    /// It ran to its end.
    Complete,
    /// The user interrupted it.
    Interrupted,
    /// It stopped during its trials.
    Broken(Box<Cause>),
    /// No trial was started.
    NotRun(Box<Cause>),
}

/// Why a study was not run, or not to its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// A need is not met.
    Missing(Need),
    /// A setting turned out to be unusable when it was tried.
    Unusable(Problem),
    /// A trial broke.
    Broke(Problem),
    /// The user interrupted it.
    Interrupted,
}

/// How far a study got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Progress {
    /// Blocks are still being run, or the tool was killed while they were.
    Running,
    /// It ran to its end.
    Complete,
    /// The user interrupted it.
    Interrupted,
    /// Something broke.
    Broken,
    /// It was not run.
    NotRun,
}

impl Ended {
    /// The progress in one word, without the cause.
    pub fn progress(&self) -> Progress {
        match self {
            Ended::Running => Progress::Running,
            Ended::Complete => Progress::Complete,
            Ended::Interrupted => Progress::Interrupted,
            Ended::Broken(_) => Progress::Broken,
            Ended::NotRun(_) => Progress::NotRun,
        }
    }
}

/// What a study is set to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Plan {
    /// The arms, control first.
    pub arms: Vec<Arm>,
    /// Seed of the order in each block and of all other random choices.
    pub seed: u64,
    /// Least number of blocks before a verdict may end the study.
    pub min_blocks: u32,
    /// Most blocks that are run.
    pub max_blocks: u32,
    /// Whether a settled verdict ends the study before `max_blocks`.
    pub stop_when_settled: bool,
    /// The highest rate of wrong verdicts of the whole study; `judging` and `also` have their
    /// shares of it. Absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_rate: Option<f64>,
    /// Whether a settled study continues until the effect of each fix is settled too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub settle_fixes: bool,
    /// Whether a trial of the control that is not judged runs at the start of each block and
    /// after each trial with the cause or with a fix.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wash_out: bool,
    /// How trials are judged.
    pub judging: Judging,
    /// Other figures by which the trials are judged in the same way. Each of them may show its
    /// own stall.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<Judging>,
    /// Arms that could not be run here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

impl Plan {
    /// The first case: the arm for which the study asks whether it is affected.
    pub fn case(&self) -> Option<&Arm> {
        self.arms.iter().find(|arm| arm.role == Role::Case)
    }

    /// Splits [`ERROR_RATE`] over the number of studies that are reported together. The share of
    /// a study is split again over its judged figures, because any of them may say `affected`.
    pub fn split_error_rate(&mut self, studies: u32) {
        self.share_error_rate(Share { studies, affected: 1, not_affected: 1 });
    }

    /// Sets the share of the [`ERROR_RATE`] of several studies that this study has.
    pub fn share_error_rate(&mut self, share: Share) {
        let studies = share.studies.max(1);
        let rate =
            |claims: u32| ERROR_RATE * f64::from(claims.clamp(1, studies)) / f64::from(studies);
        self.error_rate = Some(rate(share.not_affected));
        let figures = 1.0 + self.also.len() as f64;
        for judging in std::iter::once(&mut self.judging).chain(&mut self.also) {
            judging.error_rate = rate(share.affected) / figures;
        }
    }
}

/// How several studies share one error rate. If k of S studies make the same claim, each of them
/// makes it at k/S of the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// How many studies there are.
    pub studies: u32,
    /// How many of them say `affected`, at least 1.
    pub affected: u32,
    /// How many of them say `not-affected`, at least 1.
    pub not_affected: u32,
}

/// One run of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trial {
    /// The block, from 0.
    pub block: u32,
    /// The arm.
    pub arm: String,
    /// When it began, in milliseconds after the start of the study.
    pub started_ms: f64,
    /// How long it took, including its set-up, in milliseconds.
    pub took_ms: f64,
    /// What the trial observed.
    pub observation: Observation,
    /// What disturbed the machine meanwhile.
    pub disturbance: Disturbance,
}

/// A trial that was run with probes, and what they cost.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Probed {
    /// The trial. Its evidence is in its observation.
    pub trial: Trial,
    /// Figures that show what the probes cost.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cost: Vec<ProbeCost>,
}

/// A figure of a trial with probes, next to the same figure without probes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ProbeCost {
    /// The figure.
    pub measure: String,
    /// The figure with probes.
    pub with: f64,
    /// Median over the trials of the same arm without probes.
    pub without: f64,
    /// The smallest and the largest figure of these trials.
    pub range: (f64, f64),
    /// Its unit.
    pub unit: crate::measure::Unit,
}

/// What one trial observed.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Observation {
    /// Length of the measured window, in milliseconds.
    pub window_ms: f64,
    /// For how long at least the load ran before the window, as its scenario declares, in
    /// milliseconds; absent if the scenario declares nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub warm_up_ms: Option<f64>,
    /// Whether the work under test had not returned by its deadline.
    pub hang: bool,
    /// Figures, by name.
    pub measures: BTreeMap<String, Measure>,
    /// Distributions of latencies, by operation.
    pub latencies: BTreeMap<String, Latency>,
    /// Single stalls in the order in which they came, at most the first thousand of a trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Figures over the time of the trial, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
    /// Places at which the work was seen under the greatest load, most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at_work: Vec<AtWork>,
    /// Which threads waited, and for which threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The Erlang VM that the trial ran in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vm: Option<Vm>,
    /// Notes about this trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

impl Observation {
    /// Whether a series is shown over time: it depends on no other series, and no other series
    /// depends on it.
    pub fn is_over_time(&self, name: &str) -> bool {
        let stands = |series: &Series| series.against.is_some();
        let is_axis = |other: &Series| other.against.as_deref() == Some(name);
        !self.series.get(name).is_some_and(stands) && !self.series.values().any(is_axis)
    }
}

/// One operation that was stalled.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stall {
    /// When it began, in milliseconds after the release of the trial's load.
    pub at_ms: f64,
    /// How long it took, in milliseconds.
    pub took_ms: f64,
    /// The operation, such as `mmap`.
    pub operation: String,
}

/// Why a text is not a valid record.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// It is not JSON, or it is cut off.
    #[error(
        "not a whole record: {0}; a run that was interrupted keeps its last whole block, so look for another copy"
    )]
    Torn(serde_json::Error),
    /// It is longer than the longest record that is read.
    #[error("larger than {} MiB, and no record is read that is larger", MOST_TEXT >> 20)]
    TooLarge,
    /// It is JSON of another kind.
    #[error("not a record of tailback: it has no \"schema\": \"{SCHEMA}\"")]
    Foreign,
    /// A newer version wrote it.
    #[error("schema {0} is newer than {SCHEMA}, which this version reads; use a newer tailback")]
    Newer(String),
    /// It claims to be a record but is inconsistent.
    #[error("a record that does not hold together: {0}")]
    Inconsistent(String),
}

/// The largest record that is read, in bytes of JSON. A study of a thousand blocks takes half of
/// it. It bounds the memory and the work of every command.
pub const MOST_TEXT: usize = 64 << 20;

impl Facts {
    /// The facts of a study that this tailback begins, without trials.
    pub fn new(
        scenario: &str,
        plan: Plan,
        machine: Machine,
        argv: Vec<String>,
        started: String,
    ) -> Self {
        let version = env!("CARGO_PKG_VERSION").to_owned();
        Facts {
            schema: SCHEMA.to_owned(),
            tool: Tool { name: "tailback".to_owned(), version, argv },
            scenario: scenario.to_owned(),
            started,
            elapsed_s: 0.0,
            ended: Ended::Running,
            plan,
            machine,
            trials: Vec::new(),
            wash_outs: Vec::new(),
            probed: Vec::new(),
            factorial: None,
            pair: None,
            live: None,
        }
    }

    /// The arm with which the others are compared.
    pub fn control(&self) -> Option<&Arm> {
        self.plan.arms.iter().find(|arm| arm.role == crate::role::Role::Control)
    }

    /// Checks that its parts fit together.
    pub(crate) fn check(&self) -> Result<(), RecordError> {
        let known = |id: &str| self.plan.arms.iter().any(|arm| arm.id == id);
        let all = || self.trials.iter().chain(&self.wash_outs);
        if let Some(trial) = all().find(|trial| !known(&trial.arm)) {
            return Err(RecordError::Inconsistent(format!(
                "a trial of block {} is of arm `{}`, which the plan does not have",
                trial.block, trial.arm
            )));
        }
        let rate = |rate: f64| rate > 0.0 && rate < 1.0;
        let sound = |judging: &Judging| rate(judging.error_rate) && rate(judging.confidence);
        if !self.plan.error_rate.is_none_or(rate) {
            return Err(RecordError::Inconsistent(
                "its error rate is not between 0 and 1".to_owned(),
            ));
        }
        if !sound(&self.plan.judging) || !self.plan.also.iter().all(sound) {
            return Err(RecordError::Inconsistent(
                "its error rate or confidence is not between 0 and 1".to_owned(),
            ));
        }
        // With a margin below zero, the control would count as better than a case that is equal.
        let limits = |judging: &Judging| judging.margin >= 0.0 && judging.control_limit >= 0.0;
        if !limits(&self.plan.judging) || !self.plan.also.iter().all(limits) {
            return Err(RecordError::Inconsistent(
                "its margin or its limit of the control is below 0".to_owned(),
            ));
        }
        if let Some(factorial) = &self.factorial {
            factorial.check(known).map_err(RecordError::Inconsistent)?;
        }
        for trial in all().chain(self.probed.iter().map(|probed| &probed.trial)) {
            for (name, series) in &trial.observation.series {
                series.check().map_err(|why| {
                    RecordError::Inconsistent(format!("series {name} of {}: {why}", trial.arm))
                })?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{facts, judging, plan};

    #[test]
    fn a_margin_and_a_limit_of_the_control_are_not_below_zero() {
        let checked = |margin: f64, control_limit: f64| {
            let mut facts = facts("s", plan(&[]), Vec::new());
            facts.plan.also = vec![Judging { margin, control_limit, ..judging("other") }];
            let also = facts.check().is_ok();
            facts.plan.judging = facts.plan.also.remove(0);
            (also, facts.check().is_ok())
        };
        assert_eq!(checked(0.0, 0.0), (true, true));
        assert_eq!(checked(-1.0, 50.0), (false, false));
        assert_eq!(checked(1.0, -50.0), (false, false));
    }
}
