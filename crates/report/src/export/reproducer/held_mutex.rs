//! The reproducer of `held-mutex`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Read, field, ms, us};
use scenarios::held_mutex::{Cause, HeldMutexParams};
use scenarios::params::{Auto, YesNo};

/// Its part.
pub const PART: Part = Part {
    scenario: "held-mutex",
    source: include_str!("../../../../scenarios/src/held_mutex/reproducer.c"),
    language: Language::C,
    groups: Groups::None,
    defines,
};

fn defines(control: Read, case: Read) -> Result<Defines, String> {
    let (control, case): (HeldMutexParams, HeldMutexParams) = (control.params()?, case.params()?);
    field!(case.by).is_one_of(&[Cause::Nice, Cause::Idle])?;
    field!(control.held_up).is(&YesNo::No)?;
    field!(case.held_up).is(&YesNo::Yes)?;
    let rivals = match case.rivals {
        Auto::Auto => 1,
        Auto::Is(_) => field!(case.rivals).within(0..=200)?,
    };
    Ok(vec![
        ("CPUS", "2".to_owned()),
        ("IDLE", u8::from(case.by == Cause::Idle).to_string()),
        ("NICE", field!(case.nice).within(1..=19)?.to_string()),
        ("INHERIT", u8::from(case.inherit.is_yes()).to_string()),
        ("RIVALS", rivals.to_string()),
        ("INSIDE_US", us(case.inside).to_string()),
        ("REST_US", us(case.rest).to_string()),
        ("EVERY_US", us(case.every).to_string()),
        ("DURATION_MS", ms(case.duration).to_string()),
    ])
}
