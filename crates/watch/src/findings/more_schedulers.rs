//! Erlang nodes with more schedulers than CPUs in their quota.

use super::node_quota::{self, Held, LIMIT_MS_PER_S, held_for_long};
use super::quota::Enough;
#[cfg(any(test, feature = "testing"))]
use super::quota::sample_above;
use super::stall::{Seen, Stall};
use super::words::{self, NodeFlag, NodeFlags};
use crate::sums::largest;
use crate::window::Window;
use model::live::{AnswerState, Configured, Finding};
use model::prose::figures::{percent, plural};
use serde::{Deserialize, Serialize};

/// An Erlang node has more schedulers than CPUs in its quota.
pub struct MoreSchedulers;

/// The quota, and the number of schedulers.
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
    /// Number of schedulers online.
    online: u32,
    /// Whether a flag sets that number. If not, the VM did not see the quota.
    set_by_flag: bool,
}

/// What fixes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    Flags(NodeFlags),
    /// At least this many CPUs: a quota of this size would have been enough.
    RaiseQuota(f64),
    /// The same, with quotas above it that are smaller than that.
    RaiseQuotas(Enough),
}

impl Stall for MoreSchedulers {
    const ID: &'static str = "more-schedulers";
    const NAME: &'static str = "more schedulers than quota";
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    const STANDS_READY: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    fn find(window: &Window) -> Vec<Finding> {
        let all = held_for_long(window);
        all.iter().filter_map(|held| finding(held, window.machine.cpus)).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let all = node_quota::all(seen.window);
        let most = largest(all.iter().filter(|held| has_more(held)).map(Held::cost));
        Some(seen.measured_of_nodes::<Self>(most, LIMIT_MS_PER_S))
    }

    fn cause(finding: &Finding, facts: &Facts) -> String {
        let why = match facts.set_by_flag {
            true => "A flag (+S or +SP) sets this number.",
            false => "No flag sets this number: the VM did not see the quota.",
        };
        format!(
            "{}{} run under a quota of {:.2} CPUs ({}), which throttled them in {} of its \
             periods{}. {why}",
            plural(facts.online.into(), "scheduler"),
            words::of_node(facts.node.as_deref()),
            facts.quota_cpus,
            words::group(&facts.group, finding),
            percent(facts.throttled_periods),
            words::since_changed(facts.changed),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::Flags(flags) => words::flags(flags),
            Fix::RaiseQuota(cpus) => words::raise_quota(*cpus),
            Fix::RaiseQuotas(enough) => enough.sentence(),
        }
    }

    fn quota(facts: &Facts) -> Option<&str> {
        Some(&facts.group)
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let by_flag = Facts {
            node: Some("web@host".to_owned()),
            group: "/app".to_owned(),
            quota_cpus: 0.5,
            changed: false,
            throttled_periods: 0.9,
            online: 8,
            set_by_flag: true,
        };
        let by_itself = Facts { node: None, set_by_flag: false, ..by_flag.clone() };
        let changed = Facts { changed: true, ..by_flag.clone() };
        let fewer = || fewer(0.5, Configured::default());
        let both = || vec![fewer(), Fix::RaiseQuota(1.2)];
        let nested = vec![fewer(), Fix::RaiseQuotas(Enough::new(1.2, &sample_above()))];
        vec![
            (by_flag.clone(), both()),
            (by_flag, nested),
            (by_itself, both()),
            (changed, vec![fewer()]),
        ]
    }
}

fn finding(held: &Held, machine_cpus: u32) -> Option<Finding> {
    if !has_more(held) {
        return None;
    }
    let (online, cpus) = (held.online(), held.bound.cpus);
    let facts = Facts {
        node: held.node.facts.line.name.clone(),
        group: held.bound.group.to_owned(),
        quota_cpus: cpus,
        changed: held.bound.changed,
        throttled_periods: held.bound.throttled_periods,
        online,
        set_by_flag: held.node.facts.sets_online(),
    };
    let fewer = fewer(cpus, held.node.facts.line.configured);
    // No scheduler can use more than one CPU.
    let roomy = words::roomy((cpus + held.bound.lacked_cpus).min(online.into()), machine_cpus);
    // What the earlier quota throttled says nothing about this one.
    let raise = || held.enough(roomy).fix(Fix::RaiseQuota, Fix::RaiseQuotas);
    let raise = (!held.bound.changed).then(raise);
    let fixes: Vec<Fix> = std::iter::once(fewer).chain(raise).collect();
    Some(held.finding(MoreSchedulers::found(&facts, &fixes)))
}

fn has_more(held: &Held) -> bool {
    held.online() > wanted(held.bound.cpus)
}

/// One scheduler for each CPU of the quota, rounded up.
fn wanted(cpus: f64) -> u32 {
    // A quota is at most some thousand CPUs.
    cpus.ceil().clamp(1.0, 1024.0) as u32
}

fn fewer(cpus: f64, configured: Configured) -> Fix {
    let wanted = wanted(cpus);
    let flags = vec![NodeFlag::Schedulers(wanted), NodeFlag::DirtyCpu(wanted)];
    Fix::Flags(NodeFlags { flags, configured })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{group, node_under_quota};

    fn found(change: impl Fn(&mut crate::node::NodeTick)) -> Vec<Finding> {
        MoreSchedulers::find(&Window::of([&node_under_quota(1, change)]))
    }

    #[test]
    fn a_smaller_quota_above_is_to_be_raised_too() {
        let mut tick = node_under_quota(1, |node| node.facts.line.online = None);
        tick.groups.push(group("/", 50, 500, (0, 0)));
        let fixes: Vec<Fix> = MoreSchedulers::find(&Window::of([&tick]))[0].fixes.read().unwrap();
        let Some(Fix::RaiseQuotas(enough)) = fixes.last() else { panic!("{fixes:?}") };
        assert_eq!(enough.above, ["/"]);
    }

    #[test]
    fn more_schedulers_than_quota_are_found_where_no_flag_chose_them_too() {
        let all = found(|node| node.facts.line.online = None);
        let [found_one] = &all[..] else { panic!("{all:?}") };
        let facts: Facts = found_one.facts.read().unwrap();
        assert_eq!((facts.online, facts.set_by_flag), (8, false));
        let fixes: Vec<Fix> = found_one.fixes.read().unwrap();
        let Fix::Flags(flags) = &fixes[0] else { panic!() };
        assert_eq!(flags.flags, [NodeFlag::Schedulers(1), NodeFlag::DirtyCpu(1)]);
        // One scheduler for each CPU of the quota is fine.
        assert!(found(|node| node.facts.line.online = Some(1)).is_empty());
        // A flag asks for more, and the VM knows the quota.
        let knows_quota = |node: &mut crate::node::NodeTick| {
            node.facts.line.online_is_maximum = true;
            node.schedulers.values_mut().skip(1).for_each(|one| one.ran_ns = 0);
        };
        assert!(found(knows_quota).is_empty());
        // A percentage is a flag too.
        let by_percent = found(|node| {
            node.facts.line.online = None;
            node.facts.line.online_by_percent = true;
        });
        let facts: Facts = by_percent[0].facts.read().unwrap();
        assert!(facts.set_by_flag && MoreSchedulers::cause(&by_percent[0], &facts).contains("+SP"));
    }
}
