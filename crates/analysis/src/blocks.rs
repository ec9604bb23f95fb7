//! From trials to whole blocks, the only ones that enter the test.

use crate::bet::AbsenceBet;
use crate::evidence::Evidence;
use crate::reading::Reading;
use model::record::Plan;
use model::{Arm, Measure, Role, Trial};
use std::collections::BTreeMap;

/// The trials of a study put in order.
#[derive(Debug, Clone)]
pub struct Study<'a> {
    /// The arm that the others are held against.
    pub control: &'a Arm,
    /// The arms with the cause, in the order of the plan.
    pub cases: Vec<&'a Arm>,
    /// The arms with something that should mend it.
    pub fixes: Vec<&'a Arm>,
    /// The blocks in which every planned arm ran once and yielded the judged figure.
    pub blocks: Vec<Block<'a>>,
    /// Trials of other blocks, which the test leaves out.
    pub left_out: usize,
    margin: f64,
}

/// The judged figures of a whole block, by the names of the arms.
pub type Block<'a> = BTreeMap<&'a str, Reading>;

impl<'a> Study<'a> {
    /// Puts trials in order; `None` for a plan without a control.
    pub fn of(plan: &'a Plan, trials: &'a [Trial]) -> Option<Self> {
        let control = plan.arms.iter().find(|arm| arm.role == Role::Control)?;
        let mut by_block: BTreeMap<u32, Vec<&Trial>> = BTreeMap::new();
        for trial in trials {
            by_block.entry(trial.block).or_default().push(trial);
        }
        let blocks: Vec<Block> =
            by_block.values().filter_map(|trials| whole_block(plan, trials)).collect();
        let left_out = trials.len().saturating_sub(blocks.iter().map(BTreeMap::len).sum());
        Some(Study {
            control,
            cases: plan.arms.iter().filter(|arm| arm.role == Role::Case).collect(),
            fixes: plan.arms.iter().filter(|arm| arm.role == Role::Fix).collect(),
            blocks,
            left_out,
            margin: plan.judging.margin,
        })
    }

    /// The judged figures of the control and of another arm, a pair a block.
    pub fn pairs(&self, arm: &str) -> impl Iterator<Item = (Reading, Reading)> {
        self.blocks.iter().filter_map(move |block| {
            Some((*block.get(self.control.id.as_str())?, *block.get(arm)?))
        })
    }

    /// In how many blocks an arm was worse than the control by more than the margin.
    pub fn worse(&self, arm: &str) -> usize {
        self.pairs(arm).filter(|(control, arm)| arm.value - control.value > self.margin).count()
    }

    /// The evidence on the arms with the cause; those that should mend it have no part in it.
    pub fn evidence(&self) -> Evidence {
        let names: Vec<&str> = self.cases.iter().map(|arm| arm.id.as_str()).collect();
        self.evidence_on(&names)
    }

    /// The evidence on some arms.
    pub fn evidence_on(&self, arms: &[&str]) -> Evidence {
        let mut evidence = Evidence::new(arms.len(), self.margin);
        for block in &self.blocks {
            let value = |name: &str| block.get(name).map(|reading| reading.value);
            let values: Option<Vec<f64>> = arms.iter().map(|arm| value(arm)).collect();
            if let (Some(control), Some(values)) = (value(&self.control.id), values) {
                evidence.record(control, &values);
            }
        }
        evidence
    }
}

/// The wealth that decides.
pub fn threshold(plan: &Plan) -> f64 {
    // A record is refused with a rate outside 0 to 1; the limit keeps the figure finite anyway.
    1.0 / plan.judging.error_rate.max(1e-12)
}

/// The blocks that `not-affected` takes where the arms never differ: those of the figure with the
/// lowest error rate.
pub fn blocks_to_clear(plan: &Plan) -> u32 {
    let all = std::iter::once(&plan.judging).chain(&plan.also);
    let lowest = all.map(|judging| judging.error_rate).fold(1.0, f64::min);
    AbsenceBet::blocks_to(1.0 / lowest.max(1e-12))
}

/// Hung trials and all trials of an arm.
pub fn hangs(trials: &[Trial], arm: &str) -> (usize, usize) {
    let of_arm = || trials.iter().filter(|trial| trial.arm == arm);
    (of_arm().filter(|trial| trial.observation.hang).count(), of_arm().count())
}

/// Whether an arm hung in a larger share of its trials than the control in its own.
pub fn hung_more_often(trials: &[Trial], arm: &str, control: &str) -> bool {
    let ((arm_hangs, arm_trials), (hangs, of)) = (hangs(trials, arm), hangs(trials, control));
    // Shares compared crosswise, so that a control without trials excuses nothing.
    arm_hangs > 0 && (of == 0 || arm_hangs * of > hangs * arm_trials)
}

/// A figure of a trial; absent where it was not measured or is no number.
pub fn measured<'a>(trial: &'a Trial, measure: &str) -> Option<&'a Measure> {
    trial.observation.measures.get(measure).filter(|measure| measure.value.is_finite())
}

fn whole_block<'a>(plan: &'a Plan, trials: &[&Trial]) -> Option<Block<'a>> {
    let reading = |arm: &'a Arm| {
        let mut of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
        match (of_arm.next(), of_arm.next()) {
            (Some(trial), None) => {
                let measure = measured(trial, &plan.judging.measure)?;
                Some((arm.id.as_str(), Reading::from(measure)))
            }
            _ => None,
        }
    };
    plan.arms.iter().map(reading).collect()
}
