//! What disturbed a study, and whether it can explain what the study saw.
//!
//! Arms run in random order, so a disturbance that comes as it likes strikes case and control alike:
//! it costs blocks, not truth. Doubt is due where the case in particular was disturbed, and by enough
//! to explain what is judged.

use crate::blocks::{Figure, Study, thresholds};
use crate::reading::{ascending, middle};
use model::record::Plan;
use model::{ArmResult, Doubt, Measure, Role, State, Trial, Unit};

/// By how much more of a CPU's time the hypervisor may take in the median block from a case than from
/// its control.
///
/// At 5% a trial of 300 ms loses 15 ms, the size of a scheduling slice: more could pass for a stall.
pub const MOST_STEAL: f64 = 0.05;

/// How long the measured thread of a hung trial may have stood without a CPU, in milliseconds a
/// second, before that explains the hang.
pub const MOST_ABSENT_IN_HANG_MS_PER_S: f64 = 500.0;

/// The machine, as far as judging has to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ground {
    /// Flags by which the kernel said that it was tainted before the study; absent where not known.
    pub tainted: Option<u64>,
    /// Whether it is a guest whose time is emulated.
    pub emulated: bool,
}

/// Why figures prove nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Doubts {
    /// About the machine, and so about every arm.
    pub machine: Vec<Doubt>,
    /// About what single arms with the cause showed: which, and why.
    pub arms: Vec<(String, Doubt)>,
    /// Whether the absence of CPUs explains that the study as a whole shows an effect.
    pub explained: Option<Doubt>,
}

impl Doubts {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Doubt> {
        let arms = self.arms.iter().map(|(_, why)| why);
        self.machine.iter().chain(arms).chain(&self.explained)
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

/// Time in each second in which the measured thread of a trial had no CPU, as far as that can be
/// part of the judged figure; 0 where that figure is not time which that thread lost.
///
/// It adds up its own wait in the run queue, throttling by a quota around tailback, and what the
/// hypervisor took from the CPU from which it took most.
pub fn cpu_absent_ms_per_s(plan: &Plan, trial: &Trial) -> f64 {
    let judged: Option<&Measure> = trial.observation.measures.get(plan.judging.measure.as_ref());
    let is_time_lost = judged.is_none_or(|m| m.unit == Unit::MillisecondsPerSecond);
    if !plan.judging.wants_cpu || !is_time_lost {
        return 0.0;
    }
    let surroundings = &trial.surroundings;
    let window = trial.observation.window_ms;
    let rate = |ms: Option<f64>, over: f64| match ms {
        Some(ms) if over > 0.0 => (ms / over * 1e3).clamp(0.0, 1e3),
        _ => 0.0,
    };
    let own = rate(surroundings.run_delay_ms, window);
    let quota = rate(surroundings.enclosing_throttled_ms, over_ms(trial));
    let steal = (worst_steal(trial).unwrap_or(0.0) * 1e3).clamp(0.0, 1e3);
    (own + quota + steal).min(1e3)
}

/// The time over which the surroundings of a trial were read, in milliseconds.
fn over_ms(trial: &Trial) -> f64 {
    trial.surroundings.over_ms.unwrap_or(trial.observation.window_ms)
}

/// The share of its time that the hypervisor took from the CPU from which it took most.
fn worst_steal(trial: &Trial) -> Option<f64> {
    let over = over_ms(trial);
    let worst = trial.surroundings.steal_by_cpu.iter().map(|cpu| cpu.ms).reduce(f64::max);
    // Older records know the sum alone: at worst it was all of one CPU.
    let worst = worst.or(trial.surroundings.steal_ms).filter(|ms| ms.is_finite())?;
    (over > 0.0).then(|| (worst / over).clamp(0.0, 1.0))
}

fn taint_doubt(trials: &[Trial], ground: Ground) -> Option<Doubt> {
    let mut known = trials.iter().filter_map(|trial| trial.surroundings.tainted);
    let before = match ground.tainted {
        Some(before) => before,
        None => known.next()?,
    };
    let new = known.fold(0, |new, flags| new | (flags & !before));
    (new != 0).then_some(Doubt::Tainted { flags: new })
}

/// Steal that strikes case and control alike is no doubt.
fn steal_doubt(trials: &[Trial], case: &str, control: &str) -> Option<Doubt> {
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
    Some(Doubt::Steal { arm: case.to_owned(), control: control.to_owned(), more, most: MOST_STEAL })
}

/// Whether no effect is left once the time without a CPU is taken off every trial.
fn explained(plan: &Plan, trials: &[Trial], study: &Study) -> Option<Doubt> {
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
    Some(Doubt::NoCpu { arm: None, ms_per_s: most })
}
