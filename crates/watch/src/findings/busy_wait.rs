//! Erlang nodes whose schedulers use up a quota by spinning.

use super::node_quota::{Held, LIMIT_MS_PER_S, all, held_for_long};
use super::stall::{Seen, Stall};
use super::words::{self, NodeFlag, NodeFlags};
use crate::sums::largest;
use crate::window::Window;
use model::Unit;
use model::live::{AnswerState, Finding};
use model::prose::figures::{figure, percent};
use scenarios::busy_wait::META;
use serde::{Deserialize, Serialize};

/// The least share of the quota that schedulers spin away. Below it, flags gain nothing.
const SPUN_OF_QUOTA: f64 = 0.1;

/// Schedulers of an Erlang node use up a quota by spinning.
pub struct BusyWait;

/// The quota, and how much of it was spun away.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Name of the node, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The group whose quota it is.
    group: String,
    /// The quota, in CPUs.
    quota_cpus: f64,
    /// Whether the group had another quota before. Then the periods are those of this quota.
    #[serde(default)]
    changed: bool,
    /// Share of its periods in which the group was throttled.
    throttled_periods: f64,
    /// CPU time spent spinning, in milliseconds a second.
    spun_ms_per_s: f64,
    /// That time as a share of the node's CPU time.
    spun: f64,
    /// The part of the throttled time that the spinning accounts for, in milliseconds a second.
    caused_ms_per_s: f64,
}

/// What fixes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    Flags(NodeFlags),
}

impl Stall for BusyWait {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        held_for_long(window).iter().filter_map(finding).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        Some(seen.measured_of_nodes::<Self>(most(seen.window), LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let rate = |ms: f64| figure(ms, Unit::MillisecondsPerSecond);
        format!(
            "The quota of {} ({:.2} CPUs) throttled the node in {} of its periods{}. The \
             schedulers{} spun for {}, {} of the node's CPU time. The spinning accounts for {} of \
             the lost time.",
            words::group(&facts.group, finding),
            facts.quota_cpus,
            percent(facts.throttled_periods),
            words::since_changed(facts.changed),
            words::of_node(facts.node.as_deref()),
            rate(facts.spun_ms_per_s),
            percent(facts.spun),
            rate(facts.caused_ms_per_s),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::Flags(flags) => words::flags(flags),
        }
    }

    fn quota(facts: &Facts) -> Option<&str> {
        Some(&facts.group)
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        use model::live::Configured::{Ejabberd, ErlFlags, RabbitMq, VmArgs};
        let facts = Facts {
            node: Some("web@host".to_owned()),
            group: "/app".to_owned(),
            quota_cpus: 0.5,
            changed: false,
            throttled_periods: 0.9,
            spun_ms_per_s: 300.0,
            spun: 0.6,
            caused_ms_per_s: 420.0,
        };
        let of = |configured| Fix::Flags(NodeFlags { flags: FLAGS.to_vec(), configured });
        let changed = Facts { changed: true, ..facts.clone() };
        let all = [ErlFlags, VmArgs, RabbitMq, Ejabberd].map(of).into();
        vec![(facts, all), (changed, vec![of(ErlFlags)])]
    }
}

/// The flags that stop all schedulers from spinning.
const FLAGS: [NodeFlag; 1] = [NodeFlag::NoBusyWait];

/// The most that one node loses to a quota by spinning, in milliseconds a second.
fn most(window: &Window) -> f64 {
    largest(all(window).iter().map(Held::caused))
}

fn finding(held: &Held) -> Option<Finding> {
    let quota = held.bound.cpus * 1e3;
    if held.spun < quota * SPUN_OF_QUOTA || held.caused() < LIMIT_MS_PER_S {
        return None;
    }
    let facts = Facts {
        node: held.node.facts.line.name.clone(),
        group: held.bound.group.to_owned(),
        quota_cpus: held.bound.cpus,
        changed: held.bound.changed,
        throttled_periods: held.bound.throttled_periods,
        spun_ms_per_s: held.spun,
        spun: held.spun / held.ran.max(f64::MIN_POSITIVE),
        caused_ms_per_s: held.caused(),
    };
    let flags = NodeFlags { flags: FLAGS.to_vec(), configured: held.node.facts.line.configured };
    Some(held.finding(BusyWait::found(&facts, &[Fix::Flags(flags)])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::Seen as Sample;
    use crate::reader::GivenFlags;
    use crate::testing::node_under_quota;
    use model::live::{Configured, ThreadRole};

    fn found(spins: u64, change: impl Fn(&mut crate::node::NodeTick)) -> Vec<Finding> {
        BusyWait::find(&Window::of([&node_under_quota(spins, change)]))
    }

    #[test]
    fn a_quota_that_is_spun_away_is_found_with_flags_for_this_node() {
        let all = found(60, |node| node.facts.line.configured = Configured::RabbitMq);
        assert_eq!(all[0].limit_ms_per_s, LIMIT_MS_PER_S);
        let facts: Facts = all[0].facts.read().unwrap();
        assert_eq!((facts.spun, facts.spun_ms_per_s, facts.quota_cpus), (0.6, 300.0, 0.5));
        assert_eq!((facts.throttled_periods, facts.caused_ms_per_s), (0.9, 420.0));
        let fixes: Vec<Fix> = all[0].fixes.read().unwrap();
        let Fix::Flags(flags) = &fixes[0];
        assert_eq!(flags.configured, Configured::RabbitMq);
        let parameters = &all[0].run.as_ref().unwrap().parameters.0;
        assert_eq!(parameters["quota"].to_string(), "0.5");
        assert_eq!(parameters["schedulers"].to_string(), "8");
    }

    #[test]
    fn what_another_program_uses_of_the_quota_is_not_the_nodes() {
        let mut tick = node_under_quota(60, |_| {});
        // The group used 500 ms, and the node all of it; now it is a quarter.
        tick.groups[0].gained.usage_ns = Some(2_000 * crate::testing::MS);
        let all = BusyWait::find(&Window::of([&tick]));
        let facts: Facts = all[0].facts.read().unwrap();
        assert_eq!((facts.caused_ms_per_s, all[0].cost_ms_per_s), (105.0, 175.0));
    }

    #[test]
    fn a_node_that_no_quota_holds_may_spin() {
        let free = |node: &mut crate::node::NodeTick| {
            node.roles.get_mut(&ThreadRole::Scheduler).unwrap().throttled_ns = 0;
        };
        assert!(found(90, free).is_empty() && found(1, |_| {}).is_empty());
        assert!(found(90, |node| node.facts.line.given.no_busy_wait = true).is_empty());
    }

    #[test]
    fn only_schedulers_that_no_flag_keeps_from_spinning_count() {
        let spinning = |role: ThreadRole, change: fn(&mut GivenFlags)| {
            let all = found(60, |node| {
                let seen = std::mem::take(&mut node.samples).into_iter();
                node.samples = seen.map(|(seen, count)| (Sample { role, ..seen }, count)).collect();
                change(&mut node.facts.line.given);
            });
            all.len()
        };
        let not_normal = |given: &mut GivenFlags| given.no_busy_wait = true;
        assert_eq!(spinning(ThreadRole::Scheduler, not_normal), 0);
        assert_eq!(spinning(ThreadRole::DirtyCpu, not_normal), 1);
        assert_eq!(spinning(ThreadRole::DirtyIo, not_normal), 1);
        assert_eq!(spinning(ThreadRole::DirtyCpu, |given| given.no_busy_wait_dirty_cpu = true), 0);
        assert_eq!(spinning(ThreadRole::DirtyIo, |given| given.no_busy_wait_dirty_io = true), 0);
        // Threads of native code are no schedulers.
        assert_eq!(spinning(ThreadRole::Other, |_| ()), 0);
    }
}
