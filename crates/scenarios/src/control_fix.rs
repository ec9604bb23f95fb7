//! The control as a fix, where the case is the control without a change.
//!
//! A control that says what it changes (`Arm::change`) is the node with the cure: where the case is
//! affected, the test that found the stall is the test that the change makes it less. That nothing
//! of the stall is left with it is no finding, since the stall is what the case has over that very
//! control; so such a change is said to have helped, and never to have fixed the stall.

use model::record::Record;
use model::{Comparison, Fix, FixOutcome, Role, State};

/// Puts the control's change before the other fixes of an affected record.
pub(crate) fn add(record: &mut Record) {
    if record.verdict.state != State::Affected || record.factorial.is_some() {
        return;
    }
    let Some(fix) = of(record) else { return };
    if record.verdict.fixes.iter().all(|other| other.arm != fix.arm) {
        record.verdict.fixes.insert(0, fix);
    }
}

fn of(record: &Record) -> Option<Fix> {
    let control = record.plan.arms.iter().find(|arm| arm.role == Role::Control)?;
    let change = control.change.clone()?;
    let measure = record.verdict.measure.as_ref()?;
    let of_control = |id: &str| {
        let against = record.plan.arms.iter().find(|arm| arm.id == id).map(|arm| &arm.against);
        against.is_some_and(|against| against.as_ref().is_none_or(|id| *id == control.id))
    };
    let affected = record.arms.iter().filter(|arm| arm.state == Some(State::Affected));
    let case = model::worst_case(affected.filter(|arm| of_control(&arm.id)), measure)?;
    let result = record.arms.iter().find(|arm| arm.id == control.id)?;
    Some(Fix {
        arm: control.id.clone(),
        change,
        outcome: FixOutcome::Helped,
        case: case.id.clone(),
        measure: measure.clone(),
        with: result.measures.clone(),
        without: case.measures.clone(),
        evidence_less: case.evidence,
        evidence_gone: None,
        threshold: record.verdict.test.as_ref().map(|test| test.threshold),
        left: None,
        comparison: case.against_control.get(measure).and_then(reversed),
    })
}

/// The comparison from the other side; none where an end of it is open, which the other side has
/// not.
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
