//! One trial: a mapper alone on its CPU, readers and spinners on others, and, where they are to be
//! compared, an idle twin of the mapper, which the readers read in its place.

use super::observe;
use crate::probing::{Player, Probing};
use crate::wait::{self, TICK};
use crate::{Context, ScenarioError, Seen, Tick, Watch};
use load::child::mapper::MapperArgs;
use load::child::scanner::ScannerArgs;
use load::child::spinner::SpinnerArgs;
use load::live::{LivePage, Snapshot};
use load::protocol::{MapperReport, PoolReport, Report};
use load::time::now_ns;
use load::{Child, LoadSpawner};
use model::Surroundings;
use probe::Role;
use std::time::{Duration, Instant};

/// How long children may take to get ready, beside a second for each GiB to populate.
const SET_UP_LIMIT: Duration = Duration::from_secs(30);

/// How long a mapper may take to come back once its load was ended.
const RESCUE_LIMIT: Duration = Duration::from_secs(20);

/// How long a crew may take to die and to report.
const REPORT_LIMIT: Duration = Duration::from_secs(30);

/// What is played in a trial.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// File of /proc/PID that is read.
    pub procfile: String,
    /// How long the scanners read before spinners and mapper begin.
    pub lead: Duration,
    /// How long the mapper works.
    pub duration: Duration,
    /// A call that outlasts the duration by so much is a hang.
    pub hang_after: Duration,
    /// Size of the mapper's region in bytes.
    pub region_bytes: u64,
    /// Pause after each call.
    pub pause: Duration,
    /// Seed of the choice of pages.
    pub seed: u64,
    /// CPU of the mapper.
    pub cpu_mapper: u32,
    /// CPU of the tool.
    pub cpu_tool: u32,
    /// The load, a cast a CPU.
    pub casts: Vec<Cast>,
    /// The idle twin of the mapper, where there is one.
    pub twin: Option<Twin>,
}

/// A process with the mapper's mappings that does nothing.
///
/// It is there whether or not it is read, so that two trials which differ in this alone have the
/// same processes, the same memory in use and the same load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Twin {
    /// Its mappings are those that the mapper has after so many calls.
    pub calls: u64,
    /// The scanners read it, and not the mapper.
    pub read: bool,
    /// The CPU on which it is set up.
    pub cpu: u32,
}

/// The load on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cast {
    /// The CPU.
    pub cpu: u32,
    /// Scanners.
    pub scanners: u32,
    /// Spinners.
    pub spinners: u32,
    /// Nice value of the scanners.
    pub nice: i32,
    /// Busy period of the spinners; zero spins always.
    pub busyduration: Duration,
}

/// What happened.
#[derive(Debug)]
pub struct Played {
    /// The mapper's process.
    pub pid: u32,
    /// Start of its region.
    pub region: u64,
    /// The mapper's report; absent where it never came back, even without its load.
    pub report: Option<MapperReport>,
    /// What the live page showed at the cut.
    pub picture: Snapshot,
    /// How measuring ended.
    pub cut: Cut,
    /// What all scanners did until the cut.
    pub scanners: PoolReport,
    /// What all spinners did until the cut.
    pub spinners: PoolReport,
}

/// How measuring ended: with the mapper's last call, or by the deadline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    /// When, on the clock of [`load::time`].
    pub at_ns: u64,
    /// From the release until then.
    pub window: Duration,
    /// The mapper had not come back: its load was ended, and what it did later is not counted.
    pub hang: bool,
}

/// The crews of the load.
#[derive(Default)]
struct Crews {
    scanners: Vec<Child>,
    spinners: Vec<Child>,
}

/// Runs a trial of the scenario and makes its observation.
pub(super) fn run(script: &Script, context: &mut Context) -> Result<Seen, ScenarioError> {
    let _pinned = os::pin::Pinned::to(script.cpu_tool)
        .map_err(|e| ScenarioError::Unusable(format!("tool on CPU {}: {e}", script.cpu_tool)))?;
    let roots = context.site.roots;
    let mut watch = None;
    let mut mapper = None;
    let mut surroundings = Surroundings::default();
    let (launcher, interrupted) = (context.launcher, context.interrupted);
    let mut probing = Probing::start(context.probe, roots);
    let played = play(script, launcher, interrupted, &mut |event| match event {
        Event::Ready(players) => {
            // The first of them is the mapper.
            mapper = players.first().map(|player| player.pid);
            players.iter().for_each(|player| probing.watch(player));
        }
        Event::Released => {
            probing.release();
            watch = Some(Watch::start(roots, mapper));
        }
        Event::Tick(tick) => (context.tick)(tick),
        // What comes after is the end of the children, which is nobody's disturbance.
        Event::Ended => {
            surroundings = watch.take().map_or_else(Default::default, |w| w.finish(roots));
            probing.end();
        }
    })?;
    let mut observation = observe::observe(&played)?;
    observation.evidence = probing.evidence();
    Ok(Seen { observation, surroundings })
}

/// What a player tells while it plays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// All are set up and wait.
    Ready(&'a [Player]),
    /// The load is about to be released.
    Released,
    /// Time goes on.
    Tick(Tick),
    /// Measuring has ended; the load is about to be.
    Ended,
}

/// Plays a script to its end.
///
/// Nothing of it is left when it returns: a crew reaps all its workers before it reports, the others
/// are reaped here, and a process that can be reaped has given back its memory. Every process is new
/// and pinned, so no state of a load balancer goes from one trial to the next; and setting the next
/// one up takes longer than a rest would that lets the kernel free what it frees later.
///
/// # Errors
/// If a child cannot be set up, dies, or if somebody interrupts.
pub fn play(
    script: &Script,
    launcher: &LoadSpawner,
    interrupted: &dyn Fn() -> bool,
    hear: &mut dyn FnMut(Event),
) -> Result<Played, ScenarioError> {
    let live = LivePage::create().map_err(|e| ScenarioError::Broken(format!("live page: {e}")))?;
    let mut mapper = start_mapper(script, launcher, &live)?;
    let mut twin = start_twin(script, launcher)?;
    let limit = SET_UP_LIMIT + populating(script.region_bytes);
    let ready = wait::ready(&mut mapper, limit, interrupted)?;
    if let Some(twin) = &mut twin {
        wait::ready(twin, limit, interrupted)?;
    }
    let pids = Pids { mapper: mapper.pid(), twin: twin.as_ref().map(Child::pid) };
    let mut crews = Crews::start(script, launcher, pids, interrupted)?;
    hear(Event::Ready(&crews.players(pids)));
    crews.begin_scanning(script.lead, interrupted)?;
    hear(Event::Released);
    let began = Instant::now();
    mapper.go()?;
    crews.begin_window()?;
    let mut stage = Stage { script, live: &live, began, interrupted, hear };
    let done = stage.await_done(&mut mapper, script.duration + script.hang_after)?;
    // What the call under way shows now is what it was before its load was ended.
    let picture = live.counters().snapshot();
    let cut = Cut { at_ns: now_ns(), window: began.elapsed(), hang: !done };
    crews.end_window();
    (stage.hear)(Event::Ended);
    check_alive(&mut twin)?;
    crews.stop();
    let limit = script.duration + script.hang_after + RESCUE_LIMIT;
    let back = done || stage.await_done(&mut mapper, limit)?;
    let report = if back { Some(mapper_report(&mut mapper, interrupted)?) } else { None };
    let (scanners, spinners) = crews.reports(interrupted)?;
    let (pid, region) = (mapper.pid(), ready.region);
    Ok(Played { pid, region, report, picture, cut, scanners, spinners })
}

fn mapper_report(
    mapper: &mut Child,
    interrupted: &dyn Fn() -> bool,
) -> Result<MapperReport, ScenarioError> {
    match wait::report(mapper, REPORT_LIMIT, interrupted)? {
        Report::Mapper(report) => Ok(report),
        _ => Err(ScenarioError::Broken("a mapper reported as a crew".into())),
    }
}

/// A twin that somebody killed has left its readers without anything to read.
fn check_alive(twin: &mut Option<Child>) -> Result<(), ScenarioError> {
    match twin {
        // It has nothing to say until it ends.
        Some(twin) => Ok(twin.done_before(Instant::now()).map(|_| ())?),
        None => Ok(()),
    }
}

fn populating(region_bytes: u64) -> Duration {
    Duration::from_secs(region_bytes >> 30)
}

fn start_mapper(
    script: &Script,
    launcher: &LoadSpawner,
    live: &LivePage,
) -> Result<Child, ScenarioError> {
    let mut args = MapperArgs::new(script.region_bytes, script.duration, script.pause);
    args.cpu = Some(script.cpu_mapper);
    args.seed = script.seed;
    Ok(launcher.start("mapper", &args.to_args(), Some(live))?)
}

/// Starts the twin: a mapper that is never released.
fn start_twin(script: &Script, launcher: &LoadSpawner) -> Result<Option<Child>, ScenarioError> {
    let Some(twin) = script.twin else { return Ok(None) };
    let mut args = MapperArgs::new(script.region_bytes, script.duration, script.pause);
    args.cpu = Some(twin.cpu);
    args.seed = script.seed;
    args.twin = Some(twin.calls);
    Ok(Some(launcher.start("twin", &args.to_args(), None)?))
}

/// The processes that can be read.
#[derive(Debug, Clone, Copy)]
struct Pids {
    mapper: u32,
    twin: Option<u32>,
}

impl Pids {
    /// The one that the scanners read.
    fn read(self, script: &Script) -> u32 {
        let twin = script.twin.filter(|twin| twin.read).and(self.twin);
        twin.unwrap_or(self.mapper)
    }
}

/// A trial under way.
struct Stage<'a> {
    script: &'a Script,
    live: &'a LivePage,
    began: Instant,
    interrupted: &'a dyn Fn() -> bool,
    hear: &'a mut dyn FnMut(Event),
}

impl Stage<'_> {
    /// Waits until the mapper has made its last call, or until so long after the release.
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
        let elapsed = self.began.elapsed().min(self.script.duration + self.script.hang_after);
        (self.hear)(Event::Tick(Tick { elapsed, worst: Duration::from_nanos(picture.worst_ns) }));
    }
}

impl Crews {
    fn start(
        script: &Script,
        launcher: &LoadSpawner,
        pids: Pids,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Self, ScenarioError> {
        let mut crews = Crews::default();
        for cast in &script.casts {
            if cast.scanners > 0 {
                let args = scanner_args(script, cast, pids.read(script)).to_args();
                crews.scanners.push(launcher.start("scanners", &args, None)?);
            }
            if cast.spinners > 0 {
                // They look at the mapper in every arm: what they do to it is not the cause.
                let args = spinner_args(script, cast, pids.mapper).to_args();
                crews.spinners.push(launcher.start("spinners", &args, None)?);
            }
        }
        crews
            .all()
            .try_for_each(|child| wait::ready(child, SET_UP_LIMIT, interrupted).map(|_| ()))?;
        Ok(crews)
    }

    /// Who plays which part.
    fn players(&self, pids: Pids) -> Vec<Player> {
        let crew = |crew: &[Child], part, role| -> Vec<Player> {
            crew.iter().map(|child| Player { pid: child.pid(), part, role }).collect()
        };
        let mut players = vec![Player { pid: pids.mapper, part: "mapper", role: Role::Victim }];
        players.extend(pids.twin.map(|pid| Player { pid, part: "twin", role: Role::Bystander }));
        players.extend(crew(&self.scanners, "scanner", Role::Suspect));
        players.extend(crew(&self.spinners, "spinner", Role::Bystander));
        players
    }

    fn all(&mut self) -> impl Iterator<Item = &mut Child> {
        // Spinners first: while they spin, scanners of low priority can hardly get ready or die.
        self.spinners.iter_mut().chain(&mut self.scanners)
    }

    /// Lets the scanners read for a while, so that the spinners find them at it.
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

    /// Lets the spinners in; what the scanners did before does not count.
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

/// How long a crew lives at most: as long as a trial can take, whatever becomes of the tool.
fn crew_limit_ms(script: &Script) -> u64 {
    let limit = script.lead + script.duration + script.hang_after + RESCUE_LIMIT + SET_UP_LIMIT;
    u64::try_from(limit.as_millis()).unwrap_or(u64::MAX)
}

fn scanner_args(script: &Script, cast: &Cast, pid: u32) -> ScannerArgs {
    ScannerArgs {
        pid,
        file: script.procfile.clone(),
        workers: cast.scanners,
        nice: cast.nice,
        cpu: Some(cast.cpu),
        limit_ms: Some(crew_limit_ms(script)),
        parent: None,
    }
}

fn spinner_args(script: &Script, cast: &Cast, pid: u32) -> SpinnerArgs {
    SpinnerArgs {
        pid,
        file: script.procfile.clone(),
        workers: cast.spinners,
        busyduration: u64::try_from(cast.busyduration.as_millis()).unwrap_or(u64::MAX),
        cpu: Some(cast.cpu),
        limit_ms: Some(crew_limit_ms(script)),
        parent: None,
    }
}

fn gather(
    crews: &mut [Child],
    interrupted: &dyn Fn() -> bool,
) -> Result<PoolReport, ScenarioError> {
    let mut sum = PoolReport::default();
    for child in crews {
        let pid = child.pid();
        let (Report::Scanners(crew) | Report::Spinners(crew)) =
            wait::report(child, REPORT_LIMIT, interrupted)?
        else {
            return Err(ScenarioError::Broken("a crew reported as a mapper".into()));
        };
        if crew.killed > 0 {
            return Err(ScenarioError::Broken(format!(
                "{} of {} workers of the load (process group {pid}) were killed by signal {}; \
                 nothing of tailback did that",
                crew.killed, crew.workers, crew.signal
            )));
        }
        sum.fewest = if sum.workers == 0 { crew.fewest } else { sum.fewest.min(crew.fewest) };
        sum.most = sum.most.max(crew.most);
        sum.workers += crew.workers;
        sum.rounds += crew.rounds;
        sum.bytes += crew.bytes;
    }
    Ok(sum)
}
