//! Compares the model with the figures published for fibtest.
//!
//! HZ, kernel version and wakeup cost of those machines are not known. Nothing is fitted: the
//! published figures must be in the range that the model gives over all plausible values.

use tailback_sim::{Config, Era, Fibtest, Rules, Workload, simulate};

/// Minimum and maximum usage in milliseconds, over HZ, the race, wakeup costs and phases.
fn band(cpus: u32, threads: u32, rules: &[Rules]) -> (u64, u64) {
    let mut usages = Vec::new();
    for rules in rules {
        for hz in [100, 250, 300, 1000] {
            for slow_burst_ns in [2_000, 5_000] {
                for first_period_ms in [2, 10, 40, 70, 100] {
                    let mut config = Config { hz, ..Config::new(cpus, Era::B) };
                    config.period_phase_ns = Some(first_period_ms * 1_000_000);
                    config.rules = *rules;
                    let load = Fibtest { slow_burst_ns, ..Fibtest::new(threads) };
                    let seen = simulate(&config, &Workload::Fibtest(load)).expect("a valid run");
                    usages.push(seen.usage_ns / 1_000_000);
                }
            }
        }
    }
    usages.sort_unstable();
    (usages[0], usages[usages.len() - 1])
}

fn with_and_without_race(rules: Rules) -> [Rules; 2] {
    [Rules { distribution_race: true, ..rules }, Rules { distribution_race: false, ..rules }]
}

#[test]
fn one_thread_alone_501_ms() {
    let (least, most) = band(64, 1, &with_and_without_race(Era::B.rules()));
    assert!(least <= 501 && 501 <= most, "{least} to {most}");
    assert!(least >= 495 && most <= 520, "{least} to {most}");
}

#[test]
fn the_affected_kernel_88_ms() {
    let (least, most) = band(64, 64, &with_and_without_race(Era::B.rules()));
    assert!(least < 88 && 88 < most, "{least} to {most}");
}

#[test]
fn the_patched_kernel_493_ms() {
    let (least, most) = band(64, 64, &with_and_without_race(Era::C.rules()));
    assert!(least < 493 && 493 < most, "{least} to {most}");
    assert!(least > 440, "{least}");
}
