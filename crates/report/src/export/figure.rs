//! Figures of arms in words.

use crate::prose::Prose;
use model::prose::figures::{self, heading};
use model::{ArmResult, Judged};

/// The judged figure of an arm, if it has one: `stalled 968 ms/s [960, 970]`.
pub fn judged(record: &Judged, prose: &Prose, arm: &ArmResult) -> Option<String> {
    let name = record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let estimate = arm.measures.get(name)?;
    Some(format!("{} {}", heading(name, prose.meta()), figures::estimate(estimate)))
}
