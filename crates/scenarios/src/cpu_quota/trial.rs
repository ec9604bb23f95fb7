//! One trial: threads in a group with a quota.

use super::meta::measure;
use crate::error::unreadable;
use crate::probing::{Part, Probing};
use crate::quota::{self, KEPT_MS, refused};
use crate::{Context, Disturbances, ScenarioError, Tick, TrialResult, wait};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup, Usage};
use host::governor::Governor;
use host::roots::Roots;
use load::child::cpu_list::CpuList;
use load::child::fibonacci::FibonacciArgs;
use load::protocol::{FibonacciReport, Report};
use load::{Awaited, Child, LoadSpawner};
use model::{Disturbance, Latency, Measure, Observation, Problem, Unit};
use os::time;
use probe::{Role, SessionOptions};
use std::time::{Duration, Instant};

/// How long the set-up of the threads may take.
const SET_UP_LIMIT: Duration = Duration::from_secs(60);

/// How long the report may take after the end of the trial. A throttled thread notices the end
/// late.
const REPORT_LIMIT: Duration = Duration::from_secs(60);

/// Interval between two readings of the counters when a refill is near.
const LOOK: Duration = Duration::from_micros(200);

/// Largest time between the readings before and after a refill. If it is exceeded, the next refill
/// is used.
const CLOSE: Duration = Duration::from_millis(1);

/// Most refills that are skipped because their readings were too far apart.
const PASSED_OVER: u32 = 5;

/// Longest sleep of the tool without a check for an interruption.
const NAP: Duration = Duration::from_millis(50);

/// What a trial runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrialSpec {
    /// Quota, period and burst.
    pub bandwidth: Bandwidth,
    /// Number of threads.
    pub threads: u32,
    /// Number of threads that never sleep.
    pub fast: u32,
    /// Whether the first threads are the busy ones, on whatever CPUs. If false, the threads on the
    /// first CPUs are.
    pub fast_first: bool,
    /// How long the other threads sleep after each round.
    pub wake: Duration,
    /// Longest time that the threads work.
    pub duration: Duration,
    /// The CPUs that the threads are pinned to in turns.
    pub cpus: Vec<u32>,
    /// The measured part of the trial. None: the threads work for the whole duration.
    pub window: Option<Window>,
}

/// The measured part of a trial: from one refill of the quota to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Periods before the measurement.
    pub warm_up: u64,
    /// Periods of the measurement.
    pub periods: u64,
}

/// The raw result of a trial.
#[derive(Debug)]
pub struct RawTrial {
    /// The report of the threads.
    pub report: FibonacciReport,
    /// What the group was charged from the release to the end of the last thread.
    pub usage: Usage,
    /// What the group was charged from one refill to another. None if no window was requested, or
    /// if the kernel showed no refills.
    pub within: Option<Usage>,
}

/// Runs a trial of the scenario and makes its observation.
pub(super) fn run(spec: &TrialSpec, context: &mut Context) -> Result<TrialResult, ScenarioError> {
    let roots = context.host.roots;
    // Iterations and wake-ups depend on the CPU's clock. The governor is restored when the trial
    // ends.
    let _governor = Governor::performance(roots);
    let mut watch = None;
    let mut began = Instant::now();
    let mut disturbance = Disturbance::default();
    let (spawner, interrupted) = (context.spawner, context.interrupted);
    let options = SessionOptions { quota: true, lock: false, ..SessionOptions::new(roots) };
    let mut probing = Probing::start_with(context.probe, &options);
    let raw = run_load(spec, roots, spawner, interrupted, &mut |event| match event {
        Event::Ready(pid) => {
            probing.watch(&Part { pid, part: "thread", role: Role::Bystander });
        }
        Event::Released => {
            probing.release();
            watch = Some(Disturbances::start(roots, None));
            began = Instant::now();
        }
        Event::Tick => (context.tick)(Tick { elapsed: began.elapsed(), ..Tick::default() }),
        Event::Ended => {
            probing.end();
            disturbance = watch.take().map(|w| w.finish(roots)).unwrap_or_default();
        }
    })?;
    let mut observation = observe(spec, &raw)?;
    observation.evidence = probing.evidence();
    if let Some(evidence) = &mut observation.evidence {
        quota::lay_over(evidence, &raw.usage);
    }
    Ok(TrialResult { observation, disturbance })
}

/// A progress event of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The threads of the process with this ID are set up.
    Ready(u32),
    /// The threads are about to be released.
    Released,
    /// Time passes.
    Tick,
    /// The threads have ended.
    Ended,
}

/// Runs the load of a trial until it ends. The group is removed afterwards.
///
/// # Errors
/// If the group or the threads cannot be created, or if the user interrupts.
pub fn run_load(
    spec: &TrialSpec,
    roots: &Roots,
    spawner: &LoadSpawner,
    interrupted: &dyn Fn() -> bool,
    on_event: &mut dyn FnMut(Event),
) -> Result<RawTrial, ScenarioError> {
    let home = ParentGroup::find(roots).map_err(refused)?;
    let group = BandwidthGroup::create(&home).map_err(refused)?;
    group.set(&spec.bandwidth).map_err(refused)?;
    let mut child = spawner.start("fibonacci threads", &args(spec, &group).to_args(), None)?;
    wait::ready(&mut child, SET_UP_LIMIT, interrupted)?;
    on_event(Event::Ready(child.pid()));
    on_event(Event::Released);
    let before = group.usage();
    child.go()?;
    let within = match spec.window {
        Some(window) => {
            let within = measure_window(spec, window, &group, interrupted, on_event)?;
            child.stop();
            within
        }
        None => None,
    };
    let report = await_report(spec, &mut child, interrupted, on_event)?;
    let usage = group.usage().since(&before);
    on_event(Event::Ended);
    drop(child);
    group.remove().map_err(refused)?;
    Ok(RawTrial { report, usage, within })
}

fn args(spec: &TrialSpec, group: &BandwidthGroup) -> FibonacciArgs {
    let mut args = FibonacciArgs::new(spec.threads, spec.duration);
    args.fast = spec.fast;
    args.fast_first = spec.fast_first;
    args.sleep_us = time::whole_us(spec.wake);
    args.cpus = CpuList::new(spec.cpus.clone());
    args.join = group.join_paths().into_iter().map(Into::into).collect();
    args
}

/// Reads what the group is charged from one refill of its quota to another, while its threads run.
///
/// At a refill, the group has used up its quota and stands still, or nearly so. So the reading
/// there is stable, and the number of periods between two refills is the kernel's count.
fn measure_window(
    spec: &TrialSpec,
    window: Window,
    group: &BandwidthGroup,
    interrupted: &dyn Fn() -> bool,
    on_event: &mut dyn FnMut(Event),
) -> Result<Option<Usage>, ScenarioError> {
    let period = Duration::from_micros(spec.bandwidth.period_us);
    let deadline = Instant::now() + spec.duration;
    let mut refill_after = |periods: u64| -> Result<Option<Usage>, ScenarioError> {
        let mut refills = Refills::default();
        loop {
            let usage = group.usage();
            let Some(counted) = usage.nr_periods else { return Ok(None) };
            if refills.read(counted, periods, Instant::now()) {
                return Ok(Some(usage));
            }
            if interrupted() {
                return Err(ScenarioError::Interrupted);
            }
            if Instant::now() >= deadline {
                return Ok((counted >= periods).then_some(usage));
            }
            on_event(Event::Tick);
            let far = u32::try_from(periods.saturating_sub(counted + 1)).unwrap_or(u32::MAX);
            std::thread::sleep(period.saturating_mul(far).min(NAP).max(LOOK));
        }
    };
    // The counter starts with the group, whose timer starts with its first thread.
    let Some(begin) = refill_after(window.warm_up)? else { return Ok(None) };
    let periods = begin.nr_periods.unwrap_or(0).saturating_add(window.periods);
    Ok(refill_after(periods)?.map(|end| end.since(&begin)))
}

/// Finds a refill between two readings that are close together.
#[derive(Debug, Default)]
struct Refills {
    last: Option<(u64, Instant)>,
    passed_over: u32,
}

impl Refills {
    /// Takes a reading of the counter. Returns whether a refill lies just before it and at least
    /// `periods` periods have passed.
    fn read(&mut self, counted: u64, periods: u64, now: Instant) -> bool {
        let Some((before, at)) = self.last.replace((counted, now)) else { return false };
        if counted == before || counted < periods {
            return false;
        }
        let close = now.saturating_duration_since(at) <= CLOSE;
        self.passed_over += u32::from(!close);
        close || self.passed_over > PASSED_OVER
    }
}

/// Waits for the report of the threads.
fn await_report(
    spec: &TrialSpec,
    child: &mut Child,
    interrupted: &dyn Fn() -> bool,
    on_event: &mut dyn FnMut(Event),
) -> Result<FibonacciReport, ScenarioError> {
    let deadline = Instant::now() + spec.duration + REPORT_LIMIT;
    loop {
        match child.report_before(Instant::now() + NAP)? {
            Some(Report::Fibonacci(report)) => return Ok(report),
            Some(_) => {
                return Err(ScenarioError::Broken(Problem::WrongReport {
                    role: "fibonacci".to_owned(),
                }));
            }
            None if interrupted() => return Err(ScenarioError::Interrupted),
            None if Instant::now() >= deadline => {
                return Err(child.late(Awaited::Report, spec.duration + REPORT_LIMIT).into());
            }
            None => on_event(Event::Tick),
        }
    }
}

/// The observation of a trial. Without two refills, there is no usage to compare with the quota.
fn observe(spec: &TrialSpec, raw: &RawTrial) -> Result<Observation, ScenarioError> {
    let window_ms = time::ms_of_ns(raw.report.window_ns);
    let mut observation = Observation { window_ms, ..Observation::default() };
    let mut put = |name: &str, value: f64, unit: Unit| {
        observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    if let Some(balance) = raw.within.as_ref().and_then(|within| Balance::of(spec, within)) {
        put(measure::LOST, balance.lost(), Unit::Percent);
        put(measure::BEYOND, balance.beyond(), Unit::Percent);
        put(measure::GOT, balance.got(), Unit::Percent);
        put(measure::USAGE, balance.used_ms, Unit::Milliseconds);
        put(measure::ENTITLED, balance.entitled_ms, Unit::Milliseconds);
        put(measure::PERIODS, balance.periods as f64, Unit::Count);
        put(measure::THROTTLED, balance.throttled as f64, Unit::Count);
    }
    put(measure::COULD_LOSE, could_lose(spec, &raw.report), Unit::Percent);
    let cpus = spec.cpus.len().min(spec.threads as usize);
    put(measure::CPUS, cpus as f64, Unit::Count);
    if let Some(throttled_ns) = raw.within.as_ref().and_then(|within| within.throttled_ns) {
        put(measure::THROTTLED_TIME, time::ms_of_ns(throttled_ns), Unit::Milliseconds);
    }
    let seconds = (window_ms / 1e3).max(1e-9);
    put(measure::ITERATIONS, raw.report.iterations as f64 / seconds, Unit::PerSecond);
    let late = load::histogram::decode(&raw.report.lateness)
        .map_err(|error| unreadable("wake-up", error))?;
    if !late.is_empty() {
        let p99 = time::ms_of_ns(late.value_at_quantile(0.99));
        put(measure::LATE_P99, p99, Unit::Milliseconds);
        observation.latencies.insert("wake-up".to_owned(), Latency::from_histogram(&late));
    }
    Ok(observation)
}

/// The usage and the quota of a group, from one refill to another.
struct Balance {
    used_ms: f64,
    entitled_ms: f64,
    periods: u64,
    throttled: u64,
}

impl Balance {
    /// None if the kernel counts no CPU time for groups, or if no period passed.
    fn of(spec: &TrialSpec, within: &Usage) -> Option<Self> {
        let periods = within.nr_periods.filter(|&periods| periods > 0)?;
        Some(Balance {
            used_ms: time::ms_of_ns(within.usage_ns?),
            entitled_ms: periods as f64 * spec.bandwidth.quota_us as f64 / 1e3,
            periods,
            throttled: within.nr_throttled.unwrap_or(0),
        })
    }

    /// The usage in percent of the quota.
    fn got(&self) -> f64 {
        100.0 * self.used_ms / self.entitled_ms
    }

    /// The part of the quota that the group did not get in periods in which it was throttled, in
    /// percent. What it did not get at all is spread evenly over the periods: in those in which it
    /// was not throttled it wanted no more, or other programs took its CPUs.
    fn lost(&self) -> f64 {
        let throttled = (self.throttled as f64 / self.periods as f64).min(1.0);
        (100.0 - self.got()).max(0.0) * throttled
    }

    /// The usage above the quota, in percent of the quota.
    fn beyond(&self) -> f64 {
        (self.got() - 100.0).max(0.0)
    }
}

/// Most that the group could lose if slices expired, in percent of its quota. This is what each
/// CPU without a busy thread keeps and does not use before the next refill.
fn could_lose(spec: &TrialSpec, report: &FibonacciReport) -> f64 {
    let ms = |us: u64| us as f64 / 1e3;
    let (period_ms, quota_ms) = (ms(spec.bandwidth.period_us), ms(spec.bandwidth.quota_us));
    let busy = spec.fast.min(u32::try_from(spec.cpus.len()).unwrap_or(u32::MAX));
    let busy = spec.cpus.get(..busy as usize).unwrap_or_default();
    let periods = time::ms_of_ns(report.window_ns) / period_ms;
    // A CPU whose threads sleep longer than a period loses its slice once, not in each period.
    let times = (period_ms / time::ms(spec.wake)).min(1.0);
    let mut used_ms: std::collections::BTreeMap<u32, f64> = std::collections::BTreeMap::new();
    for thread in report.threads.iter().filter(|thread| !busy.contains(&thread.cpu)) {
        *used_ms.entry(thread.cpu).or_default() += time::ms_of_ns(thread.cpu_ns);
    }
    let kept = |used_ms: &f64| (KEPT_MS - used_ms / periods.max(1.0)).max(0.0) * times;
    (100.0 * used_ms.values().map(kept).sum::<f64>() / quota_ms).min(100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::protocol::FibonacciThread;

    fn spec() -> TrialSpec {
        TrialSpec {
            bandwidth: Bandwidth { quota_us: 8_000, period_us: 10_000, burst_us: 0 },
            threads: 3,
            fast: 1,
            fast_first: true,
            wake: Duration::from_millis(2),
            duration: Duration::from_secs(1),
            cpus: vec![0, 1],
            window: None,
        }
    }

    fn raw(used_ms: u64, throttled: u64) -> RawTrial {
        let report = FibonacciReport {
            window_ns: 1_000_000_000,
            lateness: load::histogram::encode(&load::histogram::empty()),
            ..FibonacciReport::default()
        };
        let within = Usage {
            usage_ns: Some(used_ms * 1_000_000),
            nr_throttled: Some(throttled),
            nr_periods: Some(50),
            ..Usage::default()
        };
        RawTrial { report, usage: Usage::default(), within: Some(within) }
    }

    fn balance(used_ms: u64, throttled: u64) -> (f64, f64, f64) {
        let seen = observe(&spec(), &raw(used_ms, throttled)).unwrap();
        let value = |name: &str| seen.measures[name].value;
        (value("got"), value("lost"), value("beyond"))
    }

    #[test]
    fn usage_is_held_against_the_quota_of_the_periods_that_the_kernel_counted() {
        assert_eq!(balance(400, 50), (100.0, 0.0, 0.0));
        assert_eq!(balance(300, 50), (75.0, 25.0, 0.0));
        assert_eq!(balance(300, 0), (75.0, 0.0, 0.0), "not throttled: it wanted no more");
        assert_eq!(balance(300, 10), (75.0, 5.0, 0.0), "mostly not throttled");
        assert_eq!(balance(480, 50), (120.0, 0.0, 20.0));
    }

    #[test]
    fn without_two_refills_nothing_is_judged() {
        let mut raw = raw(400, 50);
        raw.within = None;
        let seen = observe(&spec(), &raw).unwrap();
        assert!(!seen.measures.contains_key("lost") && seen.measures.contains_key("cpus"));
    }

    #[test]
    fn what_could_be_lost_is_what_idle_cpus_keep_and_do_not_use() {
        let thread = |cpu: u32, cpu_ms: u64| FibonacciThread {
            cpu,
            cpu_ns: cpu_ms * 1_000_000,
            ..FibonacciThread::default()
        };
        let mut report = raw(400, 50).report;
        report.threads = vec![thread(0, 800), thread(1, 20), thread(0, 20)];
        let mut spec = spec();
        // 100 periods in a second. In each, 0.2 ms of the millisecond are used.
        assert!((could_lose(&spec, &report) - 10.0).abs() < 1e-9);
        spec.wake = Duration::from_millis(20);
        assert!((could_lose(&spec, &report) - 5.0).abs() < 1e-9);
        spec.cpus = vec![0];
        report.threads = vec![thread(0, 800), thread(0, 20)];
        assert_eq!(could_lose(&spec, &report), 0.0, "no CPU is idle in the control");
    }

    #[test]
    fn a_refill_counts_where_the_readings_around_it_lie_close_together() {
        let begin = Instant::now();
        let at = |us: u64| begin + Duration::from_micros(us);
        let mut refills = Refills::default();
        assert!(!refills.read(3, 3, at(0)), "when the third began is not known");
        assert!(!refills.read(3, 3, at(200)));
        assert!(!refills.read(4, 3, at(5_000)), "too far apart");
        assert!(refills.read(5, 3, at(5_200)));
        let mut late = Refills::default();
        let hits = (0..9).filter(|&n| late.read(n, 0, at(10_000 * n))).count();
        assert_eq!(hits, 3, "a machine that is always late is read all the same");
        let mut early = Refills::default();
        assert!(!early.read(0, 9, at(0)) && !early.read(1, 9, at(100)));
    }
}
