//! The explanation of who held up whom, in English. Text and page share these sentences.

use super::command::InGuest;
use super::headline::headline;
use super::suggestion::{self, Step};
use super::{arm, plain};
use model::estimate::number;
use model::evidence::{Behind, BehindKind, Filler, Holder, Resource, Task, Wait, part};
use model::explanation::{
    Busiest, Cause, Cost, Delay, Happened, MemoryCause, Mostly, QuotaCause, Rate, Remedy,
    SchedulersRan, SchedulersThrottled, SchedulersUneven, Seen, UsedUp, Work,
};
use model::prose::figures::{figure, heading, plural};
use model::prose::sentence::ended;
use model::{Explanation, FixOutcome, Meta, Unit};

/// Most names of threads that ran in one sentence.
const NAMES: usize = 3;

/// A record lists this many times at which a quota kept a group off a CPU, the first ones
/// (`probe/src/quota.rs`). If it lists as many, later ones are missing.
const LISTED: usize = 400;

/// In a record this many waits are joined to their holders, the longest ones
/// (`probe/src/gather.rs`). All others count as waits without a known holder.
const JOINED: u64 = 2000;

/// The longest waits are chosen among this many, the first ones (`probe/src/gather.rs`).
const REMEMBERED: u64 = 100_000;

/// The cause in a few sentences.
pub fn cause(explanation: &Explanation, meta: Option<&Meta>) -> String {
    match &explanation.cause {
        Cause::LongestWait => match explanation.waits.first() {
            Some(longest) => wait(longest),
            None => "No wait was seen.".to_owned(),
        },
        Cause::Quota(quota) => of_quota(quota),
        Cause::Memory(memory) => of_memory(memory),
        Cause::NoCpu(delay) => ended(&of_delay(delay)),
        Cause::SchedulersThrottled(throttled) => of_throttled(throttled),
        Cause::SchedulersUneven(uneven) => of_uneven(uneven),
        Cause::SchedulersRan(ran) => of_ran(ran),
        Cause::Verdict(of_verdict) => headline(of_verdict, meta),
    }
}

/// A wait: which thread waited for what and how long, which thread held it, and what the holder
/// did.
pub fn wait(wait: &Wait) -> String {
    let mode = wait.mode.as_deref().map(|mode| format!(" ({})", plain(mode)));
    let waited = format!(
        "{} waited {} {}{}.",
        task(&wait.waiter),
        ms(wait.took_ns),
        resource(&wait.resource),
        mode.unwrap_or_default()
    );
    // A wait without a mode was seen as a sleep, and its holders are found by kernel stacks.
    let sure = if wait.mode.is_some() { "" } else { "probably " };
    let holder = match wait.holders.first() {
        Some(holder) => held(holder, sure),
        None => "Who held it is not known.".to_owned(),
    };
    let others = match wait.holders.len() {
        0 | 1 => String::new(),
        2 => format!(" 1 other {sure}held it too."),
        holders => format!(" {} others {sure}held it too.", holders - 1),
    };
    format!("{waited} {holder}{others}")
}

/// The resource that a thread waited for, with its preposition.
fn resource(resource: &Resource) -> String {
    match resource {
        Resource::MmapLock { pid } => format!("for the mmap lock of pid {pid}"),
        Resource::MappingLock { pid } => format!("for the lock of a single mapping of pid {pid}"),
        Resource::Semaphore { pid } => {
            format!("for a read-write semaphore in the kernel (pid {pid})")
        }
        Resource::Mutex { pid } => format!("for a mutex in the kernel (pid {pid})"),
        Resource::MemoryHigh { .. } => "asleep, since its group was above memory.high".to_owned(),
        Resource::Sleep => "asleep in the kernel".to_owned(),
        Resource::Said(text) => format!("for {}", plain(text)),
    }
}

/// What a holder did; `sure` comes before "held".
fn held(holder: &Holder, sure: &str) -> String {
    let how = if holder.mode == "write" { "writing" } else { "reading" };
    let held = format!("{} {sure}held it for {how}", task(&holder.task));
    let Holder { running_ns, preempted_ns, blocked_ns, overlap_ns, .. } = *holder;
    let throttled_ns = holder.throttled_ns.unwrap_or(0);
    let did = if throttled_ns >= running_ns.max(blocked_ns)
        && throttled_ns.saturating_mul(2) >= preempted_ns.max(1)
    {
        let cpu = holder.cpu.map(|cpu| format!(" on CPU {cpu}")).unwrap_or_default();
        format!(" and was throttled{cpu} by the quota of its own group for {}", ms(throttled_ns))
    } else if preempted_ns >= running_ns.max(blocked_ns) && preempted_ns > 0 {
        let cpu = holder.cpu.map(|cpu| format!(" on CPU {cpu}"));
        let by = holder.behind.first().map(|behind| format!(" by {}", crowd(behind)));
        format!(
            " and was ready to run, but preempted for {}{}{}",
            ms(preempted_ns),
            cpu.unwrap_or_default(),
            by.unwrap_or_default()
        )
    } else if blocked_ns > running_ns {
        format!(" and slept for {} of that time", ms(blocked_ns))
    } else if running_ns > 0 {
        format!(" and ran for {} of that time", ms(running_ns))
    } else {
        format!(", for {} of that time", ms(overlap_ns))
    };
    format!("{held}{did}.")
}

fn of_quota(quota: &QuotaCause) -> String {
    let worst = quota.worst.as_ref().map(|worst| {
        format!("; {} was kept off its CPU for {}", task(&worst.task), ms(worst.throttled_ns))
    });
    format!(
        "{} used {} of CPU time, {} of what its group used. The quota throttled the group in {}{}.",
        task(&quota.task),
        ms(quota.used_ns),
        percent(quota.percent),
        plural(quota.throttled_periods, "period"),
        worst.unwrap_or_default()
    )
}

/// `worker 7 filled the group /x with 40 MiB; its memory.high is 32 MiB.`
fn of_memory(cause: &MemoryCause) -> String {
    let MemoryCause { memory, longest } = cause;
    let group = plain(&memory.group);
    let filled = match &memory.filled_by {
        Some(Filler { task: by, bytes }) => {
            format!(
                "{} filled the group {group} with {}",
                task(by),
                figure(*bytes as f64, Unit::Bytes)
            )
        }
        None => format!("The group {group} held {}", figure(memory.held_bytes as f64, Unit::Bytes)),
    };
    let limits = [("memory.high", memory.high_bytes), ("memory.max", memory.max_bytes)];
    let limits = limits.into_iter().filter_map(|(file, bytes)| Some((file, bytes?)));
    let limits: Vec<String> = limits
        .map(|(file, bytes)| format!("; its {file} is {}", figure(bytes as f64, Unit::Bytes)))
        .collect();
    let stalled =
        memory.stalled_ns.map(|ns| format!(" The limit stopped the group for {} in total", ms(ns)));
    let slept = longest.as_ref().map(|(who, ns)| {
        format!("; {} slept in the kernel for up to {} at a time", task(who), ms(*ns))
    });
    let stood = match (stalled, slept) {
        (None, None) => String::new(),
        (None, Some(slept)) => format!(" It put the group to sleep{slept}."),
        (Some(stalled), slept) => format!("{stalled}{}.", slept.unwrap_or_default()),
    };
    let killed = memory.kills.filter(|kills| *kills > 0);
    let killed = killed.map(|kills| format!(" Processes killed: {kills}."));
    format!("{filled}{}.{stood}{}", limits.concat(), killed.unwrap_or_default())
}

/// `scanner 7 (nice 15) ran 2 ms and waited 260 ms for a CPU, up to 200 ms at a time`.
fn of_delay(delay: &Delay) -> String {
    let longest = delay.longest_ns.map(|ns| format!(", up to {} at a time", ms(ns)));
    let behind = if delay.behind.is_empty() {
        String::new()
    } else {
        format!("; meanwhile its CPU ran {}", ran(&delay.behind))
    };
    format!(
        "{} ran {} and waited {} for a CPU{}{behind}",
        task(&delay.task),
        ms(delay.running_ns),
        ms(delay.runnable_ns),
        longest.unwrap_or_default()
    )
}

/// `In 2000 ms, 8 schedulers used 900 ms of CPU time, at least 600 ms (67%) of it spinning without
/// work`.
fn of_work(work: &Work) -> String {
    let spun = work.spun.map(|spun| {
        let bound = if spun.at_least { "at least " } else { "" };
        format!(", {bound}{} ({}) of it spinning without work", ms(spun.ns), percent(spun.percent))
    });
    format!(
        "In {}, {} used {} of CPU time{}",
        ms(work.watched_ns),
        plural(work.schedulers.into(), "scheduler"),
        ms(work.ran_ns),
        spun.unwrap_or_default()
    )
}

fn of_throttled(throttled: &SchedulersThrottled) -> String {
    let kept_off = throttled.throttled_ns.map(|ns| {
        format!(" and kept scheduler threads that were ready to run off their CPUs for {}", ms(ns))
    });
    format!(
        "{}. The quota throttled the group in {}{}.",
        of_work(&throttled.work),
        plural(throttled.throttled_periods, "period"),
        kept_off.unwrap_or_default()
    )
}

fn of_uneven(uneven: &SchedulersUneven) -> String {
    let least = uneven.least.as_ref().map(|idle| {
        format!(
            " Meanwhile {} ran {} and slept {} without work.",
            task(&idle.task),
            ms(idle.ran_ns),
            ms(idle.idle_ns)
        )
    });
    format!(
        "In {}, {} ran {} and slept {} in native code.{}",
        ms(uneven.watched_ns),
        task(&uneven.most),
        ms(uneven.most_ran_ns),
        ms(uneven.most_native_ns),
        least.unwrap_or_default()
    )
}

fn of_ran(ran: &SchedulersRan) -> String {
    let busiest = ran.busiest.as_ref().map(of_busiest);
    format!(
        "{}, and waited {} for a CPU.{}",
        of_work(&ran.work),
        ms(ran.delayed_ns),
        busiest.unwrap_or_default()
    )
}

fn of_busiest(busiest: &Busiest) -> String {
    let mostly = match busiest.mostly {
        Mostly::Waiting => "longer than it ran",
        Mostly::Work => "so most of its time was work in the VM",
        Mostly::WorkAlone => "so nearly all of its time was work in the VM",
    };
    format!(
        " {} ran most, {}, and waited {} for a CPU, {mostly}.",
        task(&busiest.task),
        ms(busiest.ran_ns),
        ms(busiest.runnable_ns)
    )
}

/// The state in which a share of the waiting time was spent.
pub fn happened(happened: Happened) -> &'static str {
    match happened {
        Happened::HolderPreempted => {
            "a holder was ready to run but had no CPU, and no other holder ran"
        }
        Happened::HolderRan => "a holder ran",
        Happened::HoldersSlept => "every known holder slept",
        Happened::HolderUnknown => "a thread held the lock; what the holder did is not known",
        Happened::WaiterDelayed => "the lock was free; the waiter itself waited for a CPU",
        Happened::NoHolderKnown => "no holder is known",
    }
}

/// What happened in a share of the waiting time. `evidence` is the other evidence of the same
/// explanation: it shows whether holders were looked for in all waits.
pub fn share(what: Happened, evidence: &[Seen]) -> String {
    let joined = evidence.iter().find_map(|seen| match seen {
        Seen::Waits { count, .. } => joined_waits(*count),
        _ => None,
    });
    let said = happened(what);
    match joined.filter(|_| what == Happened::NoHolderKnown) {
        Some(joined) => format!("{said}; holders were looked for only in {joined}"),
        None => said.to_owned(),
    }
}

/// The waits in which holders were looked for, unless these are all.
fn joined_waits(waits: u64) -> Option<String> {
    let among =
        if waits > REMEMBERED { format!(" of the first {REMEMBERED}") } else { String::new() };
    (waits > JOINED).then(|| format!("the {JOINED} longest{among} waits"))
}

/// An observation besides the cause.
pub fn seen(seen: &Seen) -> String {
    let said = match seen {
        Seen::Futex { calls, per_second, ns } => format!(
            "The schedulers called futex {calls} times, {} a second, and spent {} in it",
            number(*per_second),
            ms(*ns)
        ),
        Seen::SchedulersDelayed { ns, longest_ns, throttled_ns } => {
            let longest = longest_ns.map(|ns| format!(", up to {} at a time", ms(ns)));
            let throttled = throttled_ns.map(|ns| format!("; the quota caused {} of it", ms(ns)));
            format!(
                "The schedulers were ready to run and had no CPU for {} in total{}{}",
                ms(*ns),
                longest.unwrap_or_default(),
                throttled.unwrap_or_default()
            )
        }
        Seen::Throttles { times, ns, counted_ns, longest_ns, used_up_by } => {
            let by = used_up_by.as_ref().map(of_used_up).unwrap_or_default();
            let took = ms(*ns);
            let longest = ms(*longest_ns);
            if *times >= LISTED {
                let all = |ns| format!("; with them the total is {} (cpu.stat)", ms(ns));
                format!(
                    "The first {times} times that the quota kept the group off a CPU took {took} \
                     in total, up to {longest} at a time{by}. Later times are not in the record{}",
                    counted_ns.map(all).unwrap_or_default()
                )
            } else {
                let counted = counted_ns.map(|ns| format!(" (cpu.stat: {})", ms(ns)));
                format!(
                    "The quota kept the group off a CPU {}, {took} in total{}, up to {longest} at \
                     a time{by}",
                    plural(*times as u64, "time"),
                    counted.unwrap_or_default()
                )
            }
        }
        Seen::Waits { count, ns } => {
            let joined = joined_waits(*count).map(|joined| {
                format!(
                    ". Holders were looked for only in {joined}; what is said of holders is about \
                     these alone"
                )
            });
            format!(
                "{count} waits of a millisecond or more were seen, {} in total{}",
                ms(*ns),
                joined.unwrap_or_default()
            )
        }
        Seen::RanMeanwhile { behind } => {
            format!("While a holder was ready to run, its CPU ran {}", ran(behind))
        }
        Seen::NoCpu(delay) => of_delay(delay),
    };
    ended(&said)
}

fn of_used_up(by: &UsedUp) -> String {
    format!(
        "; {} {} was running when the quota ran out",
        plural(by.times as u64, "time"),
        task(&by.task)
    )
}

/// A fix, or a next step.
pub fn remedy(remedy: &Remedy, meta: Option<&Meta>, guest: Option<InGuest>) -> Step {
    match remedy {
        Remedy::Measured { change, outcome, .. } => {
            let did = match outcome {
                FixOutcome::Fixed => "fixed the stall in this study",
                FixOutcome::Helped => "helped in this study",
                FixOutcome::NotShown => "was not shown to help in this study",
            };
            Step { what: format!("{} {did}.", arm::change(change, meta)), command: None }
        }
        Remedy::Suggested(one) => suggestion::step(one, meta, guest),
    }
}

/// The cost of the probes, and the events that they lost. Without `all`, only those rates that
/// are outside their range without probes.
pub fn cost(cost: &Cost, all: bool, meta: Option<&Meta>) -> Vec<String> {
    let told = cost.rates.iter().filter(|rate| all || !rate.within_range);
    let rates: Vec<String> = told.map(|one| rate(one, meta)).collect();
    let lost = match cost.lost_events {
        0 => "no event was lost".to_owned(),
        lost => format!("{} lost", plural(lost, "event")),
    };
    let within = match (cost.rates.first(), rates.is_empty()) {
        (Some(first), true) => {
            format!("{}: every rate is within its range without probes; ", plain(&first.arm))
        }
        _ => String::new(),
    };
    rates.into_iter().chain([format!("{within}{lost}.")]).collect()
}

/// One rate: `control: calls 990/s with probes, 1000/s [980, 1020] without: -1%, within the range
/// without`.
fn rate(rate: &Rate, meta: Option<&Meta>) -> String {
    let (least, most) = rate.range;
    let where_it_lies = if rate.within_range { "within" } else { "outside" };
    format!(
        "{}: {} {} with probes, {} [{}, {}] without: {}, {where_it_lies} the range without.",
        plain(&rate.arm),
        heading(&rate.measure, meta),
        figure(rate.with, rate.unit),
        figure(rate.without, rate.unit),
        number(least),
        number(most),
        signed_percent(rate.change_percent)
    )
}

/// The threads that ran, and how long each of them ran.
fn ran(behind: &[Behind]) -> String {
    let names: Vec<String> =
        behind.iter().take(NAMES).map(|b| format!("{} for {}", crowd(b), ms(b.ns))).collect();
    names.join(", ")
}

/// `10 spinners`, `2 threads of kworker`, `nothing`.
fn crowd(behind: &Behind) -> String {
    let name = plain(&behind.name);
    let threads = || match behind.threads {
        0 => "threads".to_owned(),
        threads => plural(threads.into(), "thread"),
    };
    match (behind.kind, behind.threads) {
        (BehindKind::Idle, _) => "nothing".to_owned(),
        (BehindKind::Others, _) => "others".to_owned(),
        (BehindKind::Part, _) if behind.name == part::NODE => format!("{} of the node", threads()),
        (_, 0 | 1) => name,
        (BehindKind::Part, many) => plural(many.into(), &name),
        (BehindKind::Name, _) => format!("{} of {name}", threads()),
    }
}

/// A thread by its part or its name, with its number: `scanner 812 (nice 15)`.
pub fn task(task: &Task) -> String {
    // The thread names of a VM are more specific than their part.
    let of_vm = |part: &&String| part.as_str() == part::NODE || part::is_scheduler(part);
    let name = task.part.as_ref().filter(|part| !of_vm(part)).unwrap_or(&task.name);
    let nice = task.nice.filter(|nice| *nice != 0).map(|nice| format!(" (nice {nice})"));
    format!("{} {}{}", plain(name), task.tid, nice.unwrap_or_default())
}

fn ms(ns: u64) -> String {
    figure(ns as f64 / 1e6, Unit::Milliseconds)
}

/// `-1.2%`, `+3%`, `0%`.
fn signed_percent(percent: f64) -> String {
    let said = number(percent);
    let sign = if percent > 0.0 && said != "0" { "+" } else { "" };
    format!("{sign}{said}%")
}

fn percent(percent: f64) -> String {
    format!("{percent:.0}%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::evidence::MemoryEvidence;
    use model::explanation::{IdleScheduler, Spun, Throttled};

    const MS: u64 = 1_000_000;

    fn thread(tid: u32, part: &str, nice: i32) -> Task {
        let (name, part) = (format!("{tid}_scheduler"), Some(part.to_owned()));
        Task { pid: tid, tid, name, part, nice: Some(nice) }
    }

    fn behind(name: &str, kind: BehindKind, threads: u32, ms: u64) -> Behind {
        Behind { name: name.to_owned(), kind, threads, ns: ms * MS }
    }

    fn longest() -> Wait {
        let holder = Holder {
            task: thread(7, "scanner", 15),
            mode: "read".to_owned(),
            overlap_ns: 264 * MS,
            running_ns: 2 * MS,
            preempted_ns: 262 * MS,
            blocked_ns: 0,
            throttled_ns: None,
            cpu: Some(1),
            behind: vec![behind("spinner", BehindKind::Part, 10, 262)],
        };
        Wait {
            at_ms: 1.0,
            took_ns: 264 * MS,
            waiter: thread(5, "mapper", 0),
            resource: Resource::MmapLock { pid: 5 },
            mode: Some("write".to_owned()),
            stack: Vec::new(),
            holders: vec![holder],
            covered_ns: 264 * MS,
            split: None,
            timeline: Vec::new(),
        }
    }

    #[test]
    fn a_wait_is_told_with_its_holder() {
        let mut one = longest();
        assert_eq!(
            wait(&one),
            "mapper 5 waited 264 ms for the mmap lock of pid 5 (write). scanner 7 (nice 15) held \
             it for reading and was ready to run, but preempted for 262 ms on CPU 1 by 10 \
             spinners."
        );
        one.holders.push(Holder {
            blocked_ns: 262 * MS,
            preempted_ns: 0,
            ..one.holders[0].clone()
        });
        assert!(wait(&one).ends_with("by 10 spinners. 1 other held it too."), "{}", wait(&one));
        // The holders of a wait that was seen as a sleep are found by kernel stacks.
        let by_stacks = wait(&Wait { mode: None, ..one.clone() });
        assert!(by_stacks.contains("scanner 7 (nice 15) probably held it for"), "{by_stacks}");
        assert!(by_stacks.ends_with(" 1 other probably held it too."), "{by_stacks}");
        one.holders.remove(0);
        assert!(wait(&one).ends_with("held it for reading and slept for 262 ms of that time."));
        one.holders.clear();
        one.resource = Resource::Sleep;
        one.mode = None;
        assert_eq!(
            wait(&one),
            "mapper 5 waited 264 ms asleep in the kernel. Who held it is not known."
        );
    }

    #[test]
    fn it_is_said_that_only_the_longest_waits_have_holders() {
        let all = |count| [Seen::Waits { count, ns: 900 * MS }];
        let of = |what, count| share(what, &all(count));
        assert_eq!(
            seen(&all(JOINED)[0]),
            "2000 waits of a millisecond or more were seen, 900 ms in total."
        );
        assert_eq!(of(Happened::NoHolderKnown, JOINED), "no holder is known");
        assert_eq!(
            seen(&all(JOINED + 1)[0]),
            "2001 waits of a millisecond or more were seen, 900 ms in total. Holders were looked \
             for only in the 2000 longest waits; what is said of holders is about these alone."
        );
        assert_eq!(
            of(Happened::NoHolderKnown, REMEMBERED),
            "no holder is known; holders were looked for only in the 2000 longest waits"
        );
        assert_eq!(
            of(Happened::NoHolderKnown, REMEMBERED + 1),
            "no holder is known; holders were looked for only in the 2000 longest of the first \
             100000 waits"
        );
        assert_eq!(of(Happened::HolderRan, JOINED + 1), "a holder ran");
    }

    #[test]
    fn words_of_a_record_are_cleaned() {
        let mut one = longest();
        one.resource = Resource::Said("lock\u{1b}[2J".to_owned());
        one.waiter.part = Some("\u{1b}[2J".to_owned());
        one.holders[0].behind[0].name = "\u{1b}[2J".to_owned();
        assert!(!wait(&one).contains('\u{1b}'), "{}", wait(&one));
    }

    #[test]
    fn a_quota_names_who_used_it_and_whom_it_kept_off_a_cpu() {
        let cause = QuotaCause {
            task: thread(1, "thread", 0),
            used_ns: 90 * MS,
            percent: 90.0,
            throttled_periods: 50,
            worst: Some(Throttled { task: thread(2, "thread", 0), throttled_ns: 900 * MS }),
        };
        assert_eq!(
            of_quota(&cause),
            "thread 1 used 90 ms of CPU time, 90% of what its group used. The quota throttled the \
             group in 50 periods; thread 2 was kept off its CPU for 900 ms."
        );
        let throttles = |times, counted_ns| Seen::Throttles {
            times,
            ns: 54 * MS,
            counted_ns,
            longest_ns: 40 * MS,
            used_up_by: Some(UsedUp { task: thread(2, "thread", 0), times: 2 }),
        };
        assert_eq!(
            seen(&throttles(3, Some(50 * MS))),
            "The quota kept the group off a CPU 3 times, 54 ms in total (cpu.stat: 50 ms), up to \
             40 ms at a time; 2 times thread 2 was running when the quota ran out."
        );
        // The record lists no more of them.
        let first = "The first 400 times that the quota kept the group off a CPU took 54 ms in \
                     total, up to 40 ms at a time; 2 times thread 2 was running when the quota \
                     ran out. Later times are not in the record";
        assert_eq!(
            seen(&throttles(400, Some(900 * MS))),
            format!("{first}; with them the total is 900 ms (cpu.stat).")
        );
        assert_eq!(seen(&throttles(400, None)), format!("{first}."));
    }

    #[test]
    fn a_limit_of_memory_names_the_group_and_who_filled_it() {
        let memory = MemoryEvidence {
            group: "/a".to_owned(),
            high_bytes: Some(32 << 20),
            max_bytes: None,
            held_bytes: 34 << 20,
            high_events: Some(9),
            kills: Some(0),
            stalled_ns: Some(900 * MS),
            filled_by: Some(Filler { task: thread(7, "worker", 0), bytes: 33 << 20 }),
        };
        let longest = Some((thread(7, "worker", 0), 300 * MS));
        let mut cause = MemoryCause { memory, longest };
        assert_eq!(
            of_memory(&cause),
            "worker 7 filled the group /a with 33 MiB; its memory.high is 32 MiB. The limit \
             stopped the group for 900 ms in total; worker 7 slept in the kernel for up to 300 ms \
             at a time."
        );
        cause.memory.filled_by = None;
        cause.memory.stalled_ns = None;
        cause.memory.kills = Some(1);
        assert_eq!(
            of_memory(&cause),
            "The group /a held 34 MiB; its memory.high is 32 MiB. It put the group to sleep; \
             worker 7 slept in the kernel for up to 300 ms at a time. Processes killed: 1."
        );
    }

    #[test]
    fn schedulers_are_called_by_their_own_names() {
        let work = Work {
            watched_ns: 2000 * MS,
            schedulers: 8,
            ran_ns: 900 * MS,
            spun: Some(Spun { ns: 600 * MS, at_least: true, percent: 66.7 }),
        };
        let throttled = SchedulersThrottled {
            work: work.clone(),
            throttled_periods: 18,
            throttled_ns: Some(4000 * MS),
        };
        assert_eq!(
            of_throttled(&throttled),
            "In 2000 ms, 8 schedulers used 900 ms of CPU time, at least 600 ms (67%) of it \
             spinning without work. The quota throttled the group in 18 periods and kept scheduler \
             threads that were ready to run off their CPUs for 4000 ms."
        );
        let uneven = SchedulersUneven {
            watched_ns: 2000 * MS,
            most: thread(2, part::SCHEDULER, 0),
            most_ran_ns: 20 * MS,
            most_native_ns: 1950 * MS,
            least: Some(IdleScheduler {
                task: thread(1, part::SCHEDULER, 0),
                ran_ns: 9 * MS,
                idle_ns: 1890 * MS,
            }),
        };
        assert_eq!(
            of_uneven(&uneven),
            "In 2000 ms, 2_scheduler 2 ran 20 ms and slept 1950 ms in native code. Meanwhile \
             1_scheduler 1 ran 9 ms and slept 1890 ms without work."
        );
        let busiest = Busiest {
            task: thread(1, part::SCHEDULER, 0),
            ran_ns: 890 * MS,
            runnable_ns: 2 * MS,
            mostly: Mostly::WorkAlone,
        };
        let alone = Work { spun: None, ..work };
        let ran = SchedulersRan { work: alone, delayed_ns: 3 * MS, busiest: Some(busiest) };
        assert_eq!(
            of_ran(&ran),
            "In 2000 ms, 8 schedulers used 900 ms of CPU time, and waited 3 ms for a CPU. \
             1_scheduler 1 ran most, 890 ms, and waited 2 ms for a CPU, so nearly all of its time \
             was work in the VM."
        );
    }

    #[test]
    fn who_ran_meanwhile_is_counted() {
        let all = [
            behind("spinner", BehindKind::Part, 10, 262),
            behind("node", BehindKind::Part, 0, 3),
            behind("idle", BehindKind::Idle, 0, 2),
            behind("left out", BehindKind::Name, 1, 1),
        ];
        assert_eq!(
            ran(&all),
            "10 spinners for 262 ms, threads of the node for 3 ms, nothing for 2 ms"
        );
        assert_eq!(crowd(&behind("kworker", BehindKind::Name, 2, 1)), "2 threads of kworker");
        assert_eq!(crowd(&behind("mapper", BehindKind::Part, 1, 1)), "mapper");
        let delay = Delay {
            task: thread(5, "scanner", 0),
            running_ns: 10 * MS,
            runnable_ns: 40 * MS,
            longest_ns: Some(20 * MS),
            behind: vec![behind("idle", BehindKind::Idle, 0, 30)],
        };
        assert_eq!(
            seen(&Seen::NoCpu(delay)),
            "scanner 5 ran 10 ms and waited 40 ms for a CPU, up to 20 ms at a time; meanwhile its \
             CPU ran nothing for 30 ms."
        );
    }

    #[test]
    fn the_cost_of_probes_has_the_range_without() {
        let mut one = Cost {
            rates: vec![Rate {
                arm: "control".to_owned(),
                measure: "calls".to_owned(),
                unit: Unit::PerSecond,
                with: 990.0,
                without: 1000.0,
                range: (980.0, 1020.0),
                change_percent: -1.0,
                within_range: true,
            }],
            lost_events: 1,
        };
        assert_eq!(
            cost(&one, true, None),
            [
                "control: calls 990/s with probes, 1000/s [980, 1020] without: -1%, within the \
                 range without.",
                "1 event lost."
            ]
        );
        let short = ["control: every rate is within its range without probes; 1 event lost."];
        assert_eq!(cost(&one, false, None), short);
        one.rates[0].within_range = false;
        assert!(cost(&one, false, None)[0].contains("outside the range without."));
        one.rates.clear();
        assert_eq!(cost(&one, true, None), ["1 event lost."]);
    }
}
