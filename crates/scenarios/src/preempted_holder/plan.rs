//! From parameters to arms and to what the threads are told.

use super::load::Spec;
use super::lock::Kind;
use super::params::{LockFix, PreemptedHolderParams};
use super::sentences::say;
use crate::{Host, ScenarioError, cpus};
use model::{Arm, Changed, Fact, Problem, Role};
use std::time::Duration;

/// What setting a trial up costs beside its duration, roughly, for the progress bar.
pub(super) const SET_UP: Duration = Duration::from_millis(60);

/// CPUs that are shared unless more are asked for.
///
/// With more of them the threads would wait for a holder that runs, too: 20 us of every 80 for
/// each.
const CPUS: u32 = 2;

/// Threads on each of them, unless a number is asked for.
const THREADS_ON_EACH: u32 = 4;

/// The arms: threads that wait as asked, the same with a lock that sleeps, and what is tried.
pub(super) fn arms(
    params: &PreemptedHolderParams,
    host: &Host,
) -> Result<Vec<Arm<PreemptedHolderParams>>, ScenarioError> {
    let params = resolved(params, host)?;
    let arm = |id: &str, role, settings, change: Option<&str>| Arm {
        id: id.to_owned(),
        role,
        against: None,
        settings,
        change: change.map(|id| Changed::Scenario(Fact::new(id))),
    };
    let with = |lock| PreemptedHolderParams { lock, ..params.clone() };
    let mut arms = vec![
        arm("sleep", Role::Control, with(Kind::Sleep), Some(say::SLEEP)),
        arm("case", Role::Case, params.clone(), None),
    ];
    let fixes = params.fixes.parts().iter().map(|fix| match fix {
        LockFix::SpinThenSleep => {
            let settings = with(Kind::SpinThenSleep);
            arm("spin-then-sleep", Role::Fix, settings, Some(say::SPIN_THEN_SLEEP))
        }
        LockFix::FewerThreads => {
            let threads = params.threads.min(params.on_cpus);
            let settings = PreemptedHolderParams { threads, ..params.clone() };
            arm("fewer-threads", Role::Fix, settings, Some(say::FEWER_THREADS))
        }
    });
    // What the case does already is no fix of it.
    arms.extend(fixes.filter(|fix| fix.settings != params));
    Ok(arms)
}

/// The parameters with the numbers of threads and CPUs that they come to here.
fn resolved(
    params: &PreemptedHolderParams,
    host: &Host,
) -> Result<PreemptedHolderParams, ScenarioError> {
    let on_cpus = cpus::on_cpus(params.on_cpus, CPUS, host.machine)?;
    let threads =
        if params.threads > 0 { params.threads } else { on_cpus.saturating_mul(THREADS_ON_EACH) };
    Ok(PreemptedHolderParams { on_cpus, threads, ..params.clone() })
}

/// What the threads of a trial are told.
pub(super) fn spec(params: &PreemptedHolderParams, host: &Host) -> Result<Spec, ScenarioError> {
    let params = resolved(params, host)?;
    let mut cpus = host.machine.allowed_cpus.clone();
    cpus.truncate(params.on_cpus as usize);
    if cpus.is_empty() {
        return Err(ScenarioError::Broken(Problem::CpusUnread));
    }
    let ns = |time: crate::params::Time| u64::try_from(time.get().as_nanos()).unwrap_or(u64::MAX);
    Ok(Spec {
        threads: params.threads,
        cpus,
        lock: params.lock,
        inside_ns: ns(params.inside),
        outside_ns: ns(params.outside),
        duration_ms: u64::try_from(params.duration.get().as_millis()).unwrap_or(u64::MAX),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::Roots;
    use model::Machine;

    fn arms_on(cpus: u32, params: &PreemptedHolderParams) -> Vec<Arm<PreemptedHolderParams>> {
        let machine = Machine { allowed_cpus: (0..cpus).collect(), ..Machine::default() };
        let roots = Roots::at("/nowhere");
        arms(params, &Host { roots: &roots, machine: &machine }).unwrap()
    }

    #[test]
    fn the_control_differs_by_the_lock_alone() {
        let arms = arms_on(2, &PreemptedHolderParams::default());
        let (control, case) = (&arms[0].settings, &arms[1].settings);
        assert_eq!((control.lock, case.lock), (Kind::Sleep, Kind::Spin));
        assert_eq!(*control, PreemptedHolderParams { lock: Kind::Sleep, ..case.clone() });
        assert_eq!((case.threads, case.on_cpus), (8, 2));
        let ids: Vec<&str> = arms.iter().map(|arm| arm.id.as_str()).collect();
        assert_eq!(ids, ["sleep", "case", "spin-then-sleep", "fewer-threads"]);
        assert_eq!(arms[3].settings.threads, 2);
    }

    #[test]
    fn what_is_so_already_is_not_tried() {
        let threads = 2;
        let params = PreemptedHolderParams { threads, ..PreemptedHolderParams::default() };
        let ids = |params| arms_on(2, &params).into_iter().map(|arm| arm.id).collect::<Vec<_>>();
        assert_eq!(ids(params.clone()), ["sleep", "case", "spin-then-sleep"]);
        let lock = Kind::SpinThenSleep;
        assert_eq!(ids(PreemptedHolderParams { lock, ..params }), ["sleep", "case"]);
    }

    #[test]
    fn more_cpus_than_there_are_is_refused() {
        let machine = Machine { allowed_cpus: vec![0], ..Machine::default() };
        let roots = Roots::at("/nowhere");
        let params = PreemptedHolderParams { on_cpus: 2, ..PreemptedHolderParams::default() };
        let refused = arms(&params, &Host { roots: &roots, machine: &machine }).unwrap_err();
        assert!(refused.to_string().contains("may use 1 CPUs"), "{refused}");
    }
}
