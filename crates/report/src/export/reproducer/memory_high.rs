//! The reproducer of `memory-high`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Read, bytes, field, ms, us};
use scenarios::memory_high::{By, MemoryHighParams};
use scenarios::params::YesNo;

/// Its part.
pub const PART: Part = Part {
    scenario: "memory-high",
    source: include_str!("../../../../scenarios/src/memory_high/reproducer.c"),
    language: Language::C,
    groups: Groups::Version2,
    defines,
};

fn defines(_: Read, case: Read) -> Result<Defines, String> {
    let case: MemoryHighParams = case.params()?;
    field!(case.by).is(&By::High)?;
    field!(case.swap).is(&YesNo::No)?;
    Ok(vec![
        ("CPUS", "1".to_owned()),
        ("LIMIT_BYTES", bytes(case.limit)),
        ("NEED_BYTES", bytes(case.kept())),
        ("UNIT_BYTES", bytes(case.unit)),
        ("EVERY_US", us(case.every).to_string()),
        ("DURATION_MS", ms(case.duration).to_string()),
    ])
}
