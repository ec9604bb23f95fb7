//! Erlang nodes under a quota: schedulers that spin it away, and more of them than it has CPUs.

use crate::limits::{QUOTA_MS_PER_S, SPUN_OF_QUOTA, SPUN_SAMPLES};
use crate::node::NodeSums;
use crate::nodes::{Bound, bound, online, program};
use crate::sums::{Key, largest, ms};
use crate::window::Window;
use model::live::{
    BusyWait, Finding, FindingKind, LiveFix, MoreSchedulers, NodeFlag, NodeFlags, Sure,
};
use model::suggestion::{Command, Run};
use scenarios::busy_wait::{BusyWaitParams, META};
use scenarios::params::{Auto, Decimal, OrNone, Params, Time};

/// A node that a quota holds, with what it loses to it, in milliseconds a second.
struct Held<'a> {
    pid: u32,
    key: &'a Key,
    node: &'a NodeSums,
    bound: Bound<'a>,
    /// Held by quotas.
    held: f64,
    /// CPU time.
    ran: f64,
    /// Of that: spun.
    spun: f64,
}

impl Held<'_> {
    /// What the spun time stands for of the time that the quota held it.
    fn caused(&self) -> f64 {
        if self.ran > 0.0 { self.held * (self.spun / self.ran).min(1.0) } else { 0.0 }
    }
}

/// Findings of all nodes that a quota holds.
pub fn find(window: &Window) -> Vec<Finding> {
    let held = all(window).into_iter().filter(|held| held.held >= QUOTA_MS_PER_S);
    held.flat_map(|held| [busy_wait(window, &held), more_schedulers(window, &held)])
        .flatten()
        .collect()
}

/// The most that one node loses of a quota by what it spins, in milliseconds a second.
pub fn most(window: &Window) -> f64 {
    largest(all(window).iter().map(Held::caused))
}

fn all(window: &Window) -> Vec<Held<'_>> {
    window.nodes.iter().filter_map(|(pid, (key, node))| held(window, *pid, key, node)).collect()
}

fn held<'a>(window: &'a Window, pid: u32, key: &'a Key, node: &'a NodeSums) -> Option<Held<'a>> {
    let bound = bound(window, key)?;
    let rate = |ns: u64| if node.over_ns == 0 { 0.0 } else { ms(ns) / ms(node.over_ns) * 1e3 };
    let throttled = node.roles.values().map(|role| role.throttled_ns).sum();
    let ran = rate(node.roles.values().map(|role| role.ran_ns).sum());
    let (samples, spins) = node.spins(|_| true);
    let share = if samples >= SPUN_SAMPLES { spins as f64 / samples as f64 } else { 0.0 };
    Some(Held { pid, key, node, bound, held: rate(throttled), ran, spun: ran * share })
}

fn busy_wait(window: &Window, held: &Held) -> Option<Finding> {
    let quota = held.bound.cpus * 1e3;
    if held.spun < quota * SPUN_OF_QUOTA || held.caused() < QUOTA_MS_PER_S {
        return None;
    }
    let facts = BusyWait {
        node: held.node.facts.name.clone(),
        group: held.bound.group.to_owned(),
        quota_cpus: held.bound.cpus,
        throttled_periods: held.bound.throttled_periods,
        spun_ms_per_s: held.spun,
        spun: held.spun / held.ran.max(f64::MIN_POSITIVE),
        caused_ms_per_s: held.caused(),
    };
    let fixes = vec![flags(held, vec![NodeFlag::NoBusyWait])];
    Some(finding(window, held, FindingKind::BusyWait(facts), (Sure::Measured, fixes)))
}

fn more_schedulers(window: &Window, held: &Held) -> Option<Finding> {
    let online = online(held.node);
    let wanted = wanted(held.bound.cpus);
    if online <= wanted {
        return None;
    }
    let facts = MoreSchedulers {
        node: held.node.facts.name.clone(),
        group: held.bound.group.to_owned(),
        quota_cpus: held.bound.cpus,
        throttled_periods: held.bound.throttled_periods,
        online,
        chosen: held.node.facts.online.is_some(),
    };
    let less = vec![NodeFlag::Schedulers(wanted), NodeFlag::DirtyCpu(wanted)];
    let fixes = vec![flags(held, less), LiveFix::RaiseQuota(held.bound.cpus + held.held / 1e3)];
    Some(finding(window, held, FindingKind::MoreSchedulers(facts), (Sure::Measured, fixes)))
}

/// As many schedulers as there are CPUs of quota.
fn wanted(cpus: f64) -> u32 {
    // A quota is no more than some thousand CPUs.
    cpus.ceil().clamp(1.0, 1024.0) as u32
}

fn flags(held: &Held, flags: Vec<NodeFlag>) -> LiveFix {
    LiveFix::Flags(NodeFlags { flags, configured: held.node.facts.configured })
}

fn finding(
    window: &Window,
    held: &Held,
    kind: FindingKind,
    (sure, fixes): (Sure, Vec<LiveFix>),
) -> Finding {
    let worst_ns = window.programs.get(held.key).map_or(0, |sums| sums.all.worst_ns);
    Finding {
        victim: program(held.key, held.pid),
        culprits: vec![program(held.key, held.pid)],
        cost_ms_per_s: held.held,
        worst_ms: ms(worst_ns),
        since_s: 0.0,
        sure,
        fixes,
        run: Some(run(held)),
        kind,
    }
}

/// The same in the lab: the same quota and as many schedulers.
fn run(held: &Held) -> Run {
    let thousandths = (held.bound.cpus * 1e3).round().clamp(10.0, 1e6) as u32;
    let params = BusyWaitParams {
        quota: OrNone::Is(Decimal::thousandths(thousandths)),
        period: Time::us(held.bound.period_us.clamp(1_000, 1_000_000)),
        schedulers: Auto::Is(online(held.node).clamp(1, 1024)),
        ..BusyWaitParams::default()
    };
    Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Seen;
    use crate::testing::{MS, group, node, process, second};
    use model::live::{Configured, Role};
    use probe::live::Sampled;

    /// A node of eight schedulers in a group of half a CPU, of whose samples so many spin.
    fn found(spins: u64, change: impl Fn(&mut crate::node::NodeTick)) -> Vec<Finding> {
        let mut tick = second();
        process(&mut tick, 7, "beam.smp", Some("/a"));
        tick.lineages.insert("/a".into(), vec!["/a".into()]);
        tick.groups.push(group("/a", 50, 500, (9, 700)));
        let mut one = node(7, 8);
        let schedulers = one.roles.get_mut(&Role::Scheduler).unwrap();
        (schedulers.ran_ns, schedulers.throttled_ns) = (500 * MS, 700 * MS);
        let seen = |what| Seen {
            role: Role::Scheduler,
            number: 1,
            what,
            place: Default::default(),
            call: None,
        };
        one.samples.insert(seen(Sampled::Spinning), spins);
        one.samples.insert(seen(Sampled::Running), 100 - spins);
        change(&mut one);
        tick.nodes.push(one);
        find(&Window::of([&tick]))
    }

    #[test]
    fn a_quota_that_is_spun_away_is_found_with_flags_for_this_node() {
        let all = found(60, |node| node.facts.configured = Configured::RabbitMq);
        let FindingKind::BusyWait(facts) = &all[0].kind else { panic!("{all:?}") };
        assert_eq!((facts.spun, facts.spun_ms_per_s, facts.quota_cpus), (0.6, 300.0, 0.5));
        assert_eq!((facts.throttled_periods, facts.caused_ms_per_s), (0.9, 420.0));
        let LiveFix::Flags(flags) = &all[0].fixes[0] else { panic!() };
        assert_eq!(flags.configured, Configured::RabbitMq);
        let parameters = &all[0].run.as_ref().unwrap().parameters.0;
        assert_eq!(parameters["quota"].to_string(), "0.5");
        assert_eq!(parameters["schedulers"].to_string(), "8");
    }

    #[test]
    fn more_schedulers_than_quota_are_found_where_no_flag_chose_them_too() {
        let all = found(1, |node| node.facts.online = None);
        let [found_one] = &all[..] else { panic!("{all:?}") };
        let FindingKind::MoreSchedulers(facts) = &found_one.kind else { panic!() };
        assert_eq!((facts.online, facts.chosen), (8, false));
        let LiveFix::Flags(flags) = &found_one.fixes[0] else { panic!() };
        assert_eq!(flags.flags, [NodeFlag::Schedulers(1), NodeFlag::DirtyCpu(1)]);
        // As many as there are CPUs of quota are well.
        assert!(found(1, |node| node.facts.online = Some(1)).is_empty());
    }

    #[test]
    fn a_node_that_no_quota_holds_may_spin() {
        let free = |node: &mut crate::node::NodeTick| {
            node.roles.get_mut(&Role::Scheduler).unwrap().throttled_ns = 0;
        };
        assert!(found(90, free).is_empty());
    }
}
