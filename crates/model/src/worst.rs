//! The arm that represents a study in summaries.

use crate::estimate::ArmResult;
use crate::role::Role;
use crate::state::State;

/// The arm with the cause whose effect on a figure is the worst.
///
/// An affected arm goes before all other arms. Then the shift over its own control decides,
/// because arms may have different controls. If there is no shift, as with a baseline as the only
/// other arm, the figure decides.
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
    use crate::measure::Unit;
    use crate::testing::{self, estimate, result};

    fn arm(id: &str, role: Role, affected: bool, median: f64, shift: Option<f64>) -> ArmResult {
        let mut arm = result(id, role, affected.then_some(State::Affected));
        arm.measures.insert("stall".to_owned(), estimate(median, Unit::Milliseconds));
        let shift = shift.map(|shift| ("stall".to_owned(), testing::shift(shift)));
        arm.against_control = shift.into_iter().collect();
        arm
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
