//! The reproducer of `blocking-nif`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Read, alike, field, trial_ms};
use scenarios::blocking_nif::{BlockingNifParams, Mode};

/// Its part.
pub const PART: Part = Part {
    scenario: "blocking-nif",
    source: include_str!("../../../../scenarios/src/blocking_nif/reproducer.erl"),
    language: Language::Escript,
    groups: Groups::None,
    defines,
};

/// Most processes, most calls per process, and most microseconds per call.
const MOST: i64 = 1_000_000;

/// Most iterations of the loop after the calls.
const MOST_TURNS: i64 = 1_000_000_000;

/// The control of a mode: the same work in slices that yield.
fn gentle(mode: Mode) -> Mode {
    if mode == Mode::NifBusy { Mode::NifBusyYield } else { Mode::NifYield }
}

fn defines(control_arm: Read, case_arm: Read) -> Result<Defines, String> {
    let control: BlockingNifParams = control_arm.params()?;
    let case: BlockingNifParams = case_arm.params()?;
    field!(case.mode).is_one_of(&[Mode::NifSleep, Mode::NifBusy])?;
    field!(control.mode).is(&gentle(case.mode))?;
    alike!(control, case: schedulers, processes, calls, work, iterations);
    let processes = field!(case.processes).within(1..=MOST)?;
    let calls = field!(case.calls).within(1..=MOST)?;
    let work_us = field!(case.work).within(1..=MOST)?;
    // The time that one scheduler alone needs for all calls.
    let longest_us = processes.saturating_mul(calls).saturating_mul(work_us);
    Ok(vec![
        ("OTP", case_arm.otp()?),
        ("CONTROL_FLAGS", control_arm.flags()?),
        ("CASE_FLAGS", case_arm.flags()?),
        ("BUSY", u8::from(case.mode == Mode::NifBusy).to_string()),
        ("PROCESSES", processes.to_string()),
        ("CALLS", calls.to_string()),
        ("WORK_US", work_us.to_string()),
        ("ITERATIONS", field!(case.iterations).within(0..=MOST_TURNS)?.to_string()),
        ("TRIAL_MS", trial_ms(longest_us.unsigned_abs() / 1000)?),
    ])
}
