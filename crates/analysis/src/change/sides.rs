//! What is compared.

use model::change::{ChangeReason, ChangeSuggestion};
use model::{Judged, Judging, Meta, Role};

/// A record, and what the user calls it.
pub type Named<'a> = (&'a Judged, &'a str);

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// The records of what was; one at least.
    pub before: &'a [Named<'a>],
    /// The records of what is; one at least.
    pub after: &'a [Named<'a>],
    /// What the scenario says of itself, where this version knows it.
    pub meta: Option<&'a Meta>,
    /// What may differ, since it is what is compared: parameters, and the words of
    /// [`ACROSS`](super::ACROSS).
    pub across: &'a [String],
    /// Comparisons that are made together, this one among them: they share the error rate.
    pub among: usize,
}

/// Why something cannot be compared, and what to do.
pub(super) type Obstacle = (ChangeReason, Option<ChangeSuggestion>);

impl<'a> Sides<'a> {
    pub(super) fn all(&self) -> impl Iterator<Item = Named<'a>> {
        self.before.iter().chain(self.after).copied()
    }

    /// The first record of each side, which speaks for the others where they have to be alike.
    pub(super) fn first(&self) -> Option<(Named<'a>, Named<'a>)> {
        Some((*self.before.first()?, *self.after.first()?))
    }

    /// The arms of that role that all plans have, in the order of the first.
    pub(super) fn common(&self, role: Role) -> Vec<&'a str> {
        let Some(((first, _), _)) = self.first() else { return Vec::new() };
        let in_all = |id: &str| {
            self.all()
                .all(|(record, _)| record.plan.arms.iter().any(|a| a.id == id && a.role == role))
        };
        let arms = first.plan.arms.iter().filter(|arm| arm.role == role && in_all(&arm.id));
        arms.map(|arm| arm.id.as_str()).collect()
    }

    /// How many figures are judged; each is one chance to be wrong.
    pub(super) fn judged(&self) -> usize {
        let judgings = self.first().map_or(0, |((first, _), _)| judgings(first).len());
        (self.common(Role::Case).len() * judgings).max(1)
    }

    /// The confidence of all that is said together.
    pub(super) fn confidence(&self) -> f64 {
        self.first().map_or(0.95, |((first, _), _)| first.plan.judging.confidence)
    }

    /// The confidence of each judged figure, so that all of them together keep the one asked for
    /// (Dunn 1961, "Multiple comparisons among means", Journal of the American Statistical
    /// Association 56, 52-64).
    pub(super) fn confidence_of_each(&self) -> f64 {
        1.0 - (1.0 - self.confidence()) / (self.judged() * self.among.max(1)) as f64
    }
}

pub(super) fn judgings(record: &Judged) -> Vec<&Judging> {
    std::iter::once(&record.plan.judging).chain(&record.plan.also).collect()
}

/// The control that an arm is held against: its own, or the first of the plan.
pub(super) fn control_of<'a>(record: &'a Judged, arm: &str) -> Option<&'a str> {
    let arm = record.plan.arms.iter().find(|other| other.id == arm)?;
    arm.against.as_deref().or_else(|| record.control().map(|control| control.id.as_str()))
}
