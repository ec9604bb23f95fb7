//! Facts as their scenario writes them, and settings.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::review::apply;
use crate::{Results, Review, ScenarioError};
use analysis::Outcome;
use model::{ArmResult, Fact, Meta, Plan, Problem, Settings, Trial};

/// A fact's sentence; fails where its scenario does not know it.
pub(crate) fn told(meta: &Meta, fact: &Fact) -> String {
    (meta.sentence)(fact).unwrap()
}

/// Why a setting is refused, in the scenario's own sentence; fails where something else is said.
pub(crate) fn refused<T: std::fmt::Debug>(meta: &Meta, result: Result<T, ScenarioError>) -> String {
    match result {
        Err(ScenarioError::Unusable(Problem::Scenario(fact))) => told(meta, &fact),
        other => panic!("{other:?}"),
    }
}

/// The defaults of a scenario with some parameters changed, as on the command line.
pub(crate) fn settings(meta: &Meta, changed: &[(&str, &str)]) -> Settings {
    let mut settings = meta.defaults(false);
    for (name, text) in changed {
        settings.set(name, meta.read(name, text).unwrap());
    }
    settings
}

/// The value of a parameter, as text.
pub(crate) fn value_of(settings: &Settings, name: &str) -> Option<String> {
    let Settings(values) = settings;
    values.get(name).map(ToString::to_string)
}

/// Has a review speak of an outcome, and applies what it says.
pub(crate) fn reviewed_by(
    review: fn(&Results) -> Review,
    plan: &Plan,
    trials: &[Trial],
    arms: &mut [ArmResult],
    outcome: &mut Outcome,
) {
    let said = review(&Results { plan, trials, arms, outcome });
    apply(said, arms, outcome);
}
