//! The reproducer of `memory-high`.

use super::part::{Language, Part};
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "memory-high",
    source: include_str!("../../../../scenarios/src/memory_high/reproducer.c"),
    language: Language::C,
    groups: true,
    defines,
};

fn defines(_: Read, read: Read) -> Result<Defines, String> {
    read.is("by", "high")?;
    read.is("swap", "no")?;
    Ok(vec![
        ("CPUS", "1".to_owned()),
        ("LIMIT_BYTES", read.bytes("limit")?),
        ("NEED_BYTES", read.bytes("need")?),
        ("UNIT_BYTES", read.bytes("unit")?),
        ("EVERY_US", read.us("every")?),
        ("DURATION_MS", read.ms("duration")?),
    ])
}
