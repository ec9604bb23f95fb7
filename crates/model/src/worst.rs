//! The arm that a study is told by.

use crate::arm::Role;
use crate::estimate::ArmResult;
use crate::verdict::State;

/// The arm with the cause whose effect on a figure is the worst.
///
/// One that is affected comes before all that are not. Then the shift over its own control decides,
/// since arms may have different controls; where there is none, as with a baseline alone, the figure.
pub fn worst_case<'a>(
    arms: impl IntoIterator<Item = &'a ArmResult>,
    measure: &str,
) -> Option<&'a ArmResult> {
    let affected = |arm: &ArmResult| arm.state == Some(State::Affected);
    let shift =
        |arm: &ArmResult| arm.against_control.get(measure).map_or(f64::NEG_INFINITY, |c| c.shift);
    let figure =
        |arm: &ArmResult| arm.measures.get(measure).map_or(f64::NEG_INFINITY, |e| e.median);
    arms.into_iter().filter(|arm| arm.role == Role::Case).max_by(|a, b| {
        let by_state = affected(a).cmp(&affected(b));
        by_state.then(shift(a).total_cmp(&shift(b))).then(figure(a).total_cmp(&figure(b)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::{Comparison, Estimate, Proportion};
    use crate::measure::Unit;
    use std::collections::BTreeMap;

    fn arm(id: &str, role: Role, affected: bool, median: f64, shift: Option<f64>) -> ArmResult {
        let estimate = Estimate {
            unit: Unit::Milliseconds,
            trials: 6,
            median,
            median_at_least: false,
            low: None,
            high: None,
            high_unbounded: false,
            confidence: 0.95,
            min: median,
            max: median,
            max_at_least: false,
        };
        let over_control = |shift| Comparison {
            unit: Unit::Milliseconds,
            shift,
            shift_at_least: false,
            low: None,
            high: None,
            confidence: 0.95,
            superiority: 1.0,
            superiority_low: None,
            superiority_high: None,
            p_value: None,
        };
        ArmResult {
            id: id.to_owned(),
            role,
            state: affected.then_some(State::Affected),
            trials: 6,
            hangs: Proportion { count: 0, of: 6, low: 0.0, high: 0.4, confidence: 0.95 },
            worse: None,
            measures: BTreeMap::from([("stall".to_owned(), estimate)]),
            against_control: shift
                .map(|shift| ("stall".to_owned(), over_control(shift)))
                .into_iter()
                .collect(),
            evidence: None,
        }
    }

    fn of(arms: &[ArmResult]) -> Option<&str> {
        worst_case(arms, "stall").map(|arm| arm.id.as_str())
    }

    #[test]
    fn affected_comes_first_then_the_shift_then_the_figure() {
        use Role::{Case, Control};
        let control = arm("control", Control, false, 99.0, None);
        let [small, large] =
            [("small", 1.0), ("large", 2.0)].map(|(id, median)| arm(id, Case, false, median, None));
        assert_eq!(of(&[control.clone(), large.clone(), small.clone()]), Some("large"));
        let over = arm("over", Case, false, 1.0, Some(0.5));
        assert_eq!(of(&[control.clone(), large.clone(), over.clone()]), Some("over"));
        let affected = arm("affected", Case, true, 1.0, Some(0.1));
        assert_eq!(of(&[affected, control.clone(), over]), Some("affected"));
        assert_eq!(of(&[control]), None);
    }
}
