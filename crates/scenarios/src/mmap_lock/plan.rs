//! From knobs to arms and scripts, checked against the machine.

use super::meta::META;
use super::trial::{Cast, Script};
use crate::cpus;
use crate::{Missing, ScenarioError, Site};
use host::{limits, placement};
use model::{Arm, Machine, Role, Settings, Value};
use std::time::Duration;

/// Arm that the others are held against.
const CONTROL: &str = "control";

/// What part of the available memory the region may take.
const MEMORY_SHARE: f64 = 0.8;

/// What setting a trial up costs beside its duration, roughly, for the progress bar.
const SET_UP: Duration = Duration::from_millis(60);

pub(super) fn missing(machine: &Machine) -> Option<Missing> {
    let allowed = machine.allowed_cpus.len();
    (allowed < META.needs.cpus).then(|| Missing {
        what: format!(
            "mmap-lock needs {} CPUs, one for the process that maps and one for its readers; this \
             process may use {allowed}",
            META.needs.cpus
        ),
        grant: "widen its affinity mask or cpuset (taskset -pc, docker --cpuset-cpus), or use a \
                machine with more CPUs"
            .to_owned(),
    })
}

/// The arms: the control, then one for each other value of `busy`.
pub(super) fn arms(settings: &Settings, site: &Site) -> Result<Vec<Arm>, ScenarioError> {
    if let Some(missing) = missing(site.machine) {
        return Err(ScenarioError::Missing(missing));
    }
    check_procfile(settings, site)?;
    check_size(settings, site)?;
    check_nice(settings)?;
    place(settings, site)?;
    Ok(arms_for(settings))
}

fn arms_for(settings: &Settings) -> Vec<Arm> {
    let mut busy: Vec<i64> = settings.numbers("busy").unwrap_or(&[]).to_vec();
    busy.sort_unstable();
    busy.dedup();
    let mut arms = vec![arm(settings, 0, CONTROL, Role::Control)];
    // A list of nothing but 0 asks for the control against itself.
    let only_control = busy == [0];
    for count in busy.into_iter().filter(|count| *count > 0 || only_control) {
        arms.push(arm(settings, count, &format!("busy-{count}"), Role::Case));
    }
    arms
}

fn arm(settings: &Settings, busy: i64, id: &str, role: Role) -> Arm {
    let mut settings = settings.clone();
    settings.set("busy", Value::Number(busy));
    Arm { id: id.to_owned(), role, settings }
}

fn check_procfile(settings: &Settings, site: &Site) -> Result<(), ScenarioError> {
    let file = settings.text("procfile").unwrap_or_default();
    let path = site.roots.proc.join("self").join(file);
    let why = match std::fs::metadata(&path) {
        Err(error) => error.to_string(),
        Ok(metadata) if !metadata.is_file() => "not a file that can be read".to_owned(),
        Ok(_) => match read_a_byte(&path) {
            Ok(()) => return Ok(()),
            Err(error) => error.to_string(),
        },
    };
    Err(ScenarioError::Unusable(format!(
        "--procfile {file}: {}: {why}; name a file that this kernel has, such as smaps, maps or \
         status",
        path.display()
    )))
}

fn read_a_byte(path: &std::path::Path) -> std::io::Result<()> {
    use std::io::Read;
    let mut byte = [0];
    std::fs::File::open(path)?.read(&mut byte).map(|_| ())
}

fn check_size(settings: &Settings, site: &Site) -> Result<(), ScenarioError> {
    let size = settings.size("size").unwrap_or(0);
    let Some(available) = limits::memory_available(site.roots) else {
        return Ok(());
    };
    if size as f64 <= available as f64 * MEMORY_SHARE {
        return Ok(());
    }
    Err(ScenarioError::Unusable(format!(
        "--size {}: more than {:.0}% of the {} MiB of memory available here; take a smaller region",
        model::units::format_size(size),
        MEMORY_SHARE * 100.0,
        available >> 20
    )))
}

fn check_nice(settings: &Settings) -> Result<(), ScenarioError> {
    let nice = nice(settings);
    if limits::can_renice_to(nice) {
        return Ok(());
    }
    Err(ScenarioError::Missing(Missing {
        what: format!("--nice {nice}: this process may not raise the priority of the scanners"),
        grant: "run as root, or raise the limit with `ulimit -e`".to_owned(),
    }))
}

fn nice(settings: &Settings) -> i32 {
    settings.number("nice").and_then(|nice| i32::try_from(nice).ok()).unwrap_or(15)
}

/// CPUs of mapper, load and tool: as asked, else from the topology.
fn place(settings: &Settings, site: &Site) -> Result<(u32, u32, u32), ScenarioError> {
    let machine = site.machine;
    let chosen = placement::choose(&machine.cpus, &machine.allowed_cpus)
        .ok_or_else(|| missing(machine).map_or_else(too_few, ScenarioError::Missing))?;
    let named = |knob: &str| -> Result<Option<u32>, ScenarioError> {
        settings.number(knob).map(|number| check_cpu(knob, number, machine)).transpose()
    };
    let (mapper, load) = match (named("cpu-mapper")?, named("cpu-load")?) {
        (None, None) => (chosen.measured, chosen.load),
        (Some(mapper), Some(load)) => (mapper, load),
        // Where one is named and the other was chosen for the same, they change places.
        (Some(mapper), None) if mapper == chosen.load => (mapper, chosen.measured),
        (Some(mapper), None) => (mapper, chosen.load),
        (None, Some(load)) if load == chosen.measured => (chosen.load, load),
        (None, Some(load)) => (chosen.measured, load),
    };
    if mapper == load {
        return Err(ScenarioError::Unusable(format!(
            "--cpu-mapper {mapper} and --cpu-load {load} are the same: the mapper would wait for \
             the CPU and not for the lock; name two CPUs, or neither"
        )));
    }
    Ok((mapper, load, named("cpu-tool")?.unwrap_or(chosen.tool)))
}

fn too_few() -> ScenarioError {
    ScenarioError::Broken("the CPUs of this machine could not be read from /sys".to_owned())
}

fn check_cpu(knob: &str, number: i64, machine: &Machine) -> Result<u32, ScenarioError> {
    cpus::check(number, machine)
        .map_err(|why| ScenarioError::Unusable(format!("--{knob} {number}: {why}")))
}

/// What a trial of these settings plays.
pub(super) fn script(settings: &Settings, site: &Site, seed: u64) -> Result<Script, ScenarioError> {
    let (mapper, load, tool) = place(settings, site)?;
    let duration = |knob: &str| settings.duration(knob).unwrap_or_default();
    let busy = settings.number("busy").and_then(|busy| u32::try_from(busy).ok()).unwrap_or(0);
    Ok(Script {
        procfile: settings.text("procfile").unwrap_or("smaps").to_owned(),
        lead: duration("lead"),
        duration: duration("duration"),
        hang_after: duration("hang-after"),
        region_bytes: settings.size("size").unwrap_or(128 << 20),
        pause: duration("pause"),
        seed,
        cpu_mapper: mapper,
        cpu_tool: tool,
        casts: vec![Cast {
            cpu: load,
            scanners: busy,
            spinners: busy,
            nice: nice(settings),
            busyduration: duration("busyduration"),
        }],
    })
}

pub(super) fn expected(settings: &Settings) -> Duration {
    let duration = |knob: &str| settings.duration(knob).unwrap_or_default();
    let busy = settings.number("busy").and_then(|busy| u32::try_from(busy).ok()).unwrap_or(0);
    let hang = if busy >= 10 { duration("hang-after") } else { Duration::ZERO };
    let lead = if busy > 0 { duration("lead") } else { Duration::ZERO };
    SET_UP + lead + duration("duration") + hang + Duration::from_millis(2) * busy
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(busy: &[i64]) -> Settings {
        let mut settings = Settings::defaults(META.knobs, false);
        settings.set("busy", Value::Numbers(busy.to_vec()));
        settings
    }

    fn ids(busy: &[i64]) -> Vec<String> {
        arms_for(&settings(busy)).into_iter().map(|arm| arm.id).collect()
    }

    #[test]
    fn the_control_comes_first_and_zero_alone_is_held_against_itself() {
        assert_eq!(ids(&[10, 0, 1, 10]), ["control", "busy-1", "busy-10"]);
        assert_eq!(ids(&[5]), ["control", "busy-5"]);
        assert_eq!(ids(&[0]), ["control", "busy-0"]);
        assert_eq!(arms_for(&settings(&[0]))[1].role, Role::Case);
    }

    #[test]
    fn one_cpu_is_too_few_and_says_what_would_help() {
        let machine = Machine { allowed_cpus: vec![3], ..Machine::default() };
        let missing = missing(&machine).unwrap();
        assert!(missing.what.contains("needs 2 CPUs"), "{missing:?}");
        assert!(super::missing(&Machine { allowed_cpus: vec![3, 4], ..machine }).is_none());
    }
}
