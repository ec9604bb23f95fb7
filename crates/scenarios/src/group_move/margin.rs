//! The margin: which difference between case and control does not count.

use super::meta::META;
use super::params::GroupMoveParams;
use model::Judging;

/// Moves that take this much longer than the writes of the control count as equal, in
/// milliseconds for each move.
///
/// Half of the moves that waited for a grace period took 11 ms or more, 4 ms on a kernel with 1000
/// ticks a second; half of those with favordynmods took 0.5 ms or less (2026-11-29,
/// docs/scenarios/group-move.md).
const PER_MOVE_MS: f64 = 2.0;

/// The largest margin, in milliseconds per second: a tenth of the mover's time.
const MOST: f64 = 100.0;

/// How trials of these parameters are judged. The more moves there are in a second, the larger is
/// the margin.
pub(super) fn judging(params: &GroupMoveParams) -> Judging {
    let pause = params.gap.get().as_secs_f64();
    // Without a pause, the quotient is infinite.
    Judging { margin: (PER_MOVE_MS / pause).min(MOST), ..META.judging }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Time;

    #[test]
    fn a_wait_of_a_few_milliseconds_counts_as_none_however_rare_the_moves_are() {
        let margin = |gap| judging(&GroupMoveParams { gap, ..GroupMoveParams::default() }).margin;
        let usual = margin(GroupMoveParams::default().gap);
        assert!((usual - META.judging.margin).abs() < 1e-9, "{usual}");
        assert!((margin(Time::s(1)) - 2.0).abs() < 1e-9);
        assert_eq!([margin(Time::ms(1)), margin(Time::ZERO)], [MOST; 2]);
    }
}
