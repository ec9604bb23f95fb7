//! Programs that sleep for the journal of a file system (ext4), whose commit waits for a program of
//! another control group.
//!
//! The commit waits until the other program closes its handle of the transaction. That takes long
//! if it sleeps meanwhile for data in write-back that an io.max throttles. No counter of the kernel
//! tells whether an io.max throttled it, so the limit is named as a fact beside what it did.
//!
//! A kernel thread that has the handle writes for other programs, and nobody sees for which. On any
//! slow disk that happens. So it gives no finding, nor does a program of the victim's own group.

use super::stall::{Seen, Stall};
use super::words;
use crate::parts::{program, program_of};
use crate::sums::{JournalSums, Key, Sums, largest, ms};
use crate::tick::{IoMax, Job};
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, Finding, Source};
use model::prose::figures::{figure, percent};
use model::suggestion::{Command, Run};
use os::terminal::line as plain;
use scenarios::io_journal::{IoJournalParams, META};
use scenarios::params::Params;
use serde::{Deserialize, Serialize};

/// Time asleep behind the handle of such a program, in milliseconds a second: 2% of a thread's
/// time. Without a limit of I/O, a busy writer in another group cost none in the lab.
const LIMIT_MS_PER_S: f64 = 20.0;

/// And the longest single sleep is at least this, in milliseconds. Commits that wait for a writer
/// that nothing limits took up to 40.
const WORST_MS: f64 = 50.0;

/// From this share of the time on, what the other program did counts as the cause.
const MOSTLY: f64 = 0.5;

/// The victim sleeps for a commit of a journal, which waits for a program of another group.
pub struct IoJournal;

/// What the other program did, and its limit.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// How often a second the victim slept so.
    waits_per_s: f64,
    /// How long, on average, in milliseconds.
    mean_ms: f64,
    /// Share of the time in which the other program mostly slept for a device, or for data in
    /// write-back.
    device: f64,
    /// Share of the time in which a quota mostly throttled the other program.
    quota: f64,
    /// Share of the time in which it mostly had no CPU for another reason.
    no_cpu: f64,
    /// The io.max of its group, or of one above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    io_max: Option<IoMax>,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    OwnFileSystem,
    RaiseIoMax,
    WriteOnce,
    RaiseQuota,
    MoreCpu,
}

impl Stall for IoJournal {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let is_much =
            |one: &Found| window.rate(one.3.ns) >= LIMIT_MS_PER_S && ms(one.3.worst_ns) >= WORST_MS;
        held_up(window).filter(is_much).map(|found| finding(window, found)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = largest(held_up(seen.window).map(|one| seen.window.rate(one.3.ns)));
        Some(seen.measured_by::<Self>(Source::Journal, most, LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        format!(
            "It sleeps, as in fsync, for a commit of the journal of its file system (ext4): {} \
             times a second, {} on average. Meanwhile the commit waits for {}, which has a handle \
             of the transaction.{}{}",
            figure(facts.waits_per_s, Unit::Count),
            figure(facts.mean_ms, Unit::Milliseconds),
            words::culprit(finding),
            did(facts),
            limit(finding, facts),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::OwnFileSystem => {
                "Give the other program a file system of its own, so that they share no journal \
                 (another partition of the same disk is enough)."
            }
            Fix::RaiseIoMax => {
                "If that io.max is for the disk of this file system, raise it, or share the disk by \
                 io.weight instead (with io.cost or BFQ)."
            }
            Fix::WriteOnce => {
                "Have the other program write no block again after it has started write-back \
                 (sync_file_range) and before it calls fsync."
            }
            Fix::RaiseQuota => "Raise the quota of the other program.",
            Fix::MoreCpu => {
                "Give the other program a CPU sooner (a higher cpu.weight, a lower nice value), or \
                 run less beside it."
            }
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let of = |device, quota, no_cpu, group: Option<&str>| {
            let limits = vec!["254:0 wbps=1048576".to_owned(), "8:0 wiops=50".to_owned()];
            let io_max = group.map(|group| IoMax { group: group.to_owned(), limits });
            let facts = Facts { waits_per_s: 1.2, mean_ms: 3200.0, device, quota, no_cpu, io_max };
            let fixes = fixes(&facts);
            (facts, fixes)
        };
        vec![
            of(0.97, 0.0, 0.0, Some("/app")),
            of(0.97, 0.0, 0.0, Some("/pods")),
            of(0.97, 0.0, 0.0, None),
            of(0.0, 0.9, 0.0, None),
            of(0.0, 0.0, 0.8, None),
            of(0.1, 0.0, 0.0, None),
        ]
    }
}

/// What the other program did for most of the time, as a sentence after others.
fn did(facts: &Facts) -> String {
    let (share, what) = match facts {
        _ if facts.device > MOSTLY => {
            (facts.device, "it mostly slept for a device, or for data in write-back")
        }
        _ if facts.quota > MOSTLY => (facts.quota, "a CPU quota mostly throttled it"),
        _ if facts.no_cpu > MOSTLY => (facts.no_cpu, "it was mostly ready and had no CPU"),
        _ => return " What it did for most of that time is not known.".to_owned(),
    };
    format!(" For {} of that time {what}.", percent(share))
}

/// Its limit, as a sentence after others; empty without one.
fn limit(finding: &Finding, facts: &Facts) -> String {
    let Some(io_max) = &facts.io_max else { return String::new() };
    let own = finding.culprits.first().and_then(|culprit| culprit.group.as_deref());
    let is_own = own == Some(io_max.group.as_str());
    let which = if is_own { "Its group" } else { "Above it, the group" };
    let limits = plain(&io_max.limits.join(", "));
    format!(" {which} {} has an io.max: {limits}.", words::group(&io_max.group, finding))
}

fn fixes(facts: &Facts) -> Vec<Fix> {
    let raise = facts.io_max.as_ref().map(|_| Fix::RaiseIoMax);
    match facts {
        _ if facts.device > MOSTLY => {
            [Fix::OwnFileSystem].into_iter().chain(raise).chain([Fix::WriteOnce]).collect()
        }
        _ if facts.quota > MOSTLY => vec![Fix::RaiseQuota, Fix::OwnFileSystem],
        _ if facts.no_cpu > MOSTLY => vec![Fix::MoreCpu, Fix::OwnFileSystem],
        _ => [Fix::OwnFileSystem].into_iter().chain(raise).collect(),
    }
}

/// A program, and the program for whose handle it slept longest.
type Found<'a> = (&'a Key, &'a Sums, &'a Key, &'a JournalSums);

fn held_up(window: &Window) -> impl Iterator<Item = Found<'_>> {
    window.victims().filter_map(|(key, sums)| {
        let others = sums.journal.iter().filter(|(who, _)| is_of_other_group(key, who));
        let worst = others.max_by(|a, b| a.1.ns.cmp(&b.1.ns).then_with(|| b.0.cmp(a.0)));
        worst.map(|(who, behind)| (key, sums, who, behind))
    })
}

/// Whether the holder belongs to another group than the victim. The group of a program outside this
/// container is not known, but is no group inside. That of a program that ended before it was
/// looked at may be the victim's own.
fn is_of_other_group(victim: &Key, holder: &Key) -> bool {
    match holder.job {
        Job::Kernel | Job::Unknown => false,
        Job::Outside(_) => true,
        Job::Group(_) | Job::Session(_) => holder.group != victim.group,
    }
}

fn finding(window: &Window, (key, sums, who, behind): Found) -> Finding {
    let share = |ns: u64| ns as f64 / behind.ns.max(1) as f64;
    let facts = Facts {
        waits_per_s: behind.waits as f64 / window.seconds().max(1e-9),
        mean_ms: ms(behind.ns) / behind.waits.max(1) as f64,
        device: share(behind.device_ns),
        quota: share(behind.quota_ns),
        no_cpu: share(behind.stood_ns),
        io_max: behind.io_max.clone(),
    };
    let culprit = window.programs.get(who).map(|sums| program_of(who, sums));
    Finding {
        victim: program_of(key, sums),
        culprits: vec![culprit.unwrap_or_else(|| program(who, 0, 1))],
        cost_ms_per_s: window.rate(behind.ns),
        worst_ms: ms(behind.worst_ns),
        run: Some(run()),
        ..IoJournal::found(&facts, &fixes(&facts))
    }
}

/// The same in the lab. What the other program writes is not known here.
fn run() -> Run {
    let parameters = IoJournalParams::default().settings();
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, process, second, thread};
    use crate::tick::Tick;
    use model::live::{Missing, NotMeasurable, SourceUse};
    use probe::live::{ChainCounts, ChainKey, Did, Slept};

    /// A second in which a database slept so long, once for `worst_ms`, while a backup had the
    /// handle.
    fn tick(slept_ms: u64, worst_ms: u64, did: Did) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "db", Some("/db"));
        process(&mut tick, 2, "backup", Some("/jobs/backup"));
        tick.threads = vec![thread(1, 5, 0), thread(2, 5, 0)];
        let slept = Slept::Journal;
        let key = ChainKey { sleeper: 1, holder: 2, slept, steps: 1, did, ..ChainKey::default() };
        let name = "backup".to_owned();
        let ns = slept_ms * MS;
        let worst_ns = worst_ms * MS;
        tick.chains = vec![ChainCounts { key, name, ns, wakes: 2, worst_ns }];
        tick
    }

    fn find(tick: &Tick) -> Vec<Finding> {
        IoJournal::find(&Window::of([tick]))
    }

    #[test]
    fn who_sleeps_for_a_commit_is_found_from_the_limits_on_with_who_has_the_handle() {
        let all = find(&tick(20, 50, Did::SleptForDevice));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.victim.name.as_str(), found.victim.pid), ("db", 1));
        assert_eq!((found.culprits[0].name.as_str(), found.culprits[0].pid), ("backup", 2));
        assert_eq!((found.cost_ms_per_s, found.worst_ms), (20.0, 50.0));
        assert!(found.run.is_some());
        assert!(find(&tick(19, 60, Did::SleptForDevice)).is_empty(), "less than the limit");
        assert!(find(&tick(500, 49, Did::SleptForDevice)).is_empty(), "many short sleeps");
    }

    #[test]
    fn an_io_max_is_told_as_a_fact_and_is_no_condition() {
        let mut limited = tick(900, 800, Did::SleptForDevice);
        let limits = vec!["254:0 wbps=1048576".to_owned()];
        let io_max = IoMax { group: "/jobs".to_owned(), limits };
        limited.io_max.insert("/jobs/backup".to_owned(), io_max.clone());
        let found = &find(&limited)[0];
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.waits_per_s, facts.mean_ms, facts.device), (2.0, 450.0, 1.0));
        assert_eq!(facts.io_max, Some(io_max));
        let cause = IoJournal::cause(found, &facts);
        assert!(cause.contains("Above it, the group /jobs has an io.max: 254:0 wbps"), "{cause}");
        let fixes = |tick: &Tick| find(tick)[0].fixes.read::<Vec<Fix>>().unwrap();
        let with_limit = [Fix::OwnFileSystem, Fix::RaiseIoMax, Fix::WriteOnce];
        assert_eq!(fixes(&limited), with_limit);
        let unlimited = tick(900, 800, Did::SleptForDevice);
        assert_eq!(fixes(&unlimited), [Fix::OwnFileSystem, Fix::WriteOnce]);
        let found = &find(&unlimited)[0];
        let cause = IoJournal::cause(found, &found.facts.read().unwrap());
        assert!(!cause.contains("io.max"), "{cause}");
    }

    #[test]
    fn each_cause_has_its_own_fix() {
        let mut by_quota = tick(900, 800, Did::Stood);
        by_quota.chains[0].key.by_quota = true;
        let fixes = |tick: &Tick| find(tick)[0].fixes.read::<Vec<Fix>>().unwrap()[0];
        assert_eq!(fixes(&by_quota), Fix::RaiseQuota);
        assert_eq!(fixes(&tick(900, 800, Did::Stood)), Fix::MoreCpu);
        let unknown = tick(900, 800, Did::Otherwise);
        assert_eq!(fixes(&unknown), Fix::OwnFileSystem);
        let found = &find(&unknown)[0];
        let cause = IoJournal::cause(found, &found.facts.read().unwrap());
        assert!(cause.ends_with("is not known."), "{cause}");
    }

    #[test]
    fn the_own_group_and_kernel_threads_are_no_culprits() {
        let mut own = tick(900, 800, Did::SleptForDevice);
        own.processes.get_mut(&2).unwrap().group = Some("/db".to_owned());
        assert!(find(&own).is_empty());
        let mut kernel = tick(900, 800, Did::SleptForDevice);
        let flusher = kernel.processes.get_mut(&2).unwrap();
        flusher.group = None;
        flusher.job = Job::Kernel;
        assert!(find(&kernel).is_empty());
    }

    #[test]
    fn a_program_that_has_ended_counts_only_with_a_group_that_is_known() {
        let mut ended = tick(900, 800, Did::SleptForDevice);
        ended.processes.remove(&2);
        assert!(find(&ended).is_empty(), "it may be one of the victim's own");
        // Another process of its session still exists.
        process(&mut ended, 3, "sh", Some("/jobs/backup"));
        ended.threads.push(thread(3, 5, 0));
        ended.threads.iter_mut().skip(1).for_each(|one| one.session = 7);
        let all = find(&ended);
        let [found] = &all[..] else { panic!("{all:?}") };
        let culprit = &found.culprits[0];
        assert_eq!(
            (culprit.name.as_str(), culprit.group.as_deref()),
            ("backup", Some("/jobs/backup"))
        );
        ended.processes.get_mut(&3).unwrap().group = Some("/db".to_owned());
        assert!(find(&ended).is_empty());
    }

    #[test]
    fn the_sleep_is_in_no_other_finding() {
        let tick = tick(900, 800, Did::Stood);
        let window = Window::of([&tick]);
        let (_, sums) = window.victims().find(|(key, _)| key.name == "db").unwrap();
        assert!(sums.asleep.is_empty());
        assert_eq!((sums.journal.len(), sums.worst_pid()), (1, 1));
        let all = crate::findings::all(&window);
        assert!(all.iter().all(|one| one.stall == META.id), "{all:?}");
    }

    #[test]
    fn where_commits_are_not_seen_nobody_is_said_to_be_well() {
        let window = Window::of([&tick(4, 4, Did::SleptForDevice)]);
        let answer = |missing: Option<Missing>| {
            let sources = [SourceUse { source: Source::Journal, missing }];
            IoJournal::answer(&Seen { window: &window, findings: &[], sources: &sources }).unwrap()
        };
        let no = AnswerState::NotHitting { most_ms_per_s: 4.0, finding_at_ms_per_s: 20.0 };
        assert_eq!(answer(None), no);
        let why = NotMeasurable::Missing(Missing::NoJournal);
        assert_eq!(answer(Some(Missing::NoJournal)), AnswerState::NotMeasurable(why));
    }
}
