//! The reproducer of `blocking-nif`.

use super::part::{Language, Part};
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "blocking-nif",
    source: include_str!("../../../../scenarios/src/blocking_nif/reproducer.erl"),
    language: Language::Escript,
    groups: false,
    defines,
};

/// Most processes, calls of each, and microseconds of a call.
const MOST: u64 = 1_000_000;

/// Most turns of the loop behind the calls.
const MOST_TURNS: u64 = 1_000_000_000;

/// The work in slices that yield, which is the control of work at once.
fn gentle(mode: &str) -> &'static str {
    if mode == "nif_busy" { "nif_busy_yield" } else { "nif_yield" }
}

fn defines(control: Read, case: Read) -> Result<Defines, String> {
    let mode = case.one_of("mode", &["nif_sleep", "nif_busy"])?;
    control.is("mode", gentle(&mode))?;
    control.is_as(case, &["schedulers", "processes", "calls", "work", "iterations"])?;
    let number = |name| case.count(name, 1..=MOST);
    let (processes, calls, work) = (number("processes")?, number("calls")?, number("work")?);
    Ok(vec![
        ("OTP", case.otp()?),
        ("CONTROL_FLAGS", control.flags()?),
        ("CASE_FLAGS", case.flags()?),
        ("BUSY", u8::from(mode == "nif_busy").to_string()),
        ("PROCESSES", processes.to_string()),
        ("CALLS", calls.to_string()),
        ("WORK_US", work.to_string()),
        ("ITERATIONS", case.count("iterations", 0..=MOST_TURNS)?.to_string()),
        // As long as it takes where one scheduler does it all.
        ("TRIAL_MS", case.trial_ms(processes.saturating_mul(calls).saturating_mul(work) / 1000)?),
    ])
}
