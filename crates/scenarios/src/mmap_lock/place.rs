//! The CPUs of mapper, load and tool.

use super::meta::META;
use super::params::MmapLockParams;
use super::sentences::MmapLockFact;
use crate::cpus;
use crate::params::{Auto, Cpu};
use crate::{Host, ScenarioError};
use host::placement;
use model::{Machine, Need, Problem};

/// What this machine lacks for the scenario.
pub(super) fn missing(machine: &Machine) -> Option<Need> {
    cpus::missing(META.needs.cpus, machine)
}

/// The CPUs of mapper, load and tool: as requested, otherwise by the topology.
pub(super) fn place(
    params: &MmapLockParams,
    host: &Host,
) -> Result<(u32, u32, u32), ScenarioError> {
    let machine = host.machine;
    let chosen = placement::choose(&machine.cpus, &machine.allowed_cpus)
        .ok_or_else(|| missing(machine).map_or_else(too_few, ScenarioError::Missing))?;
    let named = |flag: &str, cpu: &Auto<Cpu>| -> Result<Option<u32>, ScenarioError> {
        cpu.get().map(|cpu| check_cpu(flag, cpu, machine)).transpose()
    };
    let (mapper, load) =
        (named("--cpu-mapper", &params.cpu_mapper)?, named("--cpu-load", &params.cpu_load)?);
    let (mapper, load) = match (mapper, load) {
        (None, None) => (chosen.measured, chosen.load),
        (Some(mapper), Some(load)) => (mapper, load),
        // If the named CPU was also chosen for the other part, the two parts swap CPUs.
        (Some(mapper), None) if mapper == chosen.load => (mapper, chosen.measured),
        (Some(mapper), None) => (mapper, chosen.load),
        (None, Some(load)) if load == chosen.measured => (chosen.load, load),
        (None, Some(load)) => (chosen.measured, load),
    };
    if mapper == load {
        return Err(ScenarioError::unusable(MmapLockFact::OneCpu { mapper, load }));
    }
    let tool = named("--cpu-tool", &params.cpu_tool)?;
    if tool == Some(load) {
        return Err(ScenarioError::unusable(MmapLockFact::ToolOnLoad { load }));
    }
    Ok((mapper, load, tool.unwrap_or_else(|| beside(chosen.tool, mapper, load, machine))))
}

/// The CPU of the tool: as chosen, unless the load is there.
fn beside(chosen: u32, mapper: u32, load: u32, machine: &Machine) -> u32 {
    let free = |cpu: &u32| *cpu != mapper && *cpu != load;
    match chosen == load {
        true => machine.allowed_cpus.iter().copied().find(free).unwrap_or(mapper),
        false => chosen,
    }
}

fn too_few() -> ScenarioError {
    ScenarioError::Broken(Problem::CpusUnread)
}

fn check_cpu(flag: &str, cpu: Cpu, machine: &Machine) -> Result<u32, ScenarioError> {
    let (option, cpu) = (flag.to_owned(), cpu.get());
    cpus::check(cpu, machine)
        .map_err(|why| ScenarioError::Unusable(Problem::Cpu { option, cpu, why }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::Counts;
    use crate::testing;

    fn params(busy: &[u32]) -> MmapLockParams {
        MmapLockParams { busy: Counts::new(busy.to_vec()), ..MmapLockParams::default() }
    }

    #[test]
    fn mapper_load_and_tool_find_their_cpus_whichever_is_named() {
        let cpus =
            [0, 1].map(|id| model::machine::Cpu { id, core: None, package: None, node: None });
        let machine = Machine { cpus: cpus.into(), allowed_cpus: vec![0, 1], ..Machine::default() };
        let roots = host::Roots::at("/nonexistent");
        let host = Host { roots: &roots, machine: &machine, otps: &crate::erlang::Otps::default() };
        let placed = |[mapper, load, tool]: [Option<u32>; 3]| {
            let cpu = |named: Option<u32>| named.map_or(Auto::Auto, |cpu| Auto::Is(Cpu::new(cpu)));
            let (cpu_mapper, cpu_load, cpu_tool) = (cpu(mapper), cpu(load), cpu(tool));
            place(&MmapLockParams { cpu_mapper, cpu_load, cpu_tool, ..params(&[1]) }, &host)
        };
        let (auto, first, second) = (None, Some(0), Some(1));
        for named in
            [[second, auto, auto], [auto, first, auto], [auto, second, auto], [auto, auto, auto]]
        {
            let (mapper, load, tool) = placed(named).unwrap();
            assert!(mapper != load && tool != load, "{named:?}: {mapper} {load} {tool}");
        }
        let refused = |named| testing::refused(&META, placed(named));
        assert!(refused([second, second, auto]).starts_with("--cpu-mapper 1 and --cpu-load 1 are"));
        assert!(refused([auto, second, second]).starts_with("--cpu-tool 1 is the CPU of the load"));
        assert!(placed([auto, Some(2), auto]).is_err());
    }

    #[test]
    fn one_cpu_is_too_few() {
        let machine = Machine { allowed_cpus: vec![3], ..Machine::default() };
        assert_eq!(missing(&machine), Some(Need::Cpus { least: 2, allowed: 1 }));
        assert!(super::missing(&Machine { allowed_cpus: vec![3, 4], ..machine }).is_none());
    }
}
