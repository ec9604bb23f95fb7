//! What stays unknown about trials that hung.

use model::{Amount, ArmResult, Caveat, Unit};
use os::time;
use std::time::Duration;

/// The caveat that a trial was cut off after this time. None if no trial of the study hung.
/// `parameter` names the parameter that lets a trial hang longer.
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
