//! One trial: threads in a group with a quota.

use super::meta::measure;
use super::plan::{self, refused};
use crate::probing::{Player, Probing};
use crate::quota;
use crate::{Context, ScenarioError, Seen, Tick, Watch, wait};
use host::cgroup::{Bandwidth, BandwidthGroup, Home, ThrottledRuns, Usage};
use host::governor::Governor;
use host::roots::Roots;
use load::child::cpu_list::CpuList;
use load::child::fibonacci::FibonacciArgs;
use load::protocol::{FibonacciReport, Report};
use load::{Child, Launcher};
use model::{Latency, Measure, Observation, Surroundings, Unit};
use probe::{Role, Wish};
use std::time::{Duration, Instant};

/// How long the threads may take to get ready.
const SET_UP_LIMIT: Duration = Duration::from_secs(60);

/// How long they may take to report, once their time is over: a throttled thread notices late.
const REPORT_LIMIT: Duration = Duration::from_secs(60);

/// What is played in a trial.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Script {
    /// Quota, period and burst.
    pub bandwidth: Bandwidth,
    /// Threads.
    pub threads: u32,
    /// Those that never sleep.
    pub fast: u32,
    /// How long they work.
    pub duration: Duration,
    /// The CPUs that they are pinned to in turns.
    pub cpus: Vec<u32>,
    /// The CPU on which a timer bears witness: one without a busy thread, where there is one.
    pub measured: u32,
}

/// What happened.
#[derive(Debug)]
pub struct Played {
    /// The threads' own report.
    pub report: FibonacciReport,
    /// What the group was charged from the release to the last thread's end.
    pub usage: Usage,
    /// The longest run of throttled periods.
    pub runs: ThrottledRuns,
    /// What it had been charged at the last look while the threads' time was not over.
    pub within: Option<Usage>,
}

/// Runs a trial of the scenario and makes its observation.
pub(super) fn run(script: &Script, context: &mut Context) -> Result<Seen, ScenarioError> {
    let roots = context.site.roots;
    // Iterations and wake-ups depend on the clock of the CPU; put back when the trial ends.
    let _governor = Governor::performance(roots);
    let mut watch = None;
    let mut began = Instant::now();
    let mut surroundings = Surroundings::default();
    let (launcher, interrupted) = (context.launcher, context.interrupted);
    let wish = Wish { quota: true, lock: false, ..Wish::new(roots) };
    let mut probing = Probing::start_with(context.probe, &wish);
    let played = play(script, roots, launcher, interrupted, &mut |event| match event {
        Event::Ready(pid) => {
            probing.watch(&Player { pid, part: "thread", role: Role::Bystander });
        }
        Event::Released => {
            probing.release();
            watch = Some(Watch::start(roots, None));
            began = Instant::now();
        }
        Event::Tick => (context.tick)(Tick { elapsed: began.elapsed(), ..Tick::default() }),
        Event::Ended => {
            probing.end();
            surroundings = watch.take().map(|w| w.finish(roots)).unwrap_or_default();
        }
    })?;
    let emulated = context.site.machine.guest.as_ref().is_some_and(|guest| guest.emulated());
    let mut observation = observe(script, &played, emulated)?;
    observation.evidence = probing.evidence();
    if let Some(evidence) = &mut observation.evidence {
        quota::lay_over(evidence, &played.usage);
    }
    Ok(Seen { observation, surroundings })
}

/// What a player tells while it plays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// The threads of this process are set up.
    Ready(u32),
    /// The threads are about to be released.
    Released,
    /// Time goes on.
    Tick,
    /// The threads have ended.
    Ended,
}

/// Plays a script to its end; the group is gone afterwards.
///
/// # Errors
/// If the group or the threads cannot be had, or if somebody interrupts.
pub fn play(
    script: &Script,
    roots: &Roots,
    launcher: &Launcher,
    interrupted: &dyn Fn() -> bool,
    hear: &mut dyn FnMut(Event),
) -> Result<Played, ScenarioError> {
    let home = Home::find(roots).map_err(refused)?;
    let group = BandwidthGroup::create(&home).map_err(refused)?;
    group.set(&script.bandwidth).map_err(refused)?;
    let mut child = launcher.start("fibonacci threads", &args(script, &group).to_args(), None)?;
    wait::ready(&mut child, SET_UP_LIMIT, interrupted)?;
    hear(Event::Ready(child.pid()));
    hear(Event::Released);
    let before = group.usage();
    let mut looks = Looks::since(before);
    child.go()?;
    let report = await_report(script, &group, &mut child, interrupted, &mut looks, hear)?;
    let usage = group.usage().since(&looks.before);
    hear(Event::Ended);
    drop(child);
    group.remove().map_err(refused)?;
    Ok(Played { report, usage, runs: looks.runs, within: looks.within })
}

fn args(script: &Script, group: &BandwidthGroup) -> FibonacciArgs {
    let mut args = FibonacciArgs::new(script.threads, script.duration);
    args.fast = script.fast;
    args.cpus = CpuList::new(script.cpus.clone());
    args.join = group.join_paths().into_iter().map(Into::into).collect();
    args
}

/// What the counters of the group said while its threads ran.
struct Looks {
    released: Instant,
    before: Usage,
    runs: ThrottledRuns,
    within: Option<Usage>,
}

impl Looks {
    fn since(before: Usage) -> Self {
        Looks { released: Instant::now(), before, runs: ThrottledRuns::new(), within: None }
    }

    fn look(&mut self, group: &BandwidthGroup, duration: Duration) {
        let usage = group.usage();
        if let (Some(periods), Some(throttled)) = (usage.nr_periods, usage.nr_throttled) {
            self.runs.read(periods, throttled);
        }
        // The clock is read last, so that a look that took long does not count.
        if self.released.elapsed() <= duration {
            self.within = Some(usage.since(&self.before));
        }
    }
}

/// Waits for the report; reads the throttling counters twice a period meanwhile.
fn await_report(
    script: &Script,
    group: &BandwidthGroup,
    child: &mut Child,
    interrupted: &dyn Fn() -> bool,
    looks: &mut Looks,
    hear: &mut dyn FnMut(Event),
) -> Result<FibonacciReport, ScenarioError> {
    let step = Duration::from_micros(script.bandwidth.period_us / 2)
        .clamp(Duration::from_millis(5), Duration::from_millis(50));
    let deadline = Instant::now() + script.duration + REPORT_LIMIT;
    loop {
        let report = child.report_before(Instant::now() + step)?;
        looks.look(group, script.duration);
        match report {
            Some(Report::Fibonacci(report)) => return Ok(report),
            Some(_) => return Err(ScenarioError::Broken("threads reported as a crew".into())),
            None if interrupted() => return Err(ScenarioError::Interrupted),
            None if Instant::now() >= deadline => {
                return Err(child.late("report", script.duration + REPORT_LIMIT).into());
            }
            None => hear(Event::Tick),
        }
    }
}

/// What a trial saw. Where time is emulated, threads that are throttled may take many periods to
/// notice that their time is over, and the group is charged all the while: there the counters are
/// those of the last look before, held against the periods that the kernel counted until then.
fn observe(script: &Script, played: &Played, emulated: bool) -> Result<Observation, ScenarioError> {
    let window_ms = played.report.window_ns as f64 / 1e6;
    let mut observation = Observation { window_ms, ..Observation::default() };
    let mut put = |name: &str, value: f64, unit: Unit| {
        observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    let within = played.within.as_ref().filter(|_| emulated);
    let usage = within.unwrap_or(&played.usage);
    // Where the kernel counts no CPU time for the group, the threads do.
    let used_ms = usage.usage_ns.unwrap_or(played.report.cpu_ns) as f64 / 1e6;
    let counted = within.and_then(|usage| usage.nr_periods);
    let (least_ms, most_ms) = entitled_ms(script, window_ms, counted);
    let throttled = usage.nr_throttled.unwrap_or(0);
    let percent = |ms: f64| 100.0 * ms.max(0.0) / least_ms.max(1e-9);
    // A group that was never throttled wanted no more than it got.
    let missed_ms = if throttled > 0 { least_ms - used_ms } else { 0.0 };
    put(measure::SHORTFALL, percent(missed_ms), Unit::Percent);
    put(measure::EXCESS, percent(used_ms - most_ms), Unit::Percent);
    put(measure::USAGE, used_ms, Unit::Milliseconds);
    put(measure::ENTITLED, least_ms, Unit::Milliseconds);
    put(measure::ENTITLED_MOST, most_ms, Unit::Milliseconds);
    let cpus = script.cpus.len().min(script.threads as usize);
    put(measure::CPUS, cpus as f64, Unit::Count);
    put(measure::THROTTLED, throttled as f64, Unit::Count);
    put(measure::LONGEST, played.runs.at_least() as f64, Unit::Count);
    if let Some(periods) = usage.nr_periods {
        put(measure::PERIODS, periods as f64, Unit::Count);
    }
    if let Some(throttled_ns) = usage.throttled_ns {
        put(measure::THROTTLED_TIME, throttled_ns as f64 / 1e6, Unit::Milliseconds);
    }
    let seconds = (window_ms / 1e3).max(1e-9);
    put(measure::ITERATIONS, played.report.iterations as f64 / seconds, Unit::PerSecond);
    let late = load::histogram::decode(&played.report.lateness)
        .map_err(|why| ScenarioError::Broken(format!("lateness of the threads: {why}")))?;
    if !late.is_empty() {
        let p99 = late.value_at_quantile(0.99) as f64 / 1e6;
        put(measure::LATE_P99, p99, Unit::Milliseconds);
        observation.latencies.insert("wake-up".to_owned(), Latency::from_histogram(&late));
    }
    Ok(observation)
}

/// What the group may use in a trial, at least and at most.
///
/// The period timer knows nothing of the trial: the pool is full when it begins and is refilled at
/// some moment of each period. So a trial of n periods has between n and n + 1 quotas, and what was
/// saved up for a burst. Each CPU keeps up to a millisecond of what it took when it runs dry; that
/// much is no loss, and is not missed here however many CPUs there are. Nobody can use more than the CPUs of the busy threads have. `counted` are
/// the refills that the kernel counted, where they and not the planned time are what counts.
fn entitled_ms(script: &Script, window_ms: f64, counted: Option<u64>) -> (f64, f64) {
    let ms = |us: u64| us as f64 / 1e3;
    let planned_ms = script.duration.as_secs_f64() * 1e3;
    let planned = (planned_ms / ms(script.bandwidth.period_us)).floor();
    let periods = counted.map_or(planned, |counted| counted as f64);
    let quota_ms = ms(script.bandwidth.quota_us);
    let cpus = f64::from(script.fast.min(u32::try_from(script.cpus.len()).unwrap_or(u32::MAX)));
    let kept_ms = plan::KEPT_MS * script.cpus.len().min(script.threads as usize) as f64;
    let least = (quota_ms * periods - kept_ms).max(0.0).min(cpus.max(1.0) * planned_ms);
    let most = quota_ms * (periods + 1.0) + ms(script.bandwidth.burst_us);
    (least, most.min(script.cpus.len() as f64 * window_ms.max(planned_ms)).max(least))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn script() -> Script {
        Script {
            bandwidth: Bandwidth { quota_us: 10_000, period_us: 100_000, burst_us: 0 },
            threads: 2,
            fast: 1,
            duration: Duration::from_secs(1),
            cpus: vec![0, 1],
            measured: 0,
        }
    }

    fn played(used_ms: u64, throttled: u64) -> Played {
        let report = FibonacciReport {
            window_ns: 1_000_000_000,
            lateness: load::histogram::encode(&load::histogram::empty()),
            ..FibonacciReport::default()
        };
        let usage = Usage {
            usage_ns: Some(used_ms * 1_000_000),
            nr_throttled: Some(throttled),
            ..Usage::default()
        };
        Played { report, usage, runs: ThrottledRuns::new(), within: None }
    }

    fn balance(used_ms: u64, throttled: u64) -> (f64, f64) {
        let seen = observe(&script(), &played(used_ms, throttled), false).unwrap();
        (seen.measures["shortfall"].value, seen.measures["excess"].value)
    }

    #[test]
    fn usage_is_held_against_whole_quotas() {
        assert_eq!(balance(100, 10), (0.0, 0.0));
        assert_eq!(balance(49, 10), (50.0, 0.0), "the two CPUs may keep a millisecond each");
        assert_eq!(balance(40, 0), (0.0, 0.0), "a group that was not throttled wanted no more");
        assert_eq!(balance(110, 11), (0.0, 0.0), "a trial of 10 periods sees up to 11 quotas");
        assert_eq!(balance(140, 10), (0.0, 100.0 * 30.0 / 98.0));
    }

    #[test]
    fn where_time_is_emulated_the_look_before_the_end_counts() {
        let mut played = played(900, 90);
        let within = |used_ms: u64| Usage {
            usage_ns: Some(used_ms * 1_000_000),
            nr_throttled: Some(8),
            nr_periods: Some(8),
            ..Usage::default()
        };
        for (used_ms, shortfall) in [(78, 0.0), (39, 50.0)] {
            played.within = Some(within(used_ms));
            let seen = |emulated| observe(&script(), &played, emulated).unwrap();
            assert_eq!(seen(true).measures["shortfall"].value, shortfall);
            assert_eq!(seen(false).measures["usage"].value, 900.0);
        }
        played.within = None;
        let seen = observe(&script(), &played, true).unwrap();
        assert_eq!(seen.measures["usage"].value, 900.0, "no look in time: all that is known");
    }

    #[test]
    fn threads_beyond_the_cpus_take_turns_on_them() {
        let mut script = script();
        for (threads, cpus) in [(1, 1.0), (2, 2.0), (64, 2.0)] {
            script.threads = threads;
            let seen = observe(&script, &played(100, 10), false).unwrap();
            assert_eq!(seen.measures["cpus"].value, cpus);
        }
    }

    #[test]
    fn nobody_is_entitled_to_more_than_the_busy_threads_can_use() {
        let mut script = script();
        script.bandwidth.quota_us = 150_000;
        assert_eq!(entitled_ms(&script, 1000.0, None), (1000.0, 1650.0));
        script.fast = 2;
        assert_eq!(entitled_ms(&script, 1000.0, None), (1498.0, 1650.0));
    }
}
