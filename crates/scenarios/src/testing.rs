//! Helpers for tests: the sentences of facts, and settings.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use crate::review::apply;
use crate::{Results, Review, ScenarioError};
use analysis::Outcome;
use model::{ArmResult, Fact, Meta, Plan, Problem, Settings, Trial};

/// The sentence of a fact. Fails if its scenario does not know the fact.
pub(crate) fn told(meta: &Meta, fact: &Fact) -> String {
    (meta.sentence)(fact).unwrap()
}

/// The scenario's own sentence for a refused setting. Fails for any other result.
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

/// Reviews an outcome and applies the review.
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
