//! Programs that are stalled for memory. Their threads free some memory themselves before they
//! get any (direct reclaim), or move pages to get free ones side by side (direct compaction). Or
//! they sleep until pages that were taken from them are read back. The machine is short of
//! memory, or their group is at its limit.

use super::memory_high::MemoryHigh;
use super::stall::{Seen, Stall};
use super::words;
use crate::parts::program_of;
use crate::sums::{Key, Sums, largest, ms};
use crate::tick::Full;
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, Finding, Program, Source};
use model::prose::figures::figure;
use os::terminal::line as plain;
use serde::{Deserialize, Serialize};

/// Time stalled for memory, in milliseconds a second: a tenth of a thread's time.
const LIMIT_MS_PER_S: f64 = 100.0;

/// And at least this share of the time in which the program ran or was runnable, or of the lost
/// time if that is longer.
const SHARE: f64 = 0.1;

/// More than this share of the time counts as all of it. More than this share of a group's memory
/// counts as most of it.
const MOSTLY: f64 = 0.5;

/// No limit was seen, if none was reached in this many intervals. In one, a single long wait for a
/// limit may go on that was reached before.
const LEAST_BELOW: u32 = 2;

/// Whose limit it is, if none was seen. A program may also free memory without any.
const NO_LIMIT_SEEN: &str = "The kernel frees memory of a control group, but no group was seen at \
                             its limit. Two causes are possible: a limit that was not seen \
                             (memory.max, memory.high, v1: memory.limit_in_bytes), or a program \
                             that frees memory on purpose (it writes memory.reclaim, or lowers a \
                             limit).";

/// The victim waits for memory instead of working.
pub struct MemoryStall;

/// Whose limit it waits for, and how.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Whether it mostly waits for the limit of a group.
    of_group: bool,
    /// Share of the time in which it freed memory itself (direct reclaim).
    freeing: f64,
    /// Share of the time in which it moved pages to get free ones side by side (direct
    /// compaction). For the rest, it slept until pages were read back.
    #[serde(default)]
    compacting: f64,
    /// The group, its own or one above; absent if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    group: Option<String>,
    /// The limit of that group, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    limit_bytes: Option<u64>,
    /// Whether no group was seen at its limit, although memory of a group was freed.
    #[serde(default)]
    no_limit_seen: bool,
}

/// What most of the time was spent on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mostly {
    Frees,
    Compacts,
    Sleeps,
}

impl Facts {
    /// The largest of the three parts.
    fn mostly(&self) -> Mostly {
        let slept = 1.0 - self.freeing - self.compacting;
        if self.freeing >= self.compacting.max(slept) {
            Mostly::Frees
        } else if self.compacting >= slept {
            Mostly::Compacts
        } else {
            Mostly::Sleeps
        }
    }
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    RaiseLimit,
    /// No group was seen at its limit.
    FindLimit,
    FreeMemory,
    ReclaimEarlier,
}

impl Stall for MemoryStall {
    const ID: &'static str = "memory-stall";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let of_high = MemoryHigh::find(window);
        let is_other = |key: &Key| of_high.iter().any(|one| one.victim.group == key.group);
        let is_much = |(key, sums): &(&Key, &Sums)| {
            let lost = window.memory_ns(key, sums);
            let wanted = sums.all.ran_ns.saturating_add(sums.all.ready_ns).max(lost).max(1);
            window.rate(lost) >= LIMIT_MS_PER_S
                && lost as f64 / wanted as f64 >= SHARE
                && !is_other(key)
        };
        window.victims().filter(is_much).map(|one| finding(window, one)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let lost = |(key, sums): (&Key, &Sums)| seen.window.rate(seen.window.memory_ns(key, sums));
        let most = largest(seen.window.victims().map(lost));
        let state = seen.measured_by::<Self>(Source::Reclaim, most, LIMIT_MS_PER_S);
        // Without it the kernel does not mark who sleeps for memory.
        Some(seen.unless_missing(Source::Pressure, state))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let whose = match facts.of_group {
            true if facts.no_limit_seen => NO_LIMIT_SEEN.to_owned(),
            true => of_group(finding, facts),
            false if facts.mostly() == Mostly::Compacts => "Free memory is fragmented.".to_owned(),
            false => "The machine is short of free memory.".to_owned(),
        };
        let how = match facts.mostly() {
            Mostly::Frees if facts.no_limit_seen => {
                "The victim's threads free memory themselves (direct reclaim)."
            }
            Mostly::Frees => {
                "The victim's threads free some memory themselves before they get any (direct \
                 reclaim)."
            }
            Mostly::Compacts => {
                "The victim's threads move pages until enough free pages are side by side (direct \
                 compaction)."
            }
            Mostly::Sleeps => {
                "The victim's threads sleep until pages that the kernel reclaimed are read back."
            }
        };
        format!("{whose} {how}")
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::RaiseLimit => "Raise the memory limit of the full group.",
            Fix::FindLimit => {
                "Read memory.high and memory.max of the victim's group and of each group above it. \
                 If none is reached, find the program that writes memory.reclaim or lowers a limit."
            }
            Fix::FreeMemory => "Give the machine more memory, or run less on it.",
            Fix::ReclaimEarlier => {
                "Have the kernel free memory earlier in the background \
                 (vm.watermark_scale_factor, vm.min_free_kbytes)."
            }
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let of = |of_group, freeing, compacting| {
            let group = (of_group && freeing > MOSTLY).then(|| "/app".to_owned());
            let facts = Facts {
                of_group,
                freeing,
                compacting,
                limit_bytes: group.is_some().then_some(64 << 20),
                group,
                no_limit_seen: false,
            };
            let fixes = fixes(&facts);
            (facts, fixes)
        };
        let unseen = Facts { of_group: true, freeing: 1.0, ..Facts::default() };
        let unseen = Facts { no_limit_seen: true, ..unseen };
        vec![
            (unseen.clone(), fixes(&unseen)),
            of(false, 1.0, 0.0),
            of(false, 0.0, 1.0),
            of(false, 0.0, 0.0),
            of(true, 1.0, 0.0),
            of(true, 0.2, 0.0),
        ]
    }
}

fn of_group(finding: &Finding, facts: &Facts) -> String {
    let name = facts.group.as_deref().map(|group| match words::whose(group, finding) {
        Some(named) => format!(", {named},"),
        None => format!(" {}", plain(group)),
    });
    let limit = match facts.limit_bytes {
        Some(bytes) => {
            let bytes = figure(bytes as f64, Unit::Bytes);
            format!(" of {bytes} (memory.max, v1: memory.limit_in_bytes)")
        }
        // No group was seen at its hard limit.
        None => {
            ", or a group above is (memory.max, memory.high; v1: memory.limit_in_bytes)".to_owned()
        }
    };
    let most = (!finding.culprits.is_empty())
        .then(|| format!(", and {} holds most of that memory", words::culprit(finding)));
    format!(
        "Its memory group{} is at its limit{limit}{}.",
        name.unwrap_or_default(),
        most.unwrap_or_default()
    )
}

fn fixes(facts: &Facts) -> Vec<Fix> {
    match facts.of_group {
        true if facts.no_limit_seen => vec![Fix::FindLimit],
        true => vec![Fix::RaiseLimit],
        false if facts.mostly() == Mostly::Frees => vec![Fix::FreeMemory, Fix::ReclaimEarlier],
        false => vec![Fix::FreeMemory],
    }
}

fn finding(window: &Window, (key, sums): (&Key, &Sums)) -> Finding {
    let share = |ns: u64, of: u64| ns as f64 / of.max(1) as f64;
    let lost = window.memory_ns(key, sums);
    let for_group = share(sums.all.group_reclaim_ns, sums.all.reclaim_ns) > MOSTLY;
    let is_below = window.below_limits.get(key).is_some_and(|intervals| *intervals >= LEAST_BELOW);
    let own = window.full.get(key);
    let limit = || reached(window, key).or(own.filter(|_| !is_below)).filter(|_| for_group);
    // A group may be full of files that could be dropped.
    let full = own.filter(|full| full.is_hit != Some(false)).or_else(limit);
    let mut facts = Facts {
        of_group: for_group || sums.all.reclaim_ns == 0 && full.is_some(),
        freeing: share(sums.all.reclaim_ns, lost),
        compacting: share(sums.all.compaction_ns, lost),
        group: full.map(|full| full.group.clone()),
        limit_bytes: full.map(|full| full.limit_bytes),
        no_limit_seen: false,
    };
    // Pages are moved for the whole machine, even if a group is full.
    facts.of_group &= facts.mostly() != Mostly::Compacts;
    let is_unseen = full.is_none() && is_below && !is_above_high(window, key);
    facts.no_limit_seen = facts.of_group && is_unseen;
    let holder = full.filter(|_| facts.of_group).and_then(holder);
    Finding {
        victim: program_of(key, sums),
        culprits: holder.into_iter().collect(),
        cost_ms_per_s: window.rate(lost),
        worst_ms: ms(sums.all.memory_worst_ns),
        ..MemoryStall::found(&facts, &fixes(&facts))
    }
}

/// The nearest group whose limit any program was seen to reach: that of this program, or one above
/// it. Not all programs are looked at in each interval.
fn reached<'a>(window: &'a Window, key: &Key) -> Option<&'a Full> {
    let is_reached = |full: &&Full| full.is_hit == Some(true) && is_own_or_above(&full.group, key);
    let all = window.full.values().filter(is_reached);
    all.max_by_key(|full| (full.group.len(), full.largest.as_ref()))
}

/// Whether the group of a program, or one above it, went above its memory.high.
fn is_above_high(window: &Window, key: &Key) -> bool {
    let mut all = window.memory.iter();
    all.any(|(group, sums)| sums.high_events > 0 && is_own_or_above(group, key))
}

/// Whether a group is that of a program, or one above it.
fn is_own_or_above(group: &str, key: &Key) -> bool {
    let own = key.group.as_deref().unwrap_or("/");
    let below = own.strip_prefix(group.trim_end_matches('/'));
    below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// The process that holds most of a full group's memory. Pages that another process may share, and
/// pages of files that nobody maps, count for no process.
fn holder(full: &Full) -> Option<Program> {
    let (pid, name, bytes) = full.largest.as_ref()?;
    let is_most = *bytes as f64 > full.limit_bytes as f64 * MOSTLY;
    is_most.then(|| Program { name: name.clone(), pid: *pid, processes: 1, ..Program::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second, thread};
    use crate::tick::{MemoryTick, Tick};
    use host::cgroup::MemoryUsage;

    #[test]
    fn a_program_that_frees_memory_itself_is_found_with_whose_limit_it_is() {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        let mut victim = thread(1, 500, 0);
        (victim.reclaim_ns, victim.group_reclaim_ns) = (300 * MS, 290 * MS);
        victim.memory_worst_ns = 40 * MS;
        tick.threads.push(victim);
        let all = MemoryStall::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (300.0, 40.0));
        let cause = |found: &Finding| MemoryStall::cause(found, &found.facts.read().unwrap());
        assert!(cause(found).contains("Its memory group is at its limit, or a group above is"));
        tick.threads[0].group_reclaim_ns = 0;
        let all = MemoryStall::find(&Window::of([&tick]));
        assert!(cause(&all[0]).contains("machine"));
        tick.threads[0].reclaim_ns = 90 * MS;
        assert!(MemoryStall::find(&Window::of([&tick])).is_empty());
        tick.threads[0].compaction_ns = 100 * MS;
        let all = MemoryStall::find(&Window::of([&tick]));
        assert!(cause(&all[0]).contains("compaction"));
        // None of the three parts is more than half.
        tick.threads[0].memory_ns = 20 * MS;
        tick.threads[0].reclaim_ns = 101 * MS;
        let all = MemoryStall::find(&Window::of([&tick]));
        assert!(cause(&all[0]).contains("reclaim"));
    }

    #[test]
    fn a_limit_is_named_only_where_one_was_seen() {
        let mut tick = second();
        process(&mut tick, 1, "agent", Some("/a/b"));
        let mut victim = thread(1, 500, 0);
        (victim.reclaim_ns, victim.group_reclaim_ns) = (300 * MS, 300 * MS);
        tick.threads.push(victim);
        let cause_of = |window: &Window| {
            let all = MemoryStall::find(window);
            MemoryStall::cause(&all[0], &all[0].facts.read().unwrap())
        };
        let cause = |tick: &Tick| cause_of(&Window::of([tick, tick]));
        let unseen = "no group was seen at its limit";
        // Only a few programs are looked at in each interval.
        assert!(cause(&tick).contains("Its memory group is at its limit, or a group above is"));
        let full = |is_hit| Full {
            group: "/a".to_owned(),
            limit_bytes: 64 << 20,
            is_hit,
            largest: None,
            read_back_ns: 0,
        };
        tick.full.insert(1, full(Some(true)));
        let mut below = tick.clone();
        below.full.insert(1, full(Some(false)));
        below.below_limits.insert(1);
        // It may write memory.reclaim.
        assert!(cause(&below).contains(unseen));
        // A single wait may be longer than an interval.
        let named = "/a is at its limit of 64 MiB";
        assert!(cause_of(&Window::of([&below])).contains(named));
        assert!(cause(&tick).contains(named));
        assert!(cause_of(&Window::of([&below, &tick, &below, &below])).contains(named));
        tick = below;
        tick.full.clear();
        assert!(cause(&tick).contains(unseen));
        let high = |group: &str| MemoryTick {
            group: group.to_owned(),
            high_bytes: 64 << 20,
            gained: MemoryUsage { high_events: Some(3), ..MemoryUsage::default() },
            tasks: Vec::new(),
        };
        tick.memory = vec![high("/a/bc")];
        assert!(cause(&tick).contains(unseen));
        tick.memory.push(high("/a"));
        assert!(cause(&tick).contains("or a group above is (memory.max, memory.high"));
    }

    #[test]
    fn a_limit_of_a_pod_that_another_container_reaches_is_named_too() {
        let mut tick = second();
        process(&mut tick, 1, "web", Some("/pod/one"));
        process(&mut tick, 2, "db", Some("/pod/two"));
        let mut victim = thread(1, 500, 0);
        (victim.reclaim_ns, victim.group_reclaim_ns) = (300 * MS, 300 * MS);
        tick.threads.push(victim);
        tick.below_limits.insert(1);
        let reached = |group: &str| {
            let full = Full {
                group: group.to_owned(),
                limit_bytes: 64 << 20,
                is_hit: Some(true),
                largest: Some((2, "db".to_owned(), 60 << 20)),
                read_back_ns: 0,
            };
            let tick = Tick { full: [(2, full)].into(), ..tick.clone() };
            let found = MemoryStall::find(&Window::of([&tick, &tick])).remove(0);
            let facts: Facts = found.facts.read().unwrap();
            (facts.group, facts.no_limit_seen, found.culprits.len())
        };
        assert_eq!(reached("/pod"), (Some("/pod".to_owned()), false, 1));
        assert_eq!(reached("/pod/two"), (None, true, 0));
    }

    #[test]
    fn who_holds_most_of_a_full_group_is_the_culprit() {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        tick.threads.push(thread(1, 500, 0));
        tick.threads[0].memory_ns = 300 * MS;
        let largest = Some((7, "cache".to_owned(), 40 << 20));
        let group = "/app".to_owned();
        let full = Full { group, limit_bytes: 64 << 20, is_hit: None, largest, read_back_ns: 0 };
        tick.full.insert(1, full.clone());
        let all = MemoryStall::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.culprits[0].pid, found.culprits[0].name.as_str()), (7, "cache"));
        let cause = MemoryStall::cause(found, &found.facts.read().unwrap());
        assert!(cause.contains("/app is at its limit of 64 MiB (memory.max, v1"), "{cause}");
        assert!(cause.contains("read back"), "{cause}");
        tick.full.insert(1, Full { read_back_ns: 400 * MS, ..full.clone() });
        assert_eq!(MemoryStall::find(&Window::of([&tick]))[0].cost_ms_per_s, 700.0);
        let small = Some((7, "cache".to_owned(), 9 << 20));
        tick.full.insert(1, Full { largest: small, ..full.clone() });
        assert!(MemoryStall::find(&Window::of([&tick]))[0].culprits.is_empty());
        // It is full of files that could be dropped, and nobody reached its limit.
        tick.full.insert(1, Full { is_hit: Some(false), ..full.clone() });
        let cause_of = |window: &Window| {
            let all = MemoryStall::find(window);
            MemoryStall::cause(&all[0], &all[0].facts.read().unwrap())
        };
        let cause = cause_of(&Window::of([&tick]));
        assert!(cause.contains("The machine is short of free memory"), "{cause}");
        // Once is enough.
        let mut hit = tick.clone();
        hit.full.insert(1, Full { is_hit: Some(true), ..full });
        let cause = cause_of(&Window::of([&tick, &hit, &tick]));
        assert!(cause.contains("is at its limit of 64 MiB"), "{cause}");
    }
}
