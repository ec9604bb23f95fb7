//! The reproducer of `preempted-holder`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Read, field, ms, us};
use scenarios::params::YesNo;
use scenarios::preempted_holder::{Fault, LockKind, PreemptedHolderParams};

/// Its part.
pub const PART: Part = Part {
    scenario: "preempted-holder",
    source: include_str!("../../../../scenarios/src/preempted_holder/reproducer.c"),
    language: Language::C,
    groups: Groups::None,
    defines,
};

fn defines(_: Read, case: Read) -> Result<Defines, String> {
    let case: PreemptedHolderParams = case.params()?;
    field!(case.fault).is(&Fault::None)?;
    field!(case.lock).is(&LockKind::Spin)?;
    field!(case.slice_extension).is(&YesNo::No)?;
    Ok(vec![
        ("CPUS", field!(case.on_cpus).within(1..=200)?.to_string()),
        ("THREADS", field!(case.threads).within(1..=200)?.to_string()),
        ("INSIDE_US", us(case.inside).to_string()),
        ("OUTSIDE_US", us(case.outside).to_string()),
        ("DURATION_MS", ms(case.duration).to_string()),
    ])
}
