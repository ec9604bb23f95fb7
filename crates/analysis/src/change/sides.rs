//! What is compared.

use model::change::{ChangeReason, ChangeSuggestion};
use model::{Judged, Judging, Meta, Role};

/// A record, and the name that the user gave it.
pub type Named<'a> = (&'a Judged, &'a str);

/// What is compared.
#[derive(Debug, Clone, Copy)]
pub struct Sides<'a> {
    /// The records before the change; at least one.
    pub before: &'a [Named<'a>],
    /// The records after the change; at least one.
    pub after: &'a [Named<'a>],
    /// The declaration of the scenario, if this version knows it.
    pub meta: Option<&'a Meta>,
    /// What may differ, because it is what is compared: parameters, and the words in
    /// [`ACROSS`](super::ACROSS).
    pub across: &'a [String],
    /// Number of comparisons that are made together, including this one. They share the error
    /// rate.
    pub among: usize,
}

/// Why something cannot be compared, and what to do about it.
pub(super) type Obstacle = (ChangeReason, Option<ChangeSuggestion>);

impl<'a> Sides<'a> {
    pub(super) fn all(&self) -> impl Iterator<Item = Named<'a>> {
        self.before.iter().chain(self.after).copied()
    }

    /// The first record of each side. It represents the others in everything in which they have
    /// to agree.
    pub(super) fn first(&self) -> Option<(Named<'a>, Named<'a>)> {
        Some((*self.before.first()?, *self.after.first()?))
    }

    /// The arms with this role that all plans have, in the order of the first plan.
    pub(super) fn common(&self, role: Role) -> Vec<&'a str> {
        let Some(((first, _), _)) = self.first() else { return Vec::new() };
        let in_all = |id: &str| {
            self.all()
                .all(|(record, _)| record.plan.arms.iter().any(|a| a.id == id && a.role == role))
        };
        let arms = first.plan.arms.iter().filter(|arm| arm.role == role && in_all(&arm.id));
        arms.map(|arm| arm.id.as_str()).collect()
    }

    /// Number of figures that are judged: each of them is one more chance of a wrong verdict.
    pub(super) fn judged(&self) -> usize {
        let judgings = self.first().map_or(0, |((first, _), _)| judgings(first).len());
        (self.common(Role::Case).len() * judgings).max(1)
    }

    /// The joint confidence of all statements.
    pub(super) fn confidence(&self) -> f64 {
        self.first().map_or(0.95, |((first, _), _)| first.plan.judging.confidence)
    }

    /// The confidence of each judged figure, so that all of them together keep the requested
    /// confidence (Dunn 1961, "Multiple comparisons among means", Journal of the American
    /// Statistical Association 56, 52-64).
    pub(super) fn confidence_of_each(&self) -> f64 {
        1.0 - (1.0 - self.confidence()) / (self.judged() * self.among.max(1)) as f64
    }
}

pub(super) fn judgings(record: &Judged) -> Vec<&Judging> {
    std::iter::once(&record.plan.judging).chain(&record.plan.also).collect()
}

/// The control with which an arm is compared: its own, or the first one of the plan.
pub(super) fn control_of<'a>(record: &'a Judged, arm: &str) -> Option<&'a str> {
    let arm = record.plan.arms.iter().find(|other| other.id == arm)?;
    arm.against.as_deref().or_else(|| record.control().map(|control| control.id.as_str()))
}
