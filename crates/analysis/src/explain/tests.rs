//! Explanations of made-up records.

use super::*;
use model::evidence::{
    Behind, BehindKind, Figure, Holder, QuotaEvidence, QuotaShare, Resource, Task, ThreadEvidence,
    Throttle, VmEvidence, Wait, figure, part,
};
use model::explanation::{
    Delay, IdleScheduler, Mostly, QuotaCause, SchedulersThrottled, SchedulersUneven, Seen, Spun,
    Throttled, UsedUp, Work,
};
use model::not_seen::{EvidenceSource, Sees};
use model::testing::{facts, plan, trial};
use model::{Headline, Judgement, Measure, Unit};

const MS: u64 = 1_000_000;

fn task(tid: u32, part: &str, nice: i32) -> Task {
    Task { pid: tid, tid, name: "x".to_owned(), part: Some(part.to_owned()), nice: Some(nice) }
}

fn behind(name: &str, threads: u32, ms: u64) -> Behind {
    Behind { name: name.to_owned(), kind: BehindKind::Part, threads, ns: ms * MS }
}

fn evidence() -> Evidence {
    let holder = Holder {
        task: task(25399, "scanner", 15),
        mode: "read".to_owned(),
        overlap_ns: 264 * MS,
        running_ns: 2 * MS,
        preempted_ns: 262 * MS,
        blocked_ns: 0,
        throttled_ns: None,
        cpu: Some(1),
        behind: vec![behind("spinner", 10, 262)],
    };
    let split = Split {
        covered_ns: 264 * MS,
        own_ns: 6 * MS,
        running_ns: 2 * MS,
        preempted_ns: 262 * MS,
        blocked_ns: 0,
        behind: vec![behind("spinner", 10, 262)],
    };
    let wait = Wait {
        at_ms: 1.0,
        took_ns: 264 * MS,
        waiter: task(25391, "mapper", 0),
        resource: Resource::MmapLock { pid: 25391 },
        mode: Some("write".to_owned()),
        stack: Vec::new(),
        holders: vec![holder],
        covered_ns: 264 * MS,
        split: Some(split.clone()),
        timeline: Vec::new(),
    };
    Evidence {
        waits: vec![wait],
        waits_seen: 3,
        waits_ns: 300 * MS,
        split: Some(split),
        ..Evidence::default()
    }
}

/// A trial with probes that waited for this long.
fn probed(arm: &str, waits_ms: u64) -> Probed {
    let mut trial = trial(0, arm, 0.0);
    let evidence = Evidence { waits_ns: waits_ms * MS, ..Evidence::default() };
    trial.observation.evidence = Some(evidence);
    Probed { trial, cost: Vec::new() }
}

#[test]
fn no_control_is_explained_instead_of_a_case() {
    let arms = [("twin-1", Role::Control), ("busy-1", Role::Case), ("twin-10", Role::Control)];
    let mut facts = facts("s", plan(&arms), Vec::new());
    facts.probed = vec![probed("busy-1", 5), probed("twin-1", 50), probed("twin-10", 90)];
    let judgement = Judgement::new(State::Affected, Headline::NotMeasured);
    let record = Judged { facts, judgement };
    let chosen = |arm: Option<&str>| choose(&record, arm).map(|one| one.trial.arm.clone());
    assert_eq!(chosen(None).as_deref(), Some("busy-1"));
    assert_eq!(chosen(Some("twin-10")).as_deref(), Some("twin-10"));
}

#[test]
fn the_longest_wait_is_the_cause_and_who_ran_meanwhile_is_told() {
    assert_eq!(seen::cause(&evidence()), Some(Cause::LongestWait));
    assert_eq!(
        seen::beside(&evidence()),
        [
            Seen::Waits { count: 3, ns: 300 * MS },
            Seen::RanMeanwhile { behind: vec![behind("spinner", 10, 262)] }
        ]
    );
}

#[test]
fn the_shares_add_up_to_all_waits() {
    let evidence = evidence();
    let shares = shares(&evidence);
    assert_eq!(shares.iter().map(|share| share.ns).sum::<u64>(), evidence.waits_ns);
    let percent: f64 = shares.iter().map(|share| share.percent).sum();
    assert!((percent - 100.0).abs() < 1e-6, "{percent}");
    let last = shares.last().unwrap();
    assert_eq!(
        (last.what, last.ns),
        (Happened::NoHolderKnown, 30 * MS),
        "what is not known is said"
    );
}

#[test]
fn a_quota_names_who_used_it_and_whom_it_kept_off_a_cpu() {
    let stretch = |ms: f64, tid| Throttle {
        cpu: 0,
        from_ms: 10.0,
        until_ms: 10.0 + ms,
        by: Some(task(tid, "thread", 0)),
    };
    let share = |tid, used, caught| QuotaShare {
        task: task(tid, "thread", 0),
        used_ns: used * MS,
        caught_ns: Some(caught * MS),
    };
    let quota = QuotaEvidence {
        source: EvidenceSource::ThreadFiles,
        throttles: 50,
        throttled_ns: Some(50 * MS),
        threads: vec![share(1, 90, 400), share(2, 10, 900)],
        timeline: vec![stretch(5.0, 2), stretch(40.0, 2), stretch(9.0, 1)],
    };
    assert_eq!(
        quota::throttles(&quota),
        Some(Seen::Throttles {
            times: 3,
            ns: 54 * MS,
            counted_ns: Some(50 * MS),
            longest_ns: 40 * MS,
            used_up_by: Some(UsedUp { task: task(2, "thread", 0), times: 2 }),
        })
    );
    let evidence = Evidence { quota: Some(quota), ..Evidence::default() };
    assert_eq!(
        seen::cause(&evidence),
        Some(Cause::Quota(QuotaCause {
            task: task(1, "thread", 0),
            used_ns: 90 * MS,
            percent: 90.0,
            throttled_periods: 50,
            worst: Some(Throttled { task: task(2, "thread", 0), throttled_ns: 900 * MS }),
        }))
    );
}

#[test]
fn without_waits_the_longest_delay_is_the_cause() {
    let idle = Behind { kind: BehindKind::Idle, ..behind("idle", 0, 30) };
    let thread = ThreadEvidence {
        task: task(5, "scanner", 0),
        running_ns: 10 * MS,
        runnable_ns: 40 * MS,
        longest_runnable_ns: 20 * MS,
        behind: vec![idle.clone()],
        ..ThreadEvidence::default()
    };
    let delay = Delay {
        task: task(5, "scanner", 0),
        running_ns: 10 * MS,
        runnable_ns: 40 * MS,
        longest_ns: Some(20 * MS),
        behind: vec![idle],
    };
    let evidence = Evidence { threads: vec![thread], ..Evidence::default() };
    assert_eq!(seen::cause(&evidence), Some(Cause::NoCpu(delay.clone())));
    assert_eq!(seen::beside(&evidence), [Seen::NoCpu(delay)]);
    assert_eq!(seen::cause(&Evidence::default()), None);
}

#[test]
fn the_worst_delay_of_each_part_is_told() {
    let thread = |tid, part: &str, ms: u64| ThreadEvidence {
        task: task(tid, part, 0),
        runnable_ns: ms * MS,
        ..ThreadEvidence::default()
    };
    let threads = vec![
        thread(1, "scanner", 40),
        thread(2, "scanner", 90),
        thread(3, "spinner", 20),
        thread(4, "mapper", 0),
    ];
    let evidence = Evidence { threads, ..Evidence::default() };
    let told = seen::beside(&evidence).into_iter().map(|seen| match seen {
        Seen::NoCpu(delay) => delay.task.tid,
        other => panic!("{other:?}"),
    });
    assert_eq!(told.collect::<Vec<u32>>(), [2, 3]);
}

#[test]
fn times_that_no_number_holds_are_no_panic() {
    let thread = ThreadEvidence {
        runnable_ns: u64::MAX,
        running_ns: u64::MAX,
        futex_slept_ns: Some(u64::MAX),
        poll_slept_ns: Some(u64::MAX),
        blocked_ns: Some(u64::MAX),
        task: task(1, part::SCHEDULER, 0),
        ..ThreadEvidence::default()
    };
    let split = Split { covered_ns: u64::MAX, own_ns: u64::MAX, running_ns: 9, ..Split::default() };
    let figures = [(figure::RAN, exact(1e300)), (figure::SLEPT_ELSEWHERE, exact(f64::MAX))];
    let damaged = Evidence {
        split: Some(Split { blocked_ns: u64::MAX, ..split }),
        threads: vec![thread; 2],
        vm: Some(vm(&figures)),
        ..evidence()
    };
    assert!(shares(&damaged).iter().all(|share| share.percent.is_finite()));
    assert!(matches!(seen::cause(&damaged), Some(Cause::SchedulersUneven(_))));
    assert!(!seen::beside(&damaged).is_empty());
}

fn vm(figures: &[(&str, Measure)]) -> VmEvidence {
    let figure = |(name, measure): &(&str, Measure)| Figure {
        name: (*name).to_owned(),
        measure: *measure,
        source: EvidenceSource::Probe(Sees::Scheduler),
    };
    VmEvidence {
        watched_ns: 2000 * MS,
        schedulers: 8,
        figures: figures.iter().map(figure).collect(),
    }
}

fn exact(ms: f64) -> Measure {
    Measure::exact(ms, Unit::Milliseconds)
}

#[test]
fn of_a_node_under_a_quota_it_is_told_what_was_spun_and_for_how_long_it_was_throttled() {
    let figures = [
        (figure::RAN, exact(900.0)),
        (figure::SPUN, Measure::at_least(600.0, Unit::Milliseconds)),
        (figure::DELAYED, exact(5000.0)),
        (figure::LONGEST_DELAY, exact(90.0)),
        (figure::CAUGHT, exact(4000.0)),
        (figure::FUTEX_CALLS, Measure::exact(3000.0, Unit::Count)),
        (figure::FUTEX_TIME, exact(7000.0)),
    ];
    let quota = QuotaEvidence {
        source: EvidenceSource::ThreadFiles,
        throttles: 18,
        throttled_ns: None,
        threads: Vec::new(),
        timeline: Vec::new(),
    };
    let evidence = Evidence { vm: Some(vm(&figures)), quota: Some(quota), ..Evidence::default() };
    let spun = Spun { ns: 600 * MS, at_least: true, percent: 100.0 * 600.0 / 900.0 };
    assert_eq!(
        seen::cause(&evidence),
        Some(Cause::SchedulersThrottled(SchedulersThrottled {
            work: Work { watched_ns: 2000 * MS, schedulers: 8, ran_ns: 900 * MS, spun: Some(spun) },
            throttled_periods: 18,
            throttled_ns: Some(4000 * MS),
        }))
    );
    assert_eq!(
        seen::beside(&evidence),
        [
            Seen::Futex { calls: 3000, per_second: 1500.0, ns: 7000 * MS },
            Seen::SchedulersDelayed {
                ns: 5000 * MS,
                longest_ns: Some(90 * MS),
                throttled_ns: Some(4000 * MS)
            }
        ]
    );
}

#[test]
fn of_a_collapse_it_is_told_who_slept_in_native_code_and_who_idly() {
    let thread = |tid, running, blocked, idle| ThreadEvidence {
        task: Task { name: format!("{tid}_scheduler"), ..task(tid, "scheduler", 0) },
        running_ns: running * MS,
        blocked_ns: Some(blocked * MS),
        futex_slept_ns: Some(idle * MS),
        poll_slept_ns: Some(0),
        ..ThreadEvidence::default()
    };
    let evidence = Evidence {
        threads: vec![thread(1, 9, 1900, 1890), thread(2, 20, 1960, 10)],
        vm: Some(vm(&[(figure::RAN, exact(29.0)), (figure::SLEPT_ELSEWHERE, exact(1960.0))])),
        ..Evidence::default()
    };
    let task = |place: usize| evidence.threads[place].task.clone();
    assert_eq!(
        seen::cause(&evidence),
        Some(Cause::SchedulersUneven(SchedulersUneven {
            watched_ns: 2000 * MS,
            most: task(1),
            most_ran_ns: 20 * MS,
            most_native_ns: 1950 * MS,
            least: Some(IdleScheduler { task: task(0), ran_ns: 9 * MS, idle_ns: 1890 * MS }),
        }))
    );
}

#[test]
fn of_a_node_that_was_not_held_up_it_is_told() {
    let figures = [(figure::RAN, exact(1900.0)), (figure::DELAYED, exact(3.0))];
    let thread = ThreadEvidence {
        task: Task { name: "1_scheduler".to_owned(), ..task(1, "scheduler", 0) },
        running_ns: 1890 * MS,
        runnable_ns: 2 * MS,
        ..ThreadEvidence::default()
    };
    let evidence =
        Evidence { vm: Some(vm(&figures)), threads: vec![thread], ..Evidence::default() };
    let Some(Cause::SchedulersRan(ran)) = seen::cause(&evidence) else { panic!("{evidence:?}") };
    assert_eq!((ran.work.ran_ns, ran.work.spun, ran.delayed_ns), (1900 * MS, None, 3 * MS));
    let busiest = ran.busiest.unwrap();
    assert_eq!((busiest.ran_ns, busiest.mostly), (1890 * MS, Mostly::WorkAlone));
}
