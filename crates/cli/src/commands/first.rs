//! `tailback` alone: what it is, and what to try on this machine.

use crate::command::Session;
use crate::output;
use host::Roots;
use report::{Look, prose};
use std::fmt::Write as _;

/// Commands to try, and which scenarios cannot run here.
pub fn text(session: &Session) -> String {
    let roots = Roots::real().with_mounts_read();
    let machine = session.machine();
    let host = scenarios::Host { roots: &roots, machine: &machine, otps: &session.otps };
    let mut able = Vec::new();
    let mut unable: Vec<(Vec<&str>, String)> = Vec::new();
    for scenario in scenarios::ALL {
        let meta = scenario.meta();
        match scenario.missing(&host) {
            None => able.push(meta.id),
            Some(need) => add(&mut unable, meta.id, prose::need(&need, Some(meta))),
        }
    }
    let root = rustix::process::geteuid().is_root();
    introduction(&able, &unable, root, output::look())
}

/// Adds a scenario to those that need the same.
fn add(unable: &mut Vec<(Vec<&'static str>, String)>, id: &'static str, need: String) {
    match unable.iter_mut().find(|(_, other)| *other == need) {
        Some((ids, _)) => ids.push(id),
        None => unable.push((vec![id], need)),
    }
}

fn introduction(able: &[&str], unable: &[(Vec<&str>, String)], root: bool, look: Look) -> String {
    let sudo = if root { "" } else { "sudo " };
    let all = able.len() + unable.iter().map(|(ids, _)| ids.len()).sum::<usize>();
    let mut tries = vec![(
        format!("{sudo}tailback watch --for 30s"),
        "who holds up whom now; provokes nothing".to_owned(),
    )];
    if let Some(first) = able.first() {
        let count =
            format!("provokes {} of the {all} known stalls, in about two minutes", able.len());
        tries.push(("tailback check".to_owned(), count));
        tries.push((
            format!("tailback run {first}"),
            "one of them, until its verdict is settled".to_owned(),
        ));
    }
    let width = tries.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let mut text = "tailback finds out why work that is ready to run stands still.\n\nTry on this \
                    machine:\n"
        .to_owned();
    for (command, what) in tries {
        let _ = writeln!(text, "  {command:width$}  {what}");
    }
    if !unable.is_empty() {
        text.push_str("\nCannot run here:\n");
    }
    for (ids, need) in unable {
        let _ = writeln!(text, "  {}", ids.join(", "));
        let _ = writeln!(text, "{}", look.wrap(need, "    ", "    "));
    }
    text + "\nAll commands: tailback --help\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scenarios_that_need_the_same_share_a_line() {
        let mut unable = Vec::new();
        add(&mut unable, "busy-wait", "no erl; install it".to_owned());
        add(&mut unable, "memory-high", "no group; run as root".to_owned());
        add(&mut unable, "blocking-nif", "no erl; install it".to_owned());
        let text = introduction(&["mmap-lock"], &unable, false, Look::default());
        assert!(text.contains("\n  busy-wait, blocking-nif\n    no erl; install it\n"), "{text}");
        assert!(text.contains("sudo tailback watch --for 30s  who"), "{text}");
        assert!(text.contains("provokes 1 of the 4 known stalls"), "{text}");
    }

    #[test]
    fn a_machine_that_can_run_none_is_not_told_to_check() {
        let unable = vec![(vec!["mmap-lock"], "one CPU; more".to_owned())];
        let text = introduction(&[], &unable, true, Look::default());
        assert!(!text.contains("tailback check") && !text.contains("tailback run"), "{text}");
        assert!(text.contains("\n  tailback watch --for 30s  "), "{text}");
    }
}
