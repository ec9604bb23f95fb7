//! Adds samples up to totals, and stores them in a series of bounded size.

use super::class::Class;
use super::kind::ThreadKind;
use super::read::{Look, Times};
use std::collections::HashMap;
use std::time::Duration;

/// Most samples of a series. When it is full, every second sample is dropped, and later samples
/// are stored half as often. With one sample per 10 ms this happens after about three minutes.
const MOST_SAMPLES: usize = 20_000;

/// Most bytes for the series of all schedulers together.
const MOST_CELLS: usize = 16 << 20;

/// How often a thread was in each class, in the order of [`Class::ALL`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Shares([u64; Class::ALL.len()]);

impl Shares {
    /// Number of samples with this class.
    pub fn count(&self, class: Class) -> u64 {
        self.0[class.index()]
    }

    /// Number of samples in which the thread existed.
    pub fn samples(&self) -> u64 {
        self.0.iter().sum::<u64>() - self.count(Class::Gone)
    }

    /// The class's share of these samples, 0 to 1; 0 if there are none.
    pub fn share(&self, class: Class) -> f64 {
        let samples = self.samples();
        if samples == 0 { 0.0 } else { self.count(class) as f64 / samples as f64 }
    }

    fn add(&mut self, class: Class) {
        self.0[class.index()] += 1;
    }
}

/// What a thread did while it was sampled.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadTotal {
    /// The thread id.
    pub tid: u32,
    /// Its name.
    pub name: String,
    /// Its purpose.
    pub kind: ThreadKind,
    /// Time on a CPU between the first and the last sample of the thread, in nanoseconds.
    pub cpu_ns: u64,
    /// Time in a run queue between these samples, in nanoseconds: runnable, but not on a CPU.
    pub waited_ns: u64,
    /// Number of times that it was put on a CPU.
    pub timeslices: u64,
    /// Number of times that it gave up its CPU to sleep; None if it ended before the last sample.
    pub voluntary_switches: Option<u64>,
    /// Number of times that its CPU was taken from it; None if it ended before the last sample.
    pub involuntary_switches: Option<u64>,
    /// How often it was in which class.
    pub shares: Shares,
}

/// What a scheduler was doing, sample by sample.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadSeries {
    /// The thread id.
    pub tid: u32,
    /// The kind and number of the scheduler.
    pub kind: ThreadKind,
    /// Its class in each sample; as long as [`ThreadReport::times`](super::ThreadReport::times).
    pub classes: Vec<Class>,
}

/// A thread that is being sampled.
pub(super) struct Watched {
    pub name: String,
    pub kind: ThreadKind,
    first: Times,
    last: Times,
    shares: Shares,
    series: Vec<Class>,
    pub first_switches: Option<(u64, u64)>,
}

/// All samples so far.
#[derive(Default)]
pub(super) struct Record {
    pub threads: HashMap<u32, Watched>,
    pub times: Vec<Duration>,
    samples: u64,
    /// Number of samples that are left out of the series after each one that is stored.
    skip: u64,
}

impl Record {
    /// Starts to sample a thread; `switches` are its context switches so far.
    pub fn meet(&mut self, tid: u32, name: String, times: Times, switches: Option<(u64, u64)>) {
        let watched = Watched {
            kind: ThreadKind::of(&name),
            name,
            first: times,
            last: times,
            shares: Shares::default(),
            series: vec![Class::Gone; self.times.len()],
            first_switches: switches,
        };
        self.threads.insert(tid, watched);
    }

    /// Adds a sample with the state of each existing thread; `at` is the time since the start.
    pub fn add(&mut self, at: Duration, looks: &HashMap<u32, Look>) {
        let kept = self.samples.is_multiple_of(self.skip + 1);
        self.samples += 1;
        if kept {
            self.times.push(at);
        }
        for (tid, watched) in &mut self.threads {
            let class = match looks.get(tid) {
                Some(look) => {
                    watched.last = look.times;
                    look.class
                }
                None => Class::Gone,
            };
            watched.shares.add(class);
            if kept && watched.kind.is_scheduler() {
                watched.series.push(class);
            }
        }
        let schedulers = self.threads.values().filter(|w| w.kind.is_scheduler()).count();
        if self.times.len() >= MOST_SAMPLES.min(MOST_CELLS / schedulers.max(1)).max(2) {
            self.halve();
        }
    }

    fn halve(&mut self) {
        every_second(&mut self.times);
        for watched in self.threads.values_mut() {
            every_second(&mut watched.series);
        }
        self.skip = self.skip * 2 + 1;
    }

    /// Number of samples that were taken.
    pub fn samples(&self) -> u64 {
        self.samples
    }
}

fn every_second<T>(values: &mut Vec<T>) {
    let mut place = 0;
    values.retain(|_| {
        place += 1;
        place % 2 == 1
    });
}

impl Watched {
    /// The totals of the thread; `switches` are its context switches so far.
    pub fn total(&self, tid: u32, switches: Option<(u64, u64)>) -> ThreadTotal {
        let since = |now: u64, then: u64| now.saturating_sub(then);
        let both = switches.zip(self.first_switches);
        ThreadTotal {
            tid,
            name: self.name.clone(),
            kind: self.kind,
            cpu_ns: since(self.last.cpu_ns, self.first.cpu_ns),
            waited_ns: since(self.last.waited_ns, self.first.waited_ns),
            timeslices: since(self.last.timeslices, self.first.timeslices),
            voluntary_switches: both.map(|(now, then)| since(now.0, then.0)),
            involuntary_switches: both.map(|(now, then)| since(now.1, then.1)),
            shares: self.shares,
        }
    }

    /// Its series, if it is a scheduler.
    pub fn series(&self, tid: u32) -> Option<ThreadSeries> {
        let kind = self.kind;
        kind.is_scheduler().then(|| ThreadSeries { tid, kind, classes: self.series.clone() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn looks(pairs: &[(u32, Class, u64)]) -> HashMap<u32, Look> {
        let look = |class, cpu_ns| Look { class, times: Times { cpu_ns, ..Times::default() } };
        pairs.iter().map(|(tid, class, cpu_ns)| (*tid, look(*class, *cpu_ns))).collect()
    }

    #[test]
    fn threads_that_come_and_go_keep_their_places_in_time() {
        let mut record = Record::default();
        let at = Duration::from_millis;
        record.meet(
            1,
            "1_scheduler".into(),
            Times { cpu_ns: 100, ..Times::default() },
            Some((1, 2)),
        );
        record.add(at(0), &looks(&[(1, Class::Running, 150)]));
        record.meet(2, "erts_dcpus_1".into(), Times::default(), None);
        record.add(at(10), &looks(&[(1, Class::Futex, 160), (2, Class::Running, 5)]));
        record.add(at(20), &looks(&[(2, Class::Sleep, 6)]));
        let one = record.threads[&1].total(1, Some((4, 4)));
        assert_eq!(
            (one.cpu_ns, one.voluntary_switches, one.involuntary_switches),
            (60, Some(3), Some(2))
        );
        assert_eq!((one.shares.samples(), one.shares.count(Class::Gone)), (2, 1));
        assert!((one.shares.share(Class::Running) - 0.5).abs() < 1e-9);
        let classes = |tid| record.threads[&tid].series(tid).unwrap().classes;
        assert_eq!(classes(1), [Class::Running, Class::Futex, Class::Gone]);
        assert_eq!(classes(2), [Class::Gone, Class::Running, Class::Sleep]);
        assert_eq!(record.threads[&2].total(2, None).voluntary_switches, None);
    }

    #[test]
    fn a_long_series_is_thinned_and_stays_in_step() {
        let mut record = Record::default();
        record.meet(1, "1_scheduler".into(), Times::default(), None);
        let samples = 5 * MOST_SAMPLES as u64;
        for sample in 0..samples {
            let class = if sample < samples / 2 { Class::Running } else { Class::Futex };
            record.add(Duration::from_millis(sample), &looks(&[(1, class, sample)]));
        }
        let series = record.threads[&1].series(1).unwrap();
        assert_eq!(series.classes.len(), record.times.len());
        assert!(record.times.len() < MOST_SAMPLES && record.times.len() > MOST_SAMPLES / 4);
        assert!(record.times.is_sorted());
        let steps: Vec<_> = record.times.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(steps.iter().all(|step| *step == steps[0]), "{:?}", &steps[..5]);
        for (time, class) in record.times.iter().zip(&series.classes) {
            assert_eq!(time.as_millis() < u128::from(samples / 2), *class == Class::Running);
        }
        assert_eq!(record.samples(), samples);
        assert_eq!(record.threads[&1].total(1, None).shares.samples(), samples);
    }
}
