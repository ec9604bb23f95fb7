//! From knobs to arms and scripts, checked against the machine.

use super::meta::META;
use super::trial::{Cast, Script, Twin};
use crate::cpus;
use crate::{Missing, ScenarioError, Site};
use host::{limits, placement};
use model::{Arm, Machine, Role, Settings, Value};
use std::time::Duration;

/// Control of the study that holds the process alone against itself.
const CONTROL: &str = "control";

/// The process alone, which is shown beside the others.
const ALONE: &str = "alone";

/// The word of `--target` for the idle twin.
const TWIN: &str = "twin";

/// What part of the available memory the region may take.
const MEMORY_SHARE: f64 = 0.8;

/// A call of mmap or munmap takes longer than this anywhere.
const SHORTEST_CALL: Duration = Duration::from_micros(1);

/// A call of mmap or munmap takes about so long beside its pause, the sleep's own cost among it.
const USUAL_CALL: Duration = Duration::from_micros(20);

/// After so many calls a page of the region, it is split as far as it will ever be.
const CALLS_A_PAGE: u64 = 3;

/// What setting a trial up costs beside its duration, roughly, for the progress bar.
const SET_UP: Duration = Duration::from_millis(80);

/// What its twin and its load cost beside, but for a little each.
const SET_UP_LOAD: Duration = Duration::from_millis(35);

/// So many readers of the mapper hang it as a rule.
const USUALLY_HANGS: u32 = 10;

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

/// The arms: for each number of readers its control and its case, and the process alone where the
/// numbers hold 0.
pub(super) fn arms(settings: &Settings, site: &Site) -> Result<Vec<Arm>, ScenarioError> {
    if let Some(missing) = missing(site.machine) {
        return Err(ScenarioError::Missing(missing));
    }
    check_procfile(settings, site)?;
    check_size(settings, site)?;
    check_mappings(settings, site)?;
    check_granularity(settings)?;
    check_processes(settings, site)?;
    check_nice(settings)?;
    place(settings, site)?;
    Ok(arms_for(settings))
}

fn arms_for(settings: &Settings) -> Vec<Arm> {
    let mut busy: Vec<i64> = settings.numbers("busy").unwrap_or(&[]).to_vec();
    busy.sort_unstable();
    busy.dedup();
    // A list of nothing but 0 asks for the process alone against itself.
    if busy == [0] {
        let case = arm(settings, 0, "busy-0", Role::Case);
        return vec![arm(settings, 0, CONTROL, Role::Control), case];
    }
    let mut arms = Vec::new();
    for count in busy.iter().copied().filter(|count| *count > 0) {
        let mut control = arm(settings, count, &format!("twin-{count}"), Role::Control);
        control.settings.set("target", Value::Text(TWIN.to_owned()));
        let mut case = arm(settings, count, &format!("busy-{count}"), Role::Case);
        case.against = Some(control.id.clone());
        arms.extend([control, case]);
    }
    if busy.contains(&0) {
        arms.push(arm(settings, 0, ALONE, Role::Baseline));
    }
    arms
}

fn arm(settings: &Settings, busy: i64, id: &str, role: Role) -> Arm {
    let mut settings = settings.clone();
    settings.set("busy", Value::Number(busy));
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
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
    let twin = settings.numbers("busy").unwrap_or(&[]).iter().any(|busy| *busy > 0);
    let (regions, twice) =
        if twin { (2.0, "twice that, for the mapper and its twin, is ") } else { (1.0, "") };
    if size as f64 * regions <= available as f64 * MEMORY_SHARE {
        return Ok(());
    }
    Err(ScenarioError::Unusable(format!(
        "--size {}: {twice}more than {:.0}% of the {} MiB of memory available here; take a smaller \
         region",
        model::units::format_size(size),
        MEMORY_SHARE * 100.0,
        available >> 20
    )))
}

/// A region splits into a mapping for every four pages in the long run, since each page is mapped or
/// not by the toss of a coin; a mapper that makes as many calls runs into the kernel's limit.
fn check_mappings(settings: &Settings, site: &Site) -> Result<(), ScenarioError> {
    let Some(most) = limits::max_map_count(site.roots) else { return Ok(()) };
    let pages = settings.size("size").unwrap_or(0) / rustix::param::page_size() as u64;
    let duration = settings.duration("duration").unwrap_or_default();
    let call = settings.duration("pause").unwrap_or_default() + SHORTEST_CALL;
    let calls = duration.as_nanos() / call.as_nanos();
    if pages / 4 < most || calls < u128::from(most) {
        return Ok(());
    }
    Err(ScenarioError::Unusable(format!(
        "--size {}: the region would split into more mappings than vm.max_map_count ({most}) allows; \
         take a smaller region, or sysctl vm.max_map_count={}",
        settings.text("size").unwrap_or_default(),
        pages / 4 + most
    )))
}

/// The children count in whole units; a value that would be cut is refused rather than changed.
fn check_granularity(settings: &Settings) -> Result<(), ScenarioError> {
    let whole = [
        ("duration", "milliseconds", 1_000_000),
        ("busyduration", "milliseconds", 1_000_000),
        ("pause", "microseconds", 1_000),
    ];
    for (knob, unit, ns) in whole {
        let value = settings.duration(knob).unwrap_or_default();
        if !value.as_nanos().is_multiple_of(ns) {
            let text = settings.text(knob).unwrap_or_default();
            return Err(ScenarioError::Unusable(format!("--{knob} {text}: whole {unit} only")));
        }
    }
    Ok(())
}

fn check_processes(settings: &Settings, site: &Site) -> Result<(), ScenarioError> {
    let most = settings.numbers("busy").unwrap_or(&[]).iter().max().copied().unwrap_or(0);
    let wanted = u64::try_from(most).unwrap_or(0).saturating_mul(2);
    match limits::pid_max(site.roots) {
        Some(limit) if wanted > limit / 2 => Err(ScenarioError::Unusable(format!(
            "--busy {most}: {wanted} processes are more than half of what kernel.pid_max ({limit}) \
             allows on the whole machine; take fewer"
        ))),
        _ => Ok(()),
    }
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
    let tool = named("cpu-tool")?;
    if tool == Some(load) {
        return Err(ScenarioError::Unusable(format!(
            "--cpu-tool {load} is the CPU of the load: tailback would starve behind it; name another"
        )));
    }
    Ok((mapper, load, tool.unwrap_or_else(|| beside(chosen.tool, mapper, load, machine))))
}

/// The CPU of the tool: as chosen, unless the load was put there.
fn beside(chosen: u32, mapper: u32, load: u32, machine: &Machine) -> u32 {
    let free = |cpu: &u32| *cpu != mapper && *cpu != load;
    match chosen == load {
        true => machine.allowed_cpus.iter().copied().find(free).unwrap_or(mapper),
        false => chosen,
    }
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
    let twin = (busy > 0).then(|| Twin {
        calls: calls_of_twin(settings),
        read: settings.text("target") == Some(TWIN),
        // Nothing runs there before the load does, so that the two are set up at once.
        cpu: load,
    });
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
        twin,
    })
}

/// As many calls as an undisturbed mapper has made half-way through its trial, which is what its
/// readers find on average: with each call its map is split a little further.
fn calls_of_twin(settings: &Settings) -> u64 {
    let half = settings.duration("duration").unwrap_or_default() / 2;
    let call = settings.duration("pause").unwrap_or_default() + USUAL_CALL;
    let calls = u64::try_from(half.as_nanos() / call.as_nanos()).unwrap_or(u64::MAX);
    let pages = settings.size("size").unwrap_or(0) / rustix::param::page_size() as u64;
    calls.min(pages.saturating_mul(CALLS_A_PAGE))
}

pub(super) fn expected(settings: &Settings) -> Duration {
    let duration = |knob: &str| settings.duration(knob).unwrap_or_default();
    let busy = settings.number("busy").and_then(|busy| u32::try_from(busy).ok()).unwrap_or(0);
    let hangs = busy >= USUALLY_HANGS && settings.text("target") != Some(TWIN);
    let hang = if hangs { duration("hang-after") } else { Duration::ZERO };
    let load = if busy > 0 { SET_UP_LOAD + duration("lead") } else { Duration::ZERO };
    SET_UP + load + duration("duration") + hang + Duration::from_millis(1) * busy
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
    fn each_number_of_readers_has_its_twin_and_zero_is_the_process_alone() {
        assert_eq!(ids(&[10, 0, 1, 10]), ["twin-1", "busy-1", "twin-10", "busy-10", "alone"]);
        assert_eq!(ids(&[5]), ["twin-5", "busy-5"]);
        let arms = arms_for(&settings(&[0, 5]));
        let roles: Vec<Role> = arms.iter().map(|arm| arm.role).collect();
        assert_eq!(roles, [Role::Control, Role::Case, Role::Baseline]);
        assert_eq!(arms[1].against.as_deref(), Some("twin-5"));
        assert_eq!((&arms[0].against, &arms[2].against), (&None, &None));
    }

    #[test]
    fn zero_alone_is_held_against_itself() {
        assert_eq!(ids(&[0]), ["control", "busy-0"]);
        let arms = arms_for(&settings(&[0]));
        assert_eq!((arms[1].role, &arms[1].settings), (Role::Case, &arms[0].settings));
    }

    #[test]
    fn case_and_control_differ_in_whom_they_read_alone_unless_both_are_to_read_the_twin() {
        let mut settings = settings(&[5]);
        let arms = arms_for(&settings);
        let mut control = arms[0].settings.clone();
        assert_eq!(control.text("target"), Some("twin"));
        control.set("target", Value::Text("mapper".to_owned()));
        assert_eq!(control, arms[1].settings);
        settings.set("target", Value::Text("twin".to_owned()));
        let arms = arms_for(&settings);
        assert_eq!(arms[0].settings, arms[1].settings);
    }

    #[test]
    fn a_twin_is_split_as_the_mapper_is_half_way_and_no_further_than_it_ever_is() {
        let mut settings = settings(&[5]);
        // 125 ms at 30 us a call.
        assert_eq!(calls_of_twin(&settings), 4166);
        settings.set("duration", Value::Text("60s".to_owned()));
        settings.set("size", Value::Text("64KiB".to_owned()));
        let pages = (64 << 10) / rustix::param::page_size() as u64;
        assert_eq!(calls_of_twin(&settings), 3 * pages);
    }

    #[test]
    fn mapper_load_and_tool_find_their_cpus_whichever_is_named() {
        let cpus =
            [0, 1].map(|id| model::machine::Cpu { id, core: None, package: None, node: None });
        let machine = Machine { cpus: cpus.into(), allowed_cpus: vec![0, 1], ..Machine::default() };
        let roots = host::Roots::at("/nonexistent");
        let site = Site { roots: &roots, machine: &machine };
        let placed = |named: &[(&str, i64)]| {
            let mut settings = settings(&[1]);
            named.iter().for_each(|(knob, cpu)| settings.set(knob, Value::Number(*cpu)));
            place(&settings, &site)
        };
        for named in [&[("cpu-mapper", 1)][..], &[("cpu-load", 0)], &[("cpu-load", 1)], &[]] {
            let (mapper, load, tool) = placed(named).unwrap();
            assert!(mapper != load && tool != load, "{named:?}: {mapper} {load} {tool}");
        }
        assert!(placed(&[("cpu-mapper", 1), ("cpu-load", 1)]).is_err());
        assert!(placed(&[("cpu-load", 1), ("cpu-tool", 1)]).is_err());
        assert!(placed(&[("cpu-load", 2)]).is_err());
    }

    #[test]
    fn values_that_would_be_cut_or_cannot_work_are_refused() {
        let machine = Machine::default();
        let folder = tempfile::tempdir().unwrap();
        let roots = host::Roots::at(folder.path());
        let put = |path: &str, text: &str| {
            let path = folder.path().join("proc").join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        put("sys/vm/max_map_count", "65530");
        put("sys/kernel/pid_max", "32768");
        let site = Site { roots: &roots, machine: &machine };
        let with = |knob: &str, value: &str| {
            let mut settings = settings(&[1]);
            settings.set(knob, META.knob(knob).unwrap().parse(value).unwrap());
            settings
        };
        assert!(check_granularity(&with("busyduration", "500us")).is_err());
        assert!(check_granularity(&with("pause", "500ns")).is_err());
        assert!(check_granularity(&with("duration", "10ms")).is_ok());
        assert!(check_processes(&with("busy", "10000"), &site).is_err());
        assert!(check_processes(&with("busy", "1000"), &site).is_ok());
        let mut large = with("size", "4GiB");
        assert!(check_mappings(&large, &site).is_ok(), "too few calls to split it that far");
        large.set("duration", Value::Text("10s".to_owned()));
        assert!(check_mappings(&large, &site).is_err());
    }

    #[test]
    fn one_cpu_is_too_few_and_says_what_would_help() {
        let machine = Machine { allowed_cpus: vec![3], ..Machine::default() };
        let missing = missing(&machine).unwrap();
        assert!(missing.what.contains("needs 2 CPUs"), "{missing:?}");
        assert!(super::missing(&Machine { allowed_cpus: vec![3, 4], ..machine }).is_none());
    }
}
