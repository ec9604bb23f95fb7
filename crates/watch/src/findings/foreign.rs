//! Processes that read the memory map of another, which waits meanwhile.

use crate::limits::{FOREIGN_MS_PER_S, FOREIGN_WORST_MS};
use crate::parts::{program, program_of};
use crate::sums::{Key, Reading, Sums, largest, ms};
use crate::window::{ReadingKey, Window};
use model::live::{Finding, FindingKind, ForeignReaders, LiveFix, Sure};
use model::suggestion::{Command, Run};
use scenarios::mmap_lock::{META, MmapLockParams};
use scenarios::params::{Counts, Params, ProcFile};
use std::str::FromStr;

/// A share of the held time from which on the reader's own waits are worth a fix.
const MUCH: f64 = 0.2;

/// Readers that are tried in the lab at most.
const MOST_IN_LAB: u32 = 100;

/// Readers that are named.
const NAMED: usize = 3;

pub fn find(window: &Window) -> Vec<Finding> {
    held_up(window)
        .filter(|(_, sums)| window.rate(sums.all.foreign_ns) >= FOREIGN_MS_PER_S)
        .filter_map(|(key, sums)| finding(window, key, sums))
        .collect()
}

/// The most that anybody loses in this way, in milliseconds a second.
pub fn most(window: &Window) -> f64 {
    largest(held_up(window).map(|(_, sums)| window.rate(sums.all.foreign_ns)))
}

/// Programs that waited long enough for it to matter, beside a reader.
fn held_up(window: &Window) -> impl Iterator<Item = (&Key, &Sums)> {
    let is_read = |key: &Key| window.readings.keys().any(|reading| reading.target == *key);
    window
        .victims()
        .filter(|(_, sums)| ms(sums.all.lock_worst_ns) >= FOREIGN_WORST_MS)
        .filter(move |(key, _)| is_read(key))
}

fn finding(window: &Window, key: &Key, sums: &Sums) -> Option<Finding> {
    // A sum of time without a reader beside it is no finding: nobody could be named.
    let mut readers: Vec<(&ReadingKey, &Reading)> =
        window.readings.iter().filter(|(reading, _)| reading.target == *key).collect();
    readers.sort_by(|a, b| b.1.all.ns.cmp(&a.1.all.ns).then_with(|| a.0.cmp(b.0)));
    let (worst, reading) = *readers.first()?;
    let share = |ns: u64| if reading.all.ns == 0 { 0.0 } else { ns as f64 / reading.all.ns as f64 };
    let facts = ForeignReaders {
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
        cost_ms_per_s: window.rate(sums.all.foreign_ns),
        worst_ms: ms(sums.all.lock_worst_ns),
        since_s: 0.0,
        sure: Sure::Measured,
        fixes: fixes(&facts),
        run: run(&facts),
        kind: FindingKind::ForeignReaders(facts),
    })
}

fn fixes(facts: &ForeignReaders) -> Vec<LiveFix> {
    let mut fixes = Vec::new();
    if facts.throttled >= MUCH {
        fixes.push(LiveFix::UnthrottleReader);
    }
    if facts.preempted >= MUCH {
        fixes.push(LiveFix::RaiseReader);
    }
    fixes.extend([LiveFix::ReadLess, LiveFix::ReadSeldom]);
    fixes
}

/// The same in the lab: as many readers of the same file at the same priority.
fn run(facts: &ForeignReaders) -> Option<Run> {
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
        victim.foreign_ns = foreign_ms * MS;
        victim.lock_worst_ns = worst_ms * MS;
        tick.threads.push(victim);
        tick
    }

    #[test]
    fn the_reader_its_file_and_the_loss_are_named() {
        let mut tick = tick(40, 8);
        tick.readers.push(reader(2, 1, "smaps", 60));
        let all = find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.victim.name.as_str(), found.culprits[0].pid), ("mapper", 2));
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (40.0, 8.0));
        let FindingKind::ForeignReaders(facts) = &found.kind else { panic!() };
        assert_eq!((facts.file.as_deref(), facts.readers), (Some("smaps"), 1));
        let run = found.run.as_ref().unwrap();
        assert_eq!(run.parameters.0["procfile"].to_string(), "smaps");
        assert_eq!(run.parameters.0["busy"].to_string(), "1");
    }

    #[test]
    fn a_short_contention_is_no_finding_nor_is_a_loss_without_a_reader() {
        let mut short = tick(40, 0);
        short.readers.push(reader(2, 1, "smaps", 60));
        assert!(find(&Window::of([&short])).is_empty());
        let mut seldom = tick(1, 8);
        seldom.readers.push(reader(2, 1, "smaps", 60));
        assert!(find(&Window::of([&seldom])).is_empty());
        assert!(find(&Window::of([&tick(40, 8)])).is_empty());
    }

    #[test]
    fn a_preempted_reader_is_to_be_raised() {
        let mut tick = tick(40, 8);
        let mut preempted = reader(2, 1, "smaps", 60);
        preempted.ready_ns = 50 * MS;
        tick.readers.push(preempted);
        let found = find(&Window::of([&tick]));
        assert_eq!(found[0].fixes[0], LiveFix::RaiseReader);
    }
}
