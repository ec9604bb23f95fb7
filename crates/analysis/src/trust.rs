//! What disturbed a study, and whether it can explain what the study saw.
//!
//! Arms run in random order, so a disturbance that comes as it likes hits case and control alike:
//! it costs blocks, not truth. Doubt is due where the case in particular was disturbed, and by
//! enough to explain what is judged.

use crate::absence::{cpu_absent_ms_per_s, worst_steal};
use crate::blocks::{Figure, Study, thresholds};
use crate::reading::{ascending, middle};
use model::record::Plan;
use model::{Arm, ArmResult, Doubt, State, Trial};

/// By how much more of a CPU's time the hypervisor may take in the median block from a case than
/// from its control.
///
/// At 5% a trial of 300 ms loses 15 ms, the size of a scheduling slice: more could pass for a
/// stall.
pub const MOST_STEAL: f64 = 0.05;

/// The machine, as far as judging has to know it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Ground {
    /// Flags by which the kernel said that it was tainted before the study; absent where not known.
    pub tainted: Option<u64>,
    /// Whether it is a guest whose time is emulated.
    pub emulated: bool,
    /// Whether other runs were let load it at the same time.
    pub shared: bool,
}

/// Why figures prove nothing.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Doubts {
    /// About the machine, and so about every arm.
    pub machine: Vec<Doubt>,
    /// About what single arms with the cause showed: which, and why.
    pub arms: Vec<(String, Doubt)>,
    /// Where the absence of CPUs explains what no single arm is named for.
    pub together: Option<Doubt>,
}

impl Doubts {
    /// All of them.
    pub fn all(&self) -> impl Iterator<Item = &Doubt> {
        let arms = self.arms.iter().map(|(_, why)| why);
        self.machine.iter().chain(arms).chain(&self.together)
    }
}

/// What is doubtful of a study; nothing on a quiet machine, and nothing where the disturbance hit
/// case and control alike. `arms` are its estimates, and `explained` says that the effect which it
/// shows can be ([`crate::sufficient::is_explained`]).
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
    // What is told of an arm need not be told of all.
    let together = (explained && of_arms.is_empty()).then(|| {
        let most = study.cases.iter().map(|case| absent(plan, trials, case)).fold(0.0, f64::max);
        Doubt::NoCpu { arm: None, ms_per_s: most }
    });
    Doubts { machine: taint_doubt(trials, ground).into_iter().collect(), arms: of_arms, together }
}

/// What is doubtful of one arm with the cause: which, and why.
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

/// Whether the effect of an arm stands, where the test names it: it is left once the time without a
/// CPU is taken off its trials and those of its control, and the hypervisor did not hit it more.
///
/// Its own wealth has to reach the threshold with what is left. That it is named is for the test of
/// the figures as they are; this takes more, and so cannot make the error rate higher.
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

/// Flags by which the kernel said that it became tainted during a study; zero where it did not.
pub fn new_taint(trials: &[Trial], ground: Ground) -> u64 {
    match taint_doubt(trials, ground) {
        Some(Doubt::Tainted { flags }) => flags,
        _ => 0,
    }
}

/// Whether the hypervisor took so much more from a case than from its control that it proves
/// nothing.
pub(crate) fn robbed(trials: &[Trial], case: &Arm, control: &Arm) -> bool {
    steal_doubt(trials, &case.id, &control.id).is_some()
}

/// Steal that hits case and control alike is no doubt.
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

/// Time in each second without a CPU in the median trial of an arm.
fn absent(plan: &Plan, trials: &[Trial], arm: &Arm) -> f64 {
    let of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    middle(&ascending(of_arm.map(|trial| cpu_absent_ms_per_s(plan, trial)))).unwrap_or(0.0)
}
