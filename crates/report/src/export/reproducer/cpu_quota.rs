//! The reproducer of `cpu-quota`.

use super::part::{Language, Part};
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "cpu-quota",
    source: include_str!("../../../../scenarios/src/cpu_quota/reproducer.c"),
    language: Language::C,
    groups: true,
    defines,
};

fn defines(control: Read, read: Read) -> Result<Defines, String> {
    let spread = read.number("on-cpus")?;
    Ok(vec![
        ("CPUS", spread.to_string()),
        ("SPREAD", spread.to_string()),
        ("NARROW", control.number("on-cpus")?.to_string()),
        ("THREADS", read.number("threads")?.to_string()),
        ("FAST", read.number("fast")?.to_string()),
        ("QUOTA_US", read.us("quota")?),
        ("PERIOD_US", read.us("period")?),
        ("WAKE_US", read.us("wake")?),
        ("DURATION_MS", read.ms("duration")?),
    ])
}
