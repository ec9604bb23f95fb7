//! The reproducer of `held-mutex`.

use super::part::{Language, Part};
use super::settings::{Defines, Read};

/// Its part.
pub const PART: Part = Part {
    scenario: "held-mutex",
    source: include_str!("../../../../scenarios/src/held_mutex/reproducer.c"),
    language: Language::C,
    groups: false,
    defines,
};

fn defines(control: Read, case: Read) -> Result<Defines, String> {
    let by = case.one_of("by", &["nice", "idle"])?;
    control.is("held-up", "no")?;
    case.is("held-up", "yes")?;
    let rivals = match case.text("rivals").as_str() {
        "auto" => 1,
        _ => case.number("rivals")?,
    };
    Ok(vec![
        ("CPUS", "2".to_owned()),
        ("IDLE", u8::from(by == "idle").to_string()),
        ("NICE", case.number("nice")?.to_string()),
        ("INHERIT", u8::from(case.text("inherit") == "yes").to_string()),
        ("RIVALS", rivals.to_string()),
        ("INSIDE_US", case.us("inside")?),
        ("REST_US", case.us("rest")?),
        ("EVERY_US", case.us("every")?),
        ("DURATION_MS", case.ms("duration")?),
    ])
}
