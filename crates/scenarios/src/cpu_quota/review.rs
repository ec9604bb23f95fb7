//! What only this scenario knows of an outcome: whether a kernel with the bug would have shown it.

use super::meta::{MARGIN, measure};
use analysis::Outcome;
use model::{ArmResult, Role, State};

/// What a group has to be able to lose, as a multiple of the margin: then it would have shown.
const CLEAR: f64 = 2.0;

pub(super) fn review(arms: &mut [ArmResult], outcome: &mut Outcome) {
    let Some(case) = arms.iter_mut().find(|arm| arm.role == Role::Case) else { return };
    let Some(could_lose) = case.measures.get(measure::COULD_LOSE) else { return };
    if outcome.state != State::NotAffected {
        return;
    }
    if could_lose.median >= CLEAR * MARGIN {
        outcome.because.push(format!(
            "if slices expired, {} would have lost up to {}% of its quota",
            case.id,
            could_lose.figure()
        ));
        return;
    }
    outcome.state = State::Inconclusive;
    case.state = Some(State::Inconclusive);
    let why = format!(
        "if slices expired, {} would lose {}% of its quota at most with these settings, too little \
         to be told from none",
        case.id,
        could_lose.figure()
    );
    outcome.because.insert(0, why);
    outcome.limits = vec![
        "take more CPUs (--on-cpus), a smaller --quota, or a longer --wake below the period"
            .to_owned(),
    ];
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Estimate, Proportion, Test, Unit};
    use std::collections::BTreeMap;

    fn estimate(median: f64) -> Estimate {
        Estimate {
            unit: Unit::Percent,
            trials: 9,
            median,
            median_at_least: false,
            low: None,
            high: None,
            high_unbounded: false,
            confidence: 0.95,
            min: median,
            max: median,
            max_at_least: false,
        }
    }

    fn reviewed(could_lose: f64, state: State) -> Outcome {
        let case = ArmResult {
            id: "spread".to_owned(),
            role: Role::Case,
            state: Some(state),
            trials: 9,
            hangs: Proportion { count: 0, of: 9, low: 0.0, high: 1.0, confidence: 0.95 },
            worse: None,
            measures: BTreeMap::from([(measure::COULD_LOSE.to_owned(), estimate(could_lose))]),
            against_control: BTreeMap::new(),
            evidence: None,
        };
        let test = Test {
            method: String::new(),
            blocks: 9,
            evidence_affected: 1.0,
            evidence_not_affected: 1.0,
            threshold: 20.0,
            error_rate: 0.05,
            ..Test::default()
        };
        let mut outcome = Outcome {
            state,
            measure: measure::LOST.to_owned(),
            also: Vec::new(),
            open: Vec::new(),
            test,
            because: Vec::new(),
            limits: Vec::new(),
        };
        let mut arms = [case];
        review(&mut arms, &mut outcome);
        assert_eq!(arms[0].state, Some(outcome.state));
        outcome
    }

    #[test]
    fn a_study_that_could_not_have_shown_the_bug_does_not_say_not_affected() {
        let weak = reviewed(4.0, State::NotAffected);
        assert_eq!(weak.state, State::Inconclusive);
        assert!(weak.because[0].contains("4") && weak.limits[0].contains("--on-cpus"));
        let strong = reviewed(12.0, State::NotAffected);
        assert_eq!(strong.state, State::NotAffected);
        assert!(strong.because[0].contains("up to 12"), "{strong:?}");
        assert_eq!(reviewed(4.0, State::Affected).state, State::Affected);
    }
}
