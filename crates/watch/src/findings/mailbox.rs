//! Processes that scan a long mailbox again and again, each time that they wait for one message in
//! it.

use crate::inside::InsideSums;
use crate::limits::{MAILBOX_LENGTH, MAILBOX_MS_PER_S, MAILBOX_SAME, MAILBOX_SAMPLES};
use crate::nodes;
use crate::window::Window;
use model::live::{Finding, FindingKind, LiveFix, Mailbox, MailboxFlood, Program, Sure};
use model::suggestion::{Command, Run};
use scenarios::mailbox_flood::{META, MailboxFloodParams};
use scenarios::params::Params;

/// Findings of all nodes that are looked into.
pub fn find(window: &Window) -> Vec<Finding> {
    let of = |(name, sums): (&String, &InsideSums)| {
        let (victim, _) = nodes::node_named(window, name);
        let said = sums.inside(name).said;
        let mailboxes = said.into_iter().flat_map(|said| said.mailboxes);
        mailboxes.filter(scans).map(|mailbox| finding(name, &victim, mailbox)).collect::<Vec<_>>()
    };
    window.inside.iter().flat_map(of).collect()
}

/// The most that one process loses, in milliseconds a second.
pub fn most(window: &Window) -> f64 {
    let said = window.inside.iter().filter_map(|(name, sums)| sums.inside(name).said);
    let all = said.flat_map(|said| said.mailboxes);
    crate::sums::largest(all.filter(may_scan).map(|one| cost(&one)))
}

fn scans(mailbox: &Mailbox) -> bool {
    may_scan(mailbox) && cost(mailbox) >= MAILBOX_MS_PER_S
}

/// Whether it is long, and its process stands mostly in one function that waits for a message where
/// it does not wait.
fn may_scan(mailbox: &Mailbox) -> bool {
    mailbox.length >= MAILBOX_LENGTH
        && mailbox.samples >= MAILBOX_SAMPLES
        && mailbox.in_function >= MAILBOX_SAME
        && mailbox.waits_there
}

/// The time in which it went through its mailbox.
fn cost(mailbox: &Mailbox) -> f64 {
    mailbox.running * mailbox.in_function * 1e3
}

fn finding(node: &str, victim: &Program, mailbox: Mailbox) -> Finding {
    let params = MailboxFloodParams::default();
    let run =
        Run { command: Command::Run, scenario: META.id.to_owned(), parameters: params.settings() };
    let cost_ms_per_s = cost(&mailbox);
    Finding {
        victim: victim.clone(),
        culprits: Vec::new(),
        cost_ms_per_s,
        worst_ms: 0.0,
        since_s: 0.0,
        sure: Sure::Likely,
        fixes: vec![LiveFix::Dam, LiveFix::OtherReceiver],
        run: Some(run),
        kind: FindingKind::MailboxFlood(MailboxFlood { node: node.to_owned(), mailbox }),
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
            // A process that works in a function without a receive is slow, and scans nothing.
            Mailbox { waits_there: false, ..mailbox() },
            Mailbox { samples: 2, ..mailbox() },
        ] {
            assert!(!scans(&well), "{well:?}");
        }
    }
}
