//! One test body with two arms: the model and the kernel must reach the same verdict.

#[path = "body/quota.rs"]
mod quota;

use quota::{Seen, Verdict, verdict};
use tailback_sim::{Config, Era, Fibtest, Workload, simulate};

/// The simulated arm.
fn simulated(cpus: u32, era: Era, hz: u32, seed: u64) -> Verdict {
    verdict(cpus, |threads| {
        let config = Config { hz, seed, ..Config::new(cpus, era) };
        let seen =
            simulate(&config, &Workload::Fibtest(Fibtest::new(threads))).expect("a valid run");
        Seen { usage_ms: seen.usage_ns as f64 / 1e6, throttled: seen.nr_throttled }
    })
    .expect("a thread alone uses its quota")
}

#[test]
fn many_cpus_and_expiring_slices_lose_quota() {
    for seed in 1..=8 {
        for hz in [250, 300, 1000] {
            assert_eq!(simulated(64, Era::B, hz, seed), Verdict::Under, "seed {seed}, HZ {hz}");
        }
    }
}

#[test]
fn no_other_era_loses_quota() {
    for seed in 1..=8 {
        for era in [Era::A, Era::C, Era::D, Era::E, Era::F, Era::G] {
            assert_eq!(simulated(64, era, 250, seed), Verdict::Fair, "seed {seed}, {era:?}");
        }
    }
}

#[test]
fn two_cpus_are_too_few_to_show_it() {
    for seed in 1..=8 {
        for era in Era::ALL {
            assert_eq!(simulated(2, era, 250, seed), Verdict::Fair, "seed {seed}, {era:?}");
        }
    }
}

#[test]
fn the_race_can_give_more_than_the_quota() {
    let over = |era, step| {
        (1..=20).filter(move |seed| {
            let seen = |threads| {
                let mut config = Config { hz: 100, seed: *seed, ..Config::new(96, era) };
                config.distribution_step_ns = step;
                let load = Fibtest { slow_burst_ns: 10_000, ..Fibtest::new(threads) };
                let seen = simulate(&config, &Workload::Fibtest(load)).expect("a valid run");
                Seen { usage_ms: seen.usage_ns as f64 / 1e6, throttled: seen.nr_throttled }
            };
            verdict(96, seen) == Some(Verdict::Over)
        })
    };
    assert!(over(Era::C, 5_000).count() > 0);
    assert_eq!(over(Era::D, 5_000).count(), 0);
}
