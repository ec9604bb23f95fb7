use super::*;
use std::sync::Weak;

fn any_cpu() -> u32 {
    affinity::allowed_cpus().unwrap()[0]
}

/// Waits until the thread has let go of what it shares. A thread that never ends hangs the test.
fn wait_for_end(shared: &Weak<Shared>) {
    while shared.strong_count() > 0 {
        std::thread::yield_now();
    }
}

#[test]
fn it_watches_the_cpu_it_was_given_until_it_is_finished() {
    let cpu = any_cpu();
    let witness = TimerWitness::start(cpu).unwrap();
    let shared = Arc::downgrade(&witness.shared);
    let first = witness.shared.lateness().deadline_ns();
    while witness.shared.lateness().deadline_ns() == first {
        std::thread::yield_now();
    }
    let summary = witness.finish();
    assert_eq!(summary.cpu, cpu);
    assert!(summary.wakeups >= 1);
    assert!(summary.p50_ms <= summary.p99_ms && summary.p99_ms <= summary.max_ms);
    assert!((0.0..=1000.0).contains(&summary.lost_ms_per_s));
    wait_for_end(&shared);
}

#[test]
fn it_ends_when_it_is_dropped() {
    let witness = TimerWitness::start(any_cpu()).unwrap();
    let shared = Arc::downgrade(&witness.shared);
    drop(witness);
    wait_for_end(&shared);
}

#[test]
fn a_cpu_that_does_not_exist_is_refused() {
    let error = TimerWitness::start(u32::MAX).unwrap_err();
    assert!(matches!(error, HostError::Pin { cpu: u32::MAX, .. }), "{error}");
}
