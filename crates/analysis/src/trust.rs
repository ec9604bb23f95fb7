//! What disturbed a study, and whether it can explain the result.
//!
//! Arms run in random order, so an independent disturbance hits case and control equally: it
//! costs blocks, but not correctness. Doubt is needed if mainly the case was disturbed, and by
//! enough to explain the judged figure.

use crate::absence::{cpu_absent_ms_per_s, worst_steal};
use crate::blocks::{Figure, Study, thresholds};
use crate::reading::{ascending, middle};
use model::record::Plan;
use model::{Arm, ArmResult, Doubt, State, Trial};

/// The largest difference in stolen CPU time between a case and its control in the median block,
/// as a share of one CPU.
///
/// At 5% a trial of 300 ms loses 15 ms, which is the size of a scheduling slice. More than that
/// could look like a stall.
pub const MOST_STEAL: f64 = 0.05;

/// What judging has to know about the machine.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ground {
    /// Taint flags of the kernel before the study; absent if not known.
    pub tainted: Option<u64>,
    /// Whether it is a guest whose time is emulated.
    pub emulated: bool,
    /// Whether other runs were allowed to load it at the same time.
    pub shared: bool,
}

/// Why figures prove nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Doubts {
    /// Doubts about the machine, and so about every arm.
    pub machine: Vec<Doubt>,
    /// Doubts about the effects of single arms with the cause: the arm, and why.
    pub arms: Vec<(String, Doubt)>,
    /// Set if the absence of CPUs explains the effect and no single arm has a doubt of its own.
    pub together: Option<Doubt>,
}

impl Doubts {
    /// All doubts.
    pub fn all(&self) -> impl Iterator<Item = &Doubt> {
        let arms = self.arms.iter().map(|(_, why)| why);
        self.machine.iter().chain(arms).chain(&self.together)
    }
}

/// The doubts about a study. There are none on a quiet machine, and none if the disturbance hit
/// case and control equally. `arms` are the estimates of the arms. `explained` says that a
/// disturbance can explain the effect ([`crate::sufficient::is_explained`]).
pub fn doubts(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    study: &Study,
    ground: Ground,
    explained: bool,
) -> Doubts {
    let of_arms: Vec<(String, Doubt)> =
        study.cases.iter().filter_map(|case| of_arm(plan, trials, arms, study, case)).collect();
    // A doubt about one arm need not be repeated for all arms.
    let together = (explained && of_arms.is_empty()).then(|| {
        let most = study.cases.iter().map(|case| absent(plan, trials, case)).fold(0.0, f64::max);
        Doubt::NoCpu { arm: None, ms_per_s: most }
    });
    Doubts { machine: taint_doubt(trials, ground).into_iter().collect(), arms: of_arms, together }
}

/// The doubt about one arm with the cause: the arm, and why.
fn of_arm(
    plan: &Plan,
    trials: &[Trial],
    arms: &[ArmResult],
    study: &Study,
    case: &Arm,
) -> Option<(String, Doubt)> {
    let robbed = steal_doubt(trials, &case.id, &study.control_of(case).id);
    let says = arms.iter().find(|arm| arm.id == case.id).and_then(|arm| arm.state);
    let why = robbed.or_else(|| {
        let explained = says == Some(State::Untrustworthy);
        explained.then(|| Doubt::NoCpu {
            arm: Some(case.id.clone()),
            ms_per_s: absent(plan, trials, case),
        })
    })?;
    Some((case.id.clone(), why))
}

/// Whether the effect of an arm stands, if the test names the arm. The effect has to be left after
/// the time without a CPU is subtracted from its trials and from those of its control. And the
/// hypervisor must not have taken more than [`MOST_STEAL`] more from the arm than from its control.
///
/// The arm's own wealth has to reach the threshold with the remaining effect. The test of the
/// plain figures decides whether the arm is named. This is an additional condition, so it cannot
/// raise the error rate.
pub fn stands(plan: &Plan, trials: &[Trial], study: &Study, arm: &Arm) -> bool {
    let left = study.evidence_on(&[arm], Figure::Net).effect();
    left >= thresholds(plan).affected && !robbed(trials, arm, study.control_of(arm))
}

fn taint_doubt(trials: &[Trial], ground: Ground) -> Option<Doubt> {
    let mut known = trials.iter().filter_map(|trial| trial.disturbance.tainted);
    let before = match ground.tainted {
        Some(before) => before,
        None => known.next()?,
    };
    let new = known.fold(0, |new, flags| new | (flags & !before));
    (new != 0).then_some(Doubt::Tainted { flags: new })
}

/// Taint flags that the kernel set during a study; zero if there were none.
pub fn new_taint(trials: &[Trial], ground: Ground) -> u64 {
    match taint_doubt(trials, ground) {
        Some(Doubt::Tainted { flags }) => flags,
        _ => 0,
    }
}

/// Whether the hypervisor took so much more time from a case than from its control that the case
/// proves nothing.
pub(crate) fn robbed(trials: &[Trial], case: &Arm, control: &Arm) -> bool {
    steal_doubt(trials, &case.id, &control.id).is_some()
}

/// Steal that hits case and control equally is not a reason for doubt.
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

/// Time without a CPU in the median trial of an arm, in milliseconds a second.
fn absent(plan: &Plan, trials: &[Trial], arm: &Arm) -> f64 {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    middle(&ascending(of_arm.map(|trial| cpu_absent_ms_per_s(plan, trial)))).unwrap_or(0.0)
}
