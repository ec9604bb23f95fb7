//! The load of a trial. A mapper runs alone on its CPU. Readers and spinners run on other CPUs.
//! For a comparison, there is an idle twin of the mapper, which the readers read instead.

use crate::probing::Part;
use crate::wait::{self, TICK};
use crate::{ScenarioError, Tick};
use load::child::mapper::MapperArgs;
use load::child::scanner::ScannerArgs;
use load::child::spinner::SpinnerArgs;
use load::live::{LivePage, Snapshot};
use load::protocol::{MapperReport, PoolReport, Report};
use load::{Child, LoadSpawner};
use model::Problem;
use model::generator::{GeneratorEnd, GeneratorProblem};
use os::time;
use os::time::now_ns;
use probe::Role;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long child processes may take to get ready, plus a second for each GiB to populate.
const SET_UP_LIMIT: Duration = Duration::from_secs(30);

/// How long a mapper may take to return after its load was ended.
const RESCUE_LIMIT: Duration = Duration::from_secs(20);

/// How long a pool may take to end and to report.
const REPORT_LIMIT: Duration = Duration::from_secs(30);

/// Files of /proc/PID that only root or a tracer of the process may read. Readers of these files
/// stay root.
const FOR_ROOT: [&str; 4] = ["mem", "personality", "stack", "syscall"];

/// The settings of a trial's load.
#[derive(Debug, Clone, PartialEq)]
pub struct TrialSpec {
    /// The file of /proc/PID that is read.
    pub procfile: String,
    /// How long the scanners read before spinners and mapper start.
    pub lead: Duration,
    /// How long the mapper works.
    pub duration: Duration,
    /// A call that exceeds the duration by this much hangs.
    pub hang_after: Duration,
    /// Size of the mapper's region in bytes.
    pub region_bytes: u64,
    /// Pause after each call.
    pub pause: Duration,
    /// Seed for the random choice of pages.
    pub seed: u64,
    /// CPU of the mapper.
    pub cpu_mapper: u32,
    /// CPU of the tool.
    pub cpu_tool: u32,
    /// The load on each CPU.
    pub cpu_loads: Vec<CpuLoad>,
    /// Control groups that the scanners join.
    pub reader_groups: Vec<PathBuf>,
    /// The idle twin of the mapper, if there is one.
    pub twin: Option<Twin>,
}

/// A process that does nothing and has mappings like those of the mapper.
///
/// It exists whether or not it is read. So two trials that differ only in this have the same
/// processes, the same memory in use and the same load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twin {
    /// Its mappings are like those of the mapper after this number of calls.
    pub calls: u64,
    /// Whether the scanners read the twin instead of the mapper.
    pub read: bool,
    /// The CPU on which it is set up.
    pub cpu: u32,
}

/// The load on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CpuLoad {
    /// The CPU.
    pub cpu: u32,
    /// Number of scanners.
    pub scanners: u32,
    /// Number of spinners.
    pub spinners: u32,
    /// Nice value of the scanners.
    pub nice: i32,
    /// Busy period of the spinners. Zero: they never sleep.
    pub busyduration: Duration,
}

/// The raw result of a trial.
#[derive(Debug)]
pub struct RawTrial {
    /// Process ID of the mapper.
    pub pid: u32,
    /// Start address of its region.
    pub region: u64,
    /// The report of the mapper. None if it never returned, even without its load.
    pub report: Option<MapperReport>,
    /// The counters of the live page at the cut.
    pub picture: Snapshot,
    /// How the measurement ended.
    pub cut: Cut,
    /// The result of all scanners until the cut.
    pub scanners: PoolReport,
    /// The result of all spinners until the cut.
    pub spinners: PoolReport,
}

/// How the measurement ended: with the mapper's last call, or at the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// The time of the end, on the clock of [`os::time::now_ns`].
    pub at_ns: u64,
    /// Time from the release to the end.
    pub window: Duration,
    /// Whether the mapper had not returned. In that case its load was ended, and its later work
    /// does not count.
    pub hang: bool,
}

/// The worker pools of the load.
#[derive(Default)]
struct Pools {
    scanners: Vec<Child>,
    spinners: Vec<Child>,
}

/// A progress event of a trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// All processes are set up and wait.
    Ready(&'a [Part]),
    /// The load is about to be released.
    Released,
    /// Time passes.
    Tick(Tick),
    /// The measurement has ended, and the load is about to end.
    Ended,
}

/// Runs the load of a trial until it ends.
///
/// Nothing of the load is left when this function returns. A pool reaps all its workers before it
/// reports, and the other processes are reaped here. A process that can be reaped has returned its
/// memory. Every process is new and pinned, so no load balancer state passes to the next trial.
/// The kernel frees some things later. Setting up the next trial takes longer than a pause for
/// that.
///
/// # Errors
/// If a child process cannot be set up or dies, or if the user interrupts.
pub fn run_load(
    spec: &TrialSpec,
    spawner: &LoadSpawner,
    interrupted: &dyn Fn() -> bool,
    on_event: &mut dyn FnMut(Event),
) -> Result<RawTrial, ScenarioError> {
    let live = LivePage::create()
        .map_err(|error| ScenarioError::Broken(Problem::of_kernel("live page", &error)))?;
    let mut mapper = start_mapper(spec, spawner, &live)?;
    let mut twin = start_twin(spec, spawner)?;
    let limit = SET_UP_LIMIT + populating(spec.region_bytes);
    let ready = wait::ready(&mut mapper, limit, interrupted)?;
    if let Some(twin) = &mut twin {
        wait::ready(twin, limit, interrupted)?;
    }
    let pids = Pids { mapper: mapper.pid(), twin: twin.as_ref().map(Child::pid) };
    let mut pools = Pools::start(spec, spawner, pids, interrupted)?;
    on_event(Event::Ready(&pools.parts(pids)));
    pools.begin_scanning(spec.lead, interrupted)?;
    on_event(Event::Released);
    let began = Instant::now();
    mapper.go()?;
    pools.begin_window()?;
    let mut stage = Stage { spec, live: &live, began, interrupted, on_event };
    let done = stage.await_done(&mut mapper, spec.duration + spec.hang_after)?;
    // The state of the running call is taken here, before its load is ended.
    let picture = live.counters().snapshot();
    let cut = Cut { at_ns: now_ns(), window: began.elapsed(), hang: !done };
    pools.end_window();
    (stage.on_event)(Event::Ended);
    check_alive(&mut twin)?;
    pools.stop();
    let limit = spec.duration + spec.hang_after + RESCUE_LIMIT;
    let back = done || stage.await_done(&mut mapper, limit)?;
    let report = if back { Some(mapper_report(&mut mapper, interrupted)?) } else { None };
    let (scanners, spinners) = pools.reports(interrupted)?;
    let (pid, region) = (mapper.pid(), ready.region);
    Ok(RawTrial { pid, region, report, picture, cut, scanners, spinners })
}

fn mapper_report(
    mapper: &mut Child,
    interrupted: &dyn Fn() -> bool,
) -> Result<MapperReport, ScenarioError> {
    match wait::report(mapper, REPORT_LIMIT, interrupted)? {
        Report::Mapper(report) => Ok(report),
        _ => Err(ScenarioError::Broken(Problem::WrongReport { role: "mapper".to_owned() })),
    }
}

/// Fails if the twin was killed. In that case its readers have nothing to read.
fn check_alive(twin: &mut Option<Child>) -> Result<(), ScenarioError> {
    match twin {
        // The twin sends no message until it ends.
        Some(twin) => Ok(twin.done_before(Instant::now()).map(|_| ())?),
        None => Ok(()),
    }
}

fn populating(region_bytes: u64) -> Duration {
    Duration::from_secs(region_bytes >> 30)
}

fn start_mapper(
    spec: &TrialSpec,
    spawner: &LoadSpawner,
    live: &LivePage,
) -> Result<Child, ScenarioError> {
    let mut args = MapperArgs::new(spec.region_bytes, spec.duration, spec.pause);
    args.cpu = Some(spec.cpu_mapper);
    args.seed = spec.seed;
    Ok(spawner.start("mapper", &args.to_args(), Some(live))?)
}

/// Starts the twin: a mapper that is never released.
fn start_twin(spec: &TrialSpec, spawner: &LoadSpawner) -> Result<Option<Child>, ScenarioError> {
    let Some(twin) = spec.twin else { return Ok(None) };
    let mut args = MapperArgs::new(spec.region_bytes, spec.duration, spec.pause);
    args.cpu = Some(twin.cpu);
    args.seed = spec.seed;
    args.twin = Some(twin.calls);
    Ok(Some(spawner.start("twin", &args.to_args(), None)?))
}

/// Process IDs of the processes that can be read.
#[derive(Debug, Clone, Copy)]
struct Pids {
    mapper: u32,
    twin: Option<u32>,
}

impl Pids {
    /// The process that the scanners read.
    fn read(self, spec: &TrialSpec) -> u32 {
        let twin = spec.twin.filter(|twin| twin.read).and(self.twin);
        twin.unwrap_or(self.mapper)
    }
}

/// A running trial.
struct Stage<'a> {
    spec: &'a TrialSpec,
    live: &'a LivePage,
    began: Instant,
    interrupted: &'a dyn Fn() -> bool,
    on_event: &'a mut dyn FnMut(Event),
}

impl Stage<'_> {
    /// Waits until the mapper has made its last call. False if `limit` has passed since the
    /// release.
    fn await_done(&mut self, mapper: &mut Child, limit: Duration) -> Result<bool, ScenarioError> {
        let deadline = self.began + limit;
        loop {
            let next = (Instant::now() + TICK).min(deadline);
            if mapper.done_before(next)? {
                return Ok(true);
            }
            if (self.interrupted)() {
                return Err(ScenarioError::Interrupted);
            }
            if next >= deadline {
                return Ok(false);
            }
            self.tick();
        }
    }

    fn tick(&mut self) {
        let picture = self.live.counters().snapshot().as_of(now_ns());
        let elapsed = self.began.elapsed().min(self.spec.duration + self.spec.hang_after);
        (self.on_event)(Event::Tick(Tick {
            elapsed,
            worst: Duration::from_nanos(picture.worst_ns),
        }));
    }
}

impl Pools {
    fn start(
        spec: &TrialSpec,
        spawner: &LoadSpawner,
        pids: Pids,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, ScenarioError> {
        let mut pools = Pools::default();
        // The user of the load cannot read such a file, even of its own process. And readers must
        // join the group of their quota, which belongs to root.
        let for_root = FOR_ROOT.contains(&spec.procfile.as_str()) || !spec.reader_groups.is_empty();
        let user = spawner.user.filter(|_| !for_root);
        let readers = &LoadSpawner { user, ..spawner.clone() };
        for cpu_load in &spec.cpu_loads {
            if cpu_load.scanners > 0 {
                let args = scanner_args(spec, cpu_load, pids.read(spec)).to_args();
                pools.scanners.push(readers.start("scanners", &args, None)?);
            }
            if cpu_load.spinners > 0 {
                // Spinners use the mapper in every arm, because their effect on it is not the
                // cause.
                let args = spinner_args(spec, cpu_load, pids.mapper).to_args();
                pools.spinners.push(spawner.start("spinners", &args, None)?);
            }
        }
        pools
            .all()
            .try_for_each(|child| wait::ready(child, SET_UP_LIMIT, interrupted).map(|_| ()))?;
        Ok(pools)
    }

    /// The name and role of each process.
    fn parts(&self, pids: Pids) -> Vec<Part> {
        let pool = |pool: &[Child], part, role| -> Vec<Part> {
            pool.iter().map(|child| Part { pid: child.pid(), part, role }).collect()
        };
        let mut parts = vec![Part { pid: pids.mapper, part: "mapper", role: Role::Victim }];
        parts.extend(pids.twin.map(|pid| Part { pid, part: "twin", role: Role::Bystander }));
        parts.extend(pool(&self.scanners, "scanner", Role::Suspect));
        parts.extend(pool(&self.spinners, "spinner", Role::Bystander));
        parts
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Child> {
        // Spinners come first: while they spin, scanners of low priority can hardly get ready or
        // end.
        self.spinners.iter_mut().chain(&mut self.scanners)
    }

    /// Lets the scanners read for a while, so that they are already reading when the spinners
    /// start.
    fn begin_scanning(
        &mut self,
        lead: Duration,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(), ScenarioError> {
        self.scanners.iter_mut().try_for_each(Child::go)?;
        if !self.scanners.is_empty() {
            wait::until(lead, interrupted, |until| {
                std::thread::sleep(until.saturating_duration_since(Instant::now()));
                Ok(None::<()>)
            })?;
        }
        Ok(())
    }

    /// Releases the spinners. Earlier work of the scanners does not count.
    fn begin_window(&mut self) -> Result<(), ScenarioError> {
        self.scanners.iter_mut().for_each(Child::window_begins);
        self.spinners.iter_mut().try_for_each(Child::go).map_err(Into::into)
    }

    fn end_window(&mut self) {
        self.all().for_each(Child::window_ends);
    }

    fn stop(&mut self) {
        self.all().for_each(Child::stop);
    }

    fn reports(
        &mut self,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<(PoolReport, PoolReport), ScenarioError> {
        Ok((gather(&mut self.scanners, interrupted)?, gather(&mut self.spinners, interrupted)?))
    }
}

/// Longest life of a pool: as long as a trial can take, whatever happens to the tool.
fn pool_limit_ms(spec: &TrialSpec) -> u64 {
    let limit = spec.lead + spec.duration + spec.hang_after + RESCUE_LIMIT + SET_UP_LIMIT;
    time::whole_ms(limit)
}

fn scanner_args(spec: &TrialSpec, cpu_load: &CpuLoad, pid: u32) -> ScannerArgs {
    ScannerArgs {
        pid,
        file: spec.procfile.clone(),
        workers: cpu_load.scanners,
        nice: cpu_load.nice,
        cpu: Some(cpu_load.cpu),
        join: spec.reader_groups.clone(),
        limit_ms: Some(pool_limit_ms(spec)),
        parent: None,
    }
}

fn spinner_args(spec: &TrialSpec, cpu_load: &CpuLoad, pid: u32) -> SpinnerArgs {
    SpinnerArgs {
        pid,
        file: spec.procfile.clone(),
        workers: cpu_load.spinners,
        busyduration: time::whole_ms(cpu_load.busyduration),
        cpu: Some(cpu_load.cpu),
        limit_ms: Some(pool_limit_ms(spec)),
        parent: None,
    }
}

fn gather(
    pools: &mut [Child],
    interrupted: &dyn Fn() -> bool,
) -> Result<PoolReport, ScenarioError> {
    let mut sum = PoolReport::default();
    for child in pools {
        let pid = child.pid();
        let (Report::Scanners(pool) | Report::Spinners(pool)) =
            wait::report(child, REPORT_LIMIT, interrupted)?
        else {
            return Err(ScenarioError::Broken(Problem::WrongReport { role: "pool".to_owned() }));
        };
        if pool.killed > 0 {
            let PoolReport { killed, workers, signal, .. } = pool;
            let what = GeneratorEnd::WorkersKilled { killed, workers, signal };
            let pool = GeneratorProblem { role: "pool".to_owned(), pid: Some(pid), what };
            return Err(ScenarioError::Broken(Problem::Generator(pool)));
        }
        sum.fewest = if sum.workers == 0 { pool.fewest } else { sum.fewest.min(pool.fewest) };
        sum.most = sum.most.max(pool.most);
        sum.workers += pool.workers;
        sum.rounds += pool.rounds;
        sum.bytes += pool.bytes;
    }
    Ok(sum)
}
