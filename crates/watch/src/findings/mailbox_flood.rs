//! Processes that scan a long mailbox again and again, each time they wait for one message in it.

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

/// Time for which the process was in a function that waits for a message, and did not wait, in
/// milliseconds a second: a fifth of the time. A process that keeps up waits, and so does one
/// that asked another process for something.
const LIMIT_MS_PER_S: f64 = 200.0;

/// And its mailbox has at least this many messages. A scan of them takes tens of microseconds.
const LENGTH: u64 = 5_000;

/// And it was sampled at least this often.
const SAMPLES: u32 = 8;

/// And it was in that function in at least this share of the samples in which it did not wait.
/// Other work is spread over several functions.
const SAME: f64 = 0.5;

/// A process of an Erlang node scans its long mailbox again and again.
pub struct MailboxFlood;

/// Which process it is.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Facts {
    /// Name of the node.
    node: String,
    /// The process and its mailbox.
    mailbox: Mailbox,
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
    type Facts = Facts;
    type Fix = Fix;

    /// Findings of all nodes that are asked.
    fn find(window: &Window) -> Vec<Finding> {
        let of = |(name, sums): (&String, &InsideSums)| {
            let (victim, _) = nodes::node_named(window, name);
            let figures = sums.inside(name).figures;
            let mailboxes = figures.into_iter().flat_map(|figures| figures.mailboxes);
            let flooded = mailboxes.filter(scans);
            flooded.map(|mailbox| finding(name, &victim, mailbox)).collect::<Vec<_>>()
        };
        window.inside.iter().flat_map(of).collect()
    }

    fn answer(seen: &Seen) -> Option<AnswerState> {
        let most = most(seen.window);
        Some(seen.inside_nodes(seen.measured::<Self>(most, LIMIT_MS_PER_S)))
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
             these samples it was in {}{callers}. That function waits for one message, so it scans \
             all messages queued before it.{off_heap}",
            plain(&facts.node),
            words::mailbox(one),
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
        let of = |mailbox| Facts { node: "web@host".to_owned(), mailbox };
        [mailbox, plainer].map(|one| (of(one), vec![Fix::Dam, Fix::OtherReceiver])).into()
    }
}

/// The most that one process loses, in milliseconds a second.
fn most(window: &Window) -> f64 {
    let figures = window.inside.iter().filter_map(|(name, sums)| sums.inside(name).figures);
    let all = figures.flat_map(|figures| figures.mailboxes);
    crate::sums::largest(all.filter(may_scan).map(|one| cost(&one)))
}

fn scans(mailbox: &Mailbox) -> bool {
    may_scan(mailbox) && mailbox.in_function >= SAME && cost(mailbox) >= LIMIT_MS_PER_S
}

/// Whether the mailbox is long, and its process is in a function that waits for a message
/// although it does not wait.
fn may_scan(mailbox: &Mailbox) -> bool {
    mailbox.length >= LENGTH && mailbox.samples >= SAMPLES && mailbox.waits_there
}

/// The time in which it scanned its mailbox, in milliseconds a second.
fn cost(mailbox: &Mailbox) -> f64 {
    mailbox.running * mailbox.in_function * 1e3
}

fn finding(node: &str, victim: &Program, mailbox: Mailbox) -> Finding {
    let params = MailboxFloodParams::default();
    let run =
        Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() };
    let cost_ms_per_s = cost(&mailbox);
    let facts = Facts { node: node.to_owned(), mailbox };
    Finding {
        victim: victim.clone(),
        cost_ms_per_s,
        sure: Sure::Likely,
        run: Some(run),
        ..MailboxFlood::found(&facts, &[Fix::Dam, Fix::OtherReceiver])
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
        assert!(scans(&mailbox()));
        for well in [
            Mailbox { length: 10, ..mailbox() },
            Mailbox { running: 0.1, ..mailbox() },
            Mailbox { in_function: 0.3, ..mailbox() },
            // A process that works in a function without a receive is slow, but scans nothing.
            Mailbox { waits_there: false, ..mailbox() },
            Mailbox { samples: 2, ..mailbox() },
        ] {
            assert!(!scans(&well), "{well:?}");
        }
    }
}
