//! Erlang nodes as seen from outside, in English.

use super::plain;
use model::Unit;
use model::live::{Node, ThreadRole};
use model::prose::figures::{figure, percent};
use watch::findings::words::place;

/// A node on a line or two: the activity of its schedulers, and where their CPU time went.
pub fn node(node: &Node, over_ns: u64) -> String {
    let rate =
        |ns: u64| figure(ns as f64 / over_ns.max(1) as f64 * 1e3, Unit::MillisecondsPerSecond);
    let schedulers = node.role(ThreadRole::Scheduler).copied().unwrap_or_default();
    let dirty = [ThreadRole::DirtyCpu, ThreadRole::DirtyIo]
        .map(|role| node.role(role).map_or(0, |one| one.ran_ns));
    let mut text = format!(
        "Erlang node {} (pid {}): {} of {} schedulers are online. They ran for {}, {} of it spinning, \
         and slept in system calls for {}. Dirty schedulers ran for {}.",
        node.name.as_deref().map_or_else(|| "(no name)".to_owned(), plain),
        node.program.pid,
        node.online,
        node.schedulers,
        rate(schedulers.ran_ns),
        rate(schedulers.spun_ns),
        rate(schedulers.call_ns),
        rate(dirty.into_iter().fold(0, u64::saturating_add)),
    );
    if let Some(cpus) = node.quota_cpus {
        let throttled = node.throttled_periods.map_or_else(String::new, |share| {
            format!("; it was throttled in {} of the periods", percent(share))
        });
        text.push_str(&format!(" Its quota is {cpus:.2} CPUs{throttled}."));
    }
    let most = node.code.iter().filter(|one| one.share >= 0.05).take(4);
    let most: Vec<String> =
        most.map(|one| format!("{} {}", place(&one.place), percent(one.share))).collect();
    if !most.is_empty() {
        text.push_str(&format!(" Its CPU time: {}.", most.join(", ")));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::RoleTime;

    #[test]
    fn times_that_a_record_invents_are_added_up() {
        let role = |role| RoleTime { role, ran_ns: u64::MAX, ..RoleTime::default() };
        let roles = [ThreadRole::DirtyCpu, ThreadRole::DirtyIo].map(role).to_vec();
        let text = node(&Node { roles, ..Node::default() }, u64::MAX);
        assert!(text.ends_with("Dirty schedulers ran for 1000 ms/s."), "{text}");
    }
}
