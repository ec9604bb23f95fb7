//! Turns the measurements inside and outside the node into an observation.

use super::meta::{measure, series};
use super::ticks::Lateness;
use model::{Measure, Observation, Series, Unit};
use os::time;

/// The node's measurements of itself. Times are in microseconds after the first go message.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Measured {
    /// When the last process ended.
    pub wall_us: f64,
    /// Wall time if every scheduler that can run the work runs it all the time.
    pub ideal_us: f64,
    /// Number of processes that can make progress at the same time.
    pub lanes: usize,
    /// Run time of each process, from its own start to its end.
    pub run_times_us: Vec<f64>,
    /// When each process ended.
    pub finish_us: Vec<f64>,
    /// Active time of each scheduler that runs the work.
    pub active_us: Vec<f64>,
    /// Active share of scheduler wall time for each normal scheduler, in percent.
    pub use_percent: Vec<f64>,
    /// Samples of the run queues: time, then the lengths for normal schedulers, dirty CPU and
    /// dirty I/O.
    pub run_queues: Vec<(f64, Vec<f64>)>,
    /// Number of samples in which most run queues were empty and some were not, and of all
    /// samples.
    pub unbalanced: (f64, f64),
}

/// Measurements from outside the VM, and from the second run, which is watched from inside.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Outside {
    /// Lateness of the timer process, if any tick arrived.
    pub ticks: Option<Lateness>,
    /// Run queues of the second run, as in [`Measured`].
    pub run_queues: Vec<(f64, Vec<f64>)>,
    /// Balance of these run queues, as in [`Measured`].
    pub unbalanced: (f64, f64),
    /// CPU time of all scheduler threads, in milliseconds per second.
    pub cpu_ms_per_s: Option<f64>,
    /// Whether each scheduler thread was at work, over time.
    pub threads: Option<Series>,
}

/// The observation of a trial that was completed.
pub(super) fn observe(measured: &Measured, outside: Outside) -> Observation {
    let mut seen = Observation { window_ms: measured.wall_us / 1e3, ..Observation::default() };
    let mut put = |name: &str, value: f64, unit: Unit| {
        if value.is_finite() {
            seen.measures.insert(name.to_owned(), Measure::exact(value, unit));
        }
    };
    put(measure::WALL, measured.wall_us / 1e3, Unit::Milliseconds);
    put(measure::STRETCH, stretch(measured), Unit::Ratio);
    put(measure::ASLEEP, asleep(measured), Unit::Percent);
    let (shortest, longest) = extremes(&measured.run_times_us);
    put(measure::SHORTEST, shortest / 1e3, Unit::Milliseconds);
    put(measure::LONGEST, longest / 1e3, Unit::Milliseconds);
    put(measure::UNFAIRNESS, unfairness(shortest, longest), Unit::Ratio);
    put(measure::JAIN, jain(&measured.run_times_us), Unit::Ratio);
    let (least, most) = extremes(&measured.use_percent);
    put(measure::USE_LEAST, least, Unit::Percent);
    put(measure::USE_MOST, most, Unit::Percent);
    if outside.unbalanced.1 > 0.0 {
        let share = 100.0 * outside.unbalanced.0 / outside.unbalanced.1;
        put(measure::UNBALANCED, share, Unit::Percent);
    }
    if let Some(cpu) = outside.cpu_ms_per_s {
        put(measure::CPU, cpu, Unit::MillisecondsPerSecond);
    }
    if let Some(ticks) = outside.ticks {
        let window = ticks.window.as_secs_f64().max(1e-3);
        let overdue = time::ms(ticks.overdue);
        put(measure::LATE, overdue / window, Unit::MillisecondsPerSecond);
        put(measure::WORST_TICK, time::ms(ticks.worst), Unit::Milliseconds);
    }
    if let Some(queues) = run_queues(&outside.run_queues) {
        seen.series.insert(series::RUN_QUEUES.to_owned(), queues);
    }
    if let Some(threads) = outside.threads {
        seen.series.insert(series::SCHEDULER_THREADS.to_owned(), threads);
    }
    seen
}

/// Wall time divided by the ideal time. 1 if there was no work.
fn stretch(measured: &Measured) -> f64 {
    if measured.ideal_us > 0.0 { measured.wall_us / measured.ideal_us } else { 1.0 }
}

/// Lower bound of the time in which schedulers slept although work was queued, in percent of their
/// time.
///
/// As long as more processes are unfinished than schedulers can run, at least one process is
/// queued. Until the end of that time, a scheduler cannot have been active for longer than in the
/// whole run. So the rest of its time until then was sleep.
fn asleep(measured: &Measured) -> f64 {
    let queued_until = queued_until(&measured.finish_us, measured.lanes);
    let slept = |active: &f64| (queued_until - active).max(0.0);
    let schedulers = measured.active_us.len();
    if schedulers == 0 || queued_until <= 0.0 {
        return 0.0;
    }
    // With fewer CPUs than schedulers, at most as many schedulers as CPUs can be at work at once.
    let lanes = measured.lanes.min(schedulers) as f64;
    let active: f64 = measured.active_us.iter().map(|active| active.min(queued_until)).sum();
    let all: f64 = measured.active_us.iter().map(slept).sum();
    let idle = (lanes * queued_until - active).clamp(0.0, all);
    100.0 * idle / (lanes * queued_until)
}

/// The time until which at least one process had to wait for a scheduler.
fn queued_until(finish_us: &[f64], lanes: usize) -> f64 {
    let mut finish = finish_us.to_vec();
    finish.sort_by(f64::total_cmp);
    let left = finish.len().saturating_sub(lanes);
    left.checked_sub(1).and_then(|last| finish.get(last).copied()).unwrap_or(0.0)
}

fn extremes(figures: &[f64]) -> (f64, f64) {
    let least = figures.iter().copied().fold(f64::INFINITY, f64::min);
    let most = figures.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, most)
}

/// Longest time divided by shortest time. Times below a millisecond count as one millisecond,
/// because their ratio means nothing.
fn unfairness(shortest_us: f64, longest_us: f64) -> f64 {
    longest_us.max(1e3) / shortest_us.max(1e3)
}

/// Jain's fairness index (Jain, Chiu and Hawe 1984, DEC-TR-301).
fn jain(figures: &[f64]) -> f64 {
    let sum: f64 = figures.iter().sum();
    let squares: f64 = figures.iter().map(|figure| figure * figure).sum();
    if squares > 0.0 { sum * sum / (squares * figures.len() as f64) } else { 1.0 }
}

fn run_queues(samples: &[(f64, Vec<f64>)]) -> Option<Series> {
    let normal = samples.first()?.1.len().checked_sub(2)?;
    let mut columns: Vec<String> = (1..=normal).map(|n| format!("scheduler {n}")).collect();
    columns.extend(["dirty CPU".to_owned(), "dirty I/O".to_owned()]);
    let mut series = Series::new(Unit::Count, columns);
    for (at_us, lengths) in samples {
        series.push(at_us / 1e3, lengths.iter().copied().map(Some).collect());
    }
    Some(series)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Twenty processes of 60 ms on two schedulers, the second of which sleeps.
    fn collapsed() -> Measured {
        Measured {
            wall_us: 1_208_000.0,
            ideal_us: 600_000.0,
            lanes: 2,
            run_times_us: vec![60_000.0; 20],
            finish_us: (1..=20).map(|n| f64::from(n) * 60_400.0).collect(),
            active_us: vec![1_208_000.0, 0.0],
            use_percent: vec![100.0, 0.0],
            run_queues: vec![(0.0, vec![19.0, 0.0, 0.0, 0.0])],
            unbalanced: (1.0, 1.0),
        }
    }

    fn figure(measured: &Measured, name: &str) -> f64 {
        observe(measured, Outside::default()).measures[name].value
    }

    #[test]
    fn a_scheduler_that_sleeps_while_work_is_queued_is_seen() {
        assert_eq!(figure(&collapsed(), measure::ASLEEP), 50.0);
        assert!((figure(&collapsed(), measure::STRETCH) - 2.013).abs() < 0.001);
        let shared = Measured {
            active_us: vec![604_000.0; 2],
            finish_us: (1..=20).map(|n| f64::from((n + 1) / 2) * 60_400.0).collect(),
            ..collapsed()
        };
        assert_eq!(figure(&shared, measure::ASLEEP), 0.0);
    }

    #[test]
    fn a_scheduler_may_sleep_once_nothing_is_queued() {
        // Two processes on two schedulers: no process is ever queued.
        let measured = Measured { finish_us: vec![60.0, 120.0], ..collapsed() };
        assert_eq!(figure(&measured, measure::ASLEEP), 0.0);
        let one = Measured { finish_us: Vec::new(), ..collapsed() };
        assert_eq!(figure(&one, measure::ASLEEP), 0.0);
    }

    #[test]
    fn more_schedulers_than_cpus_cannot_all_be_at_work() {
        // Eight schedulers share two CPUs, so they are active for longer than they have a CPU.
        let measured = Measured { active_us: vec![1_100_000.0; 8], ..collapsed() };
        assert_eq!(figure(&measured, measure::ASLEEP), 0.0);
    }

    #[test]
    fn equal_times_are_fair_and_short_ones_are_no_ratio() {
        let times = |times: &[f64]| Measured { run_times_us: times.to_vec(), ..collapsed() };
        assert_eq!(figure(&times(&[5e4; 9]), measure::JAIN), 1.0);
        assert_eq!(figure(&times(&[1.0, 900.0]), measure::UNFAIRNESS), 1.0);
        assert_eq!(figure(&times(&[2e3, 6e4]), measure::UNFAIRNESS), 30.0);
        let alone = figure(&times(&[1e5, 0.0, 0.0, 0.0]), measure::JAIN);
        assert_eq!(alone, 0.25);
    }
}
