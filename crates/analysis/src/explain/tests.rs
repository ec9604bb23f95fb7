//! Explanations of records made up.

use super::*;
use model::evidence::{
    Behind, Figure, Holder, QuotaEvidence, QuotaShare, Task, ThreadEvidence, Throttle, VmEvidence,
    Wait, figure,
};
use model::{Measure, Unit};

const MS: u64 = 1_000_000;

fn task(tid: u32, part: &str, nice: i32) -> Task {
    Task { pid: tid, tid, name: "x".to_owned(), part: Some(part.to_owned()), nice: Some(nice) }
}

fn behind(name: &str, threads: u32, ms: u64) -> Behind {
    Behind { name: name.to_owned(), threads, ns: ms * MS }
}

fn evidence() -> Evidence {
    let holder = Holder {
        task: task(25399, "scanner", 15),
        mode: "read".to_owned(),
        overlap_ns: 264 * MS,
        running_ns: 2 * MS,
        preempted_ns: 262 * MS,
        blocked_ns: 0,
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
        resource: "mmap lock of pid 25391".to_owned(),
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

#[test]
fn the_worst_wait_is_told_in_one_sentence() {
    assert_eq!(
        sentences::cause(&evidence()).unwrap(),
        "mapper 25391 waited 264 ms for the mmap lock of pid 25391 (write); held for reading by \
         scanner 25399 (nice 15), which was runnable but preempted for 262 ms on CPU 1 behind 10 \
         spinners"
    );
}

#[test]
fn the_shares_add_up_to_all_waits() {
    let evidence = evidence();
    let shares = shares(&evidence);
    assert_eq!(shares.iter().map(|share| share.ns).sum::<u64>(), evidence.waits_ns);
    let percent: f64 = shares.iter().map(|share| share.percent).sum();
    assert!((percent - 100.0).abs() < 1e-6, "{percent}");
    assert_eq!(shares.last().unwrap().ns, 30 * MS, "what is not known is said");
}

#[test]
fn a_quota_names_who_used_it_and_who_was_caught() {
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
        source: "cpu.stat".to_owned(),
        throttles: 50,
        throttled_ns: Some(50 * MS),
        threads: vec![share(1, 90, 400), share(2, 10, 900)],
        timeline: vec![stretch(5.0, 2), stretch(40.0, 2), stretch(9.0, 1)],
    };
    assert_eq!(
        quota::stretches(&quota).unwrap(),
        "the quota held the group off a CPU 3 times, for 54 ms in all (cpu.stat says 50 ms), at most 40 \
         ms at a time; in 2 of them thread 2 ran when it was used up"
    );
    let evidence = Evidence { quota: Some(quota), ..Evidence::default() };
    assert_eq!(
        sentences::cause(&evidence).unwrap(),
        "thread 1 used 90 ms of CPU, 90% of what the group used; the quota throttled the group in \
         50 periods, and thread 2 was caught by it for 900 ms"
    );
}

#[test]
fn without_waits_the_longest_delay_is_the_cause() {
    let thread = ThreadEvidence {
        task: task(5, "scanner", 0),
        running_ns: 10 * MS,
        runnable_ns: 40 * MS,
        longest_runnable_ns: 20 * MS,
        behind: vec![behind("idle", 0, 30)],
        ..ThreadEvidence::default()
    };
    let evidence = Evidence { threads: vec![thread], ..Evidence::default() };
    assert_eq!(
        sentences::cause(&evidence).unwrap(),
        "scanner 5 ran 10 ms and waited 40 ms for a CPU (at most 20 ms at a time) while there ran \
         nobody for 30 ms"
    );
    assert_eq!(sentences::cause(&Evidence::default()), None);
}

fn vm(figures: &[(&str, Measure)]) -> VmEvidence {
    let figure = |(name, measure): &(&str, Measure)| Figure {
        name: (*name).to_owned(),
        measure: *measure,
        source: "probe".to_owned(),
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
fn of_a_node_under_a_quota_it_is_said_what_was_spun_and_who_was_caught() {
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
        source: "cpu.stat".to_owned(),
        throttles: 18,
        throttled_ns: None,
        threads: Vec::new(),
        timeline: Vec::new(),
    };
    let seen = Evidence { vm: Some(vm(&figures)), quota: Some(quota), ..Evidence::default() };
    assert_eq!(
        sentences::cause(&seen).unwrap(),
        "in 2000 ms 8 schedulers spun at least 600 ms (67%) of the 900 ms of CPU that they used; the \
         quota throttled the group in 18 periods, and they stood caught by it for 4000 ms of thread \
         time"
    );
    assert_eq!(
        sentences::evidence(&seen),
        [
            "the schedulers made 3000 calls of futex, 1500 a second, and were in them for 7000 ms",
            "they stood runnable without a CPU for 5000 ms, at most 90 ms at a time; 4000 ms of it \
             by the quota"
        ]
    );
}

#[test]
fn of_a_collapse_it_is_said_who_slept_in_native_code_and_who_idly() {
    let thread = |tid, running, blocked, idle| ThreadEvidence {
        task: Task { name: format!("{tid}_scheduler"), ..task(tid, "scheduler", 0) },
        running_ns: running * MS,
        blocked_ns: Some(blocked * MS),
        futex_slept_ns: Some(idle * MS),
        poll_slept_ns: Some(0),
        ..ThreadEvidence::default()
    };
    let seen = Evidence {
        threads: vec![thread(1, 9, 1900, 1890), thread(2, 20, 1960, 10)],
        vm: Some(vm(&[(figure::RAN, exact(29.0)), (figure::SLEPT_ELSEWHERE, exact(1960.0))])),
        ..Evidence::default()
    };
    assert_eq!(
        sentences::cause(&seen).unwrap(),
        "in 2000 ms 2_scheduler 2 ran 20 ms and slept 1950 ms in native code; meanwhile 1_scheduler \
         1 ran 9 ms and slept 1890 ms as a scheduler without work does"
    );
}

#[test]
fn of_a_node_that_was_not_held_up_it_is_said() {
    let figures = [(figure::RAN, exact(1900.0)), (figure::DELAYED, exact(3.0))];
    let thread = ThreadEvidence {
        task: Task { name: "1_scheduler".to_owned(), ..task(1, "scheduler", 0) },
        running_ns: 1890 * MS,
        runnable_ns: 2 * MS,
        ..ThreadEvidence::default()
    };
    let seen = Evidence { vm: Some(vm(&figures)), threads: vec![thread], ..Evidence::default() };
    assert_eq!(
        sentences::cause(&seen).unwrap(),
        "in 2000 ms 8 schedulers ran 1900 ms in all, and waited 3 ms for a CPU; 1_scheduler 1 ran \
         most, 1890 ms, and waited 2 ms: the machine hardly kept it waiting, so its time is CPU work \
         in the VM"
    );
}
