//! Whether the machine was quiet enough to judge on.

use crate::reading::{ascending, middle};
use crate::words::{figure, judged_unit, percent};
use model::record::Plan;
use model::{ArmResult, Role, State, Trial, Unit};

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

/// The most that a timer may lose in the median trial of the control, in milliseconds a second,
/// where time is emulated.
///
/// The CPUs of an emulated guest are threads of the host, and each arm loses time to that. The
/// control shows how much, and the other arms are held against it: only what they lose beyond it
/// may not be over [`MOST_TIMER_LOSS_MS_PER_S`]. Where even the control loses a quarter of all
/// time the guest hardly ran.
pub const MOST_EMULATED_TIMER_LOSS_MS_PER_S: f64 = 250.0;

/// The machine, as far as judging has to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ground {
    /// CPUs that are online; steal time is not judged where it is 0.
    pub cpus: u32,
    /// Whether it is a guest whose time is emulated.
    pub emulated: bool,
}

impl From<u32> for Ground {
    fn from(cpus: u32) -> Self {
        Ground { cpus, emulated: false }
    }
}

/// What part of an effect the timer's loss may be where it is over
/// [`MOST_TIMER_LOSS_MS_PER_S`].
///
/// An absent CPU delays timer and work alike. Where the work lost four times what the timer lost,
/// the CPU is not what it waited for.
pub const MOST_TIMER_SHARE: f64 = 0.25;

/// Why figures prove nothing, a sentence each with what to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doubts {
    /// About the machine, and so about every arm.
    pub machine: Vec<String>,
    /// About single arms: which, and why.
    pub arms: Vec<(String, String)>,
}

impl Doubts {
    /// All sentences.
    pub fn sentences(&self) -> Vec<String> {
        self.machine.iter().chain(self.arms.iter().map(|(_, why)| why)).cloned().collect()
    }

    /// Whether this state cannot be said: the machine was disturbed, or no arm that bears the
    /// state out is free of doubt. An arm that tries a fix bears none out: a doubt about it is a doubt
    /// about that fix.
    pub fn forbid(&self, state: State, arms: &[ArmResult]) -> bool {
        let doubted = |arm: &ArmResult| self.arms.iter().any(|(id, _)| *id == arm.id);
        let mut cases = arms.iter().filter(|arm| arm.role == Role::Case);
        let borne_out = state == State::Affected
            && cases.any(|arm| arm.state == Some(State::Affected) && !doubted(arm));
        let quiet = !arms.iter().any(|arm| arm.role != Role::Fix && doubted(arm)) || borne_out;
        !self.machine.is_empty() || !quiet
    }
}

/// What is doubtful of a study; nothing on a quiet machine.
pub fn doubts(plan: &Plan, trials: &[Trial], arms: &[ArmResult], ground: Ground) -> Doubts {
    let control = arms.iter().find(|arm| arm.role == Role::Control);
    let floor = control.filter(|_| ground.emulated).and_then(|arm| timer_loss(trials, arm));
    let timer = |arm: &ArmResult| {
        let most = match (floor, arm.role) {
            (None, _) => MOST_TIMER_LOSS_MS_PER_S,
            (Some(_), Role::Control) => MOST_EMULATED_TIMER_LOSS_MS_PER_S,
            (Some(floor), _) => floor + MOST_TIMER_LOSS_MS_PER_S,
        };
        Some((arm.id.clone(), timer_doubt(plan, trials, arm, most)?))
    };
    let steal = steal_doubt(trials, ground.cpus);
    Doubts {
        machine: control_doubt(plan, arms, ground).into_iter().chain(steal).collect(),
        arms: arms.iter().filter_map(timer).collect(),
    }
}

/// What a timer lost in the median trial of an arm, in milliseconds a second.
fn timer_loss(trials: &[Trial], arm: &ArmResult) -> Option<f64> {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    let lost = ascending(
        of_arm.filter_map(|trial| Some(trial.surroundings.timer.as_ref()?.lost_ms_per_s)),
    );
    middle(&lost)
}

/// A control that stalls; where time is emulated every arm stalls somewhat, and one that is excused
/// by an effect of four times as much is no reason to doubt that effect.
fn control_doubt(plan: &Plan, arms: &[ArmResult], ground: Ground) -> Option<String> {
    let judging = &plan.judging;
    let control = arms.iter().find(|arm| arm.role == Role::Control)?;
    let estimate = control.measures.get(judging.measure.as_ref())?;
    let unit = judged_unit(judging, arms);
    let shift = |arm: &ArmResult| Some(arm.against_control.get(judging.measure.as_ref())?.shift);
    let affected = arms.iter().filter(|arm| arm.state == Some(State::Affected));
    let most = affected.filter_map(shift).fold(0.0, f64::max);
    if ground.emulated && estimate.median <= most * MOST_TIMER_SHARE {
        return None;
    }
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
    // Steal is read over the window alone.
    let window = |trial: &Trial| trial.observation.window_ms;
    let known = || trials.iter().filter_map(|t| Some((t.surroundings.steal_ms?, window(t))));
    let stolen: f64 = known().map(|(stolen, _)| stolen).sum();
    let time: f64 = known().map(|(_, window)| window * f64::from(cpus)).sum();
    (time > 0.0 && stolen / time > MOST_STEAL).then(|| {
        format!(
            "the hypervisor took {} of the CPU time during the trials and the most that can be \
             judged on is {}; run on a machine with CPUs of its own, or at a quieter time",
            // No more than all of it can be gone, whatever a record says.
            percent((stolen / time).min(1.0)),
            percent(MOST_STEAL)
        )
    })
}

/// How much more time than the control an arm lost, where that is what is judged.
fn effect(plan: &Plan, arm: &ArmResult) -> Option<f64> {
    let comparison = arm.against_control.get(plan.judging.measure.as_ref())?;
    (comparison.unit == Unit::MillisecondsPerSecond).then_some(comparison.shift)
}

fn timer_doubt(plan: &Plan, trials: &[Trial], arm: &ArmResult, most: f64) -> Option<String> {
    if !plan.judging.wants_cpu {
        return None;
    }
    let lost = timer_loss(trials, arm).filter(|lost| *lost > most)?;
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
        figure(most, unit)
    ))
}
