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

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::arm;
    use model::{Arm, Role};
    use scenarios::params::{Params, Size};

    #[test]
    fn a_program_keeps_whole_units_as_the_worker_does() {
        let params = MemoryHighParams {
            need: Size::mib(65),
            unit: Size::mib(32),
            limit: Size::mib(70),
            ..MemoryHighParams::default()
        };
        let case = Arm { settings: params.settings(), ..arm("case", Role::Case) };
        let read = Read::new(&case, &[]);
        let need = defines(read, read).unwrap().into_iter().find(|(name, _)| *name == "NEED_BYTES");
        assert!(need.unwrap().1.starts_with(&(96u64 << 20).to_string()));
    }
}
