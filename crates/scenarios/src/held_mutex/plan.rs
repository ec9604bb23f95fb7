//! Turns parameters into arms, and into settings for the processes of a trial.

use super::holder::{HolderSpec, RivalSpec};
use super::meta::META;
use super::params::{Cause, HeldMutexParams, MutexFix};
use super::sentences::HeldMutexFact;
use super::waiter::WaiterSpec;
use crate::params::Time;
use crate::{Arms, Host, ScenarioError, cpus, quota};
use model::{Arm, Changed, Need, Problem, Role};
use os::time;
use std::path::PathBuf;
use std::time::Duration;

/// Estimated cost of the set-up of a trial, besides its duration. Used for the progress bar.
pub(super) const SET_UP: Duration = Duration::from_millis(60);

/// A trial must be as long as this many pauses of the waiter. Otherwise it sees the mutex at a few
/// moments only.
const PAUSES: u32 = 10;

/// A trial must be as long as this many sections of the holder with their rests. It begins with a
/// section, which would otherwise count for a larger part of the time than it has.
const SECTIONS: u32 = 3;

/// The shortest trial that these parameters allow.
pub(super) fn shortest_trial(params: &HeldMutexParams) -> Time {
    let pauses = Time::from(params.every.get() * PAUSES);
    pauses.max(time_of_sections(params))
}

/// The least time of the sections that a trial must have.
fn time_of_sections(params: &HeldMutexParams) -> Time {
    Time::from((params.inside.get() + params.rest.get()) * SECTIONS)
}

/// Refuses parameters that leave too few calls or sections in a trial, or a holder that nothing
/// can hold up.
///
/// # Errors
/// If a pause or a rest is too long for the trial, or if the holder has its CPU for itself.
pub(super) fn check(params: &HeldMutexParams) -> Result<(), ScenarioError> {
    let unusable = |fact: HeldMutexFact| Err(ScenarioError::unusable(fact));
    if params.held_up.is_yes() && params.by != Cause::Quota && params.rivals() == 0 {
        return unusable(HeldMutexFact::NoRivals);
    }
    if params.duration >= shortest_trial(params) {
        return Ok(());
    }
    let duration = (&params.duration).into();
    let sections = time_of_sections(params);
    if params.duration < sections {
        let inside = (&params.inside).into();
        let rest = (&params.rest).into();
        let least = (&sections).into();
        return unusable(HeldMutexFact::TooFewSections { inside, rest, duration, least });
    }
    let every = (&params.every).into();
    let most = (&Time::from(params.duration.get() / PAUSES)).into();
    unusable(HeldMutexFact::PauseTooLong { every, duration, most })
}

/// What this machine lacks for the scenario.
pub(super) fn missing(host: &Host) -> Option<Need> {
    cpus::missing(META.needs.cpus, host.machine)
}

/// The arms. The holder of the control has the usual weight and no quota. The holder of the case
/// is held up. The fixes follow.
pub(super) fn arms(
    params: &HeldMutexParams,
    host: &Host,
) -> Result<Arms<HeldMutexParams>, ScenarioError> {
    check(params)?;
    match params.by {
        Cause::Quota => drop(quota::try_out(host, &params.quota.bandwidth(), None)?),
        Cause::Nice | Cause::Idle if has_usual_weight() => {}
        Cause::Nice | Cause::Idle => {
            let (what, grant) =
                (HeldMutexFact::OwnWeight.into(), HeldMutexFact::UsualWeight.into());
            return Err(ScenarioError::Missing(Need::Scenario { what, grant }));
        }
    }
    let control = arm("usual", Role::Control, params.control(), Some(HeldMutexFact::Usual));
    let mut all = Arms::from(vec![control, arm("case", Role::Case, params.clone(), None)]);
    for fix in params.fixes.parts() {
        let change = match fix {
            MutexFix::Short => HeldMutexFact::Short,
            MutexFix::Inherit => HeldMutexFact::Inherit,
        };
        let settings = params.with(*fix);
        // A fix that the case already has is skipped.
        if settings != *params {
            all.arms.push(arm(&fix.to_string(), Role::Fix, settings, Some(change)));
        }
    }
    Ok(all)
}

/// Whether this process, and so its children, have nice value 0 and the usual policy.
fn has_usual_weight() -> bool {
    rustix::process::getpriority_process(None) == Ok(0) && os::policy::is_usual(std::process::id())
}

fn arm(
    id: &str,
    role: Role,
    settings: HeldMutexParams,
    change: Option<HeldMutexFact>,
) -> Arm<HeldMutexParams> {
    let change = change.map(|fact| Changed::Scenario(fact.into()));
    Arm { id: id.to_owned(), role, against: None, settings, change }
}

/// The settings of the processes of a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Specs {
    pub(super) waiter: WaiterSpec,
    pub(super) holder: HolderSpec,
    /// The settings of each rival.
    pub(super) rival: RivalSpec,
    pub(super) rivals: u32,
}

/// The settings of the processes of a trial. `memory` is the shared memory, and the holder joins
/// `groups`.
pub(super) fn specs(
    params: &HeldMutexParams,
    memory: i32,
    groups: Vec<PathBuf>,
    host: &Host,
) -> Result<Specs, ScenarioError> {
    let [of_waiter, cpu, ..] = host.machine.allowed_cpus[..] else {
        return Err(ScenarioError::Broken(Problem::CpusUnread));
    };
    let ns = |time: Time| time::whole_ns(time.get());
    let held_up = |cause| params.held_up.is_yes() && params.by == cause;
    let (inherit, inside_ns) = (params.inherit.is_yes(), ns(params.inside));
    let waiter = WaiterSpec {
        memory,
        cpu: of_waiter,
        inherit,
        inside_ns,
        every_ns: ns(params.every),
        duration_ms: time::whole_ms(params.duration.get()),
    };
    let holder = HolderSpec {
        memory,
        cpu,
        groups,
        nice: held_up(Cause::Nice).then_some(params.nice),
        idle: held_up(Cause::Idle),
        inherit,
        inside_ns,
        rest_ns: ns(params.rest),
    };
    Ok(Specs { waiter, holder, rival: RivalSpec { memory, cpu }, rivals: params.rivals() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::erlang::Otps;
    use crate::params::{Auto, YesNo};
    use crate::testing;
    use host::Roots;
    use model::Machine;

    fn with<T>(cpus: u32, what: impl FnOnce(&Host) -> T) -> T {
        let machine = Machine { allowed_cpus: (0..cpus).collect(), ..Machine::default() };
        let roots = Roots::at("/nowhere");
        what(&Host { roots: &roots, machine: &machine, otps: &Otps::default() })
    }

    fn specs_of(params: &HeldMutexParams) -> Specs {
        with(4, |host| specs(params, 7, vec!["/g".into()], host).unwrap())
    }

    #[test]
    fn the_control_differs_by_what_holds_the_holder_up_alone() {
        for by in [Cause::Nice, Cause::Idle, Cause::Quota] {
            let case = HeldMutexParams { by, ..HeldMutexParams::default() };
            let control = case.control();
            assert_eq!(control, HeldMutexParams { held_up: YesNo::No, ..case.clone() });
            let (case, control) = (specs_of(&case), specs_of(&control));
            let without = HolderSpec { nice: None, idle: false, ..case.holder.clone() };
            assert_eq!(control, Specs { holder: without, ..case.clone() });
            let holder = (case.holder.nice, case.holder.idle);
            assert_eq!(holder, ((by == Cause::Nice).then_some(19), by == Cause::Idle), "{by:?}");
        }
        let limit = |by, held_up| {
            HeldMutexParams { by, held_up, ..HeldMutexParams::default() }.limit().is_some()
        };
        assert!(limit(Cause::Quota, YesNo::Yes));
        assert!(!limit(Cause::Quota, YesNo::No) && !limit(Cause::Nice, YesNo::Yes));
    }

    #[test]
    fn waiter_and_holder_have_a_cpu_each_and_rivals_have_the_holders() {
        let specs = specs_of(&HeldMutexParams::default());
        assert_eq!((specs.waiter.cpu, specs.holder.cpu, specs.rival.cpu), (0, 1, 1));
        let lacks = Need::Cpus { least: 2, allowed: 1 };
        assert_eq!(with(1, missing), Some(lacks));
    }

    #[test]
    fn a_trial_has_room_for_many_calls() {
        let every = |ms| HeldMutexParams { every: Time::ms(ms), ..HeldMutexParams::default() };
        assert!(check(&every(70)).is_ok());
        let refused = testing::refused(&META, check(&every(71)));
        assert!(refused.starts_with("--every 71ms: "), "{refused}");
        assert!(refused.contains("--duration of 700ms") && refused.contains("take 70ms or less"));
        let shortest = HeldMutexParams { duration: Time::ms(100), ..HeldMutexParams::default() };
        assert!(check(&shortest).is_ok(), "the usual pause fits into the shortest trial");
    }

    #[test]
    fn a_trial_has_room_for_several_sections() {
        let rest = |ms| HeldMutexParams { rest: Time::ms(ms), ..HeldMutexParams::default() };
        assert!(check(&rest(228)).is_ok());
        let refused = testing::refused(&META, check(&rest(229)));
        assert!(refused.starts_with("--duration 700ms: "), "{refused}");
        assert!(refused.contains("--inside of 5ms and a --rest of 229ms"), "{refused}");
        assert!(refused.contains("take 702ms or more"), "{refused}");
        let long = HeldMutexParams { duration: Time::ms(702), ..rest(229) };
        assert!(check(&long).is_ok());
    }

    #[test]
    fn a_holder_that_nothing_can_hold_up_is_refused() {
        let alone = HeldMutexParams { rivals: Auto::Is(0), ..HeldMutexParams::default() };
        let refused = testing::refused(&META, check(&alone));
        assert!(refused.starts_with("--rivals 0: "), "{refused}");
        let idle = HeldMutexParams { by: Cause::Idle, ..alone.clone() };
        assert!(check(&idle).is_err());
        let quota = HeldMutexParams { by: Cause::Quota, ..alone.clone() };
        assert!(check(&quota).is_ok() && check(&alone.control()).is_ok());
    }

    #[test]
    fn a_fix_that_is_there_already_is_not_tried() {
        if !has_usual_weight() {
            return ::testing::skipped("needs nice 0 and the usual policy");
        }
        let ids = |params: &HeldMutexParams| -> Vec<String> {
            let arms: Result<Arms<HeldMutexParams>, ScenarioError> =
                with(2, |host| arms(params, host));
            arms.unwrap().arms.into_iter().map(|arm| arm.id).collect()
        };
        let usual = HeldMutexParams::default();
        assert_eq!(ids(&usual), ["usual", "case", "short"]);
        let short = usual.with(MutexFix::Short);
        assert_eq!((short.inside, short.rest), (Time::us(100), Time::us(400)));
        assert_eq!(ids(&short), ["usual", "case"]);
        let quota = HeldMutexParams { by: Cause::Quota, ..usual };
        assert_eq!(quota.with(MutexFix::Short), quota);
    }
}
