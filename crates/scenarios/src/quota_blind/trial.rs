//! One trial: a runtime in a group with a quota, and a stream of requests to it.

use super::meta::measure;
use super::params::{QuotaBlindParams, QuotaGroup, Runtime};
use super::plan;
use super::sentences::{QuotaBlindFact, Release};
use super::stream::{Answer, Asked, REQUESTS, Report, Spec};
use crate::error::unreadable;
use crate::probing::{Part, Probing};
use crate::quota::{self, refused};
use crate::{Context, Disturbances, Host, ScenarioError, TrialResult, wait};
use host::cgroup::{Bandwidth, BandwidthGroup, ParentGroup, Usage};
use host::governor::Governor;
use load::protocol::Report as Message;
use load::{LoadSpawner, OwnArgs, histogram};
use model::{Arm, Latency, Measure, Note, Observation, Problem, Unit};
use os::time;
use probe::{Role, SessionOptions};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// How long a runtime may take to start and to answer its first requests.
const SET_UP_LIMIT: Duration = Duration::from_secs(90);

/// How long a trial waits for the report after the end of its requests. A runtime that takes
/// longer hangs.
pub(super) const HANG_AFTER: Duration = Duration::from_secs(30);

/// Time limit for measuring the speed of the worker's loops.
const SPEED_LIMIT: Duration = Duration::from_secs(60);

/// Name of the latencies of requests.
pub(super) const LATENCIES: &str = "request";

/// Runs a trial and makes its observation.
pub(super) fn run(
    params: &QuotaBlindParams,
    context: &mut Context,
) -> Result<TrialResult, ScenarioError> {
    let (roots, interrupted) = (context.host.roots, context.interrupted);
    let mut spec = plan::spec(params, context.host, context.seed)?;
    // The cost of a request depends on the CPU's clock. The governor is restored when the trial
    // ends.
    let _governor = Governor::performance(roots);
    let home = ParentGroup::find(roots).map_err(refused)?;
    let group = BandwidthGroup::create(&home).map_err(refused)?;
    let bandwidth = params.quota.bandwidth();
    group.set(&bandwidth).map_err(refused)?;
    spec.runtime.join = groups_of(params.limit_at, &group)?;
    spec.runtime.namespace = params.limit_at == QuotaGroup::Namespace;
    let options = SessionOptions { quota: true, lock: false, ..SessionOptions::new(roots) };
    let mut probing = Probing::start_with(context.probe, &options);
    let told = serde_json::to_value(&spec).map_err(|error| unreadable("request", error))?;
    let args = OwnArgs::to_args(&REQUESTS, &told);
    let mut child = context.spawner.start("requests", &args, None)?;
    wait::ready(&mut child, SET_UP_LIMIT, interrupted)?;
    let requests = Part { pid: child.pid(), part: "requests", role: Role::Bystander };
    probing.watch_tree(&requests, "runtime");
    probing.release();
    let watch = Disturbances::start(roots, None);
    let (before, began) = (group.usage(), Instant::now());
    child.go()?;
    let limit = params.duration.get() + HANG_AFTER;
    let report = wait::report_before(&mut child, limit, interrupted)?;
    let (gained, watched) = (group.usage().since(&before), began.elapsed());
    probing.end();
    let disturbance = watch.finish(roots);
    drop(child);
    group.remove().map_err(refused)?;
    let mut observation = match answer(report)? {
        Some(Answer::Served(report)) => observe(params, &report)?,
        Some(Answer::Speed(_)) => return Err(wrong_report()),
        None => hung(watched),
    };
    add_group(&mut observation, &gained, &bandwidth);
    observation.evidence = probing.evidence();
    if let Some(evidence) = &mut observation.evidence {
        quota::lay_over(evidence, &gained);
    }
    Ok(TrialResult { observation, disturbance })
}

/// The groups that the runtime joins, so that the quota is at the requested place.
fn groups_of(place: QuotaGroup, group: &BandwidthGroup) -> Result<Vec<PathBuf>, ScenarioError> {
    match place {
        QuotaGroup::Leaf | QuotaGroup::Namespace => {
            Ok(group.join_paths().into_iter().map(PathBuf::from).collect())
        }
        QuotaGroup::Parent => group.below().map_err(refused),
    }
}

/// Sets the speed of the worker's loops in arms that leave it open.
pub(super) fn calibrate(
    arms: &mut [Arm<QuotaBlindParams>],
    host: &Host,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), ScenarioError> {
    let spawner = LoadSpawner::default();
    plan::set_speeds(arms, |params| speed(params, host, &spawner, interrupted))
}

/// Rounds of the worker's loops per millisecond, without a quota: of requests, and of jobs.
fn speed(
    params: &QuotaBlindParams,
    host: &Host,
    spawner: &LoadSpawner,
    interrupted: &dyn Fn() -> bool,
) -> Result<[u32; 2], ScenarioError> {
    let found = super::runtime::prepared(params, host.otps)?;
    // The same governor as in a trial. Otherwise rounds that were measured at a low clock would
    // take less CPU time in the trials than a request and a job should take.
    let _governor = Governor::performance(host.roots);
    let spec = Spec { runtime: plan::start(&found, Some(1)), asked: Asked::Speed };
    let told = serde_json::to_value(&spec).map_err(|error| unreadable("request", error))?;
    let args = OwnArgs::to_args(&REQUESTS, &told);
    let mut child = spawner.start("requests", &args, None)?;
    wait::ready(&mut child, SET_UP_LIMIT, interrupted)?;
    child.go()?;
    let report = wait::report(&mut child, SPEED_LIMIT, interrupted)?;
    match answer(Some(report))? {
        Some(Answer::Speed(speed)) => Ok(speed),
        _ => Err(wrong_report()),
    }
}

/// The answer in the generator's report.
fn answer(report: Option<Message>) -> Result<Option<Answer>, ScenarioError> {
    match report {
        Some(Message::Own(report)) => {
            serde_json::from_value(report).map(Some).map_err(|error| unreadable("request", error))
        }
        Some(_) => Err(wrong_report()),
        None => Ok(None),
    }
}

/// The error for an answer to another question.
fn wrong_report() -> ScenarioError {
    let role = REQUESTS.name.to_owned();
    ScenarioError::Broken(Problem::WrongReport { role })
}

/// The observation of a runtime that did not return. A request to it waits longer than that.
fn hung(watched: Duration) -> Observation {
    let window_ms = time::ms(watched);
    let mut seen = Observation { window_ms, hang: true, ..Observation::default() };
    for name in [measure::P99, measure::WORST] {
        seen.measures.insert(name.to_owned(), Measure::at_least(window_ms, Unit::Milliseconds));
    }
    seen
}

fn observe(params: &QuotaBlindParams, report: &Report) -> Result<Observation, ScenarioError> {
    let window_ms = time::ms_of_ns(report.window_ns);
    let mut seen = Observation { window_ms, ..Observation::default() };
    let latencies =
        histogram::decode(&report.latencies).map_err(|error| unreadable("request", error))?;
    // The requests that still wait may wait for ever. A percentile that falls among them is a
    // lower bound.
    let waiting = report.waiting as f64 / (latencies.len() as f64).max(1.0);
    for (name, quantile) in [(measure::P50, 0.5), (measure::P99, 0.99), (measure::WORST, 1.0)] {
        let ms = time::ms_of_ns(latencies.value_at_quantile(quantile));
        let value = match waiting > 1.0 - quantile {
            true => Measure::at_least(ms, Unit::Milliseconds),
            false => Measure::exact(ms, Unit::Milliseconds),
        };
        seen.measures.insert(name.to_owned(), value);
    }
    let mut put = |name: &str, value: f64, unit: Unit| {
        seen.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    let mut jobs_ns: Vec<f64> = report.jobs_ns.iter().map(|ns| *ns as f64).collect();
    jobs_ns.sort_by(f64::total_cmp);
    if let Some(job_ns) = model::median::median(&jobs_ns) {
        put(measure::JOB, job_ns / 1e6, Unit::Milliseconds);
    }
    put(measure::CPUS, f64::from(report.cpus), Unit::Count);
    if let Some(threads) = report.threads {
        put(measure::THREADS, f64::from(threads), Unit::Count);
    }
    seen.latencies.insert(LATENCIES.to_owned(), Latency::from_histogram(&latencies));
    let runtime = params.runtime.get().map_or("", Runtime::name);
    let (runtime, release) = (runtime.into(), report.release.as_str().into());
    let release = QuotaBlindFact::Release(Release { runtime, release });
    seen.notes.push(Note::Fact(release.into()));
    Ok(seen)
}

/// Adds what the group was charged, and how often and how long it was throttled.
fn add_group(seen: &mut Observation, gained: &Usage, bandwidth: &Bandwidth) {
    let window_ms = seen.window_ms.max(1e-3);
    let mut put = |name: &str, value: f64, unit: Unit| {
        seen.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    if let (Some(periods), Some(throttled)) = (gained.nr_periods, gained.nr_throttled) {
        let share = 100.0 * throttled as f64 / (periods as f64).max(1.0);
        put(measure::THROTTLED, share.min(100.0), Unit::Percent);
    }
    if let Some(ns) = gained.throttled_ns {
        put(measure::THROTTLED_TIME, time::ms_of_ns(ns), Unit::Milliseconds);
    }
    if let Some(ns) = gained.usage_ns {
        let cpus = bandwidth.cpus();
        put(measure::USED, 100.0 * time::ms_of_ns(ns) / (window_ms * cpus), Unit::Percent);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::params::{Auto, Programs};
    use host::Roots;
    use model::generator::GeneratorEnd;
    use model::{Machine, Need};
    use testing::Tree;

    /// The files of a governor.
    const GOVERNOR: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor";
    const GOVERNORS: &str = "sys/devices/system/cpu/cpu0/cpufreq/scaling_available_governors";

    fn report(waiting: u64) -> Report {
        let mut latencies = histogram::empty();
        for n in 1..=100_u64 {
            histogram::record(&mut latencies, n * 1_000_000);
        }
        Report {
            window_ns: 2_000_000_000,
            latencies: histogram::encode(&latencies),
            waiting,
            jobs_ns: vec![80_000_000, 90_000_000, 100_000_000],
            cpus: 2,
            threads: Some(7),
            release: "v1".to_owned(),
        }
    }

    #[test]
    fn what_was_served_becomes_figures() {
        let params = QuotaBlindParams::default();
        let seen = observe(&params, &report(0)).unwrap();
        let value = |name: &str| seen.measures[name].value;
        assert!((value(measure::P99) - 99.0).abs() < 0.2, "{seen:?}");
        assert_eq!((value(measure::JOB), value(measure::CPUS)), (90.0, 2.0));
        assert!(!seen.measures[measure::P99].at_least);
        let late = observe(&params, &report(5)).unwrap();
        assert!(late.measures[measure::P99].at_least && !late.measures[measure::P50].at_least);
    }

    #[test]
    fn the_groups_counters_stand_beside_them() {
        let mut seen = observe(&QuotaBlindParams::default(), &report(0)).unwrap();
        let gained = Usage {
            usage_ns: Some(500_000_000),
            nr_periods: Some(20),
            nr_throttled: Some(5),
            throttled_ns: Some(300_000_000),
            ..Usage::default()
        };
        let half = Bandwidth { quota_us: 50_000, period_us: 100_000, burst_us: 0 };
        add_group(&mut seen, &gained, &half);
        let value = |name: &str| seen.measures[name].value;
        assert_eq!((value(measure::THROTTLED), value(measure::USED)), (25.0, 50.0));
        assert_eq!(value(measure::THROTTLED_TIME), 300.0);
    }

    #[test]
    fn a_runtime_that_does_not_come_back_has_a_bound() {
        let seen = hung(Duration::from_secs(32));
        assert!(seen.hang && seen.measures[measure::P99].at_least, "{seen:?}");
    }

    #[test]
    fn the_speed_is_measured_with_the_governor_of_a_trial() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let tree = Tree::new(&[
            ("proc/self/stat", stat.as_str()),
            (GOVERNOR, "powersave"),
            (GOVERNORS, "performance powersave"),
        ]);
        // A generator that gives up with the governor as its reason.
        let reads = format!("governor=$(cat '{}')", tree.path(GOVERNOR).display());
        let says = r#"echo '{"error":{"kind":"limit","what":"'"$governor"'"}}'"#;
        let prefix = vec!["-c".to_owned(), format!("{reads}; {says}; exec sleep 600")];
        let spawner = LoadSpawner { program: "/bin/sh".into(), prefix, user: None };
        let params = QuotaBlindParams {
            runtime: Auto::Is(Runtime::Node),
            program: Programs::one("/bin/sh"),
            ..QuotaBlindParams::default()
        };
        let roots = Roots::at(tree.root());
        let machine = Machine::default();
        let otps = crate::erlang::Otps::default();
        let host = Host { roots: &roots, machine: &machine, otps: &otps };
        let error = speed(&params, &host, &spawner, &|| false).unwrap_err();
        let ScenarioError::Missing(Need::Limit(Problem::Generator(problem))) = error else {
            panic!("{error:?}")
        };
        assert_eq!(problem.what, GeneratorEnd::GaveUp { message: "performance".to_owned() });
        assert_eq!(std::fs::read_to_string(tree.path(GOVERNOR)).unwrap(), "powersave");
    }
}
