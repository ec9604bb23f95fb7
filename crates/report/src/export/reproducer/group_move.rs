//! The reproducer of `group-move`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Read, field, ms, us};
use scenarios::group_move::{By, GroupMoveParams};

/// Its part.
pub const PART: Part = Part {
    scenario: "group-move",
    source: include_str!("../../../../scenarios/src/group_move/reproducer.c"),
    language: Language::C,
    groups: Groups::Any,
    defines,
};

fn defines(control: Read, case: Read) -> Result<Defines, String> {
    let control: GroupMoveParams = control.params()?;
    let case: GroupMoveParams = case.params()?;
    field!(control.by).is(&By::OtherFile)?;
    field!(case.by).is(&By::Move)?;
    Ok(vec![
        ("CPUS", "1".to_owned()),
        ("GAP_US", us(case.gap).to_string()),
        ("DURATION_MS", ms(case.duration).to_string()),
    ])
}
