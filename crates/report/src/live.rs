//! The result of `tailback watch`, as text of about twenty lines.

use crate::look::Look;
use crate::prose::live::{self as words, MetaOf};
use crate::prose::plain;
use anstyle::{AnsiColor, Style};
use model::Live;
use model::live::{AnswerState, Finding, Victim};
use std::fmt::Write as _;
use watch::Summary;

/// Findings in a short answer. Only the first of them is shown in full.
const FINDINGS: usize = 2;

/// Erlang nodes in a short answer.
const NODES: usize = 1;

/// Programs in a short answer.
const VICTIMS: usize = 4;

/// Most entries of each list, even with --why: a record may come from anywhere.
const MOST: usize = 64;

/// The text; with [`Look::why`] all of it.
pub fn live(live: &Live, meta_of: MetaOf, look: Look) -> String {
    let mut text = head(live);
    let shown = look.most(FINDINGS).min(MOST);
    for (number, finding) in live.findings.iter().take(shown).enumerate() {
        write_finding(&mut text, number + 1, finding, meta_of, look);
    }
    let left = live.findings.len().saturating_sub(shown);
    if left > 0 {
        let _ = writeln!(text, "{left} more; --why shows all");
    }
    for node in live.nodes.iter().take(look.most(NODES).min(MOST)) {
        let _ = writeln!(text, "{}", look.wrap(&words::node(node, live.over_ns), "", "  "));
    }
    for inside in live.inside.iter().take(MOST) {
        let _ = writeln!(text, "{}", look.wrap(&words::inside(inside), "", "  "));
    }
    victims(&mut text, live, look);
    accounts(&mut text, live, look);
    answers(&mut text, live, look);
    cost(&mut text, live, look);
    let last = words::conclusion(live);
    let color = match watch::summary(live) {
        Summary::AllWell(_) => AnsiColor::Green,
        Summary::Finding | Summary::FindingBeside(_) => AnsiColor::Red,
        _ => AnsiColor::Yellow,
    };
    text.push_str(&look.paint(color.on_default().bold(), &look.wrap(&last, "", "  ")));
    text.push('\n');
    text
}

fn head(live: &Live) -> String {
    let seconds = live.over_ns as f64 / 1e9;
    let machine = &live.machine;
    let mut text = format!("watch: {}, {seconds:.1} s", words::looked_at(live));
    let all = seconds * f64::from(machine.cpus) * 1e9;
    if let Some(busy) = machine.busy_ns.filter(|_| all > 0.0) {
        let _ = write!(text, "; {} CPUs {:.0}% busy", machine.cpus, busy as f64 / all * 1e2);
    }
    if let Some(steal) = machine.steal_ns.filter(|steal| *steal as f64 > all * 0.01) {
        let _ = write!(text, ", {:.0}% stolen", steal as f64 / all * 1e2);
    }
    if let Some(switches) = machine.switches_per_s {
        let _ = write!(text, "; {switches:.0} switches/s");
    }
    text.push('\n');
    text
}

fn write_finding(text: &mut String, number: usize, finding: &Finding, meta_of: MetaOf, look: Look) {
    let name = words::stall_name(&finding.stall);
    // Only the first finding is shown in full, so that the text fits a screen.
    if number > 1 && !look.why {
        let line = format!("{number}. {name}: {}", words::brief(finding));
        let _ = writeln!(text, "{}", look.wrap(&line, "", "   "));
        return;
    }
    let sentences = words::finding(finding, meta_of);
    let _ = writeln!(
        text,
        "{}",
        look.wrap(&format!("{number}. {name}: {}", sentences.loss), "", "   ")
    );
    let fixes = if look.why { sentences.fixes } else { Vec::new() };
    let cause = std::iter::once(sentences.cause).chain(fixes).chain(sentences.sleepers);
    let cause = cause.collect::<Vec<String>>().join(" ");
    let _ = writeln!(text, "{}", look.wrap(&cause, "   ", "   "));
    if let Some(command) = sentences.command {
        let _ = writeln!(text, "   Reproduce: {}", look.paint(Style::new().bold(), &command));
    }
}

/// A table of the programs that lost most. Each figure is a sum over all threads of a program.
fn victims(text: &mut String, live: &Live, look: Look) {
    if live.victims.is_empty() {
        return;
    }
    let _ = writeln!(
        text,
        "{:<20}{} {:>8}",
        "lost, ms/s",
        words::COLUMNS.map(|name| format!(" {name:>6}")).concat(),
        "worst ms"
    );
    let shown = &live.victims[..live.victims.len().min(look.most(VICTIMS)).min(MOST)];
    let is_double = |name: &str| shown.iter().filter(|one| one.program.name == name).count() > 1;
    for victim in shown {
        text.push_str(&row(victim, live.over_ns));
        // Tells the program apart from another one of the same name.
        if is_double(&victim.program.name) {
            let which = words::program(&victim.program);
            let _ = writeln!(text, "{}", look.wrap(&which, "  ", "  "));
        }
    }
}

fn row(victim: &Victim, over_ns: u64) -> String {
    let worst = victim.worst_ns() as f64 / 1e6;
    let name: String = plain(&victim.program.name).chars().take(20).collect();
    let cells = words::columns(victim).map(|ns| format!(" {:>6}", words::rate(ns, over_ns)));
    format!("{name:<20}{} {worst:>8.1}\n", cells.concat())
}

/// The parts of the program that loses noticeably but has no finding; with `--why`, of every
/// program that loses more than noise. After them, each program whose parts do not add up to the
/// kernel's total.
fn accounts(text: &mut String, live: &Live, look: Look) {
    let told = match watch::summary(live) {
        Summary::Loses(loss) | Summary::Near(loss) | Summary::FindingBeside(loss) => Some(loss),
        Summary::Together(all) => Some(all.most),
        _ => None,
    };
    let is_told = |victim: &&Victim| {
        let is_asked = look.why && words::is_worth_an_account(victim, live.over_ns);
        is_asked || told.as_ref().is_some_and(|loss| loss.program == victim.program)
    };
    let shown = live.victims.iter().filter(is_told).take(MOST);
    let all = shown.map(|victim| words::account(victim, live.over_ns));
    let off = live.victims.iter().take(MOST);
    let off = off.filter_map(|victim| words::disagrees(victim, live.over_ns));
    for line in all.chain(off) {
        let _ = writeln!(text, "{}", look.wrap(&line, "", "  "));
    }
}

/// The answers: first one line with all stalls that were measured, then the stalls that could not
/// be measured, with the reasons.
fn answers(text: &mut String, live: &Live, look: Look) {
    let measured = words::measured(live.answers.iter().take(MOST));
    if !measured.is_empty() {
        let _ = writeln!(text, "{}", look.wrap(&measured, "", "  "));
    }
    let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
    for answer in live.answers.iter().take(MOST) {
        let AnswerState::NotMeasurable(why) = &answer.state else { continue };
        let (why, name) = (words::not_measurable(why), words::stall_name(&answer.stall));
        match reasons.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(name),
            None => reasons.push((why, vec![name])),
        }
    }
    let reasons: Vec<String> =
        reasons.iter().map(|(why, names)| format!("{} ({why})", names.join(", "))).collect();
    if !reasons.is_empty() {
        let line = format!("Not measurable here: {}", reasons.join("; "));
        let _ = writeln!(text, "{}", look.wrap(&line, "", "  "));
    }
}

fn cost(text: &mut String, live: &Live, look: Look) {
    let cost = &live.cost;
    let mib = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    let mut line = format!("Watching costs {:.1} ms/s of CPU time", cost.tool_ms_per_s);
    if let Some(programs) = cost.programs_ms_per_s {
        let _ = write!(line, " and {programs:.1} ms/s in the kernel");
    }
    let memory = mib(cost.memory_bytes.saturating_add(cost.table_bytes));
    let _ = write!(line, ", {memory:.0} MiB; {} threads were not counted", cost.lost_threads);
    let _ = writeln!(text, "{}", look.wrap(&line, "", "  "));
    if look.why {
        for one in live.sources.iter().take(MOST) {
            let state = one.missing.as_ref().map_or_else(|| "read".to_owned(), words::missing);
            let line = format!("Source: {}: {state}", words::source(one.source));
            let _ = writeln!(text, "{}", look.wrap(&line, "", "  "));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::live::{AsleepBehind, Parts, Pod, Program, Workload};

    /// A record of version 2, converted to the current names.
    const CONVERTED: &str = include_str!("../../model/tests/live.json");

    #[test]
    fn every_finding_of_a_converted_record_has_its_cause_and_its_fixes() {
        let seen: Live = serde_json::from_str(CONVERTED).unwrap();
        assert_eq!(seen.findings.len(), 14);
        for finding in &seen.findings {
            let text = words::finding(finding, |_| None);
            assert!(!text.cause.contains("does not know"), "{finding:?}");
            let fixes: Vec<serde_json::Value> = finding.fixes.read().unwrap();
            assert_eq!(text.fixes.len(), fixes.len(), "{finding:?}");
        }
        let text = live(&seen, |_| None, Look { why: true, ..Look::default() });
        assert!(text.contains("14. memory-high: web (pid 9, /app) loses 940 ms/s"), "{text}");
        assert!(text.contains("Inside web@host: OTP 27"), "{text}");
        assert!(text.contains("Fix this first: busy-wait of beam.smp (pid 70, /app)."), "{text}");
    }
    #[test]
    fn why_accounts_for_programs_that_lose_more_than_noise() {
        let program = |name: &str| Program { name: name.to_owned(), ..Program::default() };
        let of = |name, ns, asleep_ns| Victim {
            program: program(name),
            parts: Parts { ready_ns: ns, own_program_ns: ns, ..Parts::default() },
            asleep: vec![AsleepBehind { holder: program("db"), ns: asleep_ns, ..<_>::default() }],
            ..Victim::default()
        };
        let victims = vec![of("web", 2_000_000, 0), of("cc1", 0, 1_000_000), of("sh", 900_000, 9)];
        let seen = Live { over_ns: 1_000_000_000, victims, ..Live::default() };
        let why = live(&seen, |_| None, Look { why: true, ..Look::default() });
        assert!(why.contains("web lost, in ms/s: 2.0 behind its own threads\n"), "{why}");
        assert!(
            why.contains("cc1 was asleep while its waker stood ready, in ms/s: 1.0 db\n"),
            "{why}"
        );
        assert!(!why.contains("sh lost") && why.contains("\nsh  "), "{why}");
        assert!(!live(&seen, |_| None, Look::default()).contains("in ms/s:"));
    }

    #[test]
    fn programs_of_one_name_are_told_apart_in_the_table() {
        let pod = Pod { namespace: Some("shop".into()), name: Some("a-0".into()), uid: None };
        let of = |name: &str, pid, workload| {
            let name = name.to_owned();
            let program = Program { name, pid, processes: 1, workload, ..Program::default() };
            Victim { program, ..Victim::default() }
        };
        let in_pod = Some(Workload::Pod(pod));
        let victims = vec![of("db", 7, in_pod), of("db", 8, None), of("web", 9, None)];
        let seen = Live { over_ns: 1_000_000_000, victims, ..Live::default() };
        let table = live(&seen, |_| None, Look::default());
        assert!(table.contains("\n  db (pid 7, pod shop/a-0)\ndb  "), "{table}");
        assert!(table.contains("\n  db (pid 8)\nweb  "), "{table}");
        assert!(!table.contains("pid 9"), "{table}");
    }
}
