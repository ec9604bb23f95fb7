//! What disturbed a study, and whether it can explain what the study saw.
//!
//! Arms run in random order, so a disturbance that comes as it likes strikes case and control alike:
//! it costs blocks, not truth. Doubt is due where the case in particular was disturbed, and by enough
//! to explain what is judged.

use crate::absence::{cpu_absent_ms_per_s, worst_steal};
use crate::blocks::{Figure, Study, thresholds};
use crate::reading::{ascending, middle};
use crate::words::{figure, percent};
use model::record::Plan;
use model::{ArmResult, Role, State, Trial};

/// By how much more of a CPU's time the hypervisor may take in the median block from a case than from
/// its control.
///
/// At 5% a trial of 300 ms loses 15 ms, the size of a scheduling slice: more could pass for a stall.
pub const MOST_STEAL: f64 = 0.05;

/// The machine, as far as judging has to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ground {
    /// Flags by which the kernel said that it was tainted before the study; absent where not known.
    pub tainted: Option<u64>,
    /// Whether it is a guest whose time is emulated.
    pub emulated: bool,
}

/// Why figures prove nothing, a sentence each with what to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Doubts {
    /// About the machine, and so about every arm.
    pub machine: Vec<String>,
    /// About what single arms with the cause showed: which, and why.
    pub arms: Vec<(String, String)>,
    /// Whether the absence of CPUs explains that the study as a whole shows an effect.
    pub explained: Option<String>,
}

impl Doubts {
    /// All sentences.
    pub fn sentences(&self) -> Vec<String> {
        let arms = self.arms.iter().map(|(_, why)| why);
        self.machine.iter().chain(arms).chain(&self.explained).cloned().collect()
    }

    /// Whether this state cannot be said: the kernel changed, or everything that shows an effect
    /// was disturbed more than its control. What shows no effect needs no excuse.
    pub fn forbid(&self, state: State, arms: &[ArmResult]) -> bool {
        let doubted = |arm: &ArmResult| self.arms.iter().any(|(id, _)| *id == arm.id);
        let named = || {
            let cases = arms.iter().filter(|arm| arm.role == Role::Case);
            cases.filter(|arm| arm.state == Some(State::Affected))
        };
        // Where it is not settled yet which arm stalls, any of them may be the one.
        let cases = arms.iter().filter(|arm| arm.role == Role::Case);
        let supporting: Vec<&ArmResult> = match named().next() {
            Some(_) => named().collect(),
            None => cases.collect(),
        };
        let all_are_doubted = !supporting.is_empty() && supporting.into_iter().all(doubted);
        let excused = self.explained.is_some() || all_are_doubted;
        !self.machine.is_empty() || state == State::Affected && excused
    }
}

/// What is doubtful of a study; nothing on a quiet machine, and nothing where the disturbance struck
/// case and control alike.
pub fn doubts(plan: &Plan, trials: &[Trial], study: &Study, ground: Ground) -> Doubts {
    let steal = study.cases.iter().filter_map(|case| {
        let control = &study.control_of(case).id;
        Some((case.id.clone(), steal_doubt(trials, &case.id, control)?))
    });
    Doubts {
        machine: taint_doubt(trials, ground).into_iter().collect(),
        arms: steal.collect(),
        explained: explained(plan, trials, study),
    }
}

fn taint_doubt(trials: &[Trial], ground: Ground) -> Option<String> {
    let mut known = trials.iter().filter_map(|trial| trial.surroundings.tainted);
    let before = match ground.tainted {
        Some(before) => before,
        None => known.next()?,
    };
    let new = known.fold(0, |new, flags| new | (flags & !before));
    (new != 0).then(|| {
        format!(
            "the kernel became tainted during the study (flags {new:#x} of \
             /proc/sys/kernel/tainted): it warned, oopsed or was given a module; look into dmesg \
             and run again after a reboot"
        )
    })
}

/// Steal that strikes case and control alike is no doubt.
fn steal_doubt(trials: &[Trial], case: &str, control: &str) -> Option<String> {
    let of_arm = |arm: &str| -> Vec<(u32, f64)> {
        let of_arm = trials.iter().filter(|trial| trial.arm == arm);
        of_arm.filter_map(|trial| Some((trial.block, worst_steal(trial)?))).collect()
    };
    let controls = of_arm(control);
    let differences = of_arm(case).into_iter().filter_map(|(block, stolen)| {
        let of_control = controls.iter().find(|(other, _)| *other == block)?;
        Some(stolen - of_control.1)
    });
    let more = middle(&ascending(differences)).filter(|more| *more > MOST_STEAL)?;
    Some(format!(
        "the hypervisor took {} more of a CPU's time from {case} than from {control} in the \
         median block, and the most that can be judged on is {}; run on a machine with CPUs of \
         its own, or at a quieter time",
        percent(more),
        percent(MOST_STEAL)
    ))
}

/// Whether no effect is left once the time without a CPU is taken off every trial.
fn explained(plan: &Plan, trials: &[Trial], study: &Study) -> Option<String> {
    if !plan.judging.wants_cpu {
        return None;
    }
    let needed = thresholds(plan).affected;
    let (plain, net) = (study.evidence(Figure::Plain), study.evidence(Figure::Net));
    if plain.effect() < needed || net.effect() >= needed {
        return None;
    }
    let absent = |case: &str| {
        let of_arm = trials.iter().filter(|trial| trial.arm == case);
        middle(&ascending(of_arm.map(|trial| cpu_absent_ms_per_s(plan, trial)))).unwrap_or(0.0)
    };
    let most = study.cases.iter().map(|case| absent(&case.id)).fold(0.0, f64::max);
    Some(format!(
        "the measured thread itself had no CPU for {} in the median trial of an arm with \
         the cause, and without that time no effect is left; keep other programs off its CPU, lift \
         the quota around it, and run again",
        figure(most, Unit::MillisecondsPerSecond)
    ))
}
