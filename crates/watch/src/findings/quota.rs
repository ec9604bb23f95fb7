//! Programs that a quota holds, and why it was used up.

use super::runtime;
use crate::limits::{QUOTA_MS_PER_S, SPUN, SPUN_SAMPLES, UNDER_QUOTA, UNDER_QUOTA_PERIODS};
use crate::parts::program_of;
use crate::sums::{GroupSums, Key, Sums, largest, ms};
use crate::window::Window;
use model::live::{Finding, FindingKind, LiveFix, QuotaCause, QuotaFinding, Sure, Whose};
use model::suggestion::{Command, Run};
use scenarios::cpu_quota::{CpuQuotaParams, META};
use scenarios::params::{Params, Time};

/// What a sound kernel may keep back on each CPU in a period, in nanoseconds.
const KEPT_BACK_NS: u64 = 1_000_000;

pub fn find(window: &Window) -> Vec<Finding> {
    let mut found = Vec::new();
    for (group, sums) in window.groups_in_order() {
        found.extend(of_group(window, group, sums));
    }
    found
}

/// The most that all programs together lose to the quota of one group, in milliseconds a second;
/// without groups whose quota a runtime uses up too early, which is another stall.
pub fn most(window: &Window) -> f64 {
    let of_runtimes: Vec<String> =
        of_runtimes(window).into_iter().map(|(_, facts)| facts.group).collect();
    let groups = window.groups.iter().filter(|(group, _)| !of_runtimes.contains(group));
    let held = |group: &String| {
        let of = |sums: &Sums| sums.quota.get(&Some(group.clone())).copied().unwrap_or(0);
        window.victims().map(|(_, sums)| of(sums)).fold(0, u64::saturating_add)
    };
    match window.machine.switches {
        Some(_) => largest(groups.map(|(group, _)| window.rate(held(group)))),
        None => {
            let counted = groups.filter_map(|(_, sums)| sums.gained.throttled_ns);
            largest(counted.map(|ns| window.rate(ns)))
        }
    }
}

/// The most that programs lose to a quota that a runtime of theirs uses up too early.
pub fn most_to_runtimes(window: &Window) -> f64 {
    largest(of_runtimes(window).into_iter().map(|(cost, _)| cost))
}

/// What was lost to each quota that a runtime uses up too early, in milliseconds a second.
fn of_runtimes(window: &Window) -> Vec<(f64, QuotaFinding)> {
    let of = |finding: Finding| match finding.kind {
        FindingKind::Quota(facts) => Some((finding.cost_ms_per_s, facts)),
        _ => None,
    };
    let all = find(window).into_iter().filter_map(of);
    all.filter(|(_, facts)| matches!(facts.cause, QuotaCause::Runtime(_))).collect()
}

/// Of all programs that a group's quota holds the one that loses most.
fn of_group(window: &Window, group: &str, counted: &GroupSums) -> Option<Finding> {
    if window.machine.switches.is_none() {
        return of_counters(window, group, counted);
    }
    let held = |sums: &Sums| sums.quota.get(&Some(group.to_owned())).copied().unwrap_or(0);
    let victims: Vec<(&Key, &Sums)> = window.victims().filter(|(_, sums)| held(sums) > 0).collect();
    let (key, sums) = *victims.iter().max_by_key(|(_, sums)| held(sums))?;
    let all = victims.iter().map(|(_, sums)| held(sums)).fold(0, u64::saturating_add);
    if window.rate(all) < QUOTA_MS_PER_S {
        return None;
    }
    Some(finding(window, (group, counted), (key, sums), (all, Sure::Measured)))
}

/// Where no program in the kernel says which thread was held: the group's own counters, and of the
/// programs in it the one that waited longest.
fn of_counters(window: &Window, group: &str, counted: &GroupSums) -> Option<Finding> {
    let throttled = counted.gained.throttled_ns?;
    let inside = window.victims().filter(|(key, _)| is_below(window, key, group));
    let (key, sums) = inside.max_by_key(|(_, sums)| sums.all.ready_ns)?;
    let is_much = window.rate(throttled) >= QUOTA_MS_PER_S;
    is_much.then(|| finding(window, (group, counted), (key, sums), (throttled, Sure::Likely)))
}

fn finding(
    window: &Window,
    (group, counted): (&str, &GroupSums),
    (key, sums): (&Key, &Sums),
    (lost_ns, sure): (u64, Sure),
) -> Finding {
    let facts = QuotaFinding {
        group: group.to_owned(),
        whose: if key.group.as_deref() == Some(group) { Whose::Own } else { Whose::Ancestor },
        quota_us: counted.limit.quota_us,
        period_us: counted.limit.period_us,
        throttled_periods: share(counted.gained.nr_throttled, counted.gained.nr_periods),
        throttled_ms_per_s: counted.gained.throttled_ns.map_or(0.0, |ns| window.rate(ns)),
        used: used(counted),
        threads: running_threads(window, group),
        cause: cause(counted, window.machine.cpus, spun(window, group)),
    };
    let users = users(window, group);
    let runtime = users.first().and_then(|(_, sums)| sums.runtime);
    let facts = runtime::told_apart(facts, counted, runtime);
    Finding {
        victim: program_of(key, sums),
        culprits: users.iter().map(|(key, sums)| program_of(key, sums)).collect(),
        cost_ms_per_s: window.rate(lost_ns),
        worst_ms: ms(sums.all.worst_ns),
        since_s: 0.0,
        sure,
        fixes: fixes(&facts),
        run: run(&facts),
        kind: FindingKind::Quota(facts),
    }
}

fn share(part: Option<u64>, of: Option<u64>) -> f64 {
    match (part, of) {
        (Some(part), Some(of)) if of > 0 => part as f64 / of as f64,
        _ => 0.0,
    }
}

/// CPU time that was used, over what the quota allows in that time.
fn used(counted: &GroupSums) -> Option<f64> {
    let allowed = counted.limit.cpus() * counted.over_ns as f64;
    (allowed > 0.0).then(|| counted.gained.usage_ns.map(|ns| ns as f64 / allowed)).flatten()
}

/// In each period in which it was throttled a sound kernel gave it its whole quota, but for what
/// the CPUs kept back.
fn cause(counted: &GroupSums, cpus: u32, spun: Option<f64>) -> QuotaCause {
    if let Some(share) = spun.filter(|share| *share >= SPUN) {
        return QuotaCause::Spun(share);
    }
    let gained = &counted.gained;
    let (Some(used), Some(periods)) = (gained.usage_ns, gained.nr_throttled) else {
        return QuotaCause::UsedUp;
    };
    let quota_ns = counted.limit.quota_us.saturating_mul(1000);
    let kept_back = KEPT_BACK_NS.saturating_mul(u64::from(cpus)).min(quota_ns / 2);
    let given = (quota_ns - kept_back).saturating_mul(periods);
    let under = (used as f64) < given as f64 * UNDER_QUOTA;
    match periods >= UNDER_QUOTA_PERIODS && under {
        true => QuotaCause::UnderQuota,
        false => QuotaCause::UsedUp,
    }
}

/// The share of samples of a group's threads at an instruction of active waiting.
fn spun(window: &Window, group: &str) -> Option<f64> {
    let inside = window.programs.iter().filter(|(key, _)| is_below(window, key, group));
    let (samples, spins) = inside.fold((0, 0), |(samples, spins), (_, sums)| {
        (samples + sums.all.samples, spins + sums.all.spins)
    });
    (samples >= SPUN_SAMPLES).then(|| spins as f64 / samples as f64)
}

/// Programs whose CPU time a quota counts, those that used most first.
fn users<'a>(window: &'a Window, group: &str) -> Vec<(&'a Key, &'a Sums)> {
    let mut users: Vec<(&Key, &Sums)> = window
        .programs
        .iter()
        .filter(|(key, sums)| sums.all.ran_ns > 0 && is_below(window, key, group))
        .collect();
    users.sort_by(|a, b| b.1.all.ran_ns.cmp(&a.1.all.ran_ns).then_with(|| a.0.cmp(b.0)));
    users.truncate(3);
    users
}

fn running_threads(window: &Window, group: &str) -> u32 {
    let of = |(key, sums): (&Key, &Sums)| {
        let ran = |thread: &&probe::live::ThreadCounts| window.rate(thread.ran_ns) >= 1.0;
        if is_below(window, key, group) { sums.threads.values().filter(ran).count() } else { 0 }
    };
    u32::try_from(window.programs.iter().map(of).sum::<usize>()).unwrap_or(u32::MAX)
}

fn is_below(window: &Window, key: &Key, group: &str) -> bool {
    let Some(own) = &key.group else { return false };
    own == group || window.lineages.get(own).is_some_and(|all| all.iter().any(|one| one == group))
}

fn fixes(facts: &QuotaFinding) -> Vec<LiveFix> {
    let cpus = facts.quota_us as f64 / facts.period_us.max(1) as f64;
    let wanted = cpus + facts.throttled_ms_per_s / 1e3;
    match facts.cause {
        QuotaCause::UnderQuota => vec![LiveFix::NewerKernel("5.4".to_owned())],
        QuotaCause::Spun(_) => vec![LiveFix::StopSpinning, LiveFix::FewerThreads],
        QuotaCause::Runtime(runtime) => {
            let cpus = runtime::whole_cpus(facts);
            vec![LiveFix::TellRuntime(runtime, cpus), LiveFix::RaiseQuota(wanted)]
        }
        // What it used on the average would have been enough: the work comes in bursts.
        QuotaCause::UsedUp if facts.used.is_some_and(|used| used < 0.8) => {
            vec![LiveFix::Burst, LiveFix::RaiseQuota(wanted)]
        }
        QuotaCause::UsedUp if f64::from(facts.threads) > cpus.ceil() => {
            vec![LiveFix::RaiseQuota(wanted), LiveFix::FewerThreads]
        }
        QuotaCause::UsedUp => vec![LiveFix::RaiseQuota(wanted)],
    }
}

/// The same in the lab: the same quota, period and number of threads.
fn run(facts: &QuotaFinding) -> Option<Run> {
    if let QuotaCause::Runtime(runtime) = facts.cause {
        return Some(runtime::run(runtime, facts));
    }
    let params = CpuQuotaParams {
        quota: Time::us(facts.quota_us),
        period: Time::us(facts.period_us),
        threads: facts.threads.clamp(1, 1024),
        ..CpuQuotaParams::default()
    };
    Some(Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() })
}

impl Window {
    fn groups_in_order(&self) -> Vec<(&String, &GroupSums)> {
        let mut all: Vec<_> = self.groups.iter().collect();
        all.sort_by(|a, b| a.0.cmp(b.0));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, group, process, second, thread};
    use crate::tick::Tick;
    use model::live::LiveRuntime;
    use probe::live::ThreadCounts;

    /// A program in `/a/b`, which the group at that level holds for so long.
    fn tick(level: usize, held_ms: u64) -> Tick {
        let mut tick = second();
        process(&mut tick, 1, "web", Some("/a/b"));
        tick.lineages.insert("/a/b".into(), vec!["/a/b".into(), "/a".into(), "/".into()]);
        let mut victim = thread(1, 500, held_ms + 10);
        victim.throttled_ns[level] = held_ms * MS;
        tick.threads.push(victim);
        tick.machine.switches = Some(1000);
        tick
    }

    #[test]
    fn without_programs_the_groups_own_counters_are_likely_right() {
        let mut tick = tick(0, 0);
        tick.machine.switches = None;
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        let all = find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.sure, found.cost_ms_per_s), (Sure::Likely, 480.0));
    }

    #[test]
    fn a_quota_that_work_uses_up_is_the_groups_own() {
        let mut tick = tick(0, 400);
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        let all = find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let FindingKind::Quota(facts) = &found.kind else { panic!() };
        assert_eq!((facts.whose, facts.cause), (Whose::Own, QuotaCause::UsedUp));
        assert_eq!((facts.throttled_periods, facts.used), (1.0, Some(1.0)));
        assert_eq!((found.cost_ms_per_s, found.culprits[0].name.as_str()), (400.0, "web"));
        assert_eq!(found.fixes, [LiveFix::RaiseQuota(0.98)]);
        let parameters = &found.run.as_ref().unwrap().parameters.0;
        assert_eq!(parameters["quota"].to_string(), "50ms");
        assert_eq!(parameters["threads"].to_string(), "1");
    }

    #[test]
    fn a_quota_of_a_group_above_is_an_ancestors() {
        let mut tick = tick(1, 400);
        tick.groups.push(group("/a", 50, 500, (10, 480)));
        let all = find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let FindingKind::Quota(facts) = &found.kind else { panic!() };
        assert_eq!((facts.whose, facts.group.as_str()), (Whose::Ancestor, "/a"));
    }

    #[test]
    fn a_level_that_is_not_known_is_the_only_group_with_a_quota() {
        let mut tick = tick(probe::live::LEVELS - 1, 400);
        tick.groups.push(group("/a", 50, 500, (10, 480)));
        assert_eq!(find(&Window::of([&tick])).len(), 1);
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        assert!(find(&Window::of([&tick])).is_empty());
    }

    #[test]
    fn a_group_that_got_less_than_its_quota_was_throttled_under_it() {
        let mut tick = tick(0, 400);
        tick.groups.push(group("/a/b", 50, 300, (10, 480)));
        let found = find(&Window::of([&tick]));
        let FindingKind::Quota(facts) = &found[0].kind else { panic!() };
        assert_eq!(facts.cause, QuotaCause::UnderQuota);
        // Bursts that use the quota of the few periods in which it was throttled are no such case.
        tick.groups = vec![group("/a/b", 50, 300, (5, 200))];
        let found = find(&Window::of([&tick]));
        let FindingKind::Quota(facts) = &found[0].kind else { panic!() };
        assert_eq!((facts.cause, &found[0].fixes[0]), (QuotaCause::UsedUp, &LiveFix::Burst));
    }

    #[test]
    fn a_quota_that_active_waiting_uses_up_is_spun_away() {
        let mut tick = tick(0, 400);
        (tick.threads[0].samples, tick.threads[0].spins) = (40, 30);
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        let found = find(&Window::of([&tick]));
        let FindingKind::Quota(facts) = &found[0].kind else { panic!() };
        assert_eq!(
            (facts.cause, &found[0].fixes[0]),
            (QuotaCause::Spun(0.75), &LiveFix::StopSpinning)
        );
    }

    #[test]
    fn a_runtime_with_more_threads_than_its_quota_allows_is_told_by_name() {
        let mut tick = tick(0, 400);
        tick.runtimes.insert(1, LiveRuntime::Node);
        tick.threads.push(ThreadCounts { tid: 2, ..thread(1, 250, 0) });
        // A thread alone would be without a CPU for 50 ms of each throttled period at most.
        tick.groups.push(group("/a/b", 50, 500, (10, 900)));
        let found = find(&Window::of([&tick]));
        let FindingKind::Quota(facts) = &found[0].kind else { panic!() };
        assert_eq!(facts.cause, QuotaCause::Runtime(LiveRuntime::Node));
        assert_eq!(found[0].kind.stall(), "quota-blind");
        assert_eq!(found[0].fixes[0], LiveFix::TellRuntime(LiveRuntime::Node, 1));
        let run = found[0].run.as_ref().unwrap();
        assert_eq!(run.scenario, "quota-blind");
        // Its quota is what the scenario has by default.
        assert_eq!(run.parameters.0.len(), 1);
        assert_eq!(run.parameters.0["runtime"].to_string(), "node");
        assert_eq!(most_to_runtimes(&Window::of([&tick])), 400.0);
        assert_eq!(most(&Window::of([&tick])), 0.0, "it is no cpu-quota");
        // As long as one thread alone is: it only wants more than it has.
        tick.groups = vec![group("/a/b", 50, 500, (10, 480))];
        assert_eq!(find(&Window::of([&tick]))[0].kind.stall(), "cpu-quota");
        // And a program of which nobody knows a setting.
        tick.runtimes.clear();
        tick.groups = vec![group("/a/b", 50, 500, (10, 900))];
        assert_eq!(find(&Window::of([&tick]))[0].kind.stall(), "cpu-quota");
    }

    #[test]
    fn a_quota_that_seldom_holds_anybody_is_no_finding() {
        let mut tick = tick(0, 5);
        tick.groups.push(group("/a/b", 50, 100, (1, 5)));
        assert!(find(&Window::of([&tick])).is_empty());
    }
}
