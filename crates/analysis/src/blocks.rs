//! Sorts trials into whole blocks. Only whole blocks enter the test.

use crate::absence;
use crate::bet::AbsenceBet;
use crate::evidence::{Evidence, Thresholds};
use model::record::Plan;
use model::{Arm, ArmResult, Judging, Measure, Role, Trial, Unit};
use std::collections::{BTreeMap, BTreeSet};

/// The trials of a study, sorted by block and arm.
#[derive(Debug, Clone)]
pub struct Study<'a> {
    /// The controls, in the order of the plan; never empty.
    pub controls: Vec<&'a Arm>,
    /// The arms with the cause, in the order of the plan.
    pub cases: Vec<&'a Arm>,
    /// The arms with a fix.
    pub fixes: Vec<&'a Arm>,
    /// The blocks in which every control and every arm with the cause ran once and yielded the
    /// judged figure. A block also has the fixes that ran once and yielded it.
    pub blocks: Vec<Block<'a>>,
    /// Trials of incomplete blocks, which the test leaves out. Trials of baselines are not
    /// counted.
    pub left_out: usize,
    lacking: BTreeMap<&'a str, Lacking>,
    margin: f64,
    control_limit: f64,
}

/// The blocks of an arm and its control in which only one of the two gave the judged figure. A
/// trial that hung counts as one that gave it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lacking {
    /// Blocks in which the arm gave none.
    pub arm: usize,
    /// Blocks in which the control gave none.
    pub control: usize,
}

impl Lacking {
    /// Blocks whose figure a stall of the arm may have removed: those in which the arm lacks it,
    /// less those in which the control does. What removes it as often from either is not the cause.
    pub(crate) fn of_stall(self) -> usize {
        self.arm.saturating_sub(self.control)
    }
}

/// A whole block: its entries by the ids of the arms.
pub type Block<'a> = BTreeMap<&'a str, Entry>;

/// What the test uses of a trial. A trial that hung ranks above all others: its figure is
/// infinite.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Entry {
    /// The judged figure.
    pub value: f64,
    /// The judged figure minus the time in which the measured thread had no CPU.
    pub net: f64,
    /// The smallest possible value of the judged figure. For a trial that hung, it is the figure
    /// until the trial was cut off; 0 if that was lost.
    pub least: f64,
    /// The largest possible value of the judged figure: infinite if it is known only as "at least
    /// v".
    pub most: f64,
}

/// Which of the figures of an [`Entry`] is tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Figure {
    /// The figure as measured.
    Plain,
    /// The figure minus what the absence of a CPU explains.
    Net,
}

impl Entry {
    fn figure(&self, figure: Figure) -> f64 {
        match figure {
            Figure::Plain => self.value,
            Figure::Net => self.net,
        }
    }
}

impl<'a> Study<'a> {
    /// Sorts trials; `None` for a plan without a control.
    pub fn of(plan: &'a Plan, trials: &'a [Trial]) -> Option<Self> {
        let of_role = |role| plan.arms.iter().filter(move |arm| arm.role == role).collect();
        let controls: Vec<&Arm> = of_role(Role::Control);
        controls.first()?;
        let is_baseline =
            |id: &str| plan.arms.iter().any(|arm| arm.role == Role::Baseline && arm.id == id);
        let mut by_block: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
        for trial in trials.iter().filter(|trial| !is_baseline(&trial.arm)) {
            by_block.entry(trial.block).or_default().push(trial);
        }
        let all: usize = by_block.values().map(Vec::len).sum();
        let blocks: Vec<Block> =
            by_block.values().filter_map(|trials| whole_block(plan, trials)).collect();
        let left_out = all.saturating_sub(blocks.iter().map(BTreeMap::len).sum());
        let mut study = Study {
            controls,
            cases: of_role(Role::Case),
            fixes: of_role(Role::Fix),
            blocks,
            left_out,
            lacking: BTreeMap::new(),
            margin: plan.judging.margin,
            control_limit: plan.judging.control_limit,
        };
        let arms = study.cases.iter().chain(&study.fixes);
        study.lacking = arms
            .map(|arm| (arm.id.as_str(), lacking(plan, &by_block, study.control_of(arm), arm)))
            .collect();
        Some(study)
    }

    /// The blocks in which a case or a fix, or its control, gave no figure.
    pub(crate) fn lacking(&self, arm: &Arm) -> Lacking {
        self.lacking.get(arm.id.as_str()).copied().unwrap_or_default()
    }

    /// The control with which an arm is compared: its own control, or else the first one.
    pub fn control_of(&self, arm: &Arm) -> &'a Arm {
        let own = arm.against.as_deref();
        let named = self.controls.iter().find(|control| Some(control.id.as_str()) == own);
        named.copied().unwrap_or(self.controls[0])
    }

    /// The figures of two arms, one pair for each block.
    pub fn pairs(&self, first: &str, second: &str) -> impl Iterator<Item = (f64, f64)> {
        self.blocks
            .iter()
            .filter_map(move |block| Some((block.get(first)?.value, block.get(second)?.value)))
    }

    /// The figures of two arms, one pair for each block, the second at its largest possible value.
    pub fn pairs_at_most(&self, first: &str, second: &str) -> impl Iterator<Item = (f64, f64)> {
        self.blocks
            .iter()
            .filter_map(move |block| Some((block.get(first)?.value, block.get(second)?.most)))
    }

    /// In how many blocks an arm was worse than its control by more than the margin.
    pub fn worse(&self, arm: &Arm) -> usize {
        let pairs = self.pairs(&self.control_of(arm).id, &arm.id);
        pairs.filter(|(control, arm)| arm - control > self.margin).count()
    }

    /// The evidence on the arms with the cause. Fixes have no part in it.
    pub fn evidence(&self, figure: Figure) -> Evidence {
        self.evidence_on(&self.cases, figure)
    }

    /// The evidence on some arms, each compared with its own control.
    pub fn evidence_on(&self, arms: &[&Arm], figure: Figure) -> Evidence {
        let controls: Vec<&str> = self.controls.iter().map(|arm| arm.id.as_str()).collect();
        let place = |arm: &Arm| {
            let own = &self.control_of(arm).id;
            controls.iter().position(|control| control == own).unwrap_or(0)
        };
        let groups: Vec<usize> = arms.iter().map(|arm| place(arm)).collect();
        let evidence = Evidence::with_controls(&groups, self.margin);
        let mut evidence = evidence.with_limit(self.control_limit);
        for block in &self.blocks {
            let figures = |names: &[&str]| -> Option<Vec<f64>> {
                names.iter().map(|name| Some(block.get(name)?.figure(figure))).collect()
            };
            let names: Vec<&str> = arms.iter().map(|arm| arm.id.as_str()).collect();
            let most = names.iter().map(|name| Some(block.get(name)?.most));
            let most: Option<Vec<f64>> = most.collect();
            if let (Some(controls), Some(arms), Some(most)) =
                (figures(&controls), figures(&names), most)
            {
                evidence.record(&controls, &arms, &most);
            }
        }
        evidence
    }
}

/// The wealth that settles a figure of a study.
///
/// Any single figure is enough for `affected`, so its error rate is split over the figures.
/// `not-affected` needs every figure and every arm. If one of them stalls, the verdict is wrong
/// only if the bet on that one is wrong. So nothing has to be split.
pub fn thresholds(plan: &Plan) -> Thresholds {
    // A record with a rate outside of 0 to 1 is refused. The limit keeps the figures finite in
    // any case.
    let wealth = |rate: f64| 1.0 / rate.max(1e-12);
    Thresholds {
        affected: wealth(plan.judging.error_rate),
        not_affected: wealth(study_error_rate(plan)),
    }
}

/// The error rate at which a study says `not-affected`. Older records do not have it; for them
/// each figure has its own rate.
pub fn study_error_rate(plan: &Plan) -> f64 {
    plan.error_rate.unwrap_or(plan.judging.error_rate)
}

/// The error rate at which a study as a whole says `affected`. Tests within an affected study
/// have that rate too (Benjamini and Bogomolov 2014, Journal of the Royal Statistical Society B
/// 76, 297-318).
pub fn affected_error_rate(plan: &Plan) -> f64 {
    // In older records the rate is not split.
    let figures = plan.error_rate.map_or(1.0, |_| 1.0 + plan.also.len() as f64);
    plan.judging.error_rate * figures
}

/// The blocks that `not-affected` needs if the arms never differ.
pub fn blocks_to_not_affected(plan: &Plan) -> u32 {
    let all = std::iter::once(&plan.judging).chain(&plan.also);
    let lowest = all.map(|judging| judging.error_rate).fold(1.0, f64::min);
    AbsenceBet::blocks_to(1.0 / plan.error_rate.unwrap_or(lowest).max(1e-12))
}

/// The number of hung trials and of all trials of an arm.
pub fn hangs(trials: &[Trial], arm: &str) -> (usize, usize) {
    let of_arm = || trials.iter().filter(|trial| trial.arm == arm);
    (of_arm().filter(|trial| trial.observation.hang).count(), of_arm().count())
}

/// Whether an arm hung in a larger share of its trials than its control.
pub fn hung_more_often(trials: &[Trial], arm: &str, control: &str) -> bool {
    let ((arm_hangs, arm_trials), (hangs, of)) = (hangs(trials, arm), hangs(trials, control));
    // The shares are compared by cross multiplication, so that a control without trials excuses
    // nothing.
    arm_hangs > 0 && (of == 0 || arm_hangs * of > hangs * arm_trials)
}

/// The trials of the blocks in which an arm ran. An arm that had to wait did not run in all of
/// them.
pub(crate) fn beside<'a>(trials: &'a [Trial], arm: &str) -> impl Iterator<Item = &'a Trial> {
    let ran = trials.iter().filter(|trial| trial.arm == arm);
    let blocks: BTreeSet<u32> = ran.map(|trial| trial.block).collect();
    trials.iter().filter(move |trial| blocks.contains(&trial.block))
}

/// A figure of a trial; absent if it was not measured or is not finite.
pub fn measured<'a>(trial: &'a Trial, measure: &str) -> Option<&'a Measure> {
    trial.observation.measures.get(measure).filter(|measure| measure.value.is_finite())
}

/// Unit of the judged figure, from the first arm that has it.
pub(crate) fn judged_unit(judging: &Judging, arms: &[ArmResult]) -> Unit {
    let estimate = arms.iter().find_map(|arm| arm.measures.get(judging.measure.as_ref()));
    estimate.map_or(Unit::Ratio, |estimate| estimate.unit)
}

fn whole_block<'a>(plan: &'a Plan, trials: &[&Trial]) -> Option<Block<'a>> {
    let entry = |arm: &'a Arm| Some((arm.id.as_str(), entry(plan, only(trials, arm)?)?));
    let (fixes, others): (Vec<&Arm>, Vec<&Arm>) = plan
        .arms
        .iter()
        .filter(|arm| arm.role != Role::Baseline)
        .partition(|arm| arm.role == Role::Fix);
    let mut block: Block = others.into_iter().map(entry).collect::<Option<_>>()?;
    block.extend(fixes.into_iter().filter_map(entry));
    Some(block)
}

fn lacking(plan: &Plan, blocks: &BTreeMap<u32, Vec<&Trial>>, control: &Arm, arm: &Arm) -> Lacking {
    let gave =
        |trials: &[&Trial], arm: &Arm| only(trials, arm).map(|trial| entry(plan, trial).is_some());
    let mut lacking = Lacking::default();
    for trials in blocks.values() {
        match (gave(trials, arm), gave(trials, control)) {
            (Some(false), Some(true)) => lacking.arm += 1,
            (Some(true), Some(false)) => lacking.control += 1,
            _ => {}
        }
    }
    lacking
}

/// The trial of an arm in a block; `None` if it has none or several.
fn only<'t>(trials: &[&'t Trial], arm: &Arm) -> Option<&'t Trial> {
    let mut of_arm = trials.iter().copied().filter(|trial| trial.arm == arm.id);
    match (of_arm.next(), of_arm.next()) {
        (Some(trial), None) => Some(trial),
        _ => None,
    }
}

/// The entry of a trial. A trial that hung has one even if its figure was lost.
fn entry(plan: &Plan, trial: &Trial) -> Option<Entry> {
    let measure = measured(trial, &plan.judging.measure);
    let absent = absence::cpu_absent_ms_per_s(plan, trial);
    if trial.observation.hang {
        // A thread that had no CPU for half of the time was not necessarily blocked.
        let starved = absent > absence::MOST_ABSENT_IN_HANG_MS_PER_S;
        let net = if starved { 0.0 } else { f64::INFINITY };
        let least = measure.map_or(0.0, |measure| measure.value);
        return Some(Entry { value: f64::INFINITY, net, least, most: f64::INFINITY });
    }
    let Measure { value, at_least, .. } = *measure?;
    let net = if absent > 0.0 { (value - absent).max(0.0) } else { value };
    let most = if at_least { f64::INFINITY } else { value };
    Some(Entry { value, net, least: value, most })
}
