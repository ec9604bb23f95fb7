//! Programs that take the CPU of unrelated programs, and get more of it than these.
//!
//! If two programs compete evenly for a machine without an idle CPU, both are slower, and neither
//! is to blame: a build beside a build. So a victim is a program that gets less than its half. It
//! is outnumbered, or weighs less, or sleeps now and then and finds its CPU taken each time it
//! wakes. Programs of a session or a group count together, since a build consists of many: what
//! they got, and what others lost to them. If the user named the programs to watch, even
//! competition counts too. Time that an idle CPU would have spared is another finding.

use super::stall::{Seen, Stall};
use super::words;
use crate::parts::{program, program_of};
use crate::sums::{Behind, Key, Sums, largest, ms};
use crate::tick::Job;
use crate::why::IDLE;
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, Finding, Source, Weight, WeightOf, Why};
use model::prose::figures::{figure, plural};
use os::terminal::line as plain;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;

/// What the victim lacks beside a program of another job, in milliseconds a second: a tenth of a
/// thread's time. The scheduler gives slices of 3 ms and more, so programs that share a busy
/// machine lose some percent to each other.
const LIMIT_MS_PER_S: f64 = 100.0;

/// And at least this share of the time in which the victim wanted a CPU. A program of many
/// threads does not notice the loss of a tenth of one thread's time.
const SHARE: f64 = 0.15;

/// And the victim is below half of what both got, by at least this share of the half. Programs
/// that share a CPU evenly hold each other up only by their number. Over some seconds, a tenth
/// either way is chance.
const UNEVEN: f64 = 0.2;

/// If one program of a job accounts for at least this share of what the victim lost to the job, or
/// of the CPU time of the job, the finding does not mention the others.
const NEARLY_ALL: f64 = 0.9;

/// A program that had the victim's CPU for less than this is not counted among the others, in
/// milliseconds a second.
const LEAST_MS_PER_S: f64 = 1.0;

/// Another program has the victim's CPU.
pub struct Neighbour;

/// The CPU time of both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// CPU time that the victim got, in milliseconds a second.
    victim_ran_ms_per_s: f64,
    /// CPU time that the culprit got, in milliseconds a second. If there are others, that of its
    /// whole job.
    culprit_ran_ms_per_s: f64,
    /// CPU time that the victim's whole job got, in milliseconds a second. Absent if nearly all of
    /// it was the victim's, or if the job may be several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    victim_job_ran_ms_per_s: Option<f64>,
    /// The same of the culprit's job, if `culprit_ran_ms_per_s` is not that of the whole job.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    culprit_job_ran_ms_per_s: Option<f64>,
    /// How many other programs of its job ran on the victim's CPU; 0 if nearly all of the time was
    /// the culprit's.
    #[serde(default)]
    others: u32,
    /// Why the culprit had the CPU.
    #[serde(default)]
    why: Why,
}

/// What fixes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    Separate,
    /// More weight for the victim, in whatever the scheduler weighs there.
    Weigh,
    /// Another nice value for the victim.
    Renice,
    /// Another nice value for the victim's session, through this process of it.
    ReniceSession(u32),
    /// Another weight for this group.
    WeighGroup(String),
    /// Another `cpu.idle` for this group.
    WakeGroup(String),
    /// Another policy for this process.
    UsualPolicy(u32),
}

impl Stall for Neighbour {
    const ID: &'static str = "neighbour";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    const NAMES_WHO_RAN: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let is_much = |found: &Found| {
            found.share >= SHARE && found.uneven && window.rate(found.lacks_ns) >= LIMIT_MS_PER_S
        };
        let all: Vec<Found> = held_up(window).into_iter().filter(is_much).collect();
        // Of two jobs that compete, the victim is the one that gets less of what it wants.
        let share = |who: Party, behind: Party| {
            let such = all.iter().filter(|found| found.parties() == (who, behind));
            largest(such.map(|found| found.share))
        };
        let is_victim = |found: &&Found| {
            let (own, other) = found.parties();
            share(own, other) >= share(other, own)
        };
        all.iter().filter(is_victim).map(|found| found.finding(window)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = most(seen.window);
        Some(seen.measured_by::<Self>(Source::Scheduler, most, LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let rate = |ms: f64| figure(ms, Unit::MillisecondsPerSecond);
        let culprit = words::culprit(finding);
        let of_job = |ran: Option<f64>| {
            ran.map_or_else(String::new, |ms| format!(" (its whole job {})", rate(ms)))
        };
        let its = rate(facts.culprit_ran_ms_per_s);
        let its_job = of_job(facts.culprit_job_ran_ms_per_s);
        let victims = rate(facts.victim_ran_ms_per_s);
        let victims_job = of_job(facts.victim_job_ran_ms_per_s);
        let why = words::why(&facts.why, None);
        match facts.others {
            0 => format!(
                "{culprit} ran on the victim's CPU meanwhile. It got {its} of CPU time{its_job}, \
                 the victim {victims}{victims_job}.{why}"
            ),
            others => format!(
                "{culprit} and {} of its job ran on the victim's CPU meanwhile. That job got {its} \
                 of CPU time, the victim {victims}{victims_job}.{why}",
                plural(others.into(), "other program"),
            ),
        }
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::Separate => "Give each of the two its own CPUs (cpuset, taskset).".to_owned(),
            Fix::Weigh => {
                "Give the victim more weight than the other (cpu.weight, nice; between sessions \
                 /proc/PID/autogroup)."
                    .to_owned()
            }
            Fix::Renice => "Lower the nice value of the victim (renice).".to_owned(),
            Fix::ReniceSession(pid) => format!(
                "Lower the nice value of the victim's session: echo -10 >/proc/{pid}/autogroup"
            ),
            Fix::WeighGroup(group) => {
                format!(
                    "Raise cpu.weight of {} (v1: cpu.shares; a unit: CPUWeight=; a pod: its CPU \
                     request).",
                    plain(group)
                )
            }
            Fix::WakeGroup(group) => {
                format!("Write 0 to cpu.idle of {} (a unit: CPUWeight=100).", plain(group))
            }
            Fix::UsualPolicy(pid) => {
                format!("Give the victim the usual policy: chrt --all-tasks --other --pid 0 {pid}")
            }
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let of = |others: u32, why: Why| {
            let facts = Facts {
                victim_ran_ms_per_s: 400.0,
                culprit_ran_ms_per_s: 900.0,
                others,
                why,
                ..Facts::default()
            };
            let fixes = fixes(&facts.why, 7);
            (facts, fixes)
        };
        let (alone_of_job, fixes_of_job) = of(0, Why::Shared(None));
        let of_job = Facts {
            victim_job_ran_ms_per_s: Some(500.0),
            culprit_job_ran_ms_per_s: Some(1200.0),
            ..alone_of_job
        };
        let alone = words::why_samples().into_iter().map(|why| of(0, why));
        let beside_others = [1, 8].map(|others| of(others, Why::Shared(None)));
        alone.chain(beside_others).chain([(of_job, fixes_of_job)]).collect()
    }
}

/// What changes the outcome, depending on what the scheduler weighed.
fn fixes(why: &Why, victim: u32) -> Vec<Fix> {
    let weigh = match why {
        Why::Weight { victim: Weight { of: WeightOf::Nice(_), .. }, .. } => Fix::Renice,
        Why::Weight { victim: Weight { of: WeightOf::IdlePolicy, .. }, .. } => {
            Fix::UsualPolicy(victim)
        }
        Why::Weight { victim: Weight { of: WeightOf::Group(group), weight: IDLE }, .. } => {
            Fix::WakeGroup(group.clone())
        }
        Why::Weight { victim: Weight { of: WeightOf::Session(_), .. }, .. }
        | Why::Shared(Some(_)) => Fix::ReniceSession(victim),
        Why::Weight { victim: Weight { of: WeightOf::Group(group), .. }, .. } => {
            Fix::WeighGroup(group.clone())
        }
        _ => Fix::Weigh,
    };
    match why {
        Why::Weight { .. } => vec![weigh, Fix::Separate],
        _ => vec![Fix::Separate, weigh],
    }
}

/// The most that any victim lacks, in milliseconds a second, before any other limit.
fn most(window: &Window) -> f64 {
    largest(held_up(window).into_iter().map(|found| window.rate(found.lacks_ns)))
}

/// Each program in scope, with the party that takes most from it.
fn held_up(window: &Window) -> Vec<Found<'_>> {
    let mut jobs: HashMap<&Job, u64> = HashMap::new();
    for (key, sums) in &window.programs {
        if !matches!(key.job, Job::Unknown | Job::Kernel) {
            let ran = jobs.entry(&key.job).or_default();
            *ran = ran.saturating_add(sums.all.ran_ns);
        }
    }
    window.victims().filter_map(|(key, sums)| worst(window, &jobs, key, sums)).collect()
}

/// CPU time that a program got, together with all of its session or group.
fn ran(window: &Window, jobs: &HashMap<&Job, u64>, key: &Key) -> u64 {
    jobs.get(&key.job).copied().unwrap_or_else(|| ran_alone(window, key))
}

/// The same for the party of a program: a sum over several jobs would be more than what one of them
/// got.
fn ran_as_one(window: &Window, jobs: &HashMap<&Job, u64>, key: &Key) -> u64 {
    match Party::of(key) {
        Party::Job(_) => ran(window, jobs, key),
        Party::Program(program) => ran_alone(window, program),
    }
}

/// CPU time that a program got.
fn ran_alone(window: &Window, key: &Key) -> u64 {
    window.programs.get(key).map_or(0, |sums| sums.all.ran_ns)
}

/// What competes for CPUs as one: a job, or a program alone if its job may be several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Party<'a> {
    Job(&'a Job),
    Program(&'a Key),
}

impl<'a> Party<'a> {
    fn of(key: &'a Key) -> Self {
        if key.job.is_one() { Party::Job(&key.job) } else { Party::Program(key) }
    }
}

/// The programs of another party that ran while the victim was runnable; times in nanoseconds.
struct Rival<'a> {
    /// The one that ran longest.
    program: &'a Key,
    behind: &'a Behind,
    /// How long that one ran.
    most_ns: u64,
    /// How long all of them ran.
    ns: u64,
    /// The longest single time.
    worst_ns: u64,
    /// How many of them ran for long enough to count.
    count: u32,
}

impl<'a> Rival<'a> {
    fn of(program: &'a Key, behind: &'a Behind) -> Self {
        Rival { program, behind, most_ns: 0, ns: 0, worst_ns: 0, count: 0 }
    }

    /// Adds a program that ran for this time.
    fn add(&mut self, window: &Window, program: &'a Key, behind: &'a Behind, ns: u64) {
        let is_longest = ns > self.most_ns || ns == self.most_ns && program < self.program;
        if is_longest {
            self.program = program;
            self.behind = behind;
            self.most_ns = ns;
        }
        self.ns = self.ns.saturating_add(ns);
        self.worst_ns = self.worst_ns.max(behind.worst_ns);
        self.count += u32::from(window.rate(ns) >= LEAST_MS_PER_S);
    }

    /// How many programs ran besides the longest; 0 if nearly all of the time was its.
    fn others(&self) -> u32 {
        let is_alone = self.most_ns as f64 >= self.ns as f64 * NEARLY_ALL;
        if is_alone { 0 } else { self.count.saturating_sub(1) }
    }
}

/// A victim, and the party that takes most from it.
struct Found<'a> {
    victim: &'a Key,
    sums: &'a Sums,
    rival: Rival<'a>,
    /// CPU time of the victim's whole job; of the program alone if its job may be several.
    victim_ran_ns: u64,
    /// The same of the rival's job.
    rival_ran_ns: u64,
    /// How much the victim lacks of its half; at most the time that it waited. All of that time if
    /// the user named the programs to watch.
    lacks_ns: u64,
    /// Whether that is more than chance. Always true if the user named the programs to watch.
    uneven: bool,
    /// The waiting time, as a share of the time in which the victim wanted a CPU.
    share: f64,
}

fn worst<'a>(
    window: &'a Window,
    jobs: &HashMap<&Job, u64>,
    key: &'a Key,
    sums: &'a Sums,
) -> Option<Found<'a>> {
    let wanted = sums.all.ran_ns.saturating_add(sums.all.ready_ns);
    let rival = rival(window, key, sums)?;
    let ns = rival.ns;
    let share = ns as f64 / wanted.max(1) as f64;
    let own = ran(window, jobs, key);
    let others = ran_as_one(window, jobs, rival.program);
    let victim_ran_ns = ran_as_one(window, jobs, key);
    let half = own.midpoint(others);
    let short = half.saturating_sub(own);
    let lacks_ns = if window.asked { ns } else { short.min(ns) };
    let uneven = window.asked || short as f64 >= UNEVEN * half as f64;
    Some(Found {
        victim: key,
        sums,
        rival,
        victim_ran_ns,
        rival_ran_ns: others,
        lacks_ns,
        uneven,
        share,
    })
}

/// The party that takes most from a victim.
fn rival<'a>(window: &Window, key: &Key, sums: &'a Sums) -> Option<Rival<'a>> {
    // Time that a policy takes is another finding.
    let scale = spread(sums);
    let fair = |behind: &Behind| (behind.ns.saturating_sub(behind.forced_ns) as f64 * scale) as u64;
    let mut rivals: HashMap<Party, Rival> = HashMap::new();
    for (other, behind) in &sums.neighbours {
        if is_stranger(window, key, sums, other) {
            let rival = rivals.entry(Party::of(other)).or_insert_with(|| Rival::of(other, behind));
            rival.add(window, other, behind, fair(behind));
        }
    }
    let most = |a: &Rival, b: &Rival| a.ns.cmp(&b.ns).then_with(|| b.program.cmp(a.program));
    rivals.into_values().max_by(most)
}

/// The share of the time behind others that no idle CPU explains.
fn spread(sums: &Sums) -> f64 {
    let idle = sums.confined_ns.saturating_add(sums.all.beside_idle_ns);
    let fair: u64 = sums.neighbours.values().map(|one| one.ns - one.forced_ns.min(one.ns)).sum();
    1.0 - (idle as f64 / fair.max(1) as f64).min(1.0)
}

/// Whether two programs are unrelated: they belong to different jobs, and neither wakes the
/// other, as a server and its clients do.
fn is_stranger(window: &Window, key: &Key, sums: &Sums, other: &Key) -> bool {
    let known = |job: &Job| !matches!(job, Job::Unknown | Job::Kernel);
    if key.job == other.job || !known(&key.job) || !known(&other.job) {
        return false;
    }
    // One program in several sessions, which waits for its own kind.
    if key.name == other.name && key.group == other.group {
        return false;
    }
    let woken = window.programs.get(other).is_some_and(|other| other.wakers.contains(&key.job));
    !woken && !sums.wakers.contains(&other.job)
}

impl Found<'_> {
    /// The victim's party, and that of its rival.
    fn parties(&self) -> (Party<'_>, Party<'_>) {
        (Party::of(self.victim), Party::of(self.rival.program))
    }

    fn finding(&self, window: &Window) -> Finding {
        let rival = &self.rival;
        let culprit = window.programs.get(rival.program);
        let others = rival.others();
        let alone_ns = ran_alone(window, rival.program);
        let ran_ns = if others > 0 { self.rival_ran_ns } else { alone_ns };
        let of_job = |job_ns: u64, ns: u64| {
            let is_more = (ns as f64) < job_ns as f64 * NEARLY_ALL;
            is_more.then(|| window.rate(job_ns))
        };
        let facts = Facts {
            victim_ran_ms_per_s: window.rate(self.sums.all.ran_ns),
            culprit_ran_ms_per_s: window.rate(ran_ns),
            victim_job_ran_ms_per_s: of_job(self.victim_ran_ns, self.sums.all.ran_ns),
            culprit_job_ran_ms_per_s: of_job(self.rival_ran_ns, ran_ns),
            others,
            why: rival.behind.why.clone(),
        };
        let fixes = fixes(&facts.why, self.sums.worst_pid());
        let named = culprit.map(|sums| program_of(rival.program, sums));
        Finding {
            victim: program_of(self.victim, self.sums),
            culprits: vec![named.unwrap_or_else(|| program(rival.program, 0, 1))],
            cost_ms_per_s: window.rate(rival.ns),
            worst_ms: ms(rival.worst_ns),
            // A neighbour has no scenario of its own: only its load could be reproduced.
            run: None,
            ..Neighbour::found(&facts, &fixes)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, pair, process, second, thread};
    use crate::tick::Tick;

    fn tick(lost_ms: u64) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        process(&mut tick, 2, "backup", None);
        tick.threads = vec![thread(1, 400, lost_ms), thread(2, 900, 20)];
        tick.threads[0].others_ns = tick.threads[0].ready_ns;
        tick.pairs = vec![pair(1, 2, "backup", lost_ms)];
        tick
    }

    #[test]
    fn another_jobs_program_is_a_neighbour() {
        let all = Neighbour::find(&Window::of([&tick(300)]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (found.victim.name.as_str(), found.culprits[0].name.as_str()),
            ("web", "backup")
        );
        assert_eq!(found.cost_ms_per_s, 300.0);
        assert!(Neighbour::find(&Window::of([&tick(50)])).is_empty());
    }

    #[test]
    fn two_that_share_a_cpu_evenly_are_no_finding() {
        let mut tick = tick(500);
        tick.threads = vec![thread(1, 480, 500), thread(2, 510, 470)];
        tick.pairs.push(pair(2, 1, "web", 470));
        let window = Window::of([&tick]);
        assert!(Neighbour::find(&window).is_empty() && most(&window) < 100.0);
        // Unless the user named this program.
        tick.whole_machine = false;
        assert_eq!(Neighbour::find(&Window::of([&tick])).len(), 1);
        tick.whole_machine = true;
        // A program of a session whose two programs together have their half.
        tick.threads = vec![thread(1, 180, 500), thread(3, 320, 0), thread(2, 510, 470)];
        process(&mut tick, 3, "web-too", None);
        tick.processes.get_mut(&3).unwrap().job = Job::Session(1);
        assert!(Neighbour::find(&Window::of([&tick])).is_empty());
        tick.processes.get_mut(&3).unwrap().job = Job::Session(3);
        assert_eq!(Neighbour::find(&Window::of([&tick])).len(), 1);
        // The same in a group, as of a container.
        for pid in [1, 3] {
            tick.processes.get_mut(&pid).unwrap().job = Job::Group("/a".to_owned());
        }
        assert!(Neighbour::find(&Window::of([&tick])).is_empty());
    }

    /// A victim that ran for this time, behind nine programs of these jobs, by their pids. Each of
    /// them ran for 100 ms.
    fn behind_nine(own_ms: u64, job: impl Fn(u32) -> Job) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "web", None);
        tick.threads = vec![thread(1, own_ms, 900)];
        tick.threads[0].others_ns = 900 * MS;
        for pid in 2..11 {
            let name = format!("step{pid:02}");
            process(&mut tick, pid, &name, None);
            tick.processes.get_mut(&pid).unwrap().job = job(pid);
            tick.threads.push(thread(pid, 100, 20));
            tick.pairs.push(pair(1, pid, &name, 100));
        }
        tick
    }

    #[test]
    fn programs_of_one_job_take_the_cpu_together() {
        let all = Neighbour::find(&Window::of([&behind_nine(100, |_| Job::Session(9))]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((found.cost_ms_per_s, found.culprits[0].name.as_str()), (900.0, "step02"));
        assert_eq!((facts.culprit_ran_ms_per_s, facts.others), (900.0, 8));
        let said = Neighbour::cause(found, &facts);
        assert!(said.starts_with("step02 (pid 2) and 8 other programs of its job ran"), "{said}");
        assert!(said.contains("That job got 900 ms/s of CPU time, the victim 100 ms/s."), "{said}");
        // It got half of what it and that job got.
        let even = Window::of([&behind_nine(850, |_| Job::Session(9))]);
        assert!(Neighbour::find(&even).is_empty());
    }

    #[test]
    fn many_jobs_that_share_a_machine_are_no_finding() {
        let found = |job: fn(u32) -> Job| Neighbour::find(&Window::of([&behind_nine(90, job)]));
        assert!(found(Job::Session).is_empty());
        // A slice, or the number for all unknown sessions, is not one job.
        assert!(found(|_| Job::Group("/system.slice".to_owned())).is_empty());
        assert!(found(|_| Job::Outside(0)).is_empty());
        assert_eq!(found(|_| Job::Group("/system.slice/a.service".to_owned())).len(), 1);
        assert_eq!(found(|_| Job::Outside(7)).len(), 1);
    }

    #[test]
    fn where_a_job_may_be_several_each_program_is_compared_alone() {
        let several = [Job::Outside(0), Job::Group("/system.slice".to_owned())];
        for job in several {
            let mut tick = behind_nine(200, |_| job.clone());
            tick.pairs.truncate(4);
            tick.pairs.iter_mut().for_each(|pair| pair.ns = 200 * MS);
            tick.threads[1..].iter_mut().for_each(|thread| thread.ran_ns = 200 * MS);
            assert!(Neighbour::find(&Window::of([&tick])).is_empty(), "{job:?}: as much as each");
            tick.threads[1].ran_ns = 900 * MS;
            let all = Neighbour::find(&Window::of([&tick]));
            let culprits: Vec<&str> = all.iter().map(|one| one.culprits[0].name.as_str()).collect();
            assert_eq!(culprits, ["step02"]);
        }
    }

    #[test]
    fn of_two_jobs_that_compete_the_one_that_gets_less_has_the_victims() {
        let mut tick = behind_nine(100, |_| Job::Session(9));
        // The user named all of them.
        tick.whole_machine = false;
        for pid in 2..11 {
            tick.pairs.push(pair(pid, 1, "web", 20));
        }
        tick.pairs.push(pair(2, 1, "web", 200));
        tick.threads[1].ready_ns = 220 * MS;
        tick.threads[1].others_ns = 220 * MS;
        let all = Neighbour::find(&Window::of([&tick]));
        let victims: Vec<&str> = all.iter().map(|one| one.victim.name.as_str()).collect();
        assert_eq!(victims, ["web"]);
    }

    #[test]
    fn a_job_with_one_large_program_is_reported_as_that_program() {
        let mut tick = tick(300);
        process(&mut tick, 3, "sh", None);
        tick.processes.get_mut(&3).unwrap().job = Job::Session(2);
        tick.threads.push(thread(3, 40, 0));
        tick.pairs.push(pair(1, 3, "sh", 20));
        tick.threads[0].others_ns = 320 * MS;
        tick.threads[0].ready_ns = 320 * MS;
        let all = Neighbour::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((found.cost_ms_per_s, found.culprits[0].name.as_str()), (320.0, "backup"));
        assert_eq!((facts.culprit_ran_ms_per_s, facts.others), (900.0, 0));
    }

    #[test]
    fn jobs_that_got_more_than_their_programs_are_told_since_jobs_are_compared() {
        let mut tick = tick(300);
        tick.threads[1].ran_ns = 300 * MS;
        // Both run on another CPU.
        for (pid, name, session, ran_ms) in [(3, "sh", 2, 900), (4, "web-too", 1, 100)] {
            process(&mut tick, pid, name, None);
            tick.processes.get_mut(&pid).unwrap().job = Job::Session(session);
            tick.threads.push(thread(pid, ran_ms, 0));
        }
        let all = Neighbour::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        let jobs = (facts.victim_job_ran_ms_per_s, facts.culprit_job_ran_ms_per_s);
        assert_eq!(jobs, (Some(500.0), Some(1200.0)));
        let said = Neighbour::cause(found, &facts);
        let wanted = "It got 300 ms/s of CPU time (its whole job 1200 ms/s), the victim 400 ms/s \
                      (its whole job 500 ms/s).";
        assert!(said.contains(wanted), "{said}");
    }

    #[test]
    fn what_an_idle_cpu_would_have_spared_is_another_finding() {
        let mut confined = tick(300);
        confined.processes.get_mut(&1).unwrap().confined = Some(vec![0]);
        confined.idle_shares = vec![0.0, 0.7];
        assert!(Neighbour::find(&Window::of([&confined])).is_empty());
    }

    #[test]
    fn one_job_competes_with_itself_without_a_finding() {
        let mut tick = tick(300);
        for process in tick.processes.values_mut() {
            process.job = Job::Session(9);
        }
        assert!(Neighbour::find(&Window::of([&tick])).is_empty());
    }

    #[test]
    fn a_server_and_its_client_are_no_strangers() {
        let mut tick = tick(300);
        tick.threads[1].waker = 1;
        assert!(Neighbour::find(&Window::of([&tick])).is_empty());
        tick.threads[1].waker = 0;
        tick.threads[0].waker = 2;
        assert!(Neighbour::find(&Window::of([&tick])).is_empty());
    }

    #[test]
    fn of_two_that_compete_the_one_that_gets_less_is_the_victim() {
        let mut tick = tick(300);
        tick.pairs.push(pair(2, 1, "web", 250));
        tick.threads[1].ready_ns = 250_000_000;
        tick.threads[1].others_ns = 250_000_000;
        let found = Neighbour::find(&Window::of([&tick]));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].victim.name, "web");
    }

    #[test]
    fn the_kernels_threads_are_nobodys_neighbour() {
        let mut tick = tick(300);
        tick.processes.get_mut(&2).unwrap().job = Job::Kernel;
        assert!(Neighbour::find(&Window::of([&tick])).is_empty());
    }
}
