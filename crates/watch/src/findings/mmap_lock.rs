//! Processes that read the memory map of another process, which waits meanwhile.

use super::stall::{Seen, Stall};
use super::words;
use crate::parts::{program, program_of};
use crate::sums::{Key, Reading, Sums, largest, ms};
use crate::window::{ReadingKey, Window};
use model::Unit;
use model::live::{AnswerState, Finding, Source};
use model::prose::figures::{figure, percent};
use model::suggestion::{Command, Run};
use os::terminal::line as plain;
use scenarios::mmap_lock::{META, MmapLockParams};
use scenarios::params::{Counts, Params, ProcFile};
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// Time lost to readers of its memory map, in milliseconds a second: 0.2% of a thread's time.
/// Without such readers it is 0, and one scrape of a small process costs less than 0.1 ms/s.
const LIMIT_MS_PER_S: f64 = 2.0;

/// And the longest single wait is at least this, in milliseconds. Below it, there is only some
/// contention.
const WORST_MS: f64 = 1.0;

/// From this share of the held time on, the reader's own waits are worth a fix: without them, the
/// loss would be at most half.
const MUCH: f64 = 0.5;

/// From this share on, they are worth a sentence.
const SOME: f64 = 0.05;

/// Most readers that the lab run uses.
const MOST_IN_LAB: u32 = 100;

/// Most readers that are named.
const NAMED: usize = 3;

/// Files whose most important figures are in status and statm too.
const SUMS: [&str; 2] = ["smaps", "smaps_rollup"];

/// Another process reads the victim's memory map and holds its lock.
pub struct MmapLock;

/// Who reads what, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// The file below /proc/PID; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    /// The system call, if no file was read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    call: Option<u32>,
    /// Number of processes that read.
    readers: u32,
    /// The highest nice value among them.
    nice: i32,
    /// How often a second the lock was held.
    holds_per_s: f64,
    /// How long the lock was held, in milliseconds a second.
    held_ms_per_s: f64,
    /// The longest hold, in milliseconds.
    worst_hold_ms: f64,
    /// Share of the held time in which the reader itself was runnable, but neither ran nor was
    /// throttled.
    preempted: f64,
    /// Share of the held time in which a quota throttled the reader.
    throttled: f64,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    ReadLess,
    ReadSeldom,
    RaiseReader,
    UnthrottleReader,
}

impl Stall for MmapLock {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        held_up(window)
            .filter(|(_, sums)| window.rate(sums.foreign_ns()) >= LIMIT_MS_PER_S)
            .filter_map(|(key, sums)| finding(window, key, sums))
            .collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = most(seen.window);
        let state = seen.measured_by::<Self>(Source::MmapLock, most, LIMIT_MS_PER_S);
        // If locks of single mappings are not watched, readers that take them are not found.
        Some(seen.unless_missing(Source::MappingLock, state))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let what = match (&facts.file, facts.call) {
            (Some(file), _) => format!("reads the victim's {}", plain(file)),
            (None, Some(call)) => format!("reads the victim's memory with system call {call}"),
            (None, None) => "reads a file of /proc about the victim's memory".to_owned(),
        };
        let mut text = format!(
            "{} {what}. That takes the mmap lock {} times a second, for {} in total and {} at most.",
            words::culprit(finding),
            figure(facts.holds_per_s, Unit::Count),
            figure(facts.held_ms_per_s, Unit::MillisecondsPerSecond),
            figure(facts.worst_hold_ms, Unit::Milliseconds),
        );
        for (share, what) in [(facts.preempted, "had no CPU"), (facts.throttled, "was throttled")] {
            if share >= SOME {
                text.push_str(&format!(" For {} of that time the reader {what}.", percent(share)));
            }
        }
        text
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::ReadLess => "Have the reader use status or statm, which do not take that lock.",
            Fix::ReadSeldom => "Have the reader read less often.",
            Fix::RaiseReader => {
                "Raise the reader's priority: it loses its CPU while it holds the lock."
            }
            Fix::UnthrottleReader => {
                "Remove the reader's quota: it is throttled while it holds the lock."
            }
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let facts = Facts {
            file: Some("smaps".to_owned()),
            readers: 3,
            holds_per_s: 120.0,
            held_ms_per_s: 600.0,
            worst_hold_ms: 31.0,
            preempted: 0.6,
            throttled: 0.25,
            ..Facts::default()
        };
        let by_call =
            Facts { file: None, call: Some(310), preempted: 0.0, throttled: 0.55, ..facts.clone() };
        let unknown = Facts { call: None, throttled: 0.0, ..by_call.clone() };
        [facts, by_call, unknown].map(|facts| (facts.clone(), fixes(&facts))).into()
    }
}

/// The most that any program loses in this way, in milliseconds a second, before any other limit.
fn most(window: &Window) -> f64 {
    largest(window.victims().map(|(_, sums)| window.rate(sums.foreign_ns())))
}

/// Programs that waited long enough for it to matter, and whose map was read.
fn held_up(window: &Window) -> impl Iterator<Item = (&Key, &Sums)> {
    let is_read = |key: &Key| window.readings.keys().any(|reading| reading.target == *key);
    window
        .victims()
        .filter(|(_, sums)| ms(sums.all.lock_worst_ns) >= WORST_MS)
        .filter(move |(key, _)| is_read(key))
}

fn finding(window: &Window, key: &Key, sums: &Sums) -> Option<Finding> {
    // Time lost without a reader is no finding: there is no culprit to name.
    let mut readers: Vec<(&ReadingKey, &Reading)> =
        window.readings.iter().filter(|(reading, _)| reading.target == *key).collect();
    readers.sort_by(|a, b| b.1.all.ns.cmp(&a.1.all.ns).then_with(|| a.0.cmp(b.0)));
    let (worst, reading) = *readers.first()?;
    let share = |ns: u64| if reading.all.ns == 0 { 0.0 } else { ns as f64 / reading.all.ns as f64 };
    let facts = Facts {
        file: (!worst.file.is_empty()).then(|| worst.file.clone()),
        call: (worst.call != 0).then_some(worst.call),
        readers: u32::try_from(reading.pids.len()).unwrap_or(u32::MAX),
        nice: reading.all.nice,
        holds_per_s: reading.all.holds as f64 / window.seconds(),
        held_ms_per_s: window.rate(reading.all.ns),
        worst_hold_ms: ms(reading.all.worst_ns),
        preempted: share(reading.all.ready_ns.saturating_sub(reading.all.throttled_ns)),
        throttled: share(reading.all.throttled_ns),
    };
    let mut culprits: Vec<_> = readers
        .iter()
        .map(|(reading, sums)| {
            let pid =
                sums.pids.iter().max_by_key(|(pid, ns)| (**ns, **pid)).map_or(0, |(pid, _)| *pid);
            program(&reading.reader, pid, sums.pids.len())
        })
        .collect();
    culprits.dedup_by(|a, b| (&a.name, &a.group) == (&b.name, &b.group));
    culprits.truncate(NAMED);
    Some(Finding {
        victim: program_of(key, sums),
        culprits,
        cost_ms_per_s: window.rate(sums.foreign_ns()),
        worst_ms: ms(sums.all.lock_worst_ns),
        run: run(&facts),
        ..MmapLock::found(&facts, &fixes(&facts))
    })
}

fn fixes(facts: &Facts) -> Vec<Fix> {
    let mut fixes = Vec::new();
    if facts.throttled >= MUCH {
        fixes.push(Fix::UnthrottleReader);
    }
    if facts.preempted >= MUCH {
        fixes.push(Fix::RaiseReader);
    }
    // Only these files have figures that are in the others too.
    let is_sums = facts.file.as_deref().is_some_and(|file| SUMS.contains(&file));
    fixes.extend(is_sums.then_some(Fix::ReadLess));
    fixes.push(Fix::ReadSeldom);
    fixes
}

/// The same in the lab: as many readers of the same file at the same priority.
fn run(facts: &Facts) -> Option<Run> {
    let procfile = ProcFile::from_str(facts.file.as_deref()?).ok()?;
    let params = MmapLockParams {
        procfile,
        busy: Counts::one(facts.readers.clamp(1, MOST_IN_LAB)),
        nice: facts.nice.clamp(-20, 19),
        ..MmapLockParams::default()
    };
    Some(Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, reader, second, thread};
    use crate::tick::Tick;

    fn tick(foreign_ms: u64, worst_ms: u64) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "mapper", None);
        process(&mut tick, 2, "exporter", None);
        let mut victim = thread(1, 500, 0);
        (victim.lock_ns, victim.foreign_ns) = (foreign_ms * MS, foreign_ms * MS);
        victim.lock_worst_ns = worst_ms * MS;
        tick.threads.push(victim);
        tick
    }

    #[test]
    fn the_reader_its_file_and_the_loss_are_named() {
        let mut tick = tick(40, 8);
        tick.readers.push(reader(2, 1, "smaps", 60));
        let all = MmapLock::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.victim.name.as_str(), found.culprits[0].pid), ("mapper", 2));
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (40.0, 8.0));
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.file.as_deref(), facts.readers), (Some("smaps"), 1));
        let run = found.run.as_ref().unwrap();
        assert_eq!(run.parameters.0["procfile"].to_string(), "smaps");
        assert_eq!(run.parameters.0["busy"].to_string(), "1");
    }

    #[test]
    fn a_short_contention_is_no_finding_nor_is_a_loss_without_a_reader() {
        let mut short = tick(40, 0);
        short.readers.push(reader(2, 1, "smaps", 60));
        assert!(MmapLock::find(&Window::of([&short])).is_empty());
        let mut seldom = tick(1, 8);
        seldom.readers.push(reader(2, 1, "smaps", 60));
        assert!(MmapLock::find(&Window::of([&seldom])).is_empty());
        assert!(MmapLock::find(&Window::of([&tick(40, 8)])).is_empty());
    }

    #[test]
    fn a_process_that_has_ended_is_a_victim_too() {
        let mut tick = tick(40, 8);
        tick.processes.remove(&1);
        tick.readers.push(reader(2, 1, "smaps", 60));
        let all = MmapLock::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.victim.name.as_str(), found.cost_ms_per_s), ("t1", 40.0));
    }

    #[test]
    fn a_preempted_reader_is_to_be_raised() {
        let first = |ready_ms: u64| {
            let mut tick = tick(40, 8);
            let mut preempted = reader(2, 1, "smaps", 60);
            preempted.ready_ns = ready_ms * MS;
            tick.readers.push(preempted);
            let found = MmapLock::find(&Window::of([&tick]));
            found[0].fixes.read::<Vec<Fix>>().unwrap()[0]
        };
        for ready_ms in [31, 37, 50] {
            assert_eq!(first(ready_ms), Fix::RaiseReader, "{ready_ms}");
        }
        // The loss would be more than half without these waits, too.
        for ready_ms in [24, 29] {
            assert_ne!(first(ready_ms), Fix::RaiseReader, "{ready_ms}");
        }
    }
}
