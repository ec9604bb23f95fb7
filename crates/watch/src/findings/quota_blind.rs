//! Runtimes that use a quota up with more threads at work at once than it allows.

#[cfg(any(test, feature = "testing"))]
use super::quota::sample;
use super::quota::{self, Held, LIMIT_MS_PER_S, Quota, held};
use super::stall::{Seen, Stall};
use super::words;
use crate::sums::largest;
use crate::tick::LiveRuntime;
use crate::window::Window;
use model::live::{AnswerState, Finding, Source};
use model::prose::figures::plural;
use model::suggestion::{Command, Run};
use scenarios::params::{Auto, Params, Time};
use scenarios::quota_blind::{META, QuotaBlindParams, Runtime};
use serde::{Deserialize, Serialize};

/// A runtime had too many threads at work at once where its group stood still for this many times
/// as long as the number of threads that its quota allows could, in each throttled period and on
/// all CPUs together. A correctly configured runtime plus one thread stalls up to 25% longer.
const AT_ONCE: f64 = 1.3;

/// A runtime uses the victim's quota up too early in the period.
pub struct QuotaBlind;

/// The quota, and whose threads used it up.
type Facts = Quota<Cause>;

/// What used it up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cause {
    /// A runtime that had more threads at work at once than the quota allows.
    runtime: LiveRuntime,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// Tell a runtime to use this many CPUs, by its own setting.
    TellRuntime(LiveRuntime, u32),
    /// A quota of this many CPUs would have been enough for what was wanted, at least.
    RaiseQuota(f64),
}

impl Stall for QuotaBlind {
    const ID: &'static str = META.id;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        held(window).into_iter().filter_map(finding).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        Some(seen.measured_by::<Self>(Source::CpuStat, most(seen.window), LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        format!(
            "{} {} used it up early in the period with {}: {} runs more threads at once than the \
             quota allows.{}",
            facts.sentence(),
            words::culprit(finding),
            plural(facts.threads.into(), "thread"),
            name(facts.cause.runtime),
            facts.used_in_all(),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::TellRuntime(runtime, cpus) => format!(
                "Limit {} to the CPUs of its quota: {}.",
                name(*runtime),
                setting(*runtime, *cpus)
            ),
            Fix::RaiseQuota(cpus) => words::raise_quota(*cpus),
        }
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let all = [LiveRuntime::Jvm, LiveRuntime::Node, LiveRuntime::Go, LiveRuntime::Beam];
        let of = |runtime| sample().with(Cause { runtime });
        all.map(of).map(|facts| (facts.clone(), fixes(&facts))).into()
    }
}

/// The runtime that used a quota up with more threads at once than it allows, if one did.
pub fn runtime(held: &Held) -> Option<LiveRuntime> {
    held.runtime.filter(|_| held.quota.cause == quota::Cause::UsedUp && at_once(held))
}

/// The most that programs lose to a quota that a runtime of theirs uses up too early.
fn most(window: &Window) -> f64 {
    let all = held(window).into_iter().filter(|held| runtime(held).is_some());
    largest(all.map(|held| held.found.cost_ms_per_s))
}

/// Whether more threads than the quota allows were at work at once: as many threads as that use it
/// up no earlier, and then stand still for the rest of the period at most.
fn at_once(held: &Held) -> bool {
    let (facts, gained) = (&held.quota, &held.counted.gained);
    let (Some(held_ns), Some(periods)) = (gained.throttled_ns, gained.nr_throttled) else {
        return false;
    };
    let cpus = whole_cpus(facts);
    let rest_us = facts.period_us.saturating_sub(facts.quota_us / u64::from(cpus.max(1)));
    let most_us = rest_us.saturating_mul(u64::from(cpus));
    let each_us = held_ns as f64 / 1e3 / (periods as f64).max(1.0);
    periods > 0 && facts.threads > cpus && each_us > most_us as f64 * AT_ONCE
}

/// The whole CPUs that a quota comes to.
fn whole_cpus<C>(facts: &Quota<C>) -> u32 {
    u32::try_from(facts.quota_us.div_ceil(facts.period_us.max(1))).unwrap_or(u32::MAX)
}

fn finding(held: Held) -> Option<Finding> {
    let runtime = runtime(&held)?;
    let Finding { victim, culprits, cost_ms_per_s, worst_ms, sure, .. } = held.found;
    let facts = held.quota.with(Cause { runtime });
    let run = Some(run(&facts));
    let found = QuotaBlind::found(&facts, &fixes(&facts));
    Some(Finding { victim, culprits, cost_ms_per_s, worst_ms, sure, run, ..found })
}

fn fixes(facts: &Facts) -> Vec<Fix> {
    let tell = Fix::TellRuntime(facts.cause.runtime, whole_cpus(facts));
    vec![tell, Fix::RaiseQuota(facts.wanted_cpus())]
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

fn name(runtime: LiveRuntime) -> &'static str {
    match runtime {
        LiveRuntime::Jvm => "the JVM",
        LiveRuntime::Node => "Node.js",
        LiveRuntime::Go => "Go",
        LiveRuntime::Beam => "the BEAM",
    }
}

/// The setting that gives a runtime its number of CPUs.
fn setting(runtime: LiveRuntime, cpus: u32) -> String {
    match runtime {
        LiveRuntime::Jvm => format!("-XX:ActiveProcessorCount={cpus}"),
        LiveRuntime::Node => format!("UV_THREADPOOL_SIZE={cpus}"),
        LiveRuntime::Go => format!("GOMAXPROCS={cpus}"),
        LiveRuntime::Beam => format!("+S {cpus}:{cpus} +SDcpu {cpus}:{cpus}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::findings::cpu_quota::CpuQuota;
    use crate::testing::{group, held_by_quota, thread};
    use crate::tick::Tick;
    use probe::live::ThreadCounts;

    #[test]
    fn a_runtime_with_more_threads_than_its_quota_allows_is_told_by_name() {
        let mut tick = held_by_quota(0, 400);
        tick.runtimes.insert(1, LiveRuntime::Node);
        tick.threads.push(ThreadCounts { tid: 2, ..thread(1, 250, 0) });
        // A thread alone would be without a CPU for 50 ms of each throttled period at most.
        tick.groups.push(group("/a/b", 50, 500, (10, 900)));
        let window = Window::of([&tick]);
        let all = QuotaBlind::find(&window);
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!(facts.cause.runtime, LiveRuntime::Node);
        let fixes: Vec<Fix> = found.fixes.read().unwrap();
        assert_eq!(fixes[0], Fix::TellRuntime(LiveRuntime::Node, 1));
        let run = found.run.as_ref().unwrap();
        assert_eq!(run.scenario, "quota-blind");
        // Its quota is what the scenario has by default.
        assert_eq!(run.parameters.0.len(), 1);
        assert_eq!(run.parameters.0["runtime"].to_string(), "node");
        assert_eq!(most(&window), 400.0);
        assert!(CpuQuota::find(&window).is_empty(), "it is no cpu-quota");
        let seen = Seen { window: &window, findings: &[], sources: &[] };
        let no = AnswerState::NotHitting { most_ms_per_s: 0.0, finding_at_ms_per_s: 10.0 };
        assert_eq!(CpuQuota::answer(&seen), Some(no));
        let is_quota = |tick: &Tick| {
            let window = Window::of([tick]);
            QuotaBlind::find(&window).is_empty() && CpuQuota::find(&window).len() == 1
        };
        // As long as one thread alone is: it only wants more than it has.
        tick.groups = vec![group("/a/b", 50, 500, (10, 480))];
        assert!(is_quota(&tick));
        // And a program whose runtime is not known.
        tick.runtimes.clear();
        tick.groups = vec![group("/a/b", 50, 500, (10, 900))];
        assert!(is_quota(&tick));
    }
}
