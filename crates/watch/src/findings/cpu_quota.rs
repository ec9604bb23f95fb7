//! Programs that a quota throttles because of the work of their group.

use super::quota::{Cause, Enough, Held, LIMIT_MS_PER_S, Quota, held};
#[cfg(any(test, feature = "testing"))]
use super::quota::{Light, Started, Whose, sample, sample_above};
use super::quota_blind;
use super::stall::{Seen, Stall};
use super::words;
#[cfg(any(test, feature = "testing"))]
use crate::runtime::{LiveRuntime, Setting};
use crate::sums::{Sums, largest};
use crate::window::Window;
use model::live::{AnswerState, Finding, NotMeasurable, Source};
use model::prose::figures::{percent, plural};
use model::suggestion::{Command, Run};
use os::terminal::line as plain;
use scenarios::cpu_quota::{CpuQuotaParams, META};
use scenarios::params::{Params, Time};
use serde::{Deserialize, Serialize};
use std::iter;

/// A group that used less than this share of its quota on average works in bursts.
const BURSTS: f64 = 0.8;

/// And it was throttled in at most this share of its periods. A burst saves no more than the quota
/// of one period, so it cannot help a group that is throttled in many periods in a row.
const BURST_PERIODS: f64 = 0.5;

/// From this kernel on, what a CPU was given of a quota does not expire before it is used.
const WITHOUT_EXPIRY: (u32, u32) = (5, 4);

/// A quota throttles the victim.
pub struct CpuQuota;

/// The quota, and what used it up.
type Facts = Quota<Cause>;

/// What fixes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    /// A newer kernel: this version or later.
    NewerKernel(String),
    /// A quota of at least this many CPUs.
    RaiseQuota(f64),
    /// The same, with quotas above it that are smaller than that.
    RaiseQuotas(Enough),
    /// A longer period: the kernel's timer comes late.
    LongerPeriod,
    Burst,
    /// One thread for each whole CPU of the quota, and at least one.
    FewerThreads(u32),
    StopSpinning,
    /// The quota was changed, and has throttled nobody since.
    LookAgain,
}

impl Stall for CpuQuota {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let others = held(window).into_iter().filter(|held| quota_blind::runtime(held).is_none());
        others.map(finding).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let state = seen.measured_by::<Self>(Source::CpuStat, most(seen.window), LIMIT_MS_PER_S);
        let window = seen.window;
        let unknown = largest(window.victims().map(|one| window.rate(unknown_ns(window, one.1))));
        match state {
            AnswerState::NotHitting { .. } if unknown >= LIMIT_MS_PER_S => {
                Some(AnswerState::NotMeasurable(NotMeasurable::WhoseQuota))
            }
            state => Some(state),
        }
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let used_up = facts.used_up(finding, "");
        let why = match facts.cause {
            Cause::UsedUp => format!("{used_up}."),
            Cause::Spun(share) => {
                format!("{used_up}. Threads spun for {} of that CPU time.", percent(share))
            }
            Cause::UnderQuota => {
                let threads = plural(facts.threads.into(), "thread");
                format!("But {threads} had not used it up: the kernel throttles the group early.")
            }
        };
        let why = if facts.is_over() { String::new() } else { format!(" {why}") };
        let (lost, used) = (facts.lost_alone(finding), facts.used_in_all());
        format!("{}{why}{lost}{used}{}", facts.sentence(finding), facts.started_with())
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::NewerKernel(version) => format!("Use Linux {} or newer.", plain(version)),
            Fix::RaiseQuota(cpus) => words::raise_quota(*cpus),
            Fix::RaiseQuotas(enough) => enough.sentence(),
            Fix::LongerPeriod => {
                "Use a longer period, and a quota that is larger by the same factor (cpu.max, \
                 cpu.cfs_period_us). While the hypervisor or interrupts take the CPU, the kernel's \
                 period timer comes late: see the column st of vmstat 1."
                    .to_owned()
            }
            Fix::Burst => {
                "Let the group save unused quota (cpu.max.burst, cpu.cfs_burst_us).".to_owned()
            }
            Fix::FewerThreads(1) => "Run one thread.".to_owned(),
            Fix::FewerThreads(threads) => format!("Run no more than {threads} threads."),
            Fix::StopSpinning => words::STOP_SPINNING.to_owned(),
            Fix::LookAgain => {
                "Look again: the quota was changed, and has throttled no program since then."
                    .to_owned()
            }
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
        let bursts = Facts { used: Some(0.5), throttled_periods: 0.4, ..sample() };
        let bursts = Facts { whose: Whose::Ancestor, ..bursts };
        let few = Facts { threads: 1, used: None, ..sample() };
        let with = |cause| sample().with(cause);
        let settings = vec![Setting::ActiveProcessorCount(1), Setting::ParallelGcThreads(1)];
        let started = Some(Started { runtime: LiveRuntime::Jvm, settings });
        let told = Facts { threads: 1, started, ..sample() };
        let changed = Facts { changed: true, throttled_periods: 0.2, ..sample() };
        let over = Facts { throttled_periods: 0.0, throttled_ms_per_s: 0.0, ..changed.clone() };
        let shared = Facts { culprit_threads: Some(3), ..sample() };
        let of_threads = Facts { whose: Whose::Threads, ..sample() };
        let light = Light { threads: 60, cpus: 0.3, share: 0.6 };
        let light = Facts { light, threads: 1, culprit_threads: Some(1), ..sample() };
        let both = Facts { threads: 2, ..light.clone() };
        let nested = Facts { above: sample_above(), ..sample() };
        let all = [
            sample(),
            bursts,
            few,
            told,
            changed,
            over,
            shared,
            of_threads,
            light,
            both,
            nested,
            with(Cause::Spun(0.75)),
            with(Cause::UnderQuota),
        ];
        all.map(|facts| (facts.clone(), fixes(&facts, 8, 1, None))).into()
    }
}

/// How long a program was throttled by a quota whose group is not known, or was not measured yet: a
/// new group has figures from its second interval on. A group without a quota is not the one that
/// throttled: the thread may be in another group than its process.
fn unknown_ns(window: &Window, sums: &Sums) -> u64 {
    let has_quota = |group: &Option<String>| {
        group.as_ref().is_some_and(|group| window.groups.contains_key(group))
    };
    let unknown = sums.quota.iter().filter(|(group, _)| !has_quota(group));
    unknown.map(|(_, ns)| *ns).fold(0, u64::saturating_add)
}

/// The most that all programs together lose to the quota of one group, in milliseconds a second.
/// Groups whose quota a runtime uses up too early are left out: that is another stall.
fn most(window: &Window) -> f64 {
    let held_groups = held(window);
    let of_runtimes = held_groups.iter().filter(|held| quota_blind::runtime(held).is_some());
    let of_runtimes: Vec<&str> = of_runtimes.map(|held| held.quota.group.as_str()).collect();
    let groups = window.groups.iter().filter(|(group, _)| !of_runtimes.contains(&group.as_str()));
    let lost = |group: &String| {
        let of = |sums: &Sums| sums.quota.get(&Some(group.clone())).copied().unwrap_or(0);
        window.victims().map(|(_, sums)| of(sums)).fold(0, u64::saturating_add)
    };
    match window.machine.switches {
        Some(_) => largest(groups.map(|(group, _)| window.rate(lost(group)))),
        None => {
            let counted = groups.filter_map(|(_, sums)| sums.gained.throttled_ns);
            largest(counted.map(|ns| window.rate(ns)))
        }
    }
}

fn finding(held: Held) -> Finding {
    let Finding { victim, other_victims, culprits, cost_ms_per_s, worst_ms, sure, .. } = held.found;
    let facts = held.quota;
    // The scenario tests whether a kernel throttles a group under its quota. Where work or spinning
    // uses the quota up, it would find nothing.
    let run = (facts.cause == Cause::UnderQuota).then(|| run(&facts));
    let processes = culprits.first().map_or(1, |one| one.processes);
    let fixes = fixes(&facts, held.online, processes, held.kernel);
    let found = CpuQuota::found(&facts, &fixes);
    Finding { victim, other_victims, culprits, cost_ms_per_s, worst_ms, sure, run, ..found }
}

fn fixes(facts: &Facts, online: u32, processes: u32, kernel: Option<(u32, u32)>) -> Vec<Fix> {
    if facts.is_over() {
        return vec![Fix::LookAgain];
    }
    let raise = facts.enough(online).fix(Fix::RaiseQuota, Fix::RaiseQuotas);
    let whole = (facts.cpus().floor() as u32).max(1);
    // From outside, it cannot be seen how many of its processes a server can do without.
    let is_more = facts.culprit_threads.unwrap_or(facts.threads) > whole && processes == 1;
    let fewer = is_more.then_some(Fix::FewerThreads(whole));
    match facts.cause {
        // An older kernel may have a late timer too, and one whose version is not known may be any.
        Cause::UnderQuota => {
            let may_lack = kernel.is_none_or(|kernel| kernel < WITHOUT_EXPIRY);
            let newer = may_lack.then(|| Fix::NewerKernel(written(WITHOUT_EXPIRY)));
            newer.into_iter().chain([Fix::LongerPeriod]).collect()
        }
        Cause::Spun(_) => iter::once(Fix::StopSpinning).chain(fewer).collect(),
        // Its average use would have fitted into the quota.
        Cause::UsedUp if is_bursty(facts) => vec![Fix::Burst, raise],
        Cause::UsedUp => iter::once(raise).chain(fewer).collect(),
    }
}

/// A version as users know it.
fn written((first, second): (u32, u32)) -> String {
    format!("{first}.{second}")
}

fn is_bursty(facts: &Facts) -> bool {
    facts.used.is_some_and(|used| used < BURSTS) && facts.throttled_periods <= BURST_PERIODS
}

/// The same in the lab: the same quota, period and number of threads.
fn run(facts: &Facts) -> Run {
    let params = CpuQuotaParams {
        quota: Time::us(facts.quota_us),
        period: Time::us(facts.period_us),
        threads: facts.threads.clamp(1, 1024),
        ..CpuQuotaParams::default()
    };
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MS, group, held_by_quota as tick, process, thread};
    use crate::tick::Tick;
    use model::live::Sure;
    use probe::live::ThreadCounts;

    fn fixes_of(finding: &Finding) -> Vec<Fix> {
        finding.fixes.read().unwrap()
    }

    #[test]
    fn without_programs_the_groups_own_counters_are_likely_right() {
        let mut tick = tick(0, 0);
        tick.machine.switches = None;
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        let all = CpuQuota::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        assert_eq!((found.sure, found.cost_ms_per_s), (Sure::Likely, 480.0));
    }

    #[test]
    fn a_quota_that_work_uses_up_is_the_groups_own() {
        let mut tick = tick(0, 400);
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        let all = CpuQuota::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.whose, facts.cause), (Whose::Own, Cause::UsedUp));
        assert_eq!((facts.throttled_periods, facts.used), (1.0, Some(1.0)));
        assert_eq!((found.cost_ms_per_s, found.culprits[0].name.as_str()), (400.0, "web"));
        assert_eq!((fixes_of(found), &found.run), (vec![Fix::RaiseQuota(1.1)], &None));
    }

    #[test]
    fn what_was_counted_under_another_quota_is_not_held_against_this_one() {
        let [mut before, mut change, mut after] = [tick(0, 400), tick(0, 400), tick(0, 0)];
        before.groups.push(group("/a/b", 50, 500, (10, 480)));
        change.groups.push(group("/a/b", 180, 500, (9, 400)));
        after.groups.push(group("/a/b", 180, 900, (0, 0)));
        let all = CpuQuota::find(&Window::of([&before, &change, &after]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.quota_us, facts.changed), (180_000, true));
        assert_eq!((facts.throttled_periods, facts.cause), (0.0, Cause::UsedUp));
        assert_eq!((fixes_of(found), &found.run), (vec![Fix::LookAgain], &None));
        assert!(CpuQuota::find(&Window::of([&after])).is_empty());
    }

    #[test]
    fn only_a_program_of_one_process_is_told_to_run_fewer_threads() {
        let facts = Facts { threads: 8, culprit_threads: Some(8), ..sample() };
        let fewer = |processes| {
            let fixes = fixes(&facts, 8, processes, None);
            fixes.iter().any(|fix| matches!(fix, Fix::FewerThreads(_)))
        };
        assert!(fewer(1) && !fewer(2));
        // One thread of it beside seven of another program.
        let facts = Facts { culprit_threads: Some(1), ..facts };
        assert!(!fixes(&facts, 8, 1, None).iter().any(|fix| matches!(fix, Fix::FewerThreads(_))));
    }

    #[test]
    fn many_threads_that_work_little_count_and_no_smaller_quota_is_advised() {
        let mut tick = tick(0, 400);
        tick.groups.push(group("/a/b", 200, 1_980, (5, 300)));
        tick.threads[0].ran_ns = 900 * MS;
        tick.threads.extend((1..61).map(|number| ThreadCounts {
            ran_ns: 18 * MS,
            throttled_ns: [0; probe::live::LEVELS],
            ..thread_of(1, number)
        }));
        let found = CpuQuota::find(&Window::of([&tick]));
        let facts: Facts = found[0].facts.read().unwrap();
        assert_eq!((facts.threads, facts.light.threads, facts.light.cpus), (1, 60, 1.08));
        let said = CpuQuota::cause(&found[0], &facts);
        assert!(said.contains("used it up with 1 busy thread and 60 less busy ones."), "{said}");
        // 1 CPU for the busy thread, and 1.3 times what the others used.
        assert_eq!(fixes_of(&found[0])[0], Fix::RaiseQuota(2.7));
        // A helper that hardly works gets no CPU of its own.
        tick.threads.truncate(2);
        tick.groups = vec![group("/a/b", 50, 500, (10, 900))];
        let found = CpuQuota::find(&Window::of([&tick]));
        assert_eq!(fixes_of(&found[0]), [Fix::RaiseQuota(1.2)]);
        // However little is seen of the threads, no smaller quota is advised.
        tick.groups = vec![group("/a/b", 400, 3_900, (5, 300))];
        let found = CpuQuota::find(&Window::of([&tick]));
        assert_eq!(fixes_of(&found[0]), [Fix::RaiseQuota(4.4)]);
    }

    #[test]
    fn facts_of_an_older_record_say_no_more_than_they_hold() {
        let older = r#"{"group":"/a","whose":"own","quota_us":50000,"period_us":100000,
            "throttled_periods":0.9,"throttled_ms_per_s":480.0,"threads":4,"cause":"used-up"}"#;
        let facts: Facts = serde_json::from_str(older).unwrap();
        assert!(facts.used_up(&Finding::default(), "").ends_with("used it up with 4 threads"));
    }

    #[test]
    fn what_the_victim_loses_is_told_apart_from_what_all_lose() {
        let mut tick = tick(0, 400);
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        process(&mut tick, 2, "cron", Some("/a/b"));
        tick.threads.push(thread(2, 300, 0));
        tick.threads[1].throttled_ns[0] = 200 * MS;
        tick.threads[1].ready_ns = 200 * MS;
        let found = CpuQuota::find(&Window::of([&tick]));
        let facts: Facts = found[0].facts.read().unwrap();
        let found = &found[0];
        assert_eq!((found.victim.name.as_str(), found.other_victims), ("web", 1));
        assert_eq!((found.cost_ms_per_s, facts.victim_ms_per_s), (600.0, 400.0));
        assert_eq!((facts.threads, facts.culprit_threads), (2, Some(1)));
        let said = CpuQuota::cause(found, &facts);
        assert!(said.contains("2 threads used it up, 1 of them of web"), "{said}");
        assert!(said.contains("web alone loses 400 ms/s."), "{said}");
        // The loss of the other is small.
        (tick.threads[1].throttled_ns[0], tick.threads[1].ready_ns) = (40 * MS, 40 * MS);
        let found = CpuQuota::find(&Window::of([&tick]));
        assert_eq!((found[0].other_victims, found[0].cost_ms_per_s), (0, 440.0));
    }

    #[test]
    fn a_quota_of_a_group_above_is_an_ancestors() {
        let mut tick = tick(1, 400);
        tick.groups.push(group("/a", 50, 500, (10, 480)));
        let all = CpuQuota::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.whose, facts.group.as_str()), (Whose::Ancestor, "/a"));
    }

    /// A virtual CPU under libvirt: its thread is in a group that its process is not in.
    #[test]
    fn a_quota_of_a_threads_own_group_is_found_there() {
        let mut tick = tick(0, 400);
        process(&mut tick, 1, "qemu", Some("/vm/emulator"));
        let lineage = |own: &str| vec![own.to_owned(), "/vm".to_owned(), "/".to_owned()];
        for own in ["/vm/emulator", "/vm/vcpu0"] {
            tick.lineages.insert(own.to_owned(), lineage(own));
        }
        tick.groups.push(group("/vm/vcpu0", 50, 500, (10, 480)));
        let state = |tick: &Tick| {
            let window = Window::of([tick]);
            CpuQuota::answer(&Seen { window: &window, findings: &[], sources: &[] })
        };
        // As long as the group of the thread is not known, nothing is denied.
        assert!(CpuQuota::find(&Window::of([&tick])).is_empty());
        assert_eq!(state(&tick), Some(AnswerState::NotMeasurable(NotMeasurable::WhoseQuota)));
        tick.thread_groups.insert(1, "/vm/vcpu0".to_owned());
        let all = CpuQuota::find(&Window::of([&tick]));
        let [found] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found.facts.read().unwrap();
        assert_eq!((facts.whose, facts.group.as_str()), (Whose::Threads, "/vm/vcpu0"));
        assert_eq!((found.cost_ms_per_s, found.culprits[0].name.as_str()), (400.0, "qemu"));
        assert_eq!((facts.threads, facts.culprit_threads), (1, Some(1)));
        assert!(matches!(state(&tick), Some(AnswerState::NotHitting { .. })));
    }

    #[test]
    fn a_new_group_is_measured_from_its_second_interval_on() {
        let first = tick(0, 400);
        let mut second = first.clone();
        second.groups.push(group("/a/b", 50, 500, (10, 480)));
        let state = |window: &Window| {
            CpuQuota::answer(&Seen { window, findings: &[], sources: &[] }).unwrap()
        };
        let not_yet = AnswerState::NotMeasurable(NotMeasurable::WhoseQuota);
        assert_eq!(state(&Window::of([&first])), not_yet);
        let both = Window::of([&first, &second]);
        assert!(matches!(state(&both), AnswerState::NotHitting { .. }));
        assert_eq!(CpuQuota::find(&both).len(), 1);
    }

    #[test]
    fn a_level_that_is_not_known_is_the_only_group_with_a_quota() {
        let mut tick = tick(probe::live::LEVELS - 1, 400);
        tick.groups.push(group("/a", 50, 500, (10, 480)));
        assert_eq!(CpuQuota::find(&Window::of([&tick])).len(), 1);
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        assert!(CpuQuota::find(&Window::of([&tick])).is_empty());
    }

    #[test]
    fn a_group_that_got_less_than_its_quota_was_throttled_under_it() {
        let mut tick = tick(0, 400);
        tick.groups.push(group("/a/b", 50, 300, (10, 480)));
        let found = CpuQuota::find(&Window::of([&tick]));
        let facts: Facts = found[0].facts.read().unwrap();
        assert_eq!(facts.cause, Cause::UnderQuota);
        let parameters = &found[0].run.as_ref().unwrap().parameters.0;
        assert_eq!(parameters["quota"].to_string(), "50ms");
        assert_eq!(parameters["threads"].to_string(), "1");
        // Bursts that use the quota of the few throttled periods are no such case.
        tick.groups = vec![group("/a/b", 50, 300, (5, 200))];
        let found = CpuQuota::find(&Window::of([&tick]));
        let facts: Facts = found[0].facts.read().unwrap();
        assert_eq!((facts.cause, &fixes_of(&found[0])[0]), (Cause::UsedUp, &Fix::Burst));
    }

    #[test]
    fn a_kernel_that_has_the_change_is_not_advised_for_it() {
        let fixes = |kernel| {
            let mut tick = tick(0, 400);
            tick.groups.push(group("/a/b", 50, 300, (10, 480)));
            tick.machine.kernel = kernel;
            fixes_of(&CpuQuota::find(&Window::of([&tick]))[0])
        };
        let both = [Fix::NewerKernel("5.4".to_owned()), Fix::LongerPeriod];
        assert_eq!([fixes(Some((4, 18))), fixes(Some((5, 3)))], [&both[..], &both[..]]);
        assert_eq!(fixes(None), both);
        for kernel in [(5, 4), (6, 18)] {
            assert_eq!(fixes(Some(kernel)), [Fix::LongerPeriod]);
        }
    }

    #[test]
    fn a_smaller_quota_above_is_to_be_raised_too() {
        let fixes = |above_ms: u64| {
            let mut tick = tick(0, 400);
            tick.groups.push(group("/a/b", 50, 500, (10, 480)));
            tick.groups.push(group("/a", above_ms, 500, (0, 0)));
            // Groups beside it do not count.
            tick.groups.push(group("/a/c", 10, 0, (0, 0)));
            fixes_of(&CpuQuota::find(&Window::of([&tick]))[0])
        };
        let nested = Enough { cpus: 1.1, above: vec!["/a".to_owned()] };
        assert_eq!(fixes(50), [Fix::RaiseQuotas(nested.clone())]);
        assert_eq!(fixes(109), [Fix::RaiseQuotas(nested.clone())]);
        assert_eq!(fixes(110), [Fix::RaiseQuota(1.1)]);
        let said = CpuQuota::fix(&Fix::RaiseQuotas(nested));
        assert_eq!(said, "Raise the quota to 1.1 CPUs or more, and also that of /a above it.");
        let above = ["/a", "/"].map(str::to_owned).into();
        let said = CpuQuota::fix(&Fix::RaiseQuotas(Enough { cpus: 1.1, above }));
        assert!(said.ends_with(", and also those of /a and / above it."), "{said}");
    }

    fn thread_of(pid: u32, number: u32) -> ThreadCounts {
        ThreadCounts { tid: pid + number, pid, ..thread(pid, 10, 100) }
    }

    #[test]
    fn a_group_that_works_now_and_then_needs_what_it_lacks_while_it_works() {
        let mut tick = tick(0, 400);
        // Four fifths of its quota, in four of ten periods.
        tick.groups.push(group("/a/b", 50, 400, (4, 200)));
        let found = CpuQuota::find(&Window::of([&tick]));
        assert_eq!(fixes_of(&found[0]), [Fix::RaiseQuota(1.1)]);
        // A burst of 32 threads, throttled for the rest of one period on all CPUs: it needs two
        // quotas in one period.
        let many = (0..32).map(|number| thread_of(1, number));
        let mut burst = Tick { threads: many.collect(), ..tick.clone() };
        burst.threads[0].throttled_ns[0] = 400 * MS;
        burst.machine.cpus = 64;
        burst.groups = vec![group("/a/b", 200, 500, (1, 3_000))];
        let found = CpuQuota::find(&Window::of([&burst]));
        assert_eq!(fixes_of(&found[0]).last(), Some(&Fix::RaiseQuota(4.4)));
        // No period was counted.
        tick.groups = vec![group("/a/b", 50, 500, (0, 200))];
        let found = CpuQuota::find(&Window::of([&tick]));
        assert_eq!(fixes_of(&found[0]), [Fix::RaiseQuota(0.8)]);
    }

    #[test]
    fn a_quota_that_active_waiting_uses_up_is_spun_away() {
        let mut tick = tick(0, 400);
        (tick.threads[0].samples, tick.threads[0].spins) = (40, 30);
        tick.groups.push(group("/a/b", 50, 500, (10, 480)));
        let found = CpuQuota::find(&Window::of([&tick]));
        let facts: Facts = found[0].facts.read().unwrap();
        let fixes = fixes_of(&found[0]);
        assert_eq!((facts.cause, &fixes[0]), (Cause::Spun(0.75), &Fix::StopSpinning));
        assert_eq!(found[0].run, None);
    }

    #[test]
    fn a_quota_that_seldom_holds_anybody_is_no_finding() {
        let mut tick = tick(0, 5);
        tick.groups.push(group("/a/b", 50, 100, (1, 5)));
        assert!(CpuQuota::find(&Window::of([&tick])).is_empty());
    }
}
