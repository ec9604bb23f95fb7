//! The CPU time that the control used, set against the quota of a case.
//!
//! The cases of a study may have several quotas, beside one control with one quota and one rate.

use super::meta::measure;
use super::params::BusyWaitParams;
use super::plan::bandwidth;
use crate::params::Params;
use crate::summary::control_of;
use model::{Amount, ArmResult, Estimate, Plan, Unit};

/// The CPU time that a control used, and the quotas beside it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct QuotaUse {
    /// The CPU time that the control used, in percent of the quota of the case.
    pub used: Estimate,
    /// The quota of the case, in CPUs.
    pub quota: f64,
    /// The quota of the control, in CPUs.
    pub of_control: f64,
}

/// The CPU time that the control of a case used, set against the quota of the case. None if the
/// case or its control has no quota.
pub(super) fn quota_use(plan: &Plan, arms: &[ArmResult], case: &ArmResult) -> Option<QuotaUse> {
    let control = control_of(plan, case, arms)?;
    let of_own = control.measures.get(measure::QUOTA_USED)?;
    let quota = kernel_quota(plan, &case.id)?;
    let of_control = kernel_quota(plan, &control.id)?;
    Some(QuotaUse { used: scaled(of_own, of_control / quota), quota, of_control })
}

/// The kernel's quota of an arm, in CPUs. It may be larger than the one in the parameters. None if
/// the arm has no quota.
pub(super) fn kernel_quota(plan: &Plan, arm: &str) -> Option<f64> {
    let planned = plan.arms.iter().find(|planned| planned.id == arm)?;
    Some(bandwidth(&BusyWaitParams::of(&planned.settings)?)?.cpus())
}

/// A number of CPUs, which may be fractional.
pub(super) fn cpus(count: f64) -> Amount {
    Amount::exact(count, Unit::Ratio)
}

/// An estimate with all its figures multiplied by a factor.
fn scaled(estimate: &Estimate, factor: f64) -> Estimate {
    Estimate {
        median: estimate.median * factor,
        low: estimate.low.map(|low| low * factor),
        high: estimate.high.map(|high| high * factor),
        min: estimate.min * factor,
        max: estimate.max * factor,
        ..estimate.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::super::meta::META;
    use super::*;
    use crate::testing::settings;
    use model::testing::{self, estimate};
    use model::{Arm, Role};

    /// The use of this quota by a control that used 60% of its own quota.
    fn use_of(quota: &str, of_control: &str) -> Option<QuotaUse> {
        let planned = |id: &str, role, quota: &str| {
            let settings = settings(&META, &[("quota", quota)]);
            Arm { settings, ..testing::arm(id, role) }
        };
        let control = planned("control", Role::Control, of_control);
        let case = planned("case", Role::Case, quota);
        let plan = Plan { arms: vec![control, case], ..testing::plan(&[]) };
        let mut control = testing::result("control", Role::Control, None);
        let used = estimate(60.0, Unit::Percent);
        control.measures.insert(measure::QUOTA_USED.to_owned(), used);
        let case = testing::result("case", Role::Case, None);
        quota_use(&plan, &[control, case.clone()], &case)
    }

    #[test]
    fn what_the_control_used_is_set_against_the_quota_of_the_case() {
        for (quota, of_control, percent) in
            [("0.25", "0.25", 60.0), ("1", "0.25", 15.0), ("0.25", "1", 240.0)]
        {
            let found = use_of(quota, of_control).unwrap();
            assert_eq!(found.used, estimate(percent, Unit::Percent), "{quota} of {of_control}");
            assert_eq!(found.quota.to_string(), quota);
            assert_eq!(found.of_control.to_string(), of_control);
        }
        assert_eq!(use_of("none", "0.25"), None);
        assert_eq!(use_of("0.25", "none"), None);
    }
}
