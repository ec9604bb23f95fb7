//! The reproducer of `mmap-lock`.

use super::part::{Groups, Language, Part};
use super::quoted::quoted;
use super::settings::{Defines, Read, bytes, field, ms, us};
use scenarios::mmap_lock::{MmapLockParams, Target};
use scenarios::params::{Auto, OrNone, Time};

/// Its part.
pub const PART: Part = Part {
    scenario: "mmap-lock",
    source: include_str!("../../../../scenarios/src/mmap_lock/reproducer.c"),
    language: Language::C,
    groups: Groups::None,
    defines,
};

fn defines(_: Read, case: Read) -> Result<Defines, String> {
    let case: MmapLockParams = case.params()?;
    field!(case.reader_quota).is(&OrNone::None)?;
    field!(case.busyduration).is(&Time::ZERO)?;
    field!(case.target).is(&Target::Mapper)?;
    field!(case.cpu_mapper).is(&Auto::Auto)?;
    field!(case.cpu_load).is(&Auto::Auto)?;
    let readers = field!(case.busy).within(0..=200)?;
    let spinners = match case.spinners {
        Auto::Auto => readers,
        Auto::Is(_) => field!(case.spinners).within(0..=200)?,
    };
    if readers + spinners > 200 {
        return Err("there is none with more than 200 readers and spinners".to_owned());
    }
    Ok(vec![
        ("CPUS", "2".to_owned()),
        ("PROCFILE", quoted(case.procfile.as_str())),
        ("READERS", readers.to_string()),
        ("SPINNERS", spinners.to_string()),
        ("NICE", field!(case.nice).within(-20..=19)?.to_string()),
        ("LEAD_MS", ms(case.lead).to_string()),
        ("DURATION_MS", ms(case.duration).to_string()),
        ("HANG_MS", ms(case.hang_after).to_string()),
        ("PAUSE_US", us(case.pause).to_string()),
        ("REGION_BYTES", bytes(case.size)),
    ])
}
