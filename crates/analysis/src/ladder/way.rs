//! How two records of a ladder are compared.

use crate::change::{Sides, across_all, change};
use model::{Change, Comparison, Difference, Judged, Meta};

/// How two versions are compared.
#[derive(Debug)]
pub struct Way<'a> {
    /// The arm that is compared.
    pub arm: Option<&'a str>,
    /// The declaration of the scenario.
    pub meta: Option<&'a Meta>,
    /// The parameter that selects the version.
    pub by: Option<&'a str>,
    /// Number of pairs over which the error rate is split.
    pub among: usize,
}

impl Way<'_> {
    /// Compares a record with another, each with its name.
    pub fn change(&self, before: (&Judged, &str), after: (&Judged, &str)) -> Change {
        let mut across = across_all(self.meta);
        across.extend(self.by.map(str::to_owned));
        let (before, after) = ([before], [after]);
        change(&Sides {
            before: &before,
            after: &after,
            meta: self.meta,
            across: &across,
            among: self.among,
        })
    }

    /// The difference in the figure that is compared.
    pub fn judged<'c>(&self, change: &'c Change, record: &Judged) -> Option<&'c Difference> {
        let arm = change.arms.iter().find(|one| Some(one.id.as_str()) == self.arm)?;
        arm.measures.get(record.plan.judging.measure.as_ref())
    }
}

/// By how much an arm is worse than its control in the judged figure.
pub fn effect<'a>(record: &'a Judged, arm: &str) -> Option<&'a Comparison> {
    let arm = record.judgement.arms.iter().find(|result| result.id == arm)?;
    arm.against_control.get(record.plan.judging.measure.as_ref())
}
