//! The control as a fix, if the case is the control without a change.
//!
//! A control that states a change (`Arm::change`) is the node with the fix. If the case is
//! affected, the test that found the stall also shows that the change reduces it. That no stall is
//! left with the change is not a result, because the stall is measured against this control. So
//! the change counts as helpful, but never as a complete fix.

use analysis::Outcome;
use model::{ArmResult, Comparison, Facts, Fix, FixOutcome, Role, State};

/// The effect of the control's change on the affected case. None for a study of several factors, if
/// the control has no change, or if no case with this control is affected.
pub(crate) fn control_fix(facts: &Facts, arms: &[ArmResult], outcome: &Outcome) -> Option<Fix> {
    if facts.factorial.is_some() {
        return None;
    }
    let planned = &facts.plan.arms;
    let control = planned.iter().find(|arm| arm.role == Role::Control)?;
    let change = control.change.clone()?;
    let measure = &outcome.measure;
    let of_control = |id: &str| {
        let against = planned.iter().find(|arm| arm.id == id).map(|arm| &arm.against);
        against.is_some_and(|against| against.as_ref().is_none_or(|id| *id == control.id))
    };
    let affected = arms.iter().filter(|arm| arm.state == Some(State::Affected));
    let case = model::worst_case(affected.filter(|arm| of_control(&arm.id)), measure)?;
    let result = arms.iter().find(|arm| arm.id == control.id)?;
    Some(Fix {
        arm: control.id.clone(),
        change,
        outcome: FixOutcome::Helped,
        case: case.id.clone(),
        measure: measure.clone(),
        with: result.measures.clone(),
        without: case.measures.clone(),
        e_value_less: case.e_value,
        e_value_gone: None,
        left_at_most: None,
        threshold: Some(outcome.test.threshold),
        left: None,
        comparison: case.against_control.get(measure).and_then(reversed),
    })
}

/// The comparison in the opposite direction. None if its shift is only a lower bound, which the
/// opposite direction does not have.
fn reversed(c: &Comparison) -> Option<Comparison> {
    let other = |end: Option<f64>| end.map(|end| -end);
    let chance = |end: Option<f64>| end.map(|end| 1.0 - end);
    (!c.shift_at_least).then(|| Comparison {
        shift: -c.shift,
        low: other(c.high),
        high: other(c.low),
        superiority: 1.0 - c.superiority,
        superiority_low: chance(c.superiority_high),
        superiority_high: chance(c.superiority_low),
        ..c.clone()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Unit;

    #[test]
    fn seen_from_the_case_what_the_change_takes_off_is_below_zero() {
        let worse = Comparison {
            unit: Unit::Milliseconds,
            shift: 60.0,
            shift_at_least: false,
            low: Some(50.0),
            high: None,
            confidence: 0.95,
            superiority: 1.0,
            superiority_low: Some(0.7),
            superiority_high: Some(1.0),
            p_value: Some(0.01),
        };
        let better = reversed(&worse).unwrap();
        assert_eq!((better.shift, better.low, better.high), (-60.0, None, Some(-50.0)));
        assert_eq!((better.superiority, better.superiority_low), (0.0, Some(0.0)));
        assert_eq!(reversed(&Comparison { shift_at_least: true, ..worse }), None);
    }
}
