//! Readings from outside the node while it serves requests, but not while it gets ready for them.

use super::observe::Outside;
use crate::erlang::strace::Strace;
use crate::{Disturbances, ScenarioError, erlang};
use beam::ThreadSampler;
use host::cgroup::{BandwidthGroup, ThrottledRuns, Usage};
use host::roots::Roots;
use model::Disturbance;
use std::path::Path;
use std::time::{Duration, Instant};

/// Interval between two readings of the threads. Only their totals are needed.
const THREADS_EVERY: Duration = Duration::from_millis(50);

/// Counters of a node and of its group, as they were at the start.
pub(super) struct Meter<'a> {
    roots: &'a Roots,
    pid: u32,
    group: Option<(&'a BandwidthGroup, Usage, ThrottledRuns)>,
    cpu: Option<(Duration, Duration)>,
    threads: ThreadSampler,
    strace: Option<Strace>,
    watch: Disturbances,
    began: Instant,
}

impl<'a> Meter<'a> {
    /// Reads every counter once.
    pub(super) fn start(
        roots: &'a Roots,
        pid: u32,
        group: Option<&'a BandwidthGroup>,
        strace: bool,
    ) -> Result<Self, ScenarioError> {
        let proc = roots.resolve(Path::new("/proc"));
        Ok(Meter {
            roots,
            pid,
            strace: strace.then(|| Strace::start(pid)).transpose()?,
            watch: Disturbances::start(roots, None),
            threads: ThreadSampler::start(&proc, pid, THREADS_EVERY).map_err(erlang::refused)?,
            group: group.map(|group| (group, group.usage(), ThrottledRuns::new())),
            cpu: erlang::threads::process_cpu(roots, pid),
            began: Instant::now(),
        })
    }

    /// Time since the start.
    pub(super) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Reads the throttling counters, so that runs of throttled periods are detected.
    pub(super) fn look(&mut self) {
        let Some((group, _, runs)) = &mut self.group else { return };
        let now = group.usage();
        if let (Some(periods), Some(throttled)) = (now.nr_periods, now.nr_throttled) {
            runs.read(periods, throttled);
        }
    }

    /// Reads every counter again.
    pub(super) fn finish(self) -> (Outside, Disturbance) {
        let window = self.began.elapsed();
        let cpu = self.cpu.zip(erlang::threads::process_cpu(self.roots, self.pid));
        let group = self.group.map(|(group, before, runs)| (group.usage().since(&before), runs));
        let futex = self.strace.and_then(Strace::finish);
        let threads = self.threads.finish();
        let disturbance = self.watch.finish(self.roots);
        let outside = Outside {
            schedulers: erlang::threads::scheduler_cpu(&threads),
            cpu: cpu.map(|(before, after)| {
                (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1))
            }),
            switches: erlang::threads::scheduler_switches(&threads),
            futex,
            window,
            group,
        };
        (outside, disturbance)
    }
}
