//! CPUs that somebody named, checked against those that there are.

use crate::ScenarioError;
use model::Machine;

/// The CPU of that number, if this process may use it.
///
/// # Errors
/// A sentence that names the CPUs there are.
pub fn check(cpu: u32, machine: &Machine) -> Result<u32, String> {
    let online = ids(machine);
    if !online.contains(&cpu) {
        return Err(format!("there is no such CPU; this machine has {}", list(&online)));
    }
    if machine.allowed_cpus.contains(&cpu) {
        return Ok(cpu);
    }
    Err(format!(
        "the affinity mask or cpuset of this process forbids it; it may use {}",
        list(&machine.allowed_cpus)
    ))
}

/// The value of `--on-cpus`: so many CPUs as are asked for, else `usual` or all that there are.
///
/// # Errors
/// If this process may not use so many.
pub(crate) fn on_cpus(asked: u32, usual: u32, machine: &Machine) -> Result<u32, ScenarioError> {
    let there = u32::try_from(machine.allowed_cpus.len()).unwrap_or(u32::MAX).max(1);
    match asked {
        0 => Ok(there.min(usual)),
        _ if asked <= there => Ok(asked),
        _ => Err(ScenarioError::Unusable(format!(
            "--on-cpus {asked}: this process may use {there} CPUs"
        ))),
    }
}

/// The CPUs that are online; where /sys does not tell, those that may be used.
fn ids(machine: &Machine) -> Vec<u32> {
    let online: Vec<u32> = machine.cpus.iter().map(|cpu| cpu.id).collect();
    if online.is_empty() { machine.allowed_cpus.clone() } else { online }
}

/// CPUs as the kernel lists them: `CPUs 0-3,8`.
pub fn list(cpus: &[u32]) -> String {
    let noun = if cpus.len() == 1 { "CPU" } else { "CPUs" };
    format!("{noun} {}", os::cpulist::format(cpus))
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
        assert_eq!(
            check(7, &machine).unwrap_err(),
            "there is no such CPU; this machine has CPUs 0-3"
        );
        let forbidden = check(2, &machine).unwrap_err();
        assert!(forbidden.ends_with("it may use CPUs 0-1,3"), "{forbidden}");
        assert_eq!(list(&[5]), "CPU 5");
    }
}
