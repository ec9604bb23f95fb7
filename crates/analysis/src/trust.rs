//! Whether the machine was quiet enough to judge on.

use crate::reading::{ascending, middle};
use crate::words::{figure, judged_unit, percent};
use model::record::Plan;
use model::{ArmResult, Role, Trial, Unit};

/// The largest share of the machine's CPU time that a hypervisor may take during the trials.
///
/// At 5% a trial of 300 ms loses 15 ms on average, the size of a scheduling slice: more could
/// pass for a stall.
pub const MOST_STEAL: f64 = 0.05;

/// The most that a timer on the measured CPU may lose in the median trial of an arm, in
/// milliseconds a second.
///
/// The timer waits for no lock. If it loses 2% of the time, the CPU itself was busy elsewhere, and
/// work delayed there says nothing about the stall under study.
pub const MOST_TIMER_LOSS_MS_PER_S: f64 = 20.0;

/// What part of an effect the timer's loss may be where it is over
/// [`MOST_TIMER_LOSS_MS_PER_S`].
///
/// An absent CPU delays timer and work alike. Where the work lost ten times what the timer lost,
/// the CPU is not what it waited for.
pub const MOST_TIMER_SHARE: f64 = 0.1;

/// Why the figures prove nothing, a sentence each with what to do; none on a quiet machine.
///
/// `cpus` is the number of CPUs that are online; steal time is not judged where it is 0.
pub fn doubts(plan: &Plan, trials: &[Trial], arms: &[ArmResult], cpus: u32) -> Vec<String> {
    let timers = arms.iter().filter_map(|arm| timer_doubt(plan, trials, arm));
    control_doubt(plan, arms).into_iter().chain(steal_doubt(trials, cpus)).chain(timers).collect()
}

fn control_doubt(plan: &Plan, arms: &[ArmResult]) -> Option<String> {
    let judging = &plan.judging;
    let control = arms.iter().find(|arm| arm.role == Role::Control)?;
    let estimate = control.measures.get(judging.measure.as_ref())?;
    let unit = judged_unit(judging, arms);
    (estimate.median > judging.control_limit).then(|| {
        format!(
            "the control has no cause to stall, yet its median {} is {} and the most that can be \
             judged on is {}; stop what else runs on this machine and run again",
            judging.measure,
            figure(estimate.median, unit),
            figure(judging.control_limit, unit)
        )
    })
}

fn steal_doubt(trials: &[Trial], cpus: u32) -> Option<String> {
    let known = || trials.iter().filter_map(|t| Some((t.surroundings.steal_ms?, t.took_ms)));
    let stolen: f64 = known().map(|(stolen, _)| stolen).sum();
    let time: f64 = known().map(|(_, took)| took * f64::from(cpus)).sum();
    (time > 0.0 && stolen / time > MOST_STEAL).then(|| {
        format!(
            "the hypervisor took {} of the CPU time during the trials and the most that can be \
             judged on is {}; run on a machine with CPUs of its own, or at a quieter time",
            percent(stolen / time),
            percent(MOST_STEAL)
        )
    })
}

/// How much more time than the control an arm lost, where that is what is judged.
fn effect(plan: &Plan, arm: &ArmResult) -> Option<f64> {
    let comparison = arm.against_control.get(plan.judging.measure.as_ref())?;
    (comparison.unit == Unit::MillisecondsPerSecond).then_some(comparison.shift)
}

fn timer_doubt(plan: &Plan, trials: &[Trial], arm: &ArmResult) -> Option<String> {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    let lost = ascending(
        of_arm.filter_map(|trial| Some(trial.surroundings.timer.as_ref()?.lost_ms_per_s)),
    );
    let lost = middle(&lost).filter(|lost| *lost > MOST_TIMER_LOSS_MS_PER_S)?;
    if effect(plan, arm).is_some_and(|effect| lost <= effect * MOST_TIMER_SHARE) {
        return None;
    }
    let unit = Unit::MillisecondsPerSecond;
    Some(format!(
        "a timer that waits for no lock lost {} on the measured CPU in the median trial of \
         {}, and the most that can be judged on is {}; what delayed the work was the CPU \
         itself: keep other programs off it, and the load on another CPU than the work measured",
        figure(lost, unit),
        arm.id,
        figure(MOST_TIMER_LOSS_MS_PER_S, unit)
    ))
}
