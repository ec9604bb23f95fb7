//! From parameters to arms and scripts, checked against the machine.

use super::load::{CpuLoad, TrialSpec, Twin};
use super::meta::META;
use super::params::{MmapLockParams, Target};
use crate::cpus;
use crate::params::{Auto, Counts, Cpu};
use crate::{Host, Missing, ScenarioError};
use host::{limits, placement};
use model::{Arm, Judging, Machine, Role};
use std::time::Duration;

/// Control of the study that holds the process alone against itself.
const CONTROL: &str = "control";

/// The process alone, which is shown beside the others.
const ALONE: &str = "alone";

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

/// A difference of so many milliseconds in a trial counts as none: a call that the host, or another
/// task, interrupts for a slice of CPU time is late by 3 to 5 ms, and on a virtual machine with all
/// CPUs busy that strikes one trial of five, of case and control alike.
const SLICE_MS: f64 = 5.0;

/// How trials of these parameters are judged: what a slice may add is a larger share of a shorter
/// trial.
pub(super) fn judging(params: &MmapLockParams) -> Judging {
    let seconds = params.duration.get().as_secs_f64();
    let slice = SLICE_MS / seconds.max(1e-3);
    Judging { margin: META.judging.margin.max(slice), ..META.judging }
}

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
pub(super) fn arms(
    params: &MmapLockParams,
    host: &Host,
) -> Result<Vec<Arm<MmapLockParams>>, ScenarioError> {
    if let Some(missing) = missing(host.machine) {
        return Err(ScenarioError::Missing(missing));
    }
    check_procfile(params, host)?;
    check_size(params, host)?;
    check_mappings(params, host)?;
    check_processes(params, host)?;
    check_nice(params)?;
    place(params, host)?;
    Ok(arms_for(params))
}

fn arms_for(params: &MmapLockParams) -> Vec<Arm<MmapLockParams>> {
    let mut busy: Vec<u32> = params.busy.all().to_vec();
    busy.sort_unstable();
    busy.dedup();
    // A list of nothing but 0 asks for the process alone against itself.
    if busy == [0] {
        let case = arm(params, 0, "busy-0", Role::Case);
        return vec![arm(params, 0, CONTROL, Role::Control), case];
    }
    let mut arms = Vec::new();
    for count in busy.iter().copied().filter(|count| *count > 0) {
        let mut control = arm(params, count, &format!("twin-{count}"), Role::Control);
        control.settings.target = Target::Twin;
        let mut case = arm(params, count, &format!("busy-{count}"), Role::Case);
        case.against = Some(control.id.clone());
        arms.extend([control, case]);
    }
    if busy.contains(&0) {
        arms.push(arm(params, 0, ALONE, Role::Baseline));
    }
    arms
}

fn arm(params: &MmapLockParams, busy: u32, id: &str, role: Role) -> Arm<MmapLockParams> {
    let settings = MmapLockParams { busy: Counts::one(busy), ..params.clone() };
    Arm { id: id.to_owned(), role, settings, against: None, change: None }
}

fn check_procfile(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let file = params.procfile.as_str();
    let path = host.roots.proc.join("self").join(file);
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

fn check_size(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let size = params.size;
    let Some(available) = limits::memory_available(host.roots) else {
        return Ok(());
    };
    let (regions, twice) = if params.busy.most() > 0 {
        (2.0, "twice that, for the mapper and its twin, is ")
    } else {
        (1.0, "")
    };
    if size.get() as f64 * regions <= available as f64 * MEMORY_SHARE {
        return Ok(());
    }
    Err(ScenarioError::Unusable(format!(
        "--size {size}: {twice}more than {:.0}% of the {} MiB of memory available here; take a \
         smaller region",
        MEMORY_SHARE * 100.0,
        available >> 20
    )))
}

/// A region splits into a mapping for every four pages in the long run, since each page is mapped or
/// not by the toss of a coin; a mapper that makes as many calls runs into the kernel's limit.
fn check_mappings(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let Some(most) = limits::max_map_count(host.roots) else { return Ok(()) };
    let pages = pages(params);
    let call = params.pause.get() + SHORTEST_CALL;
    let calls = params.duration.get().as_nanos() / call.as_nanos();
    if pages / 4 < most || calls < u128::from(most) {
        return Ok(());
    }
    Err(ScenarioError::Unusable(format!(
        "--size {}: the region would split into more mappings than vm.max_map_count ({most}) allows; \
         take a smaller region, or sysctl vm.max_map_count={}",
        params.size,
        pages / 4 + most
    )))
}

fn pages(params: &MmapLockParams) -> u64 {
    params.size.get() / rustix::param::page_size() as u64
}

fn check_processes(params: &MmapLockParams, host: &Host) -> Result<(), ScenarioError> {
    let most = params.busy.most();
    let wanted = 2 * u64::from(most);
    match limits::pid_max(host.roots) {
        Some(limit) if wanted > limit / 2 => Err(ScenarioError::Unusable(format!(
            "--busy {most}: {wanted} processes are more than half of what kernel.pid_max ({limit}) \
             allows on the whole machine; take fewer"
        ))),
        _ => Ok(()),
    }
}

fn check_nice(params: &MmapLockParams) -> Result<(), ScenarioError> {
    let nice = params.nice;
    if limits::can_renice_to(nice) {
        return Ok(());
    }
    Err(ScenarioError::Missing(Missing {
        what: format!("--nice {nice}: this process may not raise the priority of the scanners"),
        grant: "run as root, or raise the limit with `ulimit -e`".to_owned(),
    }))
}

/// CPUs of mapper, load and tool: as asked, else from the topology.
fn place(params: &MmapLockParams, host: &Host) -> Result<(u32, u32, u32), ScenarioError> {
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
    let tool = named("--cpu-tool", &params.cpu_tool)?;
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

fn check_cpu(flag: &str, cpu: Cpu, machine: &Machine) -> Result<u32, ScenarioError> {
    cpus::check(cpu.get(), machine)
        .map_err(|why| ScenarioError::Unusable(format!("{flag} {cpu}: {why}")))
}

/// What is run in a trial of these parameters.
pub(super) fn spec(
    params: &MmapLockParams,
    host: &Host,
    seed: u64,
) -> Result<TrialSpec, ScenarioError> {
    let (mapper, load, tool) = place(params, host)?;
    let several = || ScenarioError::Broken("an arm has several numbers of readers".to_owned());
    let busy = params.busy.single().ok_or_else(several)?;
    let twin = (busy > 0).then(|| Twin {
        calls: calls_of_twin(params),
        read: params.target == Target::Twin,
        // Nothing runs there before the load does, so that the two are set up at once.
        cpu: load,
    });
    Ok(TrialSpec {
        procfile: params.procfile.as_str().to_owned(),
        lead: params.lead.get(),
        duration: params.duration.get(),
        hang_after: params.hang_after.get(),
        region_bytes: params.size.get(),
        pause: params.pause.get(),
        seed,
        cpu_mapper: mapper,
        cpu_tool: tool,
        cpu_loads: vec![CpuLoad {
            cpu: load,
            scanners: busy,
            spinners: busy,
            nice: params.nice,
            busyduration: params.busyduration.get(),
        }],
        twin,
    })
}

/// As many calls as an undisturbed mapper has made half-way through its trial, which is what its
/// readers find on average: with each call its map is split a little further.
fn calls_of_twin(params: &MmapLockParams) -> u64 {
    let half = params.duration.get() / 2;
    let call = params.pause.get() + USUAL_CALL;
    let calls = u64::try_from(half.as_nanos() / call.as_nanos()).unwrap_or(u64::MAX);
    calls.min(pages(params).saturating_mul(CALLS_A_PAGE))
}

pub(super) fn expected(params: &MmapLockParams) -> Duration {
    let busy = params.busy.most();
    let hangs = busy >= USUALLY_HANGS && params.target != Target::Twin;
    let hang = if hangs { params.hang_after.get() } else { Duration::ZERO };
    let load = if busy > 0 { SET_UP_LOAD + params.lead.get() } else { Duration::ZERO };
    SET_UP + load + params.duration.get() + hang + Duration::from_millis(1) * busy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Size, Time};

    fn params(busy: &[u32]) -> MmapLockParams {
        MmapLockParams { busy: Counts::new(busy.to_vec()), ..MmapLockParams::default() }
    }

    fn ids(busy: &[u32]) -> Vec<String> {
        arms_for(&params(busy)).into_iter().map(|arm| arm.id).collect()
    }

    #[test]
    fn each_number_of_readers_has_its_twin_and_zero_is_the_process_alone() {
        assert_eq!(ids(&[10, 0, 1, 10]), ["twin-1", "busy-1", "twin-10", "busy-10", "alone"]);
        assert_eq!(ids(&[5]), ["twin-5", "busy-5"]);
        let arms = arms_for(&params(&[0, 5]));
        let roles: Vec<Role> = arms.iter().map(|arm| arm.role).collect();
        assert_eq!(roles, [Role::Control, Role::Case, Role::Baseline]);
        assert_eq!(arms[1].against.as_deref(), Some("twin-5"));
        assert_eq!((&arms[0].against, &arms[2].against), (&None, &None));
    }

    #[test]
    fn a_slice_of_cpu_time_counts_as_none_however_long_a_trial_is() {
        let mut params = params(&[5]);
        assert!((judging(&params).margin - 20.0).abs() < 1e-9);
        params.duration = Time::s(10);
        assert!((judging(&params).margin - 1.0).abs() < 1e-9);
    }

    #[test]
    fn zero_alone_is_held_against_itself() {
        assert_eq!(ids(&[0]), ["control", "busy-0"]);
        let arms = arms_for(&params(&[0]));
        assert_eq!((arms[1].role, &arms[1].settings), (Role::Case, &arms[0].settings));
    }

    #[test]
    fn case_and_control_differ_in_whom_they_read_alone_unless_both_are_to_read_the_twin() {
        let mut params = params(&[5]);
        let arms = arms_for(&params);
        let mut control = arms[0].settings.clone();
        assert_eq!(control.target, Target::Twin);
        control.target = Target::Mapper;
        assert_eq!(control, arms[1].settings);
        params.target = Target::Twin;
        let arms = arms_for(&params);
        assert_eq!(arms[0].settings, arms[1].settings);
    }

    #[test]
    fn a_twin_is_split_as_the_mapper_is_half_way_and_no_further_than_it_ever_is() {
        let mut params = params(&[5]);
        // 125 ms at 30 us a call.
        assert_eq!(calls_of_twin(&params), 4166);
        params.duration = Time::s(60);
        params.size = Size::kib(64);
        assert_eq!(calls_of_twin(&params), 3 * pages(&params));
    }

    #[test]
    fn mapper_load_and_tool_find_their_cpus_whichever_is_named() {
        let cpus =
            [0, 1].map(|id| model::machine::Cpu { id, core: None, package: None, node: None });
        let machine = Machine { cpus: cpus.into(), allowed_cpus: vec![0, 1], ..Machine::default() };
        let roots = host::Roots::at("/nonexistent");
        let host = Host { roots: &roots, machine: &machine };
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
        assert!(placed([second, second, auto]).is_err());
        assert!(placed([auto, second, second]).is_err());
        assert!(placed([auto, Some(2), auto]).is_err());
    }

    #[test]
    fn values_that_cannot_work_here_are_refused() {
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
        let host = Host { roots: &roots, machine: &machine };
        assert!(check_processes(&params(&[10_000]), &host).is_err());
        assert!(check_processes(&params(&[1000]), &host).is_ok());
        let mut large = MmapLockParams { size: Size::mib(4096), ..params(&[1]) };
        assert!(check_mappings(&large, &host).is_ok(), "too few calls to split it that far");
        large.duration = Time::s(10);
        assert!(check_mappings(&large, &host).is_err());
    }

    #[test]
    fn one_cpu_is_too_few_and_says_what_would_help() {
        let machine = Machine { allowed_cpus: vec![3], ..Machine::default() };
        let missing = missing(&machine).unwrap();
        assert!(missing.what.contains("needs 2 CPUs"), "{missing:?}");
        assert!(super::missing(&Machine { allowed_cpus: vec![3, 4], ..machine }).is_none());
    }
}
