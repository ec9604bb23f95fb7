//! A study of several factors: what its levels did, and its verdict in words that no scenario
//! has, since the combinations are the study's own.

use crate::{Words, find};
use analysis::Outcome;
use model::estimate::number;
use model::{ArmResult, Factorial, Meta, Record, Role, State};

/// Works out anew what the factors of a study did; from the record alone.
///
/// Figures are those that its scenario shows in tables, and those that it judges by. Does nothing
/// where the record is of no such study, or of a scenario that this version does not know.
pub fn weigh_factors(record: &mut Record) {
    let Some(scenario) = find(&record.scenario) else { return };
    let Some(factorial) = &mut record.factorial else { return };
    let plan = &record.plan;
    let judged: Vec<&str> =
        [&plan.judging].into_iter().chain(&plan.also).map(|j| j.measure.as_ref()).collect();
    let measures: Vec<&str> = scenario
        .meta()
        .measures
        .iter()
        .filter(|measure| measure.column || judged.contains(&measure.name))
        .map(|measure| measure.name)
        .collect();
    let confidence = plan.judging.confidence;
    let (effects, beyond) = analysis::effects(factorial, &record.trials, &measures, confidence);
    factorial.effects = effects;
    factorial.effects_left_out = beyond;
}

/// The verdict of such a study in words.
pub(crate) fn words(
    factorial: &Factorial,
    meta: &Meta,
    outcome: &Outcome,
    arms: &[ArmResult],
) -> Words {
    let (name, title) = (&factorial.name, meta.title);
    let headline = match outcome.state {
        State::Affected => affected(name, meta, outcome, arms),
        State::NotAffected => format!("Study {name}: no combination stalls ({title})."),
        State::Untrustworthy => crate::UNTRUSTWORTHY.to_owned(),
        State::Inconclusive | State::Skipped => {
            format!("Study {name}: too few blocks to say whether a combination stalls ({title}).")
        }
    };
    Words { headline, next: Vec::new(), kind: None }
}

fn affected(name: &str, meta: &Meta, outcome: &Outcome, arms: &[ArmResult]) -> String {
    let measure = outcome.measure.as_str();
    let cases = arms.iter().filter(|arm| arm.role == Role::Case);
    let named: Vec<&ArmResult> =
        cases.clone().filter(|arm| arm.state == Some(State::Affected)).collect();
    let worst = model::worst_case(named.iter().copied(), measure);
    let heading = meta.measure(measure).map_or(measure, |measure| measure.heading);
    let figure = |arm: &ArmResult| {
        arm.measures.get(measure).map_or_else(|| "-".to_owned(), ToString::to_string)
    };
    let stall = format!("Study {name}: {} of {} combinations stall", named.len(), cases.count());
    let mut controls = arms.iter().filter(|arm| arm.role == Role::Control);
    match (worst, controls.next(), controls.next()) {
        (Some(worst), Some(control), None) => format!(
            "{stall} beyond {}; {heading} is {} with {}, and {} there.",
            control.id,
            figure(worst),
            worst.id,
            figure(control)
        ),
        (Some(worst), _, _) => {
            let over = worst.against_control.get(measure);
            let over = over.map(|over| {
                format!(", {} {} over its own control", number(over.shift), over.unit.symbol())
            });
            let over = over.unwrap_or_default();
            format!("{stall}; {heading} is {} with {}{over}.", figure(worst), worst.id)
        }
        _ => format!("Study {name}: some combination stalls, and it is not settled which."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmap_lock::META;
    use model::{Comparison, Estimate, Proportion, Test, Unit};
    use std::collections::BTreeMap;

    fn arm(id: &str, role: Role, state: Option<State>, median: f64) -> ArmResult {
        let estimate = Estimate {
            unit: Unit::MillisecondsPerSecond,
            trials: 6,
            median,
            median_at_least: false,
            low: Some(median),
            high: Some(median),
            high_unbounded: false,
            confidence: 0.97,
            min: median,
            max: median,
            max_at_least: false,
        };
        ArmResult {
            id: id.to_owned(),
            role,
            state,
            trials: 6,
            hangs: Proportion { count: 0, of: 6, low: 0.0, high: 0.4, confidence: 0.95 },
            worse: None,
            measures: BTreeMap::from([("stall".to_owned(), estimate)]),
            against_control: BTreeMap::new(),
            evidence: None,
        }
    }

    #[test]
    fn where_combinations_have_controls_of_their_own_the_worst_is_said_over_its_own() {
        let arms = [
            arm("control of busy=1", Role::Control, None, 0.5),
            arm("busy=1", Role::Case, Some(State::Affected), 100.0),
            arm("control of busy=10", Role::Control, None, 100.0),
            ArmResult {
                against_control: BTreeMap::from([("stall".to_owned(), shift(600.0))]),
                ..arm("busy=10", Role::Case, Some(State::Affected), 700.0)
            },
        ];
        let factorial = Factorial { name: "rows".to_owned(), ..Factorial::default() };
        assert_eq!(
            words(&factorial, &META, &affected_outcome(), &arms).headline,
            "Study rows: 2 of 2 combinations stall; stalled is 700 ms/s [700, 700] with busy=10, \
             600 ms/s over its own control."
        );
    }

    fn shift(shift: f64) -> Comparison {
        Comparison {
            unit: Unit::MillisecondsPerSecond,
            shift,
            shift_at_least: false,
            low: None,
            high: None,
            confidence: 0.95,
            superiority: 1.0,
            superiority_low: None,
            superiority_high: None,
            p_value: None,
        }
    }

    fn affected_outcome() -> Outcome {
        Outcome {
            state: State::Affected,
            measure: "stall".to_owned(),
            also: Vec::new(),
            open: Vec::new(),
            test: Test {
                method: String::new(),
                blocks: 6,
                evidence_affected: 99.0,
                evidence_not_affected: 0.1,
                threshold: 20.0,
                error_rate: 0.05,
                ..Test::default()
            },
            because: Vec::new(),
            limits: Vec::new(),
        }
    }

    #[test]
    fn the_worst_of_the_combinations_that_stall_is_named() {
        let outcome = affected_outcome();
        let arms = [
            arm("busy=0", Role::Control, None, 0.5),
            arm("busy=1", Role::Case, Some(State::Affected), 100.0),
            arm("busy=10", Role::Case, Some(State::Affected), 700.0),
            arm("busy=2", Role::Case, Some(State::Inconclusive), 900.0),
        ];
        let factorial = Factorial { name: "rows".to_owned(), ..Factorial::default() };
        let words = words(&factorial, &META, &outcome, &arms);
        assert_eq!(
            words.headline,
            "Study rows: 2 of 3 combinations stall beyond busy=0; stalled is 700 ms/s [700, 700] \
             with busy=10, and 0.5 ms/s [0.5, 0.5] there."
        );
    }
}
