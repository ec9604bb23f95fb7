//! Turns the raw result of a trial into its observation.

use super::load::RawTrial;
use super::meta::measure;
use super::sentences::MmapLockFact;
use crate::ScenarioError;
use hdrhistogram::Histogram;
use load::histogram;
use load::protocol::{MapperReport, StallSeen};
use model::record::Stall;
use model::{Latency, Measure, Note, Observation, Problem, Unit};
use os::time;

/// Shares of evenly arriving requests, each with the name of the wait that this share exceeds.
const WAITS: [(&str, f64); 2] = [(measure::WAIT_P99, 0.01), (measure::WAIT_P999, 0.001)];

pub(super) fn observe(raw: &RawTrial) -> Result<Observation, ScenarioError> {
    let mut observation =
        Observation { window_ms: window_ms(raw), hang: raw.cut.hang, ..Observation::default() };
    add_counts(raw, &mut observation);
    match &raw.report {
        Some(report) => add_latencies(raw, report, &mut observation)?,
        None => observation.notes.push(Note::Fact(MmapLockFact::MapperLost.into())),
    }
    Ok(observation)
}

/// The window by the mapper's own clock. If it was cut off, the window until the cut.
fn window_ms(raw: &RawTrial) -> f64 {
    match &raw.report {
        Some(report) if !raw.cut.hang => time::ms_of_ns(report.window_ns),
        _ => time::ms(raw.cut.window),
    }
}

/// Figures that come from counters.
fn add_counts(raw: &RawTrial, observation: &mut Observation) {
    let picture = raw.picture.as_of(raw.cut.at_ns);
    let seconds = (observation.window_ms / 1e3).max(1e-9);
    let per_second = |count: u64| count as f64 / seconds;
    let stall = (time::ms_of_ns(picture.stalled_ns) / seconds).min(1e3);
    let mut put = |name: &str, value: f64, unit: Unit| {
        observation.measures.insert(name.to_owned(), Measure::exact(value, unit));
    };
    put(measure::STALL, stall, Unit::MillisecondsPerSecond);
    for (name, count) in measure::OVER.iter().zip(picture.over) {
        put(name, count as f64, Unit::Count);
    }
    put(measure::OPERATIONS, per_second(picture.operations), Unit::PerSecond);
    put(measure::SCANS, per_second(raw.scanners.rounds), Unit::PerSecond);
    put(measure::SCAN_BYTES, raw.scanners.bytes as f64, Unit::Bytes);
    put(measure::SPINS, per_second(raw.spinners.rounds), Unit::PerSecond);
    put_time(observation, measure::WORST, time::ms_of_ns(picture.worst_ns));
}

/// Adds a time. If a hang cut it off, it is a lower bound.
fn put_time(observation: &mut Observation, name: &str, ms: f64) {
    let make = if observation.hang { Measure::at_least } else { Measure::exact };
    observation.measures.insert(name.to_owned(), make(ms, Unit::Milliseconds));
}

/// Figures and distributions that come from the mapper's report.
fn add_latencies(
    raw: &RawTrial,
    report: &MapperReport,
    observation: &mut Observation,
) -> Result<(), ScenarioError> {
    let rescued = rescued(raw, report);
    let mmap = latencies(&report.mmap, rescued.filter(|(call, _)| call.map))?;
    let munmap = latencies(&report.munmap, rescued.filter(|(call, _)| !call.map))?;
    let mut all = mmap.clone();
    all.add(&munmap).map_err(damaged)?;
    let window_ns = (observation.window_ms * 1e6).max(1.0);
    for (name, share) in WAITS {
        let wait_ns = analysis::arrival::wait_exceeded_by(&all, window_ns, share);
        put_time(observation, name, wait_ns / 1e6);
    }
    observation.latencies.insert("mmap".to_owned(), Latency::from_histogram(&mmap));
    observation.latencies.insert("munmap".to_owned(), Latency::from_histogram(&munmap));
    observation.stalls = report.stalls.iter().map(|stall| seen(stall, rescued)).collect();
    Ok(())
}

/// The call that was still running at the cut, and its duration until then in nanoseconds. Its
/// later time belongs to the rescue, not to the stall.
fn rescued(raw: &RawTrial, report: &MapperReport) -> Option<(StallSeen, u64)> {
    let under_way = raw.cut.hang && raw.picture.began_ns > 0;
    let by_then = raw.cut.at_ns.saturating_sub(raw.picture.began_ns);
    report.last.filter(|_| under_way).map(|last| (last, by_then.min(last.took_ns)))
}

fn latencies(
    text: &str,
    rescued: Option<(StallSeen, u64)>,
) -> Result<Histogram<u64>, ScenarioError> {
    let mut latencies = histogram::decode(text).map_err(damaged)?;
    if let Some((call, by_then)) = rescued {
        let mut once = histogram::empty();
        histogram::record(&mut once, call.took_ns);
        latencies.subtract(&once).map_err(damaged)?;
        histogram::record(&mut latencies, by_then);
    }
    Ok(latencies)
}

fn damaged(error: impl std::fmt::Display) -> ScenarioError {
    let (series, error) = ("mapper".to_owned(), error.to_string());
    ScenarioError::Broken(Problem::Unreadable { series, error })
}

fn seen(stall: &StallSeen, rescued: Option<(StallSeen, u64)>) -> Stall {
    let took_ns = match rescued {
        Some((call, by_then)) if call == *stall => by_then,
        _ => stall.took_ns,
    };
    Stall {
        at_ms: time::ms_of_ns(stall.at_ns),
        took_ms: time::ms_of_ns(took_ns),
        operation: if stall.map { "mmap" } else { "munmap" }.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mmap_lock::Cut;
    use load::live::Snapshot;
    use load::protocol::PoolReport;
    use std::time::Duration;

    const MS: u64 = 1_000_000;

    /// A mapper with one call of 1 us and one of 700 ms, which was running at a cut after 500 ms.
    fn cut_off() -> RawTrial {
        let mut mmap = histogram::empty();
        histogram::record(&mut mmap, 1000);
        histogram::record(&mut mmap, 700 * MS);
        let last = StallSeen { at_ns: 10 * MS, took_ns: 700 * MS, map: true };
        let report = MapperReport {
            window_ns: 710 * MS,
            maps: 2,
            worst_ns: 700 * MS,
            mmap: histogram::encode(&mmap),
            munmap: histogram::encode(&histogram::empty()),
            stalls: vec![last],
            last: Some(last),
            ..MapperReport::default()
        };
        let picture = Snapshot { operations: 1, began_ns: 1000 * MS, ..Snapshot::default() };
        let cut = Cut { at_ns: 1490 * MS, window: Duration::from_millis(500), hang: true };
        RawTrial {
            pid: 1,
            region: 0,
            report: Some(report),
            picture,
            cut,
            scanners: PoolReport::default(),
            spinners: PoolReport::default(),
        }
    }

    #[test]
    fn a_hang_is_measured_up_to_its_cut_and_not_its_rescue() {
        let observation = observe(&cut_off()).unwrap();
        let measure = |name: &str| observation.measures[name];
        assert_eq!(observation.window_ms, 500.0);
        assert_eq!(measure("worst"), Measure::at_least(490.0, Unit::Milliseconds));
        assert_eq!(measure("stall").value, 980.0);
        assert_eq!(measure("operations").value, 2.0);
        let wait = measure("wait_p99");
        assert!(wait.at_least && wait.value < 490.0 && wait.value > 480.0, "{wait:?}");
        assert_eq!(observation.stalls[0].took_ms, 490.0);
        let mmap = observation.latencies["mmap"].to_histogram().unwrap();
        assert_eq!(mmap.len(), 2);
        assert!(mmap.max() < 495 * MS, "{}", mmap.max());
    }

    #[test]
    fn a_trial_that_ends_by_itself_is_measured_in_full() {
        let mut raw = cut_off();
        raw.cut.hang = false;
        raw.picture = Snapshot {
            operations: 2,
            began_ns: 0,
            worst_ns: 700 * MS,
            stalled_ns: 700 * MS,
            over: [1, 1, 1],
        };
        let observation = observe(&raw).unwrap();
        assert_eq!(observation.window_ms, 710.0);
        assert_eq!(observation.measures["worst"], Measure::exact(700.0, Unit::Milliseconds));
        assert_eq!(observation.stalls[0].took_ms, 700.0);
    }

    #[test]
    fn a_mapper_that_never_comes_back_leaves_its_counters() {
        let raw = RawTrial { report: None, ..cut_off() };
        let observation = observe(&raw).unwrap();
        assert_eq!(observation.measures["worst"].value, 490.0);
        assert_eq!(observation.notes, [Note::Fact(MmapLockFact::MapperLost.into())]);
        assert!(observation.latencies.is_empty());
    }
}
