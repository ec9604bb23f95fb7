//! The reproducer of `preempted-holder`.

use super::part::{Language, Part};
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "preempted-holder",
    source: include_str!("../../../../scenarios/src/preempted_holder/reproducer.c"),
    language: Language::C,
    groups: false,
    defines,
};

fn defines(_: Read, read: Read) -> Result<Defines, String> {
    read.is("fault", "none")?;
    read.is("lock", "spin")?;
    read.is("slice-extension", "no")?;
    Ok(vec![
        ("CPUS", read.number("on-cpus")?.to_string()),
        ("THREADS", read.number("threads")?.to_string()),
        ("INSIDE_US", read.us("inside")?),
        ("OUTSIDE_US", read.us("outside")?),
        ("DURATION_MS", read.ms("duration")?),
    ])
}
