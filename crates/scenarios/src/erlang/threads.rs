//! Figures of a trial from the threads of a VM.

use beam::{Class, ThreadKind, ThreadReport, ThreadTotal};
use host::roots::{Roots, read_text};
use model::{Series, Unit};
use os::time;
use std::path::Path;
use std::time::Duration;

fn schedulers(report: &ThreadReport) -> impl Iterator<Item = &ThreadTotal> {
    report.totals.iter().filter(|thread| thread.kind.is_scheduler())
}

/// CPU time of all scheduler threads.
pub(crate) fn scheduler_cpu(report: &ThreadReport) -> Duration {
    Duration::from_nanos(schedulers(report).map(|thread| thread.cpu_ns).sum())
}

/// The same in milliseconds per second. None if the time is too short for a rate.
pub(crate) fn scheduler_cpu_rate(report: &ThreadReport) -> Option<f64> {
    let seconds = report.lasted.as_secs_f64();
    (seconds > 0.0).then(|| time::ms(scheduler_cpu(report)) / seconds)
}

/// Voluntary and involuntary switches of the scheduler threads. None if /proc does not show them.
pub(crate) fn scheduler_switches(report: &ThreadReport) -> Option<(u64, u64)> {
    schedulers(report)
        .map(|thread| Some((thread.voluntary_switches?, thread.involuntary_switches?)))
        .try_fold((0, 0), |sum, one| one.map(|one| (sum.0 + one.0, sum.1 + one.1)))
}

/// Whether each normal and dirty CPU scheduler was at work, over time: 1 if it ran or slept in
/// native code, 0 if it slept in the VM.
pub(crate) fn at_work(report: &ThreadReport) -> Option<Series> {
    let watched: Vec<_> = report.series.iter().filter(|one| name(one.kind).is_some()).collect();
    let columns: Vec<String> = watched.iter().filter_map(|one| name(one.kind)).collect();
    let mut series = Series::new(Unit::Count, columns);
    for (place, at) in report.times.iter().enumerate() {
        let row = watched.iter().map(|one| one.classes.get(place).copied().and_then(working));
        series.push(time::ms(*at), row.collect());
    }
    (!series.columns.is_empty() && !series.rows.is_empty()).then_some(series)
}

fn name(kind: ThreadKind) -> Option<String> {
    match kind {
        ThreadKind::Scheduler(number) => Some(format!("scheduler {number}")),
        ThreadKind::DirtyCpu(number) => Some(format!("dirty CPU {number}")),
        _ => None,
    }
}

fn working(class: Class) -> Option<f64> {
    match class {
        Class::Running | Class::Sleep | Class::Disk => Some(1.0),
        Class::Futex | Class::Poll => Some(0.0),
        // The thread was just woken up, or the kernel does not tell.
        Class::Other | Class::Stopped | Class::Gone => None,
    }
}

/// CPU time of a process so far, in user mode and in the kernel, with a resolution of 10 ms.
pub(crate) fn process_cpu(roots: &Roots, pid: u32) -> Option<(Duration, Duration)> {
    let stat = read_text(&roots.resolve(Path::new(&format!("/proc/{pid}/stat")))).ok()?;
    // The name in brackets may contain anything, so fields are counted from the last bracket.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
    let ticks = rustix::param::clock_ticks_per_second().max(1);
    let mut time = || {
        let count: u64 = fields.next()?.parse().ok()?;
        Some(Duration::from_millis(count.saturating_mul(1000) / ticks))
    };
    Some((time()?, time()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_read_behind_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let process = folder.path().join("proc/7");
        std::fs::create_dir_all(&process).unwrap();
        let stat = "7 (beam) x) S 1 7 7 0 -1 4194304 1 0 0 0 150 30 0 0 20 0 1 0 5 0 0\n";
        std::fs::write(process.join("stat"), stat).unwrap();
        let (user, system) = process_cpu(&Roots::at(folder.path()), 7).unwrap();
        assert_eq!(user.as_millis(), 5 * system.as_millis());
        assert_eq!(process_cpu(&Roots::at(folder.path()), 8), None);
    }

    #[test]
    fn a_scheduler_that_sleeps_in_native_code_is_at_work() {
        assert_eq!(working(Class::Sleep), Some(1.0));
        assert_eq!(working(Class::Futex), Some(0.0));
        assert_eq!(working(Class::Gone), None);
        assert_eq!(at_work(&ThreadReport::default()), None);
    }
}
