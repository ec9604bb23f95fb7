//! Phrases that the sentences of several stalls share.

use crate::node::NodeFacts;
#[cfg(any(test, feature = "testing"))]
use crate::why::IDLE;
use crate::workload;
use model::Unit;
use model::live::{
    Code, Configured, Finding, Mailbox, Place, Program, RealTimePolicy, Weight, WeightOf, Why,
};
use model::prose::figures::{figure, plural};
use os::terminal::line as plain;
use serde::{Deserialize, Serialize};

/// The fix for threads that spin.
pub const STOP_SPINNING: &str = "Have its threads sleep instead of spinning.";

/// Where a program is that has no PID here.
const OUTSIDE: &str = "outside this container";

/// A program: `postgres (pid 7)`, `cc1 (12 processes, /build)`, `yes (outside this container)`.
pub fn program(program: &Program) -> String {
    let which = match (program.pid, program.processes) {
        (_, many) if many > 1 => format!("{many} processes"),
        (0, _) => String::new(),
        (pid, _) => format!("pid {pid}"),
    };
    let group = group_of(program).unwrap_or_default();
    let outside = if program.outside { OUTSIDE } else { "" };
    let inside = [which.as_str(), group.as_str(), outside];
    let inside: Vec<&str> = inside.into_iter().filter(|part| !part.is_empty()).collect();
    match inside.as_slice() {
        [] => plain(&program.name),
        parts => format!("{} ({})", plain(&program.name), parts.join(", ")),
    }
}

/// The name of a program, and whether it is outside this container.
pub fn short_name(program: &Program) -> String {
    let outside = if program.outside { " (outside)" } else { "" };
    format!("{}{outside}", plain(&program.name))
}

/// The group of a program: the name of its workload, or else its path; None for the root group.
pub fn group_of(program: &Program) -> Option<String> {
    let named = program.workload.as_ref().and_then(workload::sentence);
    named.or_else(|| program.group.as_deref().map(plain))
}

/// A group of a finding: the name of its workload, or else its path.
pub fn group(path: &str, finding: &Finding) -> String {
    let named = finding.workloads.get(path).and_then(workload::sentence);
    named.unwrap_or_else(|| plain(path))
}

/// The workload of a finding's group, with the image of a container; None if it has no name.
pub fn whose(path: &str, finding: &Finding) -> Option<String> {
    finding.workloads.get(path).and_then(workload::with_image)
}

/// The group of the victim, at the start of a sentence: `Its group /a`, or `Its group,
/// nginx.service,`.
pub fn its_group(path: &str, finding: &Finding) -> String {
    match whose(path, finding) {
        Some(named) => format!("Its group, {named},"),
        None => format!("Its group {}", plain(path)),
    }
}

/// The program that holds the victim up most.
pub fn culprit(finding: &Finding) -> String {
    finding.culprits.first().map_or_else(|| "an unknown program".to_owned(), program)
}

/// Why another program had the CPU, as a sentence after others; empty if it is not known. `policy`
/// is its real-time policy, if it has one that is known.
pub fn why(why: &Why, policy: Option<RealTimePolicy>) -> String {
    match why {
        Why::RealTime(priority) => {
            let name = policy.map(|policy| format!(" ({})", policy.name())).unwrap_or_default();
            format!(
                " It runs at real-time priority {priority}{name}, before all programs with a lower \
                 one or none."
            )
        }
        Why::SamePriority(priority) => {
            format!(" Both run at real-time priority {priority}, so {}.", keeps_its_cpu(policy))
        }
        Why::Deadline => {
            " It runs by a deadline policy, before all programs without one.".to_owned()
        }
        Why::Weight { victim, culprit } => format!(
            " The scheduler gives it more weight: {}, the victim {}.",
            weight(culprit),
            weight(victim)
        ),
        Why::Shared(Some((victim, culprit))) => format!(
            " The kernel shares the CPU evenly between their sessions (autogroup): the nice values \
             ({culprit}, the victim's {victim}) have no effect between sessions."
        ),
        Why::Shared(None) => " It has no more weight than the victim.".to_owned(),
        Why::Unknown => String::new(),
    }
}

/// How long a program keeps its CPU from others of the same real-time priority.
fn keeps_its_cpu(policy: Option<RealTimePolicy>) -> &'static str {
    match policy {
        Some(RealTimePolicy::Fifo) => "it keeps the CPU until it sleeps (SCHED_FIFO)",
        Some(RealTimePolicy::RoundRobin) => {
            "it keeps the CPU until it sleeps or its time slice ends (SCHED_RR: they then take \
             turns)"
        }
        None => {
            "the one that has the CPU keeps it until it sleeps (SCHED_FIFO) or its time slice ends \
             (SCHED_RR: they then take turns)"
        }
    }
}

/// A weight and its origin: `110 (nice 10)`.
pub fn weight(weight: &Weight) -> String {
    let of = match &weight.of {
        WeightOf::IdlePolicy => "policy SCHED_IDLE".to_owned(),
        WeightOf::Nice(nice) => format!("nice {nice}"),
        WeightOf::Session(nice) => format!("session of nice {nice}"),
        WeightOf::Group(group) => format!("group {}", plain(group)),
        WeightOf::Unknown => "of unknown origin".to_owned(),
    };
    format!("{} ({of})", weight.weight)
}

/// Every reason that a program may have the CPU.
#[cfg(any(test, feature = "testing"))]
pub fn why_samples() -> Vec<Why> {
    let nice = |nice, weight| Weight { weight, of: WeightOf::Nice(nice) };
    let session = |nice, weight| Weight { weight, of: WeightOf::Session(nice) };
    let group = |name: &str, weight| Weight { weight, of: WeightOf::Group(name.to_owned()) };
    vec![
        Why::Shared(None),
        Why::Shared(Some((-15, 19))),
        Why::Weight { victim: nice(10, 110), culprit: nice(0, 1024) },
        Why::Weight { victim: session(0, 1024), culprit: session(-5, 3125) },
        Why::Weight { victim: group("/web", 512), culprit: group("/batch", 4096) },
        Why::Weight { victim: group("/web", IDLE), culprit: group("/batch", 1024) },
        Why::Weight {
            victim: Weight { weight: IDLE, of: WeightOf::IdlePolicy },
            culprit: nice(0, 1024),
        },
        Why::Unknown,
    ]
}

/// ` of node web`, if the node has a name.
pub fn of_node(name: Option<&str>) -> String {
    name.map(|name| format!(" of node {}", plain(name))).unwrap_or_default()
}

/// A quota with some room, in CPUs: a tenth more than would have been enough, rounded up, since
/// work comes unevenly. At most as many CPUs as the machine has.
pub fn roomy(cpus: f64, online: u32) -> f64 {
    let roomy = (cpus * 11.0).ceil() / 10.0;
    if online == 0 { roomy } else { roomy.min(online.into()) }
}

/// The words after a share of throttled periods, if the group had another quota before.
pub fn since_changed(changed: bool) -> &'static str {
    if changed { " since it was changed" } else { "" }
}

/// The fix of a larger quota, as a sentence.
pub fn raise_quota(cpus: f64) -> String {
    format!("Raise the quota to {cpus:.1} CPUs or more.")
}

/// The name of code: `crypto.so`, `hash_update of crypto.so`.
pub fn place(place: &Place) -> String {
    let file = place.file.as_deref().map_or_else(|| "a library".to_owned(), plain);
    match (place.code, &place.symbol) {
        (Code::Library, Some(symbol)) => format!("{} of {file}", plain(symbol)),
        (Code::Library, None) => file,
        (Code::Vm, _) => "the VM's own code".to_owned(),
        (Code::Waiting, _) => "spinning".to_owned(),
        (Code::Erlang, _) => "Erlang code".to_owned(),
        (Code::Unknown, _) => "unknown code".to_owned(),
    }
}

/// A mailbox: `logger <0.9.0> holds 900 messages and grows by 5 a second`.
pub fn mailbox(mailbox: &Mailbox) -> String {
    let owner = match mailbox.name.is_empty() {
        true => plain(&mailbox.process),
        false => format!("{} {}", plain(&mailbox.name), plain(&mailbox.process)),
    };
    let growth = mailbox.growth_per_s.round();
    let verb = if growth < 0.0 { "shrinks" } else { "grows" };
    format!(
        "{owner} holds {} and {verb} by {} a second",
        plural(mailbox.length, "message"),
        figure(growth.abs(), Unit::Count),
    )
}

/// Flags of the VM, and where they are set on this node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeFlags {
    /// The flags.
    pub flags: Vec<NodeFlag>,
    /// Where they are set.
    pub configured: Configured,
}

/// A flag of the VM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeFlag {
    /// No scheduler of any kind spins: +sbwt, +sbwtdcpu, +sbwtdio none.
    NoBusyWait,
    /// Number of schedulers: +S.
    Schedulers(u32),
    /// Number of dirty CPU schedulers: +SDcpu.
    DirtyCpu(u32),
    /// Interval in milliseconds at which schedulers check whether another should wake: +sfwi.
    ForcedWakeup(u32),
}

/// What fixes native code that holds a scheduler.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NativeFix {
    /// A change of the code itself.
    DirtyScheduler,
    /// A flag of the VM that makes other schedulers take waiting work.
    Flags(NodeFlags),
    /// Processes that are bound to no scheduler.
    Unbind,
}

impl NativeFix {
    /// The fixes for a node. `work_waits` means that work waits while other schedulers sleep.
    pub fn all(work_waits: bool, node: &NodeFacts) -> Vec<Self> {
        let mut all = vec![NativeFix::DirtyScheduler];
        // This flag makes the VM look for that work.
        if work_waits && !node.line.given.forced_wakeup {
            let flags = vec![NodeFlag::ForcedWakeup(10)];
            all.push(NativeFix::Flags(NodeFlags { flags, configured: node.line.configured }));
        }
        all
    }

    /// A fix as a sentence.
    pub fn sentence(&self) -> String {
        match self {
            NativeFix::DirtyScheduler => {
                "Run that function on a dirty scheduler, or have it yield.".to_owned()
            }
            NativeFix::Flags(of_node) => {
                format!(
                    "{} Other schedulers then take the work that waits behind a busy scheduler.",
                    flags(of_node)
                )
            }
            NativeFix::Unbind => {
                "Do not bind its processes to a scheduler: start them without the option \
                 {scheduler, N} of spawn_opt."
                    .to_owned()
            }
        }
    }
}

/// The sentence that says how to set these flags on this node.
pub fn flags(flags: &NodeFlags) -> String {
    let words: Vec<String> = flags.flags.iter().map(flag).collect();
    let words = words.join(" ");
    match flags.configured {
        Configured::ErlFlags => format!("Start the node with ERL_FLAGS=\"{words}\"."),
        Configured::VmArgs => format!("Add {words} to vm.args."),
        Configured::RabbitMq => {
            format!("Set RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=\"{words}\" in rabbitmq-env.conf.")
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
    fn programs_are_named_as_one_asks_for_them() {
        let of = |pid, processes, group: Option<&str>| {
            let group = group.map(str::to_owned);
            program(&Program { name: "web".into(), group, pid, processes, ..Program::default() })
        };
        let outside =
            Program { name: "yes".into(), processes: 2, outside: true, ..Program::default() };
        assert_eq!(program(&outside), "yes (2 processes, outside this container)");
        assert_eq!(of(7, 1, None), "web (pid 7)");
        assert_eq!(of(7, 3, Some("/a")), "web (3 processes, /a)");
        assert_eq!(of(0, 0, None), "web");
    }

    #[test]
    fn flags_are_set_where_the_node_takes_them() {
        let of = |configured| flags(&NodeFlags { flags: vec![NodeFlag::NoBusyWait], configured });
        assert!(of(Configured::ErlFlags).contains("ERL_FLAGS=\"+sbwt none"));
        assert!(of(Configured::VmArgs).contains("vm.args"));
        let of_rabbit = "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS=\"+sbwt none";
        assert!(of(Configured::RabbitMq).contains(of_rabbit));
    }

    #[test]
    fn a_flag_that_a_node_was_started_with_is_no_fix() {
        let mut node = NodeFacts::default();
        let count = |node: &NodeFacts, waits| NativeFix::all(waits, node).len();
        assert_eq!((count(&node, true), count(&node, false)), (2, 1));
        node.line.given.forced_wakeup = true;
        assert_eq!(count(&node, true), 1);
    }

    #[test]
    fn a_name_cannot_steer_a_terminal() {
        let hostile = Program { name: "\u{1b}[2J".into(), ..Program::default() };
        assert!(!program(&hostile).contains('\u{1b}'));
        let of = |symbol: Option<&str>| {
            let symbol = symbol.map(str::to_owned);
            place(&Place { code: Code::Library, file: Some("nap.so".into()), symbol })
        };
        assert_eq!((of(Some("nap")), of(None)), ("nap of nap.so".into(), "nap.so".into()));
        assert!(!of(Some("\u{1b}[2J")).contains('\u{1b}'));
    }
}
