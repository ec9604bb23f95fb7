//! One trial: a mapper alone on its CPU, readers and spinners on others.

use super::meta::measure;
use crate::{Context, Pinned, ScenarioError, Seen, Tick, Watch};
use load::child::mapper::MapperArgs;
use load::child::scanner::ScannerArgs;
use load::child::spinner::SpinnerArgs;
use load::live::{LivePage, Picture};
use load::protocol::{CrewReport, MapperReport, Report};
use load::time::now_ns;
use load::{Child, Launcher};
use model::record::Stall;
use model::{Latency, Measure, Observation, Surroundings, Unit};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

/// How long children may take to get ready, beside a second for each GiB to populate.
const SET_UP_LIMIT: Duration = Duration::from_secs(30);

/// How long a mapper may take to come back once its load was ended.
const RESCUE_LIMIT: Duration = Duration::from_secs(20);

/// How long a crew may take to die and to report.
const REPORT_LIMIT: Duration = Duration::from_secs(30);

/// How often progress is told and an interruption noticed.
const TICK: Duration = Duration::from_millis(50);

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
    /// What the live page showed last, the call under way counted.
    pub picture: Picture,
    /// How long the scanners read before.
    pub lead: Duration,
    /// From the release to the end of measuring.
    pub window: Duration,
    /// The mapper did not come back in time.
    pub hang: bool,
    /// What all scanners did.
    pub scanners: CrewReport,
    /// What all spinners did.
    pub spinners: CrewReport,
}

/// The crews of the load.
#[derive(Default)]
struct Crews {
    scanners: Vec<Child>,
    spinners: Vec<Child>,
}

/// Runs a trial of the scenario and makes its observation.
pub(super) fn run(script: &Script, context: &mut Context) -> Result<Seen, ScenarioError> {
    let _pinned = Pinned::to(script.cpu_tool)
        .map_err(|e| ScenarioError::Unusable(format!("tool on CPU {}: {e}", script.cpu_tool)))?;
    let roots = context.site.roots;
    let mut watch = None;
    let mut surroundings = Surroundings::default();
    let (launcher, interrupted) = (context.launcher, context.interrupted);
    let played = play(script, launcher, interrupted, &mut |event| match event {
        Event::Released => watch = Some(Watch::start(roots, script.cpu_mapper)),
        Event::Tick(tick) => (context.tick)(tick),
        // What comes after is the end of the children, which is nobody's disturbance.
        Event::Ended => {
            surroundings = watch.take().map_or_else(Default::default, |w| w.finish(roots))
        }
    })?;
    Ok(Seen { observation: observe(played)?, surroundings })
}

/// What a player tells while it plays.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event {
    /// The load is about to be released.
    Released,
    /// Time goes on.
    Tick(Tick),
    /// Measuring has ended; the load is about to be.
    Ended,
}

/// Plays a script to its end.
///
/// # Errors
/// If a child cannot be set up, dies, or if somebody interrupts.
pub fn play(
    script: &Script,
    launcher: &Launcher,
    interrupted: &dyn Fn() -> bool,
    hear: &mut dyn FnMut(Event),
) -> Result<Played, ScenarioError> {
    let live = LivePage::create().map_err(|e| ScenarioError::Broken(format!("live page: {e}")))?;
    let mut mapper = start_mapper(script, launcher, &live)?;
    let ready = mapper.ready(SET_UP_LIMIT + populating(script.region_bytes))?;
    let mut crews = Crews::start(script, launcher, mapper.pid())?;
    crews.begin_scanning(script.lead, interrupted)?;
    hear(Event::Released);
    let began = Instant::now();
    mapper.go()?;
    crews.begin_spinning()?;
    let mut stage = Stage { script, live: &live, began, interrupted, hear };
    let done = stage.await_done(&mut mapper, script.duration + script.hang_after)?;
    // What the call under way shows now is what it was before its load was ended.
    let picture = live.counters().picture().as_of(now_ns());
    let window = began.elapsed();
    (stage.hear)(Event::Ended);
    crews.stop();
    let limit = script.duration + script.hang_after + RESCUE_LIMIT;
    let back = done || stage.await_done(&mut mapper, limit)?;
    let report = if back { Some(mapper_report(&mut mapper)?) } else { None };
    let (scanners, spinners) = crews.reports()?;
    let (pid, region) = (mapper.pid(), ready.region);
    let lead = script.lead;
    Ok(Played { pid, region, report, picture, lead, window, hang: !done, scanners, spinners })
}

fn mapper_report(mapper: &mut Child) -> Result<MapperReport, ScenarioError> {
    match mapper.report(REPORT_LIMIT)? {
        Report::Mapper(report) => Ok(report),
        _ => Err(ScenarioError::Broken("a mapper reported as a crew".into())),
    }
}

fn populating(region_bytes: u64) -> Duration {
    Duration::from_secs(region_bytes >> 30)
}

fn start_mapper(
    script: &Script,
    launcher: &Launcher,
    live: &LivePage,
) -> Result<Child, ScenarioError> {
    let mut args = MapperArgs::new(script.region_bytes, script.duration, script.pause);
    args.cpu = Some(script.cpu_mapper);
    args.seed = script.seed;
    Ok(launcher.start("mapper", &args.to_args(), Some(live))?)
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
        let picture = self.live.counters().picture().as_of(now_ns());
        let elapsed = self.began.elapsed().min(self.script.duration + self.script.hang_after);
        (self.hear)(Event::Tick(Tick { elapsed, worst: Duration::from_nanos(picture.worst_ns) }));
    }
}

impl Crews {
    fn start(script: &Script, launcher: &Launcher, pid: u32) -> Result<Self, ScenarioError> {
        let mut crews = Crews::default();
        for cast in &script.casts {
            if cast.scanners > 0 {
                let args = scanner_args(script, cast, pid).to_args();
                crews.scanners.push(launcher.start("scanners", &args, None)?);
            }
            if cast.spinners > 0 {
                let args = spinner_args(script, cast, pid).to_args();
                crews.spinners.push(launcher.start("spinners", &args, None)?);
            }
        }
        for child in crews.all() {
            child.ready(SET_UP_LIMIT)?;
        }
        Ok(crews)
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
        let until = Instant::now() + lead;
        while !self.scanners.is_empty() && Instant::now() < until {
            if interrupted() {
                return Err(ScenarioError::Interrupted);
            }
            std::thread::sleep(TICK.min(until.saturating_duration_since(Instant::now())));
        }
        Ok(())
    }

    fn begin_spinning(&mut self) -> Result<(), ScenarioError> {
        self.spinners.iter_mut().try_for_each(Child::go).map_err(Into::into)
    }

    fn stop(&mut self) {
        self.all().for_each(Child::stop);
    }

    fn reports(&mut self) -> Result<(CrewReport, CrewReport), ScenarioError> {
        Ok((gather(&mut self.scanners)?, gather(&mut self.spinners)?))
    }
}

fn scanner_args(script: &Script, cast: &Cast, pid: u32) -> ScannerArgs {
    ScannerArgs {
        pid,
        file: script.procfile.clone(),
        workers: cast.scanners,
        nice: cast.nice,
        cpu: Some(cast.cpu),
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
        parent: None,
    }
}

fn gather(crews: &mut [Child]) -> Result<CrewReport, ScenarioError> {
    let mut sum = CrewReport::default();
    for child in crews {
        let pid = child.pid();
        let (Report::Scanners(crew) | Report::Spinners(crew)) = child.report(REPORT_LIMIT)? else {
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

fn observe(played: Played) -> Result<Observation, ScenarioError> {
    let mut seen = Figures::of(&played);
    let mut observation = Observation { hang: played.hang, ..Observation::default() };
    match &played.report {
        Some(report) => add_latencies(report, &mut seen, &mut observation)?,
        None => observation.notes.push(
            "The mapper did not come back even without its load and was killed; its latencies are \
             lost, the counters of its live page are not."
                .to_owned(),
        ),
    }
    observation.window_ms = seen.window_ms;
    observation.measures = seen.measures(&played);
    Ok(observation)
}

/// The figures of a trial, whichever source they come from.
struct Figures {
    window_ms: f64,
    picture: Picture,
    waits: Option<(f64, f64)>,
}

impl Figures {
    /// Of the mapper's report; of the live page where a hang was cut off, since what the mapper
    /// reports afterwards includes its rescue.
    fn of(played: &Played) -> Self {
        let window_ms = match &played.report {
            Some(report) if !played.hang => report.window_ns as f64 / 1e6,
            _ => played.window.as_secs_f64() * 1e3,
        };
        Figures { window_ms, picture: played.picture, waits: None }
    }

    /// The window in seconds; never zero, since figures are divided by it.
    fn seconds(&self) -> f64 {
        (self.window_ms / 1e3).max(1e-9)
    }

    fn measures(&self, played: &Played) -> BTreeMap<String, Measure> {
        let per_second = |count: u64| count as f64 / self.seconds();
        let picture = &self.picture;
        let ms = |ns: u64| ns as f64 / 1e6;
        let stall = (ms(picture.stalled_ns) / self.seconds()).min(1e3);
        let mut measures = BTreeMap::new();
        let mut put = |name: &str, value: f64, unit: Unit| {
            measures.insert(name.to_owned(), Measure::exact(value, unit));
        };
        put(measure::STALL, stall, Unit::MillisecondsPerSecond);
        for (name, count) in measure::OVER.iter().zip(picture.over) {
            put(name, count as f64, Unit::Count);
        }
        put(measure::OPERATIONS, per_second(picture.operations), Unit::PerSecond);
        // Scanners read during their lead too.
        let scanning_s = self.seconds() + played.lead.as_secs_f64();
        put(measure::SCANS, played.scanners.rounds as f64 / scanning_s, Unit::PerSecond);
        put(measure::SCAN_BYTES, played.scanners.bytes as f64, Unit::Bytes);
        put(measure::SPINS, per_second(played.spinners.rounds), Unit::PerSecond);
        let mut timed = |name: &str, value: f64| {
            let make = if played.hang { Measure::at_least } else { Measure::exact };
            measures.insert(name.to_owned(), make(value, Unit::Milliseconds));
        };
        timed(measure::WORST, ms(picture.worst_ns));
        if let Some((p99, p999)) = self.waits {
            timed(measure::WAIT_P99, p99);
            timed(measure::WAIT_P999, p999);
        }
        measures
    }
}

fn add_latencies(
    report: &MapperReport,
    figures: &mut Figures,
    observation: &mut Observation,
) -> Result<(), ScenarioError> {
    let decode = |text: &str| {
        load::histogram::decode(text)
            .map_err(|error| ScenarioError::Broken(format!("latencies of the mapper: {error}")))
    };
    let (mmap, munmap) = (decode(&report.mmap)?, decode(&report.munmap)?);
    let mut all = mmap.clone();
    all.add(&munmap).map_err(|e| ScenarioError::Broken(format!("latencies: {e}")))?;
    let window_ns = (report.window_ns as f64).max(1.0);
    let wait = |share: f64| analysis::arrival::wait_exceeded_by(&all, window_ns, share) / 1e6;
    figures.waits = Some((wait(0.01), wait(0.001)));
    observation.latencies.insert("mmap".to_owned(), Latency::from_histogram(&mmap));
    observation.latencies.insert("munmap".to_owned(), Latency::from_histogram(&munmap));
    observation.stalls = report
        .stalls
        .iter()
        .map(|stall| Stall {
            at_ms: stall.at_ns as f64 / 1e6,
            took_ms: stall.took_ns as f64 / 1e6,
            operation: if stall.map { "mmap" } else { "munmap" }.to_owned(),
        })
        .collect();
    Ok(())
}
