//! Processes that may scan a long mailbox again and again, each time they wait for a certain
//! message in it.

use super::stall::{Seen, Stall};
use super::words;
use crate::inside::InsideSums;
use crate::nodes;
use crate::window::Window;
use model::live::{AnswerState, Finding, Mailbox, Program, Sure};
use model::prose::figures::{percent, plural};
use model::suggestion::{Command, Run};
use os::terminal::line as plain;
use scenarios::mailbox_flood::{META, MailboxFloodParams};
use scenarios::params::Params;
use serde::{Deserialize, Serialize};

/// Time for which the process was in a function that may scan the mailbox, and neither waited nor
/// was suspended, in milliseconds a second: a fifth of the time. A process that keeps up waits, and
/// so does one that asked another process for something.
const LIMIT_MS_PER_S: f64 = 200.0;

/// And its mailbox has at least this many messages. A scan of them takes tens of microseconds.
const LENGTH: u64 = dist::FLOODED;

/// And it was sampled at least this often.
const SAMPLES: u32 = 8;

/// And it was in that function in at least this share of the samples in which it neither waited nor
/// was suspended. Other work is spread over several functions.
const SAME: f64 = 0.5;

/// A process of an Erlang node may scan its long mailbox again and again.
pub struct MailboxFlood;

/// Which process it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Name of the node.
    node: String,
    /// The process and its mailbox.
    mailbox: Mailbox,
    /// Whether the process has ended.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_ended: bool,
}

/// What fixes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fix {
    Dam,
    OtherReceiver,
}

impl Stall for MailboxFlood {
    const ID: &'static str = META.id;
    const LIMIT_MS_PER_S: f64 = LIMIT_MS_PER_S;
    // A busy node may answer fewer than `SAMPLES` of ten questions in a second.
    const NEEDS_ANSWERS: bool = true;
    type Facts = Facts;
    type Fix = Fix;

    /// Findings of all nodes that are asked.
    fn find(window: &Window) -> Vec<Finding> {
        let of = |(name, sums): (&String, &InsideSums)| {
            let (victim, _) = nodes::node_named(window, name);
            let flooded = longest(sums).filter_map(|(mailbox, has_ended)| {
                let cost_ms_per_s = cost(&mailbox, sums.sampled(&mailbox.process));
                let is_found = scans(&mailbox, cost_ms_per_s);
                let facts = Facts { node: name.clone(), mailbox, has_ended };
                is_found.then(|| finding(&facts, &victim, cost_ms_per_s))
            });
            flooded.collect::<Vec<_>>()
        };
        window.inside.iter().flat_map(of).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = most(seen.window);
        let state = seen.measured::<Self>(most, LIMIT_MS_PER_S);
        Some(seen.inside_nodes(seen.unless_unread(state)))
    }

    fn cause(_: &Finding, facts: &Facts) -> String {
        let one = &facts.mailbox;
        let callers: Vec<String> = one.callers.iter().map(|caller| plain(caller)).collect();
        let callers = match callers.as_slice() {
            [] => String::new(),
            callers => format!(" (called by {})", callers.join(", ")),
        };
        let off_heap = match one.off_heap {
            true => " Its messages are kept off its heap, which does not help here.",
            false => "",
        };
        format!(
            "On node {}, the mailbox of {}. In {} of {} the process was not waiting. In {} of \
             these samples it was in {}{callers}. That function waits for certain messages, so it \
             may scan all messages queued before them.{off_heap}",
            plain(&facts.node),
            if facts.has_ended { of_ended(one) } else { words::mailbox(one) },
            percent(one.running),
            plural(one.samples.into(), "sample"),
            percent(one.in_function),
            plain(&one.function),
        )
    }

    fn fix(fix: &Fix) -> String {
        match fix {
            Fix::Dam => "Put a dam in front of it, so that senders wait: docs/dam.md.",
            Fix::OtherReceiver => "Move that call into a process that gets no other messages.",
        }
        .to_owned()
    }

    #[cfg(any(test, feature = "testing"))]
    fn samples() -> Vec<(Facts, Vec<Fix>)> {
        let mailbox = Mailbox {
            process: "<0.90.0>".to_owned(),
            name: "logger".to_owned(),
            length: 50_000,
            growth_per_s: 1200.0,
            off_heap: true,
            samples: 30,
            running: 0.9,
            in_function: 0.8,
            function: "dets:req/2".to_owned(),
            callers: vec!["dets:lookup/2".to_owned(), "logger:loop/1".to_owned()],
            ..Mailbox::default()
        };
        let plainer =
            Mailbox { name: String::new(), off_heap: false, callers: vec![], ..mailbox.clone() };
        let of = |mailbox| Facts { node: "web@host".to_owned(), mailbox, has_ended: false };
        let ended = Facts { has_ended: true, ..of(plainer.clone()) };
        let all = [of(mailbox), of(plainer), ended];
        all.map(|one| (one, vec![Fix::Dam, Fix::OtherReceiver])).into()
    }
}

/// The most that one process loses, in milliseconds a second.
fn most(window: &Window) -> f64 {
    let costs = |sums: &InsideSums| {
        let long = longest(sums).map(|(one, _)| one).filter(may_scan);
        crate::sums::largest(long.map(|one| cost(&one, sums.sampled(&one.process))))
    };
    crate::sums::largest(window.inside.values().map(costs))
}

/// The longest mailboxes of a node, each with whether its process has ended.
fn longest(sums: &InsideSums) -> impl Iterator<Item = (Mailbox, bool)> {
    let of = |has_ended| sums.longest(has_ended).into_iter().map(move |one| (one, has_ended));
    of(false).chain(of(true))
}

/// The mailbox of a process that has ended: `logger <0.9.0> held 900 messages before the process
/// ended`.
fn of_ended(mailbox: &Mailbox) -> String {
    let owner = [&mailbox.name, &mailbox.process].map(|part| plain(part)).join(" ");
    let messages = plural(mailbox.length, "message");
    format!("{} held {messages} before the process ended", owner.trim_start())
}

fn scans(mailbox: &Mailbox, cost_ms_per_s: f64) -> bool {
    may_scan(mailbox) && mailbox.in_function >= SAME && cost_ms_per_s >= LIMIT_MS_PER_S
}

/// Whether the mailbox is long, and its process is in a function that may scan it although it
/// neither waits nor is suspended.
fn may_scan(mailbox: &Mailbox) -> bool {
    mailbox.length >= LENGTH && mailbox.samples >= SAMPLES && mailbox.waits_there
}

/// The time in which it may have scanned its mailbox, in milliseconds a second. It was sampled for
/// this share of the time: only while the mailbox was long.
fn cost(mailbox: &Mailbox, sampled: f64) -> f64 {
    mailbox.running * mailbox.in_function * sampled * 1e3
}

fn finding(facts: &Facts, victim: &Program, cost_ms_per_s: f64) -> Finding {
    let params = MailboxFloodParams::default();
    let run =
        Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() };
    Finding {
        victim: victim.clone(),
        cost_ms_per_s,
        sure: Sure::Likely,
        run: Some(run),
        ..MailboxFlood::found(facts, &[Fix::Dam, Fix::OtherReceiver])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mailbox() -> Mailbox {
        Mailbox {
            length: 50_000,
            samples: 30,
            running: 0.9,
            in_function: 0.9,
            waits_there: true,
            function: "dets:req/2".into(),
            ..Mailbox::default()
        }
    }

    #[test]
    fn a_long_mailbox_that_nobody_scans_is_none() {
        let scans = |one: &Mailbox, sampled| scans(one, cost(one, sampled));
        assert!(scans(&mailbox(), 1.0));
        assert!(!scans(&mailbox(), 0.1), "it was long for a tenth of the time");
        for well in [
            Mailbox { length: 10, ..mailbox() },
            Mailbox { running: 0.1, ..mailbox() },
            Mailbox { in_function: 0.3, ..mailbox() },
            // A process that works in a function without a receive is slow, but scans nothing.
            Mailbox { waits_there: false, ..mailbox() },
            Mailbox { samples: 2, ..mailbox() },
        ] {
            assert!(!scans(&well, 1.0), "{well:?}");
        }
    }
}
