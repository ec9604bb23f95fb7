//! Quotas that throttle programs: what the findings about them share.

use super::stall::LEAST_SAMPLES;
use super::words;
use crate::parts::program_of;
use crate::runtime::{LiveRuntime, Setting, Settings};
use crate::sums::{GroupSums, Key, Sums, ThreadSums, ms};
use crate::tick::RuntimeTick;
use crate::window::Window;
use beam::ThreadKind;
use model::Unit;
use model::live::{Finding, Sure};
use model::prose::figures::{figure, listed, percent, plural};
use os::terminal::line as plain;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;

pub use crate::sums::QUOTA_LIMIT_MS_PER_S as LIMIT_MS_PER_S;

/// A group that used less than this share of what it was given in its throttled periods was
/// throttled under its quota. A sound kernel may keep back a millisecond on each CPU and period,
/// which is subtracted before.
const UNDER_QUOTA: f64 = 0.8;

/// And in at least this many throttled periods: below it, one partial period distorts the result.
const UNDER_QUOTA_PERIODS: u64 = 10;

/// What a sound kernel may keep back on each CPU in a period, in nanoseconds.
const KEPT_BACK_NS: u64 = 1_000_000;

/// A quota was spun away if at least this share of its threads' samples is at an instruction of
/// busy waiting. Work that takes a lock now and then has a few such samples, and spinning for
/// less than a third of the time does not use up a quota.
const SPUN: f64 = 0.3;

/// A thread that used less than one part in this many of the busiest thread's time is hardly at
/// work. Examples are timers and compilers of a runtime, beside its one thread that works.
const IDLE: u64 = 10;

/// If the victim loses at least this share of what all programs lose, the others are not told.
const NEARLY_ALL: f64 = 0.9;

/// Such threads are told if together they used at least this share of the CPU time.
const LIGHT: f64 = 0.1;

/// How the names of a JVM's threads begin that its settings limit, by pool.
const OF_JVM: [&str; 11] = [
    "GC Thread#",
    "GC task thread",
    "Gang worker",
    "G1 Conc#",
    "G1 Refine#",
    "ParGC",
    "Shenandoah GC",
    "ZWorker",
    "C1 Compiler",
    "C2 Compiler",
    "ForkJoinPool.co",
];

/// A quota, what was used of it, and why it was used up.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Quota<C> {
    /// The group whose quota it is.
    pub group: String,
    /// Whose quota it is, seen from the victim.
    pub whose: Whose,
    /// CPU time per period, in microseconds.
    pub quota_us: u64,
    /// Length of a period, in microseconds.
    pub period_us: u64,
    /// Whether it had another quota before. Then the figures of cpu.stat are under this quota,
    /// and the cost of the finding is under both.
    #[serde(default)]
    pub changed: bool,
    /// Share of its periods in which it was throttled, according to cpu.stat.
    pub throttled_periods: f64,
    /// Time for which its CPUs were throttled, all together, in milliseconds a second, according
    /// to cpu.stat.
    pub throttled_ms_per_s: f64,
    /// The CPUs that it lacked in its throttled periods.
    #[serde(default)]
    pub lacked_cpus: f64,
    /// CPU time that it used, divided by what the quota allows in that time; absent if it is not
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub used: Option<f64>,
    /// Threads of the group that were at work. A thread that used less than a tenth of the
    /// busiest thread's time does not count.
    pub threads: u32,
    /// Those of them that belong to the program that used most of it; absent in older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub culprit_threads: Option<u32>,
    /// The threads that used less, and how many CPUs they used together.
    #[serde(default)]
    pub light: Light,
    /// What it costs the victim alone, in milliseconds a second; 0 if that is not known.
    #[serde(default)]
    pub victim_ms_per_s: f64,
    /// The quotas of the groups above it, the nearest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub above: Vec<Above>,
    /// The runtime that used most of it, and the settings that it was started with; absent if
    /// either is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Started>,
    /// What used the quota up.
    pub cause: C,
}

/// Threads that used little CPU time each.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Light {
    /// How many.
    pub threads: u32,
    /// CPU time that they used together, in CPUs.
    pub cpus: f64,
    /// Their share of the group's CPU time.
    pub share: f64,
}

/// The quota of a group above another one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Above {
    /// The group.
    pub group: String,
    /// Its quota, in CPUs.
    pub cpus: f64,
}

/// A quota that would have been enough.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Enough {
    /// At least this many CPUs.
    pub cpus: f64,
    /// The groups above whose own quota is smaller than that.
    pub above: Vec<String>,
}

impl Enough {
    /// This many CPUs, in a group with these quotas above it.
    pub fn new(cpus: f64, above: &[Above]) -> Self {
        let smaller = above.iter().filter(|above| above.cpus < cpus);
        Enough { cpus, above: smaller.map(|above| above.group.clone()).collect() }
    }

    /// The fix: of this quota alone, or with those above it.
    pub fn fix<F>(self, alone: fn(f64) -> F, with_above: fn(Self) -> F) -> F {
        if self.above.is_empty() { alone(self.cpus) } else { with_above(self) }
    }

    /// The fix with those above it, as a sentence.
    pub fn sentence(&self) -> String {
        let groups = listed(&self.above);
        let those = if self.above.len() == 1 { "that" } else { "those" };
        let cpus = self.cpus;
        format!("Raise the quota to {cpus:.1} CPUs or more, and also {those} of {groups} above it.")
    }
}

/// A runtime, and the settings that it was started with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Started {
    /// Which runtime.
    pub runtime: LiveRuntime,
    /// The settings that limit its threads.
    pub settings: Vec<Setting>,
}

/// Whose quota it is, seen from the victim.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// The quota of its own group.
    #[default]
    Own,
    /// The quota of a group above.
    Ancestor,
    /// The quota of a group to which only threads of it belong, and not its first one.
    Threads,
}

/// What used a quota up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    /// The work of the group.
    #[default]
    UsedUp,
    /// Threads that spin: this share of the CPU time was spent at instructions of busy waiting.
    Spun(f64),
    /// Nothing: the group was throttled although it had not used up its quota.
    UnderQuota,
}

impl<C> Quota<C> {
    /// The same quota with another cause.
    pub fn with<D>(self, cause: D) -> Quota<D> {
        Quota {
            group: self.group,
            whose: self.whose,
            quota_us: self.quota_us,
            period_us: self.period_us,
            changed: self.changed,
            throttled_periods: self.throttled_periods,
            throttled_ms_per_s: self.throttled_ms_per_s,
            lacked_cpus: self.lacked_cpus,
            used: self.used,
            threads: self.threads,
            culprit_threads: self.culprit_threads,
            light: self.light,
            victim_ms_per_s: self.victim_ms_per_s,
            above: self.above,
            started: self.started,
            cause,
        }
    }

    /// Whether the quota was changed and has throttled nobody since.
    pub fn is_over(&self) -> bool {
        self.changed && self.throttled_periods == 0.0
    }

    /// The quota, in CPUs.
    pub fn cpus(&self) -> f64 {
        self.quota_us as f64 / self.period_us.max(1) as f64
    }

    /// The quota that would have been enough in its throttled periods, in CPUs. A group that works
    /// now and then lacks little on average, and needs as much as it lacks while it works. No
    /// thread can use more than one CPU. The throttled time of all CPUs may be more, since a thread
    /// that wakes for a moment on another CPU is throttled there too. The present quota was not
    /// enough, whatever was seen of the threads.
    pub fn wanted_cpus(&self) -> f64 {
        let (cpus, wanted) = (self.cpus(), self.cpus() + self.lacked_cpus);
        if self.threads == 0 {
            return wanted;
        }
        // Light threads lack as much of their time as the group does.
        let of_light = self.light.cpus * wanted / cpus.max(f64::MIN_POSITIVE);
        wanted.min(f64::from(self.threads) + of_light).max(cpus)
    }

    /// The quota that would have been enough, with some room, on a machine with this many CPUs.
    pub fn enough(&self, online: u32) -> Enough {
        Enough::new(words::roomy(self.wanted_cpus(), online), &self.above)
    }

    /// Says who used it up, without an end: `web (pid 7) used it up with 2 threads`. `when` follows
    /// these words.
    pub fn used_up(&self, finding: &Finding, when: &str) -> String {
        let by = words::culprit(finding);
        let threads = match self.light.share >= LIGHT {
            true => format!(
                "{} and {} less busy ones",
                plural(self.threads.into(), "busy thread"),
                self.light.threads
            ),
            false => plural(self.threads.into(), "thread"),
        };
        match self.culprit_threads.filter(|own| *own > 0 && *own < self.threads) {
            Some(own) if self.light.share < LIGHT => {
                format!("{threads} used it up{when}, {own} of them of {by}")
            }
            Some(_) => format!("{threads} used it up{when}; {by} used most of it"),
            None => format!("{by} used it up{when} with {threads}"),
        }
    }

    /// A sentence that says what the victim alone loses to it; empty if it is the only one.
    pub fn lost_alone(&self, finding: &Finding) -> String {
        if finding.other_victims == 0 || self.victim_ms_per_s == 0.0 {
            return String::new();
        }
        let lost = figure(self.victim_ms_per_s, Unit::MillisecondsPerSecond);
        format!(" {} alone loses {lost}.", plain(&finding.victim.name))
    }

    /// The quota in whole CPUs, rounded up.
    pub fn whole_cpus(&self) -> u32 {
        u32::try_from(self.quota_us.div_ceil(self.period_us.max(1))).unwrap_or(u32::MAX)
    }

    /// A sentence with the settings that its runtime was started with; empty without any.
    pub fn started_with(&self) -> String {
        let Some(started) = self.started.as_ref().filter(|one| !one.settings.is_empty()) else {
            return String::new();
        };
        let settings: Vec<String> = started.settings.iter().map(|one| one.written()).collect();
        format!(" {} was started with {}.", first_up(name(started.runtime)), settings.join(" and "))
    }

    /// A sentence that says how much of it was used over the whole time; empty if that is not
    /// counted.
    pub fn used_in_all(&self) -> String {
        let used = self.used.map(|used| {
            let when = if self.changed { "Since then" } else { "Over the whole time" };
            format!(" {when} the group used {} of its quota.", percent(used))
        });
        used.unwrap_or_default()
    }

    /// A sentence that says which quota throttled the victim, how large it is, and how often it
    /// did.
    pub fn sentence(&self, finding: &Finding) -> String {
        let group = match (self.whose, words::whose(&self.group, finding)) {
            (Whose::Own, _) => words::its_group(&self.group, finding),
            (Whose::Ancestor, Some(named)) => format!("The group above it, {named},"),
            (Whose::Ancestor, None) => format!("The group {} above it", plain(&self.group)),
            (Whose::Threads, Some(named)) => format!("The group of some of its threads, {named},"),
            (Whose::Threads, None) => {
                format!("The group {} of some of its threads", plain(&self.group))
            }
        };
        let (changed, since) = match self.changed {
            true => (", which was changed while this was measured,", " since then"),
            false => ("", ""),
        };
        format!(
            "{group} has a quota of {} per {}{changed} and was throttled in {} of its \
             periods{since}.",
            time(self.quota_us),
            time(self.period_us),
            percent(self.throttled_periods),
        )
    }
}

fn time(us: u64) -> String {
    match us {
        us if us.is_multiple_of(1000) => format!("{} ms", us / 1000),
        us => format!("{us} us"),
    }
}

/// A quota that throttles a program.
pub struct Held<'a> {
    /// The quota.
    pub quota: Quota<Cause>,
    /// The counters of its group.
    pub counted: &'a GroupSums,
    /// CPUs of the machine.
    pub online: u32,
    /// The first two numbers of the running kernel's version, if they are known.
    pub kernel: Option<(u32, u32)>,
    /// The runtime of the program that used most of it; None if it is not known.
    pub runtime: Option<RuntimeTick>,
    /// Threads at work in the largest pool of that program. Only pools count that a setting of its
    /// runtime limits.
    pub limited: u32,
    /// An incomplete finding: who is held up, by whom, and at what cost.
    pub found: Finding,
}

/// The quotas that throttle programs for long enough to matter.
pub fn held(window: &Window) -> Vec<Held<'_>> {
    from(window, LIMIT_MS_PER_S)
}

/// The quotas that cost programs at least this, in milliseconds a second. With 0, all quotas that
/// throttle any program.
pub fn from(window: &Window, least: f64) -> Vec<Held<'_>> {
    let groups = window.groups_in_order().into_iter();
    groups.filter_map(|(group, counted)| of_group(window, group, counted, least)).collect()
}

/// What the quota of a group costs. The victim is the program that loses most to it.
fn of_group<'a>(
    window: &Window,
    group: &str,
    counted: &'a GroupSums,
    least: f64,
) -> Option<Held<'a>> {
    if window.machine.switches.is_none() {
        return of_counters(window, group, counted, least);
    }
    let held = |sums: &Sums| sums.quota.get(&Some(group.to_owned())).copied().unwrap_or(0);
    let victims: Vec<(&Key, &Sums)> = window.victims().filter(|(_, sums)| held(sums) > 0).collect();
    let victim = *victims.iter().max_by_key(|(_, sums)| held(sums))?;
    let all = victims.iter().map(|(_, sums)| held(sums)).fold(0, u64::saturating_add);
    let is_much = window.rate(all) >= least;
    let own_ns = held(victim.1);
    let is_alone = own_ns as f64 >= all as f64 * NEARLY_ALL;
    let others = if is_alone { 0 } else { victims.len() - 1 };
    let others = u32::try_from(others).unwrap_or(u32::MAX);
    let lost = Lost { own_ns, all_ns: all, others, sure: Sure::Measured };
    is_much.then(|| holding(window, (group, counted), victim, &lost))
}

/// The same without programs in the kernel, which count the throttled time of each thread. Uses
/// the counters of the group, and the program in the group that waited longest.
fn of_counters<'a>(
    window: &Window,
    group: &str,
    counted: &'a GroupSums,
    least: f64,
) -> Option<Held<'a>> {
    let throttled = counted.gained.throttled_ns?;
    let inside = window.victims().filter(|(key, _)| is_below(window, key, group));
    let victim = inside.max_by_key(|(_, sums)| sums.all.ready_ns)?;
    let is_much = window.rate(throttled) >= least;
    // The counters do not tell programs apart.
    let lost = Lost { own_ns: 0, all_ns: throttled, others: 0, sure: Sure::Likely };
    is_much.then(|| holding(window, (group, counted), victim, &lost))
}

/// What a quota costs, in nanoseconds.
struct Lost {
    /// The victim alone; 0 if that is not known.
    own_ns: u64,
    /// All programs together.
    all_ns: u64,
    /// Number of other programs; 0 if the victim loses nearly all of it.
    others: u32,
    sure: Sure,
}

fn holding<'a>(
    window: &Window,
    (group, counted): (&str, &'a GroupSums),
    (key, sums): (&Key, &Sums),
    lost: &Lost,
) -> Held<'a> {
    let (users, ran) = (users(window, group), that_ran(window, group));
    let (at_work, light) = by_work(window, ran);
    let is_of_first = |of: &Key| users.first().is_some_and(|(user, _)| *user == of);
    let culprit_threads = at_work.iter().filter(|(of, _)| is_of_first(of)).count();
    let runtime = users.first().and_then(|(_, sums)| sums.runtime);
    let quota = Quota {
        group: group.to_owned(),
        whose: whose(window, (key, sums), group),
        quota_us: counted.limit.quota_us,
        period_us: counted.limit.period_us,
        changed: counted.changed,
        throttled_periods: counted.throttled_periods(),
        throttled_ms_per_s: throttled_ms_per_s(counted),
        lacked_cpus: counted.lacked_cpus(),
        used: used(counted),
        threads: u32::try_from(at_work.len()).unwrap_or(u32::MAX),
        culprit_threads: u32::try_from(culprit_threads).ok(),
        light,
        victim_ms_per_s: window.rate(lost.own_ns),
        above: above(window, group),
        started: runtime.and_then(|it| Some(started(it.runtime, it.settings?))),
        cause: cause(counted, window.machine.cpus, spun(window, group)),
    };
    let found = Finding {
        victim: program_of(key, sums),
        culprits: users.iter().map(|(key, sums)| program_of(key, sums)).collect(),
        cost_ms_per_s: window.rate(lost.all_ns),
        other_victims: lost.others,
        // Counters of the group say nothing about a single wait.
        worst_ms: match lost.sure {
            Sure::Measured => ms(sums.all.throttled_worst_ns),
            Sure::Likely => ms(sums.all.worst_ns),
        },
        sure: lost.sure,
        ..Finding::default()
    };
    let is_limited = |(of, thread): &&(&Key, &ThreadSums)| {
        is_of_first(of) && runtime.is_some_and(|it| is_limited(it.runtime, thread))
    };
    let limited: Vec<&ThreadSums> = at_work.iter().filter(is_limited).map(|one| one.1).collect();
    let limited = runtime.map_or(0, |it| largest_pool(it.runtime, &limited));
    let machine = &window.machine;
    Held { quota, counted, online: machine.cpus, kernel: machine.kernel, runtime, limited, found }
}

/// The quotas of the groups above one, the nearest first.
pub fn above(window: &Window, group: &str) -> Vec<Above> {
    let groups = Path::new(group).ancestors().skip(1).filter_map(Path::to_str);
    let limited = groups.filter_map(|group| window.groups.get_key_value(group));
    let of = |(group, counted): (&String, &GroupSums)| Above {
        group: group.clone(),
        cpus: counted.limit.cpus(),
    };
    limited.map(of).collect()
}

fn throttled_ms_per_s(counted: &GroupSums) -> f64 {
    let over_s = counted.over_ns as f64 / 1e9;
    let throttled = counted.gained.throttled_ns.filter(|_| over_s > 0.0);
    throttled.map_or(0.0, |ns| ms(ns) / over_s)
}

/// CPU time that was used, divided by what the quota allows in that time.
fn used(counted: &GroupSums) -> Option<f64> {
    let allowed = counted.limit.cpus() * 1e3;
    counted.used_ms_per_s().filter(|_| allowed > 0.0).map(|used| used / allowed)
}

/// In each throttled period, a sound kernel gave the group its whole quota, except for what the
/// CPUs kept back.
fn cause(counted: &GroupSums, cpus: u32, spun: Option<f64>) -> Cause {
    if let Some(share) = spun.filter(|share| *share >= SPUN) {
        return Cause::Spun(share);
    }
    let gained = &counted.gained;
    let (Some(used), Some(periods)) = (gained.usage_ns, gained.nr_throttled) else {
        return Cause::UsedUp;
    };
    let quota_ns = counted.limit.quota_us.saturating_mul(1000);
    let kept_back = KEPT_BACK_NS.saturating_mul(u64::from(cpus)).min(quota_ns / 2);
    let given = (quota_ns - kept_back).saturating_mul(periods);
    let under = (used as f64) < given as f64 * UNDER_QUOTA;
    match periods >= UNDER_QUOTA_PERIODS && under {
        true => Cause::UnderQuota,
        false => Cause::UsedUp,
    }
}

/// The share of samples of a group's threads that are at an instruction of busy waiting.
fn spun(window: &Window, group: &str) -> Option<f64> {
    let inside = window.programs.iter().filter(|one| uses(window, *one, group));
    let (samples, spins) = inside.fold((0, 0), |(samples, spins), (_, sums)| {
        (samples + sums.all.samples, spins + sums.all.spins)
    });
    (samples >= LEAST_SAMPLES).then(|| spins as f64 / samples as f64)
}

/// Programs whose CPU time counts towards a quota, in the order of their CPU time, most first.
fn users<'a>(window: &'a Window, group: &str) -> Vec<(&'a Key, &'a Sums)> {
    let mut users: Vec<(&Key, &Sums)> = window
        .programs
        .iter()
        .filter(|one| one.1.all.ran_ns > 0 && uses(window, *one, group))
        .collect();
    users.sort_by(|a, b| b.1.all.ran_ns.cmp(&a.1.all.ran_ns).then_with(|| a.0.cmp(b.0)));
    users.truncate(3);
    users
}

/// A thread, with its program.
type Thread<'a> = (&'a Key, &'a ThreadSums);

/// The threads of a group that used CPU time.
fn that_ran<'a>(window: &'a Window, group: &str) -> Vec<Thread<'a>> {
    let inside = window.programs.iter().filter(|one| uses(window, *one, group));
    let threads = inside.flat_map(|(key, sums)| sums.threads.values().map(move |one| (key, one)));
    let counts = |(key, thread): &Thread| match &thread.group {
        Some(own) => is_in(window, own, group),
        None => is_below(window, key, group),
    };
    threads.filter(|one| window.rate(one.1.ran_ns) >= 1.0 && counts(one)).collect()
}

/// Splits threads into those at work and those that used little CPU time beside the busiest.
fn by_work<'a>(window: &Window, all: Vec<Thread<'a>>) -> (Vec<Thread<'a>>, Light) {
    let most = all.iter().map(|(_, thread)| thread.ran_ns).max().unwrap_or(0);
    let (at_work, light): (Vec<Thread>, Vec<Thread>) =
        all.into_iter().partition(|(_, thread)| thread.ran_ns >= most / IDLE);
    let ran = |threads: &[Thread]| -> u64 {
        threads.iter().map(|(_, thread)| thread.ran_ns).fold(0, u64::saturating_add)
    };
    let (of_light, of_others) = (ran(&light), ran(&at_work));
    let light = Light {
        threads: u32::try_from(light.len()).unwrap_or(u32::MAX),
        cpus: window.rate(of_light) / 1e3,
        share: of_light as f64 / of_light.saturating_add(of_others).max(1) as f64,
    };
    (at_work, light)
}

/// Whether a setting of a runtime limits how many threads of this kind exist or run at once. A
/// program's own threads are as many as it starts, whatever the settings of its runtime.
fn is_limited(runtime: LiveRuntime, thread: &ThreadSums) -> bool {
    match runtime {
        LiveRuntime::Jvm => OF_JVM.iter().any(|start| thread.name.starts_with(start)),
        // Newer versions name the threads of the pool. In older ones, all threads but the first
        // have its name.
        LiveRuntime::Node => {
            let is_named = thread.name.starts_with("libuv-worker");
            is_named || thread.tid != thread.pid && &*thread.name == "node"
        }
        LiveRuntime::Go => true,
        LiveRuntime::Beam => pool_of_beam(&thread.name).is_some(),
    }
}

/// The pool of a thread of the Erlang VM that `+S` or `+SDcpu` limits. Neither of them makes dirty
/// IO schedulers or threads of native code fewer.
fn pool_of_beam(name: &str) -> Option<usize> {
    match ThreadKind::of(name) {
        ThreadKind::Scheduler(_) => Some(0),
        ThreadKind::DirtyCpu(_) => Some(1),
        _ => None,
    }
}

/// The threads of the largest pool among these. A JVM always has one compiler of each kind, however
/// few CPUs it is told to use.
fn largest_pool(runtime: LiveRuntime, limited: &[&ThreadSums]) -> u32 {
    let mut pools: HashMap<Option<usize>, u32> = HashMap::new();
    for thread in limited {
        let pool = match runtime {
            LiveRuntime::Jvm => OF_JVM.iter().position(|start| thread.name.starts_with(start)),
            LiveRuntime::Beam => pool_of_beam(&thread.name),
            LiveRuntime::Node | LiveRuntime::Go => None,
        };
        *pools.entry(pool).or_default() += 1;
    }
    pools.into_values().max().unwrap_or(0)
}

fn started(runtime: LiveRuntime, settings: Settings) -> Started {
    let settings = [settings.cpus, settings.collectors].into_iter().flatten().collect();
    Started { runtime, settings }
}

/// The name of a runtime in a sentence.
pub fn name(runtime: LiveRuntime) -> &'static str {
    match runtime {
        LiveRuntime::Jvm => "the JVM",
        LiveRuntime::Node => "Node.js",
        LiveRuntime::Go => "Go",
        LiveRuntime::Beam => "the BEAM",
    }
}

fn first_up(text: &str) -> String {
    let (first, rest) = text.split_at(1);
    format!("{}{rest}", first.to_uppercase())
}

/// Whether a program is in a group, or in one below it.
fn is_below(window: &Window, key: &Key, group: &str) -> bool {
    key.group.as_deref().is_some_and(|own| is_in(window, own, group))
}

/// Whether a group is this one, or is below it.
fn is_in(window: &Window, own: &str, group: &str) -> bool {
    own == group || window.lineages.get(own).is_some_and(|all| all.iter().any(|one| one == group))
}

/// Whether some threads of a program are in a group or below it, and their process may not be.
fn has_threads_in(window: &Window, sums: &Sums, group: &str) -> bool {
    let mut own = sums.threads.values().filter_map(|thread| thread.group.as_deref());
    own.any(|own| is_in(window, own, group))
}

/// Whether CPU time of a program counts towards the quota of a group.
fn uses(window: &Window, (key, sums): (&Key, &Sums), group: &str) -> bool {
    is_below(window, key, group) || has_threads_in(window, sums, group)
}

fn whose(window: &Window, (key, sums): (&Key, &Sums), group: &str) -> Whose {
    if key.group.as_deref() == Some(group) {
        Whose::Own
    } else if !is_below(window, key, group) && has_threads_in(window, sums, group) {
        Whose::Threads
    } else {
        Whose::Ancestor
    }
}

impl Window {
    fn groups_in_order(&self) -> Vec<(&String, &GroupSums)> {
        let mut all: Vec<_> = self.groups.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }
}

/// A smaller quota above, for samples of facts.
#[cfg(any(test, feature = "testing"))]
pub fn sample_above() -> Vec<Above> {
    vec![Above { group: "/pod".to_owned(), cpus: 0.5 }]
}

/// A quota for samples of facts.
#[cfg(any(test, feature = "testing"))]
pub fn sample() -> Quota<Cause> {
    Quota {
        group: "/app".to_owned(),
        quota_us: 50_000,
        period_us: 100_000,
        throttled_periods: 0.9,
        throttled_ms_per_s: 480.0,
        lacked_cpus: 0.48,
        used: Some(0.98),
        threads: 4,
        culprit_threads: Some(4),
        victim_ms_per_s: 300.0,
        ..Quota::default()
    }
}
