//! Runtimes that use up a quota with more threads at work at once than it allows, and that have a
//! setting which would leave fewer threads.

use super::quota::{self, Enough, Held, LIMIT_MS_PER_S, Quota, held, name};
#[cfg(any(test, feature = "testing"))]
use super::quota::{Started, sample, sample_above};
use super::stall::{Seen, Stall};
use super::words;
use crate::runtime::{LiveRuntime, Setting};
use crate::sums::largest;
use crate::window::Window;
use model::live::{AnswerState, Finding, Source};
use model::suggestion::{Command, Run};
use scenarios::params::{Auto, Params, Time};
use scenarios::quota_blind::{META, QuotaBlindParams, Runtime};
use serde::{Deserialize, Serialize};

/// A runtime had too many threads at work at once if its group was throttled for longer than this
/// many times a bound. The bound is how long the number of threads that the quota allows could be
/// throttled, in each throttled period and on all CPUs together. A correctly configured runtime
/// plus one thread is throttled up to 25% longer.
const AT_ONCE: f64 = 1.3;

/// If the threads that a quota allows pause for less than this share of a period, it is a quota of
/// whole CPUs. With one thread more, all of them together are throttled for one period in each
/// period.
const WHOLE_CPUS: f64 = 0.1;

/// A runtime uses up the victim's quota too early in the period.
pub struct QuotaBlind;

/// The quota, and whose threads used it up.
type Facts = Quota<Cause>;

/// What used it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// The runtime that had more threads at work at once than the quota allows.
    runtime: LiveRuntime,
    /// Threads at work in its largest pool. Only pools count that a setting of the runtime limits.
    #[serde(default)]
    limited: u32,
}

/// What fixes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// Tell a runtime to use this many CPUs, through its own setting.
    TellRuntime(LiveRuntime, u32),
    /// Let a JVM collect garbage with this many threads. It was started with a larger number.
    FewerCollectors(u32),
    /// At least this many CPUs: a quota of this size would have been enough.
    RaiseQuota(f64),
    /// The same, with quotas above it that are smaller than that.
    RaiseQuotas(Enough),
}

impl Stall for QuotaBlind {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        held(window).into_iter().filter_map(finding).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        Some(seen.measured_by::<Self>(Source::CpuStat, most(seen.window), LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let unread = match facts.started {
            Some(_) => "",
            None => " The settings that it was started with could not be read.",
        };
        format!(
            "{} {}: {} runs more threads at once than the quota allows.{}{}{}{unread}",
            facts.sentence(finding),
            facts.used_up(finding, " early in the period"),
            name(facts.cause.runtime),
            facts.lost_alone(finding),
            facts.used_in_all(),
            facts.started_with(),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::TellRuntime(runtime, cpus) => {
                let more = match runtime {
                    LiveRuntime::Beam => format!(" +SDcpu {cpus}:{cpus}."),
                    // Older versions give all of their threads one name.
                    LiveRuntime::Node => ". This does not limit worker_threads.".to_owned(),
                    LiveRuntime::Jvm | LiveRuntime::Go => ".".to_owned(),
                };
                let setting = setting(*runtime, *cpus).written();
                format!("Limit {} to the CPUs of its quota: {setting}{more}", name(*runtime))
            }
            Fix::FewerCollectors(count) => format!(
                "Have the JVM collect garbage with fewer threads: {}.",
                Setting::ParallelGcThreads(*count).written()
            ),
            Fix::RaiseQuota(cpus) => words::raise_quota(*cpus),
            Fix::RaiseQuotas(enough) => enough.sentence(),
        }
    }

    fn quota(facts: &Facts) -> Option<&str> {
        Some(&facts.group)
    }

    fn whole_group(facts: &Facts) -> Option<&str> {
        Some(&facts.group)
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let of = |runtime, settings: Option<Vec<Setting>>| {
            let started = settings.map(|settings| Started { runtime, settings });
            let facts = sample().with(Cause { runtime, limited: 4 });
            Facts { started, ..facts }
        };
        let collectors = vec![Setting::ActiveProcessorCount(1), Setting::ParallelGcThreads(4)];
        let all = [
            of(LiveRuntime::Jvm, Some(vec![])),
            of(LiveRuntime::Jvm, Some(collectors)),
            of(LiveRuntime::Node, Some(vec![Setting::UvThreadpoolSize(8)])),
            of(LiveRuntime::Go, Some(vec![Setting::GoMaxProcs(2)])),
            of(LiveRuntime::Beam, None),
            Facts { above: sample_above(), ..of(LiveRuntime::Go, Some(vec![])) },
        ];
        all.map(|facts| (facts.clone(), fixes(&facts, 8))).into()
    }
}

/// The runtime that used up a quota with more threads at once than it allows. None if no runtime
/// did, or if it has no further setting that would leave fewer threads.
pub fn runtime(held: &Held) -> Option<LiveRuntime> {
    let runtime = held.runtime.map(|it| it.runtime)?;
    let is_one = held.quota.cause == quota::Cause::UsedUp
        && held.limited > held.quota.whole_cpus()
        && at_once(held)
        && !settings(&held.quota, runtime).is_empty();
    is_one.then_some(runtime)
}

/// The settings that would leave a runtime no more threads than its quota allows, except those
/// that it was started with.
fn settings<C>(quota: &Quota<C>, runtime: LiveRuntime) -> Vec<Fix> {
    let wanted = quota.whole_cpus();
    let told = quota.started.as_ref().map(|started| started.settings.as_slice());
    let (collectors, cpus): (Vec<Setting>, Vec<Setting>) = (told.unwrap_or_default().iter())
        .partition(|setting| matches!(setting, Setting::ParallelGcThreads(_)));
    let mut all = Vec::new();
    if !cpus.iter().any(|setting| setting.number() <= wanted) {
        all.push(Fix::TellRuntime(runtime, wanted));
    }
    if collectors.iter().any(|setting| setting.number() > wanted) {
        all.push(Fix::FewerCollectors(wanted));
    }
    all
}

/// The most that programs lose to a quota that one of their runtimes uses up too early.
fn most(window: &Window) -> f64 {
    let all = quota::from(window, 0.0).into_iter().filter(|held| runtime(held).is_some());
    largest(all.map(|held| held.found.cost_ms_per_s))
}

/// Whether more threads than the quota allows were at work at once. As many threads as it allows
/// use it up no earlier, and are then throttled for at most the rest of the period.
fn at_once(held: &Held) -> bool {
    let (facts, gained) = (&held.quota, &held.counted.gained);
    let (Some(held_ns), Some(periods)) = (gained.throttled_ns, gained.nr_throttled) else {
        return false;
    };
    let cpus = facts.whole_cpus();
    let rest_us = facts.period_us.saturating_sub(facts.quota_us / u64::from(cpus.max(1)));
    let most_us = rest_us.saturating_mul(u64::from(cpus));
    let each_us = held_ns as f64 / 1e3 / (periods as f64).max(1.0);
    let period_us = facts.period_us as f64;
    let is_whole = (rest_us as f64) < period_us * WHOLE_CPUS;
    let most_us = if is_whole { period_us } else { most_us as f64 * AT_ONCE };
    periods > 0 && facts.threads > cpus && each_us > most_us
}

fn finding(held: Held) -> Option<Finding> {
    let runtime = runtime(&held)?;
    let Finding { victim, other_victims, culprits, cost_ms_per_s, worst_ms, sure, .. } = held.found;
    let facts = held.quota.with(Cause { runtime, limited: held.limited });
    let run = Some(run(&facts));
    let found = QuotaBlind::found(&facts, &fixes(&facts, held.online));
    Some(Finding { victim, other_victims, culprits, cost_ms_per_s, worst_ms, sure, run, ..found })
}

fn fixes(facts: &Facts, online: u32) -> Vec<Fix> {
    let mut all = settings(facts, facts.cause.runtime);
    // The new quota may be large enough.
    if !facts.is_over() {
        all.push(facts.enough(online).fix(Fix::RaiseQuota, Fix::RaiseQuotas));
    }
    all
}

/// The same in the lab: the same runtime under the same quota.
fn run(facts: &Facts) -> Run {
    let usual = QuotaBlindParams::default();
    let runtime = match facts.cause.runtime {
        LiveRuntime::Jvm => Runtime::Jvm,
        LiveRuntime::Node => Runtime::Node,
        LiveRuntime::Go => Runtime::Go,
        LiveRuntime::Beam => Runtime::Beam,
    };
    let written = format!("{}/{}", Time::us(facts.quota_us), Time::us(facts.period_us));
    let quota = written.parse().unwrap_or(usual.quota);
    let params = QuotaBlindParams { runtime: Auto::Is(runtime), quota, ..usual.clone() };
    let parameters = params.settings().differing(&usual.settings());
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters }
}

/// The setting that gives a runtime its number of CPUs.
fn setting(runtime: LiveRuntime, cpus: u32) -> Setting {
    match runtime {
        LiveRuntime::Jvm => Setting::ActiveProcessorCount(cpus),
        LiveRuntime::Node => Setting::UvThreadpoolSize(cpus),
        LiveRuntime::Go => Setting::GoMaxProcs(cpus),
        LiveRuntime::Beam => Setting::Schedulers(cpus),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::cpu_quota::CpuQuota;
    use crate::runtime::Settings;
    use crate::testing::{group, held_by_quota, thread};
    use crate::tick::{RuntimeTick, Tick};
    use probe::live::ThreadCounts;

    /// A runtime with these settings, in a group of half a CPU that is throttled as long as two
    /// CPUs together can be. Two threads of these names worked beside the first one.
    fn tick(runtime: LiveRuntime, settings: Settings, names: [&str; 2]) -> Tick {
        let mut tick = held_by_quota(0, 400);
        tick.runtimes.insert(1, RuntimeTick { runtime, settings: Some(settings) });
        for (tid, name) in (2..).zip(names) {
            let name = name.to_owned();
            tick.threads.push(ThreadCounts { tid, name, ..thread(1, 250, 0) });
        }
        // A single thread would be throttled for at most 50 ms of each throttled period.
        tick.groups.push(group("/a/b", 50, 500, (10, 900)));
        tick
    }

    /// The fixes of a finding of quota-blind; None if the finding is of cpu-quota.
    fn fixes_of(tick: &Tick) -> Option<Vec<Fix>> {
        let window = Window::of([tick]);
        let (blind, quota) = (QuotaBlind::find(&window), CpuQuota::find(&window));
        assert_eq!(blind.len() + quota.len(), 1, "{blind:?} {quota:?}");
        blind.first().map(|found| found.fixes.read().unwrap())
    }

    #[test]
    fn a_runtime_with_more_threads_than_its_quota_allows_is_told_by_name() {
        let mut tick = tick(LiveRuntime::Node, Settings::default(), ["node", "node"]);
        let window = Window::of([&tick]);
        let all = QuotaBlind::find(&window);
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!(found.limit_ms_per_s, LIMIT_MS_PER_S);
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.cause.runtime, facts.cause.limited), (LiveRuntime::Node, 2));
        let fixes: Vec<Fix> = found.fixes.read().unwrap();
        assert_eq!(fixes[0], Fix::TellRuntime(LiveRuntime::Node, 1));
        let run = found.run.as_ref().unwrap();
        assert_eq!(run.scenario, "quota-blind");
        // Its quota is the default of the scenario.
        assert_eq!(run.parameters.0.len(), 1);
        assert_eq!(run.parameters.0["runtime"].to_string(), "node");
        assert_eq!(most(&window), 400.0);
        assert!(CpuQuota::find(&window).is_empty(), "it is no cpu-quota");
        let seen = Seen { window: &window, findings: &[], sources: &[] };
        let no = AnswerState::NotHitting { most_ms_per_s: 0.0, finding_at_ms_per_s: 10.0 };
        assert_eq!(CpuQuota::answer(&seen), Some(no));
        // Throttled as long as a single thread would be: it only wants more than it has.
        tick.groups = vec![group("/a/b", 50, 500, (10, 480))];
        assert_eq!(fixes_of(&tick), None);
        // Under a quota of whole CPUs, any throttling is more than a single thread's.
        tick.groups = vec![group("/a/b", 100, 1_000, (10, 900))];
        assert_eq!(fixes_of(&tick), None);
        tick.groups = vec![group("/a/b", 100, 1_000, (10, 1_500))];
        assert!(fixes_of(&tick).is_some());
        // The same for a program whose runtime is not known.
        tick.runtimes.clear();
        tick.groups = vec![group("/a/b", 50, 500, (10, 900))];
        assert_eq!(fixes_of(&tick), None);
    }

    #[test]
    fn a_setting_that_a_runtime_was_started_with_is_no_fix() {
        let told = |setting| Settings { cpus: Some(setting), collectors: None };
        let node = |settings| tick(LiveRuntime::Node, settings, ["node", "node"]);
        assert_eq!(fixes_of(&node(told(Setting::UvThreadpoolSize(1)))), None);
        let more = fixes_of(&node(told(Setting::UvThreadpoolSize(8)))).unwrap();
        assert_eq!(more[0], Fix::TellRuntime(LiveRuntime::Node, 1));
        let mut both = told(Setting::ActiveProcessorCount(1));
        let jvm = |settings| tick(LiveRuntime::Jvm, settings, ["GC Thread#0", "GC Thread#1"]);
        assert_eq!(fixes_of(&jvm(both)), None);
        both.collectors = Some(Setting::ParallelGcThreads(2));
        assert_eq!(fixes_of(&jvm(both)).unwrap()[0], Fix::FewerCollectors(1));
    }

    #[test]
    fn threads_that_no_setting_makes_fewer_are_the_programs_own() {
        let jvm = |names| tick(LiveRuntime::Jvm, Settings::default(), names);
        assert_eq!(fixes_of(&jvm(["Thread-0", "Thread-1"])), None);
        // There is always one compiler of each kind.
        assert_eq!(fixes_of(&jvm(["C1 CompilerThre", "C2 CompilerThre"])), None);
        // These are two pools, or only one thread each.
        assert_eq!(fixes_of(&jvm(["G1 Conc#0", "G1 Refine#0"])), None);
        assert_eq!(fixes_of(&jvm(["G1 Main Marker", "G1 Service"])), None);
        assert!(fixes_of(&jvm(["G1 Conc#0", "G1 Conc#1"])).is_some());
        assert!(fixes_of(&jvm(["GC Thread#0", "GC Thread#1"])).is_some());
        // `+S` and `+SDcpu` limit a pool each, and neither of them limits other threads.
        let beam = |names| tick(LiveRuntime::Beam, Settings::default(), names);
        assert_eq!(fixes_of(&beam(["erts_dios_1", "erts_dios_2"])), None);
        assert_eq!(fixes_of(&beam(["native_pool", "native_pool"])), None);
        assert_eq!(fixes_of(&beam(["erts_sched_1", "erts_dcpus_1"])), None);
        assert!(fixes_of(&beam(["erts_sched_1", "erts_sched_2"])).is_some());
        assert!(fixes_of(&beam(["1_dirty_cpu_sch", "2_dirty_cpu_sch"])).is_some());
        // Threads that hardly run do not count either.
        let mut idle = jvm(["GC Thread#0", "VM Periodic Tas"]);
        idle.threads.iter_mut().skip(1).for_each(|thread| thread.ran_ns = 10_000_000);
        assert_eq!(fixes_of(&idle), None);
        let window = Window::of([&idle]);
        let facts: quota::Quota<quota::Cause> = CpuQuota::find(&window)[0].facts.read().unwrap();
        assert_eq!((facts.threads, (facts.wanted_cpus() * 100.0).round()), (1, 106.0));
    }
}
