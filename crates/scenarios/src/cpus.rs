//! Checks of the CPUs that a user named against the CPUs of the machine.

use crate::ScenarioError;
use model::problem::{Problem, UnusableCpu};
use model::{Machine, Need};

/// The CPU with this number, if this process may use it.
///
/// # Errors
/// Why the CPU cannot be used, with the CPUs that could be used.
pub fn check(cpu: u32, machine: &Machine) -> Result<u32, UnusableCpu> {
    let online = ids(machine);
    if !online.contains(&cpu) {
        return Err(UnusableCpu::Absent { online });
    }
    if machine.allowed_cpus.contains(&cpu) {
        return Ok(cpu);
    }
    Err(UnusableCpu::Forbidden { allowed: machine.allowed_cpus.clone() })
}

/// The value of `--on-cpus`: the requested number of CPUs. 0 means `usual`, or all CPUs if there
/// are fewer.
///
/// # Errors
/// If this process may not use that many CPUs.
pub(crate) fn on_cpus(asked: u32, usual: u32, machine: &Machine) -> Result<u32, ScenarioError> {
    let there = u32::try_from(machine.allowed_cpus.len()).unwrap_or(u32::MAX).max(1);
    match asked {
        0 => Ok(there.min(usual)),
        _ if asked <= there => Ok(asked),
        _ => Err(ScenarioError::Unusable(Problem::TooManyCpus { asked, allowed: there })),
    }
}

/// The need for `least` CPUs. None if the process may use that many.
pub(crate) fn missing(least: usize, machine: &Machine) -> Option<Need> {
    let allowed = machine.allowed_cpus.len();
    let number = |cpus: usize| u32::try_from(cpus).unwrap_or(u32::MAX);
    (allowed < least).then(|| Need::Cpus { least: number(least), allowed: number(allowed) })
}

/// The CPUs that are online. If /sys does not list them, the CPUs that this process may use.
fn ids(machine: &Machine) -> Vec<u32> {
    let online: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.id).collect();
    if online.is_empty() { machine.allowed_cpus.clone() } else { online }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::machine::Cpu;

    #[test]
    fn a_wrong_cpu_is_answered_with_the_right_ones() {
        let cpus = [0, 1, 2, 3].map(|id| Cpu { id, core: None, package: None, node: None });
        let machine =
            Machine { cpus: cpus.into(), allowed_cpus: vec![0, 1, 3], ..Machine::default() };
        assert_eq!(check(3, &machine), Ok(3));
        let online = vec![0, 1, 2, 3];
        assert_eq!(check(7, &machine), Err(UnusableCpu::Absent { online }));
        let allowed = vec![0, 1, 3];
        assert_eq!(check(2, &machine), Err(UnusableCpu::Forbidden { allowed }));
    }
}
