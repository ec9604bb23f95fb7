//! What a study shows apart from latency: how much the VM's defaults spin, how much background work
//! they cost, and the quota that the VM detected.

use super::meta::measure;
use super::params::BusyWaitParams;
use super::quota_use::cpus;
use super::sentences::BusyWaitFact;
use super::summary::quota_of;
use crate::Results;
use crate::params::Params;
use model::{ArmResult, Plan, Role, Trial};

/// Less spinning than this is not mentioned, in milliseconds per second.
const LEAST_SPUN: f64 = 20.0;

/// What was seen, as facts.
pub(super) fn also(results: &Results) -> Vec<BusyWaitFact> {
    let Results { plan, trials, arms, .. } = *results;
    // If every arm has flags of its own, the case does not have the VM's defaults.
    let of_control = plan.arms.iter().find(|arm| arm.role == Role::Control);
    let params = of_control.and_then(|arm| BusyWaitParams::of(&arm.settings));
    let mut facts = Vec::new();
    if params.is_none_or(|params| params.flags.is_empty()) {
        facts.extend(spun(arms));
        facts.extend(throughput(arms));
    }
    facts.extend(detected(plan, trials));
    facts
}

/// How much the VM's defaults spin, whether or not this slows anything down.
fn spun(arms: &[ArmResult]) -> Vec<BusyWaitFact> {
    let fact = |(id, quota): (&str, bool)| {
        let arm = arms.iter().find(|arm| arm.id == id)?;
        let spun = arm.measures.get(measure::SPUN).filter(|spun| spun.median >= LEAST_SPUN)?;
        let active = arm.measures.get(measure::ACTIVE).cloned();
        Some(BusyWaitFact::Spun { quota, spun: spun.clone(), active })
    };
    [("defaults", false), ("defaults-quota", true)].into_iter().filter_map(fact).collect()
}

/// The loss of background work to busy waiting, if the intervals of the two arms do not overlap.
fn throughput(arms: &[ArmResult]) -> Option<BusyWaitFact> {
    let done = |id: &str| arms.iter().find(|arm| arm.id == id)?.measures.get(measure::BACKGROUND);
    let (defaults, flags) = (done("defaults-quota")?, done("flags-quota")?);
    let apart = defaults.high? < flags.low?;
    let (defaults, flags) = (defaults.clone(), flags.clone());
    apart.then_some(BusyWaitFact::Background { defaults, flags })
}

/// The quota that the VM detected by itself, next to the real one. The VM sets its number of
/// schedulers by the detected quota.
fn detected(plan: &Plan, trials: &[Trial]) -> Option<BusyWaitFact> {
    let (arm, real) = plan.arms.iter().find_map(|arm| Some((arm, quota_of(arm)?)))?;
    let mut of_arm = trials.iter().filter(|trial| trial.arm == arm.id);
    let vm = of_arm.find_map(|trial| trial.observation.vm.as_ref())?;
    Some(BusyWaitFact::Detected {
        quota: cpus(real),
        found: vm.cpu_quota.map(|found| cpus(found.into())),
        schedulers: vm.schedulers_online,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::literal;
    use model::testing::{self, estimate};
    use model::{Arm, Sentence, Unit, Vm};

    /// A control under this quota.
    fn plan(quota: &'static str) -> Plan {
        let params = BusyWaitParams { quota: literal(quota), ..BusyWaitParams::default() };
        let settings = params.settings();
        let control = Arm { settings, ..testing::arm("flags-quota", Role::Control) };
        Plan { arms: vec![control], ..testing::plan(&[]) }
    }

    /// A trial of the control, whose VM has 8 schedulers.
    fn trial() -> Trial {
        let mut trial = testing::trial(0, "flags-quota", 0.0);
        trial.observation.vm = Some(Vm { schedulers_online: 8, ..Vm::default() });
        trial
    }

    #[test]
    fn what_else_was_seen_is_told() {
        let mut arm = testing::result("defaults-quota", Role::Case, None);
        for (name, median) in [(measure::SPUN, 300.0), (measure::ACTIVE, 50.0)] {
            let figure = estimate(median, Unit::MillisecondsPerSecond);
            arm.measures.insert(name.to_owned(), figure);
        }
        arm.measures.insert(measure::BACKGROUND.to_owned(), estimate(1.0, Unit::PerSecond));
        let mut control = testing::result("flags-quota", Role::Control, None);
        control.measures.insert(measure::BACKGROUND.to_owned(), estimate(2.0, Unit::PerSecond));
        let arms = [control, arm];
        let spun = spun(&arms);
        assert_eq!(spun.len(), 1);
        let facts = [throughput(&arms), detected(&plan("0.5"), &[trial()])];
        let sentences: Vec<String> =
            spun.iter().chain(facts.iter().flatten()).map(Sentence::sentence).collect();
        assert_eq!(
            sentences,
            [
                "Under the quota, schedulers with the VM's defaults spun for 300 ms/s [300, 300] \
                 of CPU time, and worked for 50 ms/s.",
                "Under the quota, background work ran at 1/s [1, 1] with the VM's defaults, and at \
                 2/s [2, 2] with the flags.",
                "Under the quota of 0.5 CPUs the VM itself detected no quota. It had 8 schedulers, \
                 as configured."
            ]
        );
    }
}
