//! What is not known of trials that hung.

use model::{Amount, ArmResult, Caveat, Unit};
use os::time;
use std::time::Duration;

/// That a trial was cut off after so long, where one of a study hung; `parameter` lets one hang
/// longer.
pub(crate) fn cut_off(
    arms: &[ArmResult],
    after: Duration,
    parameter: Option<&str>,
) -> Option<Caveat> {
    arms.iter().any(|arm| arm.hangs.count > 0).then(|| Caveat::HangCutOff {
        after: Amount::exact(time::ms(after), Unit::Milliseconds),
        parameter: parameter.map(str::to_owned),
    })
}
