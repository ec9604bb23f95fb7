//! The reproducer of `cpu-quota`.

use super::part::{Groups, Language, Part};
use super::settings::{Defines, Read, field, ms, us};
use scenarios::cpu_quota::CpuQuotaParams;
use scenarios::params::Time;

/// Its part.
pub const PART: Part = Part {
    scenario: "cpu-quota",
    source: include_str!("../../../../scenarios/src/cpu_quota/reproducer.c"),
    language: Language::C,
    groups: Groups::Any,
    defines,
};

fn defines(control: Read, case: Read) -> Result<Defines, String> {
    let (control, case): (CpuQuotaParams, CpuQuotaParams) = (control.params()?, case.params()?);
    field!(control.burst).is(&Time::ZERO)?;
    field!(case.burst).is(&Time::ZERO)?;
    let spread = field!(case.on_cpus).within(1..=200)?;
    Ok(vec![
        ("CPUS", spread.to_string()),
        ("SPREAD", spread.to_string()),
        ("NARROW", field!(control.on_cpus).within(1..=200)?.to_string()),
        ("THREADS", field!(case.threads).within(1..=200)?.to_string()),
        ("FAST", field!(case.fast).within(1..=200)?.to_string()),
        ("QUOTA_US", us(case.quota).to_string()),
        ("PERIOD_US", us(case.period).to_string()),
        ("WAKE_US", us(case.wake).to_string()),
        ("DURATION_MS", ms(case.duration).to_string()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::arm;
    use model::{Arm, Role};
    use scenarios::params::Params;

    #[test]
    fn a_program_has_no_burst() {
        let of = |burst| {
            let params =
                CpuQuotaParams { on_cpus: 2, threads: 3, burst, ..CpuQuotaParams::default() };
            let case = Arm { settings: params.settings(), ..arm("spread", Role::Case) };
            let read = Read::new(&case, &[]);
            defines(read, read).map(|defines| defines.len())
        };
        assert_eq!(of(Time::ZERO), Ok(9));
        let refused = of(Time::ms(4)).unwrap_err();
        assert!(refused.starts_with("there is none with --burst 4ms"), "{refused}");
    }
}
