//! What was seen so far: all of it as sums, and the last intervals one by one.

use super::record;
use model::Live;
use std::collections::VecDeque;
use watch::{Sampler, Since, Tick, Window, live};

/// Intervals that the screen, a line of JSON and the metrics are about.
const RECENT: usize = 5;

/// A watch under way.
pub struct Session {
    sampler: Sampler,
    from: String,
    all: Window,
    recent: VecDeque<Tick>,
    since: Since,
    seen: Option<Live>,
}

impl Session {
    /// Begins.
    pub fn new(sampler: Sampler) -> Self {
        Session {
            sampler,
            from: record::now(),
            all: Window::default(),
            recent: VecDeque::new(),
            since: Since::default(),
            seen: None,
        }
    }

    /// Reads an interval.
    pub fn tick(&mut self) -> Tick {
        let tick = self.sampler.tick();
        let began_s = self.all.seconds();
        self.since.look(&Window::of([&tick]), began_s);
        self.all.add(&tick);
        self.recent.push_back(tick.clone());
        if self.recent.len() > RECENT {
            self.recent.pop_front();
        }
        tick
    }

    /// Works out what the last intervals say.
    pub fn look(&mut self) {
        self.seen = Some(self.view(&Window::of(&self.recent)));
    }

    /// What they said when it was last worked out.
    pub fn seen(&self) -> Option<&Live> {
        self.seen.as_ref()
    }

    /// Whether a finding began in the last interval.
    pub fn has_begun(&self) -> bool {
        self.since.has_begun()
    }

    /// Of these intervals.
    pub fn view_of<'a>(&self, ticks: impl Iterator<Item = &'a Tick>) -> Live {
        self.view(&Window::of(ticks))
    }

    /// Of all.
    pub fn all(&self) -> Live {
        self.view(&self.all)
    }

    /// Whether not even a first interval was read.
    pub fn is_empty(&self) -> bool {
        self.all.over_ns == 0
    }

    fn view(&self, window: &Window) -> Live {
        let (scope, sources) = (self.sampler.scope(), self.sampler.sources());
        live(window, &self.since, scope, sources, &self.from)
    }
}
