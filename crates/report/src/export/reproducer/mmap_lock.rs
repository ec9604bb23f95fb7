//! The reproducer of `mmap-lock`.

use super::part::{Language, Part};
use super::quoted::quoted;
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "mmap-lock",
    source: include_str!("../../../../scenarios/src/mmap_lock/reproducer.c"),
    language: Language::C,
    groups: false,
    defines,
};

fn defines(_: Read, read: Read) -> Result<Defines, String> {
    read.is("reader-quota", "none")?;
    read.is("busyduration", "0s")?;
    read.is("target", "mapper")?;
    read.is("cpu-mapper", "auto")?;
    read.is("cpu-load", "auto")?;
    let readers = read.number("busy")?;
    let spinners = match read.text("spinners").as_str() {
        "auto" => readers,
        _ => read.number("spinners")?,
    };
    if readers + spinners > 200 {
        return Err("there is none with more than 200 readers and spinners".to_owned());
    }
    Ok(vec![
        ("CPUS", "2".to_owned()),
        ("PROCFILE", quoted(&read.text("procfile"))),
        ("READERS", readers.to_string()),
        ("SPINNERS", spinners.to_string()),
        ("NICE", read.number("nice")?.to_string()),
        ("LEAD_MS", read.ms("lead")?),
        ("DURATION_MS", read.ms("duration")?),
        ("HANG_MS", read.ms("hang-after")?),
        ("PAUSE_US", read.us("pause")?),
        ("REGION_BYTES", read.bytes("size")?),
    ])
}
