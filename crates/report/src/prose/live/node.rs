//! What is said of Erlang nodes.

use super::plain;
use model::Unit;
use model::live::{
    BusyWait, Code, Configured, MoreSchedulers, NativeCall, Node, NodeFlag, NodeFlags, Place, Role,
};
use model::prose::figures::{figure, percent, plural};

/// A node on a line or two: what its schedulers did, and where their CPU time went.
pub fn node(node: &Node, over_ns: u64) -> String {
    let rate =
        |ns: u64| figure(ns as f64 / over_ns.max(1) as f64 * 1e3, Unit::MillisecondsPerSecond);
    let schedulers = node.role(Role::Scheduler).copied().unwrap_or_default();
    let dirty =
        [Role::DirtyCpu, Role::DirtyIo].map(|role| node.role(role).map_or(0, |one| one.ran_ns));
    let mut text = format!(
        "Erlang node {} (pid {}): {} of {} schedulers online ran {}, spun {}, slept in calls {}; \
         dirty ones ran {}.",
        node.name.as_deref().map_or_else(|| "without a name".to_owned(), plain),
        node.program.pid,
        node.online,
        node.schedulers,
        rate(schedulers.ran_ns),
        rate(schedulers.spun_ns),
        rate(schedulers.call_ns),
        rate(dirty.iter().sum()),
    );
    if let Some(cpus) = node.quota_cpus {
        let throttled = node.throttled_periods.map_or_else(String::new, |share| {
            format!(", throttled in {} of the periods", percent(share))
        });
        text.push_str(&format!(" Quota {cpus:.2} CPUs{throttled}."));
    }
    let most = node.code.iter().filter(|one| one.share >= 0.05).take(4);
    let most: Vec<String> =
        most.map(|one| format!("{} {}", place(&one.place), percent(one.share))).collect();
    if !most.is_empty() {
        text.push_str(&format!(" CPU time: {}.", most.join(", ")));
    }
    text
}

/// Native code that holds schedulers.
pub fn native(facts: &NativeCall) -> String {
    let how = match (facts.sleeps, facts.call) {
        (true, Some(call)) => format!("sleeps in system call {call}"),
        (true, None) => "sleeps".to_owned(),
        (false, _) => "computes without ever giving its scheduler back".to_owned(),
    };
    let mut text = format!(
        "On {} of {} schedulers{} {} {how}.",
        facts.held,
        facts.online,
        of_node(facts.node.as_deref()),
        place(&facts.place),
    );
    if let Some(calls) = facts.calls_per_s {
        text.push_str(&format!(" {} calls a second.", figure(calls, Unit::Count)));
    }
    if let Some(asleep) = facts.others_asleep.filter(|share| *share > 0.5) {
        text.push_str(&format!(
            " The other schedulers slept for {} of the time: work may wait behind it.",
            percent(asleep)
        ));
    }
    text
}

/// Schedulers that spin a quota away.
pub fn busy_wait(facts: &BusyWait) -> String {
    format!(
        "Throttled in {} of the periods of {} ({:.2} CPUs); of the CPU time{} {} was spun, {}, \
         which stands for {} of the lost time.",
        percent(facts.throttled_periods),
        plain(&facts.group),
        facts.quota_cpus,
        of_node(facts.node.as_deref()),
        percent(facts.spun),
        figure(facts.spun_ms_per_s, Unit::MillisecondsPerSecond),
        figure(facts.caused_ms_per_s, Unit::MillisecondsPerSecond),
    )
}

/// More schedulers than quota.
pub fn more_schedulers(facts: &MoreSchedulers) -> String {
    let why = match facts.chosen {
        true => "+S chose so many",
        false => "the VM does not see the quota, or counts CPUs",
    };
    format!(
        "{}{} run under {:.2} CPUs of quota of {}, throttled in {} of the periods: {why}.",
        plural(facts.online.into(), "scheduler"),
        of_node(facts.node.as_deref()),
        facts.quota_cpus,
        plain(&facts.group),
        percent(facts.throttled_periods),
    )
}

fn of_node(name: Option<&str>) -> String {
    name.map(|name| format!(" of node {}", plain(name))).unwrap_or_default()
}

/// Code, as it is named: `crypto.so`, `hash_update of crypto.so`.
pub fn place(place: &Place) -> String {
    let file = place.file.as_deref().map_or_else(|| "a library".to_owned(), plain);
    match (place.code, &place.symbol) {
        (Code::Library, Some(symbol)) => format!("{} of {file}", plain(symbol)),
        (Code::Library, None) => file,
        (Code::Vm, _) => "the VM's own code".to_owned(),
        (Code::Waiting, _) => "active waiting".to_owned(),
        (Code::Erlang, _) => "Erlang code".to_owned(),
        (Code::Unknown, _) => "code that is not known".to_owned(),
    }
}

/// Flags, and where they are set on this node.
pub fn flags(flags: &NodeFlags) -> String {
    let words: Vec<String> = flags.flags.iter().map(flag).collect();
    let words = words.join(" ");
    match flags.configured {
        Configured::ErlFlags => format!("Start it with ERL_FLAGS=\"{words}\"."),
        Configured::VmArgs => format!("Add to vm.args: {words}"),
        Configured::RabbitMq => {
            format!("Set RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=\"{words}\" (rabbitmq-env.conf).")
        }
        Configured::Ejabberd => format!("Set ERL_OPTIONS=\"{words}\" in ejabberdctl.cfg."),
    }
}

fn flag(flag: &NodeFlag) -> String {
    match flag {
        NodeFlag::NoBusyWait => "+sbwt none +sbwtdcpu none +sbwtdio none".to_owned(),
        NodeFlag::Schedulers(count) => format!("+S {count}:{count}"),
        NodeFlag::DirtyCpu(count) => format!("+SDcpu {count}:{count}"),
        NodeFlag::ForcedWakeup(ms) => format!("+sfwi {ms}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_set_where_the_node_takes_them() {
        let of = |configured| flags(&NodeFlags { flags: vec![NodeFlag::NoBusyWait], configured });
        assert!(of(Configured::ErlFlags).contains("ERL_FLAGS=\"+sbwt none"));
        assert!(of(Configured::VmArgs).contains("vm.args"));
        let of_rabbit = "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=\"+sbwt none";
        assert!(of(Configured::RabbitMq).contains(of_rabbit));
    }

    #[test]
    fn a_function_is_named_with_its_file_and_cannot_steer_a_terminal() {
        let of = |symbol: Option<&str>| {
            place(&Place {
                code: Code::Library,
                file: Some("nap.so".into()),
                symbol: symbol.map(str::to_owned),
            })
        };
        assert_eq!((of(Some("nap")), of(None)), ("nap of nap.so".into(), "nap.so".into()));
        assert!(!of(Some("\u{1b}[2J")).contains('\u{1b}'));
    }
}
