//! Explanations of records made up.

use super::*;
use model::evidence::{Behind, Holder, QuotaEvidence, QuotaShare, Task, ThreadEvidence, Wait};

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
    let share = |tid, used, caught| QuotaShare {
        task: task(tid, "thread", 0),
        used_ns: used * MS,
        caught_ns: caught * MS,
    };
    let quota = QuotaEvidence {
        source: "cpu.stat".to_owned(),
        throttles: 50,
        throttled_ns: None,
        threads: vec![share(1, 90, 400), share(2, 10, 900)],
        timeline: Vec::new(),
    };
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
        task: task(5, "scheduler", 0),
        running_ns: 10 * MS,
        runnable_ns: 40 * MS,
        longest_runnable_ns: 20 * MS,
        behind: vec![behind("idle", 0, 30)],
        ..ThreadEvidence::default()
    };
    let evidence = Evidence { threads: vec![thread], ..Evidence::default() };
    assert_eq!(
        sentences::cause(&evidence).unwrap(),
        "scheduler 5 ran 10 ms and waited 40 ms for a CPU (at most 20 ms at a time) while there ran \
         nobody for 30 ms"
    );
    assert_eq!(sentences::cause(&Evidence::default()), None);
}
