//! Turns parameters into arms, and into settings for the threads.

use super::lock::LockKind;
use super::offers::Offers;
use super::params::{Fault, LONGEST, LockFix, PreemptedHolderParams};
use super::sentences::PreemptedHolderFact;
use super::spec::Spec;
use crate::params::{Time, YesNo};
use crate::{Arms, Host, ScenarioError, cpus};
use load::histogram;
use load::region::REGION;
use model::{Arm, Changed, LeftOut, Problem, Role, WhyLeftOut};
use os::time;
use std::time::Duration;

/// Estimated cost of the set-up of a trial, besides its duration. Used for the progress bar.
pub(super) const SET_UP: Duration = Duration::from_millis(60);

/// Default number of shared CPUs.
///
/// With more CPUs, the threads would also wait for a holder that is running. Each thread holds the
/// lock for 20 us of every 80 us.
const CPUS: u32 = 2;

/// Default number of threads on each of these CPUs.
const THREADS_ON_EACH: u32 = 4;

/// The arms. The threads of the case wait as requested. The control has the same threads with a
/// sleeping lock. Fixes that this machine does not support are left out.
pub(super) fn arms(
    params: &PreemptedHolderParams,
    host: &Host,
) -> Result<Arms<PreemptedHolderParams>, ScenarioError> {
    let params = resolved(params, host)?;
    let offers = Offers::of(host.roots);
    offers.check(&params)?;
    rounds_fit(&params)?;
    memory_suffices(&params, host)?;
    Ok(arms_for(&params, &offers))
}

fn arms_for(params: &PreemptedHolderParams, offers: &Offers) -> Arms<PreemptedHolderParams> {
    let sleep = PreemptedHolderParams { lock: LockKind::Sleep, ..params.clone() };
    let mut arms = Arms::from(vec![
        arm("sleep", Role::Control, sleep, Some(PreemptedHolderFact::Sleep)),
        arm("case", Role::Case, params.clone(), None),
    ]);
    for fix in params.fixes.parts() {
        let (change, settings) = tried(*fix, params);
        let id = fix.to_string();
        // A fix that the case already has is skipped.
        if settings == *params {
            continue;
        }
        match offers.lacking(&settings) {
            Some(why) => {
                let why = WhyLeftOut::Scenario(why.into());
                arms.left_out.push(LeftOut { id, why });
            }
            None => arms.arms.push(arm(&id, Role::Fix, settings, Some(change))),
        }
    }
    arms
}

fn arm(
    id: &str,
    role: Role,
    settings: PreemptedHolderParams,
    change: Option<PreemptedHolderFact>,
) -> Arm<PreemptedHolderParams> {
    let change = change.map(|fact| Changed::Scenario(fact.into()));
    Arm { id: id.to_owned(), role, against: None, settings, change }
}

/// The parameters of a fix, and what it changes.
fn tried(
    fix: LockFix,
    case: &PreemptedHolderParams,
) -> (PreemptedHolderFact, PreemptedHolderParams) {
    let mut changed = case.clone();
    let change = match fix {
        LockFix::SpinThenSleep => {
            changed.lock = LockKind::SpinThenSleep;
            PreemptedHolderFact::SpinThenSleep
        }
        LockFix::FewerThreads => {
            changed.threads = case.threads.min(case.on_cpus);
            PreemptedHolderFact::FewerThreads
        }
        LockFix::SliceExtension => {
            changed.slice_extension = YesNo::Yes;
            PreemptedHolderFact::SliceExtension
        }
        LockFix::TouchBefore => {
            if case.fault == Fault::Minor {
                changed.fault = Fault::Before;
            }
            PreemptedHolderFact::TouchBefore
        }
        LockFix::HugePages => {
            if case.fault == Fault::Minor {
                changed.huge = YesNo::Yes;
            }
            PreemptedHolderFact::HugePages
        }
    };
    (change, changed)
}

/// The shortest trial of these parameters, with resolved numbers of threads and CPUs. Each thread
/// makes at least one round: their sections follow each other, and all of them share the CPUs. The
/// parameters may be those of a record of somebody else.
pub(super) fn shortest_trial(params: &PreemptedHolderParams) -> Time {
    let inside = params.inside.get();
    let round = inside.saturating_add(params.outside.get());
    let sections = inside.saturating_mul(params.threads);
    let rounds = round.saturating_mul(params.threads) / params.on_cpus.max(1);
    Time::from(sections.max(rounds))
}

/// Refuses rounds for which a trial is too short: the threads would run on long after its end.
fn rounds_fit(params: &PreemptedHolderParams) -> Result<(), ScenarioError> {
    let least = shortest_trial(params);
    if params.duration >= least {
        return Ok(());
    }
    Err(ScenarioError::unusable(PreemptedHolderFact::RoundsTooLong {
        threads: params.threads,
        inside: (&params.inside).into(),
        outside: (&params.outside).into(),
        duration: (&params.duration).into(),
        least: (least <= LONGEST).then(|| (&least).into()),
    }))
}

/// The threads may use this fraction of the machine's memory: one part of four.
const PART_OF_MEMORY: u64 = 4;

fn memory_suffices(params: &PreemptedHolderParams, host: &Host) -> Result<(), ScenarioError> {
    let page = rustix::param::page_size() as u64;
    let touched = match params.fault {
        Fault::None => 0,
        Fault::Minor | Fault::Before => touched_bytes(params.pages, page),
    };
    let wanted = u64::from(params.threads) * (touched + latencies_bytes());
    let there = host.machine.memory_bytes.unwrap_or(u64::MAX);
    if wanted <= there / PART_OF_MEMORY {
        return Ok(());
    }
    let (threads, fault, mib) = (params.threads, (&params.fault).into(), wanted >> 20);
    Err(ScenarioError::unusable(PreemptedHolderFact::TooMuchMemory { threads, fault, mib }))
}

/// The most memory that one thread touches before it returns all of it, in bytes. If the pages of
/// the kernel are larger than 4 KiB, those of one round may be more than a [`REGION`].
fn touched_bytes(pages: u32, page: u64) -> u64 {
    (u64::from(pages) * page).max(REGION as u64)
}

/// The memory for the latencies of one thread, in bytes. All of it is used from the start.
fn latencies_bytes() -> u64 {
    (histogram::empty().distinct_values() * size_of::<u64>()) as u64
}

/// The parameters with the resolved numbers of threads and CPUs.
fn resolved(
    params: &PreemptedHolderParams,
    host: &Host,
) -> Result<PreemptedHolderParams, ScenarioError> {
    let on_cpus = cpus::on_cpus(params.on_cpus, CPUS, host.machine)?;
    let threads =
        if params.threads > 0 { params.threads } else { on_cpus.saturating_mul(THREADS_ON_EACH) };
    Ok(PreemptedHolderParams { on_cpus, threads, ..params.clone() })
}

/// The settings of the threads of a trial.
pub(super) fn spec(params: &PreemptedHolderParams, host: &Host) -> Result<Spec, ScenarioError> {
    let params = resolved(params, host)?;
    let mut cpus = host.machine.allowed_cpus.clone();
    cpus.truncate(params.on_cpus as usize);
    if cpus.is_empty() {
        return Err(ScenarioError::Broken(Problem::CpusUnread));
    }
    let ns = |time: crate::params::Time| time::whole_ns(time.get());
    Ok(Spec {
        threads: params.threads,
        cpus,
        lock: params.lock,
        inside_ns: ns(params.inside),
        outside_ns: ns(params.outside),
        fault: params.fault,
        pages: params.pages,
        huge: params.huge.is_yes(),
        extension: params.slice_extension.is_yes(),
        duration_ms: time::whole_ms(params.duration.get()),
    })
}

#[cfg(test)]
mod tests {
    use super::super::META;
    use super::*;
    use host::Roots;
    use model::Machine;

    const ALL: Offers = Offers { extension: Ok(()), huge_pages: Ok(()) };
    const NOTHING: Offers = Offers {
        extension: Err(PreemptedHolderFact::NoExtension),
        huge_pages: Err(PreemptedHolderFact::NoHugePages),
    };

    fn arms_on(
        cpus: u32,
        params: &PreemptedHolderParams,
        offers: &Offers,
    ) -> Arms<PreemptedHolderParams> {
        let machine = Machine { allowed_cpus: (0..cpus).collect(), ..Machine::default() };
        let roots = Roots::at("/nowhere");
        let params = resolved(
            params,
            &Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() },
        )
        .unwrap();
        arms_for(&params, offers)
    }

    fn ids(arms: &Arms<PreemptedHolderParams>) -> Vec<&str> {
        arms.arms.iter().map(|arm| arm.id.as_str()).collect()
    }

    #[test]
    fn the_control_differs_by_the_lock_alone() {
        let faults = PreemptedHolderParams { fault: Fault::Minor, ..Default::default() };
        for params in [PreemptedHolderParams::default(), faults] {
            let arms = arms_on(2, &params, &ALL).arms;
            let (control, case) = (&arms[0].settings, &arms[1].settings);
            assert_eq!((control.lock, case.lock), (LockKind::Sleep, LockKind::Spin));
            assert_eq!(*control, PreemptedHolderParams { lock: LockKind::Sleep, ..case.clone() });
            assert_eq!((case.threads, case.on_cpus), (8, 2));
        }
        let usual = arms_on(2, &PreemptedHolderParams::default(), &ALL);
        let expected = ["sleep", "case", "spin-then-sleep", "fewer-threads", "slice-extension"];
        assert_eq!(ids(&usual), expected);
        assert_eq!(usual.arms[3].settings.threads, 2);
    }

    #[test]
    fn faults_are_tried_outside_of_the_lock_and_with_huge_pages() {
        let params = PreemptedHolderParams { fault: Fault::Minor, ..Default::default() };
        let arms = arms_on(2, &params, &ALL);
        assert_eq!(ids(&arms)[5..], ["touch-before", "huge-pages"]);
        assert_eq!(arms.arms[5].settings.fault, Fault::Before);
        assert!(arms.arms[6].settings.huge.is_yes());
    }

    #[test]
    fn what_the_machine_does_not_offer_is_left_out_with_its_reason() {
        let params = PreemptedHolderParams { fault: Fault::Minor, ..Default::default() };
        let arms = arms_on(2, &params, &NOTHING);
        let whys = arms.left_out.iter().map(|arm| match &arm.why {
            WhyLeftOut::Scenario(fact) => (arm.id.as_str(), fact.id.as_str()),
            other => panic!("{other:?}"),
        });
        let expected = [("slice-extension", "no-extension"), ("huge-pages", "no-huge-pages")];
        assert_eq!(whys.collect::<Vec<_>>(), expected);
        let asked = PreemptedHolderParams { slice_extension: YesNo::Yes, ..Default::default() };
        assert!(matches!(NOTHING.check(&asked), Err(ScenarioError::Missing(_))));
        assert!(ALL.check(&asked).is_ok());
    }

    #[test]
    fn more_memory_than_there_is_to_spare_is_refused() {
        let machine =
            Machine { allowed_cpus: vec![0, 1], memory_bytes: Some(1 << 30), ..Machine::default() };
        let roots = Roots::at("/nowhere");
        let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
        let params =
            PreemptedHolderParams { threads: 200, fault: Fault::Minor, ..Default::default() };
        let refused = arms(&params, &host).unwrap_err();
        let fault = "minor".into();
        // 2 MiB and 272 KiB for each thread.
        let fact = PreemptedHolderFact::TooMuchMemory { threads: 200, fault, mib: 453 };
        let problem = Problem::Scenario(fact.into());
        assert_eq!(refused.problem(), Some(problem));
        assert!(arms(&PreemptedHolderParams { threads: 100, ..params }, &host).is_ok());
    }

    #[test]
    fn the_latencies_of_many_threads_are_memory_too() {
        let machine =
            Machine { allowed_cpus: vec![0, 1], memory_bytes: Some(4 << 30), ..Machine::default() };
        let roots = Roots::at("/nowhere");
        let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
        let params = PreemptedHolderParams { threads: 4_096, ..Default::default() };
        let fault = "none".into();
        let fact = PreemptedHolderFact::TooMuchMemory { threads: 4_096, fault, mib: 1_088 };
        assert_eq!(arms(&params, &host).unwrap_err(), ScenarioError::unusable(fact));
        assert!(arms(&PreemptedHolderParams { threads: 1_024, ..params }, &host).is_ok());
    }

    #[test]
    fn a_trial_has_room_for_a_round_of_each_thread() {
        let of = |inside, outside, threads| {
            let usual = PreemptedHolderParams::default();
            rounds_fit(&PreemptedHolderParams { inside, outside, threads, on_cpus: 2, ..usual })
        };
        assert_eq!(of(Time::ms(50), Time::ZERO, 8), Ok(()));
        assert_eq!(of(Time::us(1), Time::ms(99), 8), Ok(()));
        assert!(of(Time::ms(51), Time::ZERO, 8).is_err());
        assert!(of(Time::us(1), Time::ms(100), 8).is_err());
        let refused = crate::testing::refused(&META, of(Time::s(1), Time::ZERO, 32));
        assert!(refused.starts_with("--inside 1s: ") && refused.contains("32s"), "{refused}");
        // A --duration of more than ten minutes would be refused.
        let refused = crate::testing::refused(&META, of(Time::s(1), Time::ZERO, 4_096));
        assert!(refused.contains("; take fewer --threads"), "{refused}");
    }

    #[test]
    fn no_parameters_of_a_record_are_too_large_to_be_added_up() {
        let (inside, outside) = (Time::s(u64::MAX), Time::s(u64::MAX));
        let usual = PreemptedHolderParams::default();
        let large = PreemptedHolderParams { inside, outside, threads: u32::MAX, ..usual };
        assert_eq!(shortest_trial(&large), Time::from(Duration::MAX));
    }

    #[test]
    fn larger_pages_take_more_memory() {
        assert_eq!(touched_bytes(16, 4 << 10), 2 << 20);
        assert_eq!(touched_bytes(512, 4 << 10), 2 << 20);
        assert_eq!(touched_bytes(16, 64 << 10), 2 << 20);
        assert_eq!(touched_bytes(512, 64 << 10), 32 << 20);
    }

    #[test]
    fn what_is_so_already_is_not_tried() {
        let threads = 2;
        let params = PreemptedHolderParams { threads, ..PreemptedHolderParams::default() };
        assert_eq!(ids(&arms_on(2, &params, &NOTHING)), ["sleep", "case", "spin-then-sleep"]);
        let lock = LockKind::SpinThenSleep;
        let params = PreemptedHolderParams { lock, ..params };
        assert_eq!(ids(&arms_on(2, &params, &NOTHING)), ["sleep", "case"]);
    }

    #[test]
    fn more_cpus_than_there_are_is_refused() {
        let machine = Machine { allowed_cpus: vec![0], ..Machine::default() };
        let roots = Roots::at("/nowhere");
        let params = PreemptedHolderParams { on_cpus: 2, ..PreemptedHolderParams::default() };
        let refused = arms(
            &params,
            &Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() },
        )
        .unwrap_err();
        let problem = Problem::TooManyCpus { asked: 2, allowed: 1 };
        assert_eq!(refused, ScenarioError::Unusable(problem));
    }
}
