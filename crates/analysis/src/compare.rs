//! Compares one arm with the control.

use crate::reading::Reading;
use crate::shift::hodges_lehmann;
use crate::superiority::brunner_munzel;
use model::{Comparison, Unit};

/// Compares readings of an arm with those of the control; above zero the arm is worse.
///
/// The shift is the one of Hodges and Lehmann (1963) with Moses' exact interval. The superiority
/// and its p-value are those of Brunner and Munzel (2000). Cut-off readings are scored as by
/// Gehan (1965), and they open the end of the interval that they reach. The stated confidence
/// belongs to the shift's interval; the superiority's interval has the requested confidence.
/// `None` if either side is empty.
pub fn compare(
    control: &[Reading],
    arm: &[Reading],
    unit: Unit,
    confidence: f64,
) -> Option<Comparison> {
    let shift = hodges_lehmann(control, arm, confidence)?;
    let superiority = brunner_munzel(control, arm, confidence)?;
    Some(Comparison {
        unit,
        shift: shift.shift,
        shift_at_least: shift.at_least,
        low: shift.low,
        high: shift.high,
        confidence: shift.confidence,
        superiority: superiority.chance,
        superiority_low: superiority.interval.map(|(low, _)| low),
        superiority_high: superiority.interval.map(|(_, high)| high),
        p_value: superiority.p_value,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_arm_that_hangs_is_surely_worse() {
        let control: Vec<Reading> = [0.0, 0.1, 0.0, 0.4, 0.0, 0.2].map(Reading::exact).into();
        let mut arm: Vec<Reading> = [950.0, 960.0, 970.0, 980.0].map(Reading::exact).into();
        arm.extend([Reading::at_least(900.0); 2]);
        let found = compare(&control, &arm, Unit::MillisecondsPerSecond, 0.95).unwrap();
        assert_eq!((found.superiority, found.high), (1.0, None));
        assert!(found.low.is_some_and(|low| low > 890.0));
        assert!(found.shift > 900.0 && found.shift_at_least);
        assert!((found.p_value.unwrap() - 2.0 / 924.0).abs() < 1e-12);
        assert_eq!(compare(&control, &[], Unit::Ratio, 0.95), None);
    }
}
