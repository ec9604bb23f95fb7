//! The reproducer of `busy-wait`.

use super::part::{Language, Part};
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "busy-wait",
    source: include_str!("../../../../scenarios/src/busy_wait/reproducer.erl"),
    language: Language::Escript,
    groups: true,
    defines,
};

/// Most requests a second.
const MOST_REQUESTS: u64 = 10_000_000;

/// Most processes of a kind.
const MOST: u64 = 10_000;

/// What the control has as the case has it: all but what is said by emulator flags.
const ALIKE: [&str; 8] =
    ["load", "rate", "workers", "background", "schedulers", "quota", "period", "duration"];

fn defines(control: Read, case: Read) -> Result<Defines, String> {
    case.is("strace", "no")?;
    control.is_as(case, &ALIKE)?;
    let cpus: f64 = case.text("quota").parse().map_err(|_| "there is none without --quota")?;
    if !cpus.is_finite() || cpus <= 0.0 {
        return Err(format!("there is none with --quota {cpus}"));
    }
    let period_us = case.micros("period")?;
    let settle_ms = (2 * period_us).div_ceil(1000);
    let duration_ms = case.millis("duration")?;
    // The kernel takes no quota below a millisecond.
    let quota_us = ((cpus * period_us as f64).round() as u64).max(1000);
    Ok(vec![
        ("OTP", case.otp()?),
        ("CONTROL_FLAGS", control.flags()?),
        ("CASE_FLAGS", case.flags()?),
        ("LOAD", case.one_of("load", &["port", "timer"])?),
        ("RATE", case.count("rate", 1..=MOST_REQUESTS)?.to_string()),
        ("WORKERS", case.count("workers", 1..=MOST)?.to_string()),
        ("BACKGROUND", case.count("background", 0..=MOST)?.to_string()),
        ("QUOTA_US", quota_us.to_string()),
        ("PERIOD_US", period_us.to_string()),
        ("SETTLE_MS", settle_ms.to_string()),
        ("DURATION_MS", duration_ms.to_string()),
        ("TRIAL_MS", case.trial_ms(settle_ms.saturating_add(duration_ms))?),
    ])
}
