//! Records that are doubtful because the measured thread had no CPU for some time.

use super::sides::Sides;
use model::{Doubt, Judged, Reason, State, Unit};

/// How much of a record's figures the time without a CPU can explain, in milliseconds a second.
/// `None` for a record that is doubtful for another reason too, or whose judged figure is not
/// lost time.
///
/// The figure is lost time, so this time can have raised or hidden at most its own length.
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
        // These doubts say what the figures show, and they do not count against them.
        Reason::Evidence(_)
        | Reason::OverControl { .. }
        | Reason::Hung { .. }
        | Reason::TooNoisy { .. }
        | Reason::OutOfTime { .. } => None,
        _ => Some(None),
    });
    each.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
}

/// By how much a difference in this unit has to exceed its margin, because either side may be off
/// by what the time without a CPU explains.
pub(super) fn allowance(sides: &Sides, unit: Unit) -> f64 {
    if unit != Unit::MillisecondsPerSecond {
        return 0.0;
    }
    let of_side = |side: &[super::Named]| {
        side.iter().filter_map(|(record, _)| accounts_for(record)).fold(0.0, f64::max)
    };
    of_side(sides.before) + of_side(sides.after)
}
