//! The observations so far: sums of all, and the last intervals one by one.

use super::record;
use model::Live;
use model::live::{Interval, Scope, SourceUse};
use std::collections::VecDeque;
use std::time::Duration;
use watch::{Sampling, Since, Steps, Tick, Window, interval, live, losses};

/// Number of intervals that the screen, a JSON line and the metrics cover.
const RECENT: usize = 5;

/// Most intervals that a record keeps one by one: the last ten minutes.
const KEPT: usize = 600;

/// A running watch.
pub struct WatchSession {
    sampling: Sampling,
    scope: Scope,
    sources: Vec<SourceUse>,
    from: String,
    all: Window,
    /// The last interval.
    last: Window,
    recent: VecDeque<Tick>,
    since: Since,
    seen: Option<Live>,
    /// The intervals for a record, if there is to be one.
    intervals: Option<VecDeque<Interval>>,
}

impl WatchSession {
    /// Begins a watch. `keeps` says whether each interval is kept for a record.
    pub fn new((sampling, sources): (Sampling, Vec<SourceUse>), scope: Scope, keeps: bool) -> Self {
        WatchSession {
            sampling,
            scope,
            sources,
            from: record::now(),
            all: Window::default(),
            last: Window::default(),
            recent: VecDeque::new(),
            since: Since::default(),
            seen: None,
            intervals: keeps.then(VecDeque::new),
        }
    }

    /// The step that the sampler is at.
    pub fn steps(&self) -> &Steps {
        self.sampling.steps()
    }

    /// Where the figures of the last interval come from.
    pub fn sources(&self) -> &[SourceUse] {
        &self.sources
    }

    /// Reads an interval if it is ready in this time. Otherwise a later call gets it.
    pub fn tick(&mut self, within: Duration) -> Option<Tick> {
        let sampled = self.sampling.tick(within)?;
        self.sources = sampled.sources;
        let tick = sampled.tick;
        let began_s = self.all.seconds();
        self.last = Window::of([&tick]);
        self.recent.push_back(tick.clone());
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        self.since.look(&self.last, || Window::of(&self.recent), began_s);
        self.all.add(&tick);
        if let Some(intervals) = &mut self.intervals {
            intervals.push_back(interval(&tick));
            if intervals.len() > KEPT {
                intervals.pop_front();
            }
        }
        Some(tick)
    }

    /// Works out the result of the last intervals.
    pub fn look(&mut self) {
        self.seen = Some(self.view(&Window::of(&self.recent)));
    }

    /// The losses of programs in the last interval.
    pub fn last(&self) -> Live {
        losses(&self.last)
    }

    /// The last result that was worked out.
    pub fn seen(&self) -> Option<&Live> {
        self.seen.as_ref()
    }

    /// Whether a finding began in the last interval.
    pub fn has_begun(&self) -> bool {
        self.since.has_begun()
    }

    /// The result of these intervals, which must be the last ones, with the details for a record.
    pub fn view_of<'a>(&self, ticks: impl DoubleEndedIterator<Item = &'a Tick> + Clone) -> Live {
        let mut live = self.view(&Window::of(ticks.clone()));
        let before_s = self.all.seconds() - live.over_ns as f64 / 1e9;
        // The machine may have slept since the start, or its clock may have been set.
        live.from = record::seconds_before(&record::now(), live.over_ns as f64 / 1e9);
        for finding in &mut live.findings {
            finding.since_s = finding.since_s.map(|since_s| (since_s - before_s).max(0.0));
        }
        live.intervals = ticks.rev().take(KEPT).map(interval).collect();
        live.intervals.reverse();
        live
    }

    /// The result of all intervals.
    pub fn all(&self) -> Live {
        let intervals = self.intervals.iter().flatten().cloned().collect();
        Live { intervals, ..self.view(&self.all) }
    }

    /// The watched time so far, in seconds.
    pub fn seconds(&self) -> f64 {
        self.all.seconds()
    }

    /// Whether not even one interval was read.
    pub fn is_empty(&self) -> bool {
        self.all.over_ns == 0
    }

    fn view(&self, window: &Window) -> Live {
        live(window, &self.since, &self.scope, &self.sources, &self.from)
    }
}
