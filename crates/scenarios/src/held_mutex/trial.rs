//! One trial: a waiter, a holder and its rivals, until the time is over.

use super::holder::{HOLDER, RIVAL};
use super::meta::measure;
use super::params::{Cause, HeldMutexParams};
use super::plan::{self, Specs};
use super::shared::{Shared, SharedMutex};
use super::waiter::{WAITER, WaitReport};
use crate::error::unreadable;
use crate::probing::{Part, Probing};
use crate::quota::{self, refused};
use crate::{Context, Disturbances, ScenarioError, TrialResult, wait};
use host::cgroup::BandwidthGroup;
use load::page::inherit;
use load::protocol::Report;
use load::{OwnArgs, histogram};
use model::evidence::QuotaShare;
use model::{Latency, Measure, Observation, Problem, Unit};
use os::time;
use probe::{Role, SessionOptions};
use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// How long the set-up of waiter and holder may take.
const SET_UP_LIMIT: Duration = Duration::from_secs(30);

/// How long the waiter may take to report after the end of the time. It may wait for a holder that
/// gets hardly any CPU time. A waiter that takes longer hangs.
pub(super) const HANG_AFTER: Duration = Duration::from_secs(30);

/// Name and role of each process in the evidence. The waiter is first, then the holder. All others
/// are rivals.
const PARTS: [(&str, Role); 3] =
    [("waiter", Role::Victim), ("holder", Role::Victim), ("rival", Role::Bystander)];

/// The processes of a trial, the waiter first. All of them end on drop.
struct Parts {
    children: Vec<load::Child>,
    shared: Shared,
    /// The group of the holder, with --by quota.
    group: Option<BandwidthGroup>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        // Without rivals and a quota, a killed holder gets the CPU time that it needs to end. A
        // group whose quota cannot be lifted is removed later.
        self.group.iter().for_each(BandwidthGroup::lift);
        self.shared.contents().stop.store(1, Relaxed);
        self.children.iter_mut().for_each(load::Child::kill);
    }
}

/// Runs a trial and makes its observation.
pub(super) fn run(
    params: &HeldMutexParams,
    context: &mut Context,
) -> Result<TrialResult, ScenarioError> {
    let (roots, interrupted) = (context.host.roots, context.interrupted);
    let group = group(params, context)?;
    let joined = group.as_ref().map(BandwidthGroup::join_paths).unwrap_or_default();
    let joined = joined.into_iter().map(PathBuf::from).collect();
    let options =
        SessionOptions { quota: group.is_some(), lock: false, ..SessionOptions::new(roots) };
    let mut probing = Probing::start_with(context.probe, &options);
    let shared = Shared::create().map_err(system)?;
    let specs = plan::specs(params, shared.as_fd().as_raw_fd(), joined, context.host)?;
    let mut parts = Parts { children: Vec::new(), shared, group };
    parts.start(&specs, context)?;
    for (number, child) in parts.children.iter_mut().enumerate() {
        wait::ready(child, SET_UP_LIMIT, interrupted)?;
        let (part, role) = PARTS[number.min(PARTS.len() - 1)];
        probing.watch(&Part { pid: child.pid(), part, role });
    }
    probing.release();
    let watch = Disturbances::start(roots, None);
    let before = parts.group.as_ref().map(BandwidthGroup::usage);
    let began = Instant::now();
    // The waiter starts last, so that the others are already at work.
    parts.children.iter_mut().rev().try_for_each(load::Child::go)?;
    let limit = params.duration.get() + HANG_AFTER;
    let report = wait::until(limit, interrupted, |deadline| parts.report_before(deadline))?;
    let watched = began.elapsed();
    let group = parts.group.as_ref();
    let gained = group.zip(before).map(|(group, before)| group.usage().since(&before));
    probing.end();
    let disturbance = watch.finish(roots);
    let mut observation = match report {
        Some(report) => observe(&answer(report)?, parts.shared.contents())?,
        None => hung(params, watched),
    };
    parts.end()?;
    observation.evidence = probing.evidence();
    if let (Some(evidence), Some(gained)) = (&mut observation.evidence, &gained) {
        quota::lay_over(evidence, gained);
        // Among the watched processes, only the holder is in the group.
        let of_group = |share: &QuotaShare| share.task.part.as_deref() == Some("holder");
        evidence.quota.iter_mut().for_each(|quota| quota.threads.retain(of_group));
    }
    Ok(TrialResult { observation, disturbance })
}

/// The group of a holder with --by quota. In the control, its group has no quota.
fn group(
    params: &HeldMutexParams,
    context: &Context,
) -> Result<Option<BandwidthGroup>, ScenarioError> {
    if params.by != Cause::Quota {
        return Ok(None);
    }
    let group = BandwidthGroup::create(&quota::home(context.host)?).map_err(refused)?;
    params.limit().map_or(Ok(()), |limit| group.set(&limit.bandwidth())).map_err(refused)?;
    Ok(Some(group))
}

impl Parts {
    /// Starts waiter, holder and rivals, which inherit the shared memory.
    fn start(&mut self, specs: &Specs, context: &Context) -> Result<(), ScenarioError> {
        let args = |generator, spec: serde_json::Result<serde_json::Value>| {
            let spec = spec.map_err(|error| unreadable("wait", error))?;
            Ok::<_, ScenarioError>(OwnArgs::to_args(generator, &spec))
        };
        let mut all = vec![
            ("mutex waiter", args(&WAITER, serde_json::to_value(&specs.waiter))?),
            ("mutex holder", args(&HOLDER, serde_json::to_value(&specs.holder))?),
        ];
        for _ in 0..specs.rivals {
            all.push(("mutex rival", args(&RIVAL, serde_json::to_value(&specs.rival))?));
        }
        inherit(&self.shared, true).map_err(system)?;
        for (name, args) in &all {
            self.children.push(context.spawner.start(name, args, None)?);
        }
        inherit(&self.shared, false).map_err(system)
    }

    /// Ends all processes and removes the group.
    fn end(mut self) -> Result<(), ScenarioError> {
        let group = self.group.take();
        group.iter().for_each(BandwidthGroup::lift);
        drop(self);
        group.map_or(Ok(()), BandwidthGroup::remove).map_err(refused)
    }

    /// The waiter's report. None if `deadline` passes before that. Fails if the holder or a rival
    /// has given up or died. In that case no process releases the mutex, or none holds the holder
    /// up.
    fn report_before(&mut self, deadline: Instant) -> Result<Option<Report>, load::LoadError> {
        for child in &mut self.children[1..] {
            child.report_before(Instant::now())?;
        }
        self.children[0].report_before(deadline)
    }
}

/// The error for a call that the kernel refused.
fn system(source: std::io::Error) -> ScenarioError {
    load::LoadError::System { role: WAITER.name, source }.into()
}

fn wrong_report() -> ScenarioError {
    ScenarioError::Broken(Problem::WrongReport { role: WAITER.name.to_owned() })
}

fn answer(report: Report) -> Result<WaitReport, ScenarioError> {
    match report {
        Report::Own(report) => {
            serde_json::from_value(report).map_err(|error| unreadable("wait", error))
        }
        _ => Err(wrong_report()),
    }
}

/// The observation of a waiter that did not return. It waited at least for the time since the end
/// of the trial's duration.
fn hung(params: &HeldMutexParams, watched: Duration) -> Observation {
    let window_ms = time::ms(watched);
    let mut seen = Observation { window_ms, hang: true, ..Observation::default() };
    let mut put = |name: &str, value: f64, unit: Unit| {
        seen.measures.insert(name.to_owned(), Measure::at_least(value, unit));
    };
    let waited = watched.saturating_sub(params.duration.get());
    let lost_ms = time::ms(waited.saturating_sub(params.inside.get()));
    let lost = (lost_ms / (window_ms / 1e3).max(1e-9)).min(1e3);
    put(measure::LOST, lost, Unit::MillisecondsPerSecond);
    put(measure::WORST, time::ms(waited), Unit::Milliseconds);
    seen
}

fn observe(report: &WaitReport, shared: &SharedMutex) -> Result<Observation, ScenarioError> {
    let window_ms = time::ms_of_ns(report.window_ns);
    let mut seen = Observation { window_ms, ..Observation::default() };
    let waits = histogram::decode(&report.waits).map_err(|error| unreadable("wait", error))?;
    let seconds = (window_ms / 1e3).max(1e-9);
    let mut put = |name: &str, value: f64, unit: Unit| {
        seen.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    let of_each_second = |ns: u64| (time::ms_of_ns(ns) / seconds).min(1e3);
    put(measure::LOST, of_each_second(report.lost_ns), Unit::MillisecondsPerSecond);
    put(measure::WAIT_P99, time::ms_of_ns(waits.value_at_quantile(0.99)), Unit::Milliseconds);
    put(measure::WORST, time::ms_of_ns(report.worst_ns), Unit::Milliseconds);
    put(
        measure::OFF_CPU,
        of_each_second(shared.off_cpu_ns.load(Relaxed)),
        Unit::MillisecondsPerSecond,
    );
    put(measure::SECTIONS, shared.sections.load(Relaxed) as f64 / seconds, Unit::PerSecond);
    seen.latencies.insert("wait".to_owned(), Latency::from_histogram(&waits));
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_become_the_figures_of_a_trial() {
        let mut waits = histogram::empty();
        (1..=100).for_each(|ms| histogram::record(&mut waits, ms * 1_000_000));
        let report = WaitReport {
            window_ns: 2_000_000_000,
            lost_ns: 1_800_000_000,
            worst_ns: 100_000_000,
            waits: histogram::encode(&waits),
        };
        let shared = SharedMutex::default();
        shared.sections.store(6, Relaxed);
        shared.off_cpu_ns.store(1_700_000_000, Relaxed);
        let seen = observe(&report, &shared).unwrap();
        let value = |name: &str| seen.measures[name].value;
        assert_eq!((value("lost"), value("off_cpu"), value("worst")), (900.0, 850.0, 100.0));
        assert_eq!(value("sections"), 3.0);
        assert!((98.0..100.5).contains(&value("wait_p99")), "{seen:?}");
        assert!(observe(&WaitReport { waits: "x".to_owned(), ..report }, &shared).is_err());
        let hung = hung(&HeldMutexParams::default(), Duration::from_millis(20_700));
        let bound = |name: &str| (hung.measures[name].value, hung.measures[name].at_least);
        assert_eq!(bound("worst"), (20_000.0, true));
        assert!(hung.hang && bound("lost").0 > 900.0 && bound("lost").1, "{hung:?}");
    }
}
