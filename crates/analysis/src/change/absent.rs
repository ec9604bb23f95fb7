//! Records that are doubtful since the measured thread had no CPU for a while.

use super::sides::Sides;
use model::{Doubt, Judged, Reason, State, Unit};

/// What the time without a CPU can account for of a record's figures, in milliseconds a second;
/// none of a record that is doubtful for another reason too, or of which something else than lost
/// time is judged.
///
/// The figure is lost time, so that time can have raised or hidden no more of it than it lasted.
pub(super) fn accounts_for(record: &Judged) -> Option<f64> {
    if record.judgement.state != State::Untrustworthy {
        return Some(0.0);
    }
    let measure = record.plan.judging.measure.as_ref();
    let judged = record.judgement.arms.iter().find_map(|arm| arm.measures.get(measure))?;
    if judged.unit != Unit::MillisecondsPerSecond || !record.plan.also.is_empty() {
        return None;
    }
    let each = record.judgement.reasons.iter().filter_map(|reason| match reason {
        Reason::Doubt(Doubt::NoCpu { ms_per_s, .. }) if *ms_per_s >= 0.0 => Some(Some(*ms_per_s)),
        // These say what the figures show, and nothing against them.
        Reason::Evidence(_)
        | Reason::OverControl { .. }
        | Reason::Hung { .. }
        | Reason::TooNoisy { .. }
        | Reason::OutOfTime { .. } => None,
        _ => Some(None),
    });
    each.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// How much more than its margin a difference in this unit has to be, since either side may be off
/// by what the time without a CPU accounts for.
pub(super) fn allowance(sides: &Sides, unit: Unit) -> f64 {
    if unit != Unit::MillisecondsPerSecond {
        return 0.0;
    }
    let of_side = |side: &[super::Named]| {
        side.iter().filter_map(|(record, _)| accounts_for(record)).fold(0.0, f64::max)
    };
    of_side(sides.before) + of_side(sides.after)
}
