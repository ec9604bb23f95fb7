//! The reproducer of `busy-wait`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Read, alike, field, ms, trial_ms, us};
use scenarios::busy_wait::{BusyWaitParams, Load};
use scenarios::params::YesNo;

/// Its part.
pub const PART: Part = Part {
    scenario: "busy-wait",
    source: include_str!("../../../../scenarios/src/busy_wait/reproducer.erl"),
    language: Language::Escript,
    groups: Groups::Any,
    defines,
};

/// Most requests per second.
const MOST_REQUESTS: i64 = 10_000_000;

/// Most processes of each kind.
const MOST: i64 = 10_000;

fn defines(control_arm: Read, case_arm: Read) -> Result<Defines, String> {
    let control: BusyWaitParams = control_arm.params()?;
    let case: BusyWaitParams = case_arm.params()?;
    field!(case.strace).is(&YesNo::No)?;
    field!(case.load).is_one_of(&[Load::Port, Load::Timer])?;
    // Only the emulator flags may differ.
    alike!(control, case: load, rate, workers, background, schedulers, quota, period, duration);
    let cpus = case.quota.get().ok_or("there is none without --quota")?.get();
    let period_us = us(case.period);
    let settle_ms = period_us.saturating_mul(2).div_ceil(1000);
    let duration_ms = ms(case.duration);
    // The kernel accepts no quota below one millisecond.
    let quota_us = ((cpus * period_us as f64).round() as u64).max(1000);
    Ok(vec![
        ("OTP", case_arm.otp()?),
        ("CONTROL_FLAGS", control_arm.flags()?),
        ("CASE_FLAGS", case_arm.flags()?),
        ("LOAD", case.load.to_string()),
        ("RATE", field!(case.rate).within(1..=MOST_REQUESTS)?.to_string()),
        ("WORKERS", field!(case.workers).within(1..=MOST)?.to_string()),
        ("BACKGROUND", field!(case.background).within(0..=MOST)?.to_string()),
        ("QUOTA_US", quota_us.to_string()),
        ("PERIOD_US", period_us.to_string()),
        ("SETTLE_MS", settle_ms.to_string()),
        ("DURATION_MS", duration_ms.to_string()),
        ("TRIAL_MS", trial_ms(settle_ms.saturating_add(duration_ms))?),
    ])
}
