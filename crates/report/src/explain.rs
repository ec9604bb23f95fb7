//! An explanation as text.

use crate::look::Look;
use crate::prose::explanation as prose;
use crate::prose::{InGuest, not_seen, plain};
use crate::repro;
use model::evidence::{Span, Wait};
use model::{Explanation, Judged, Meta, State};
use std::fmt::Write as _;

/// Most spans of a timeline that are written.
const SPANS: usize = 60;

/// The explanation of a record in about a dozen lines. `meta` describes its scenario, if this
/// version knows it.
pub fn explanation(
    explanation: &Explanation,
    record: &Judged,
    meta: Option<&Meta>,
    look: Look,
) -> String {
    let mut text = String::new();
    let arm = explanation.arm.as_deref().map(|arm| format!(" ({})", plain(arm)));
    let (scenario, arm) = (plain(&explanation.scenario), arm.unwrap_or_default());
    let stalls = shows_stall(explanation, record);
    let _ = match explanation.state {
        State::Affected if stalls => writeln!(text, "Why {scenario} stalls{arm}:"),
        State::Affected => writeln!(text, "What was seen of {scenario}{arm}:"),
        state => writeln!(text, "What was seen of {scenario}{arm}, {state}:"),
    };
    line(&mut text, look, "  ", &prose::cause(explanation, meta));
    shares(&mut text, look, explanation);
    for seen in &explanation.evidence {
        line(&mut text, look, "  - ", &prose::seen(seen));
    }
    // The fix is for arms that stall.
    if stalls || explanation.state != State::Affected {
        fix(&mut text, explanation, repro::program(record), meta, look);
    }
    sources(&mut text, explanation, meta, look);
    text
}

/// Whether the study is affected, and the explained arm too. Without a trial with probes, the
/// explanation is about the whole study.
fn shows_stall(explanation: &Explanation, record: &Judged) -> bool {
    let is_affected = |id: &String| {
        let mut arms = record.judgement.arms.iter();
        arms.any(|arm| arm.id == *id && arm.state == Some(State::Affected))
    };
    explanation.state == State::Affected && explanation.arm.as_ref().is_none_or(is_affected)
}

fn shares(text: &mut String, look: Look, explanation: &Explanation) {
    if !explanation.shares.is_empty() {
        let _ = writeln!(text, "  Of all the time in such waits:");
    }
    for share in &explanation.shares {
        let ms = model::estimate::number(share.ns as f64 / 1e6);
        let first = format!("  {:>5.1}%  {ms:>9} ms  ", share.percent);
        let rest = " ".repeat(first.len());
        let happened = prose::share(share.what, &explanation.evidence);
        let _ = writeln!(text, "{}", look.wrap(&happened, &first, &rest));
    }
}

/// The fix or the next step. `program` is the program that the user named for the guest.
fn fix(
    text: &mut String,
    explanation: &Explanation,
    program: Option<&str>,
    meta: Option<&Meta>,
    look: Look,
) {
    let Some(remedy) = &explanation.fix else { return };
    let guest = explanation.guest.as_ref().map(|guest| InGuest { guest, program });
    let step = prose::remedy(remedy, meta, guest);
    let heading = if explanation.state == State::Affected { "Fix" } else { "Next" };
    line(text, look, "  ", &format!("{heading}: {}", step.what));
    if let Some(command) = step.command {
        // The command is never wrapped, so that it can be copied.
        let _ = writeln!(text, "      {command}");
    }
}

/// The cost of the probes, the sources of the evidence, and the evidence that was not available.
fn sources(text: &mut String, explanation: &Explanation, meta: Option<&Meta>, look: Look) {
    for cost in explanation.cost.iter().flat_map(|cost| prose::cost(cost, look.why, meta)) {
        line(text, look, "  ", &format!("Probes: {cost}"));
    }
    for source in &explanation.sources {
        line(text, look, "  ", &format!("From {}", not_seen::source(source)));
    }
    for missing in &explanation.missing {
        line(text, look, "  ", &format!("Missing: {}", not_seen::missing(missing, meta)));
    }
}

fn line(text: &mut String, look: Look, indent: &str, sentence: &str) {
    let rest = " ".repeat(indent.len());
    let _ = writeln!(text, "{}", look.wrap(sentence, indent, &rest));
}

/// The moments of a wait, one per line.
pub fn timeline(wait: &Wait) -> String {
    let mut text = String::from("  from, ms  until, ms  cpu  who\n");
    for span in wait.timeline.iter().take(SPANS) {
        let cpu = span.cpu.map_or_else(|| "-".to_owned(), |cpu| cpu.to_string());
        let _ = writeln!(
            text,
            "{:>10.3} {:>10.3} {:>4}  {} {} {}",
            span.from_ms,
            span.until_ms,
            cpu,
            plain(name(span)),
            span.task.tid,
            plain(&span.state)
        );
    }
    let more = wait.timeline.len().saturating_sub(SPANS);
    if more > 0 {
        let _ = writeln!(text, "  and {more} more; --perfetto FILE writes all of them");
    }
    text
}

fn name(span: &Span) -> &str {
    span.task.part.as_ref().unwrap_or(&span.task.name)
}

#[cfg(test)]
pub(crate) mod testing {
    use model::evidence::{Resource, Task, Wait};
    use model::explanation::{Cause, Cost, Happened, MissingEvidence, Remedy, SCHEMA, Seen, Share};
    use model::not_seen::{EvidenceSource, NotSeen, Sees};
    use model::{Changed, Explanation, FixOutcome, State};

    /// An explanation by a wait whose lock holder is not known.
    pub(crate) fn explanation() -> Explanation {
        let waiter = Task { tid: 5, name: "worker".to_owned(), ..Task::default() };
        let wait = Wait {
            at_ms: 1.0,
            took_ns: 264_000_000,
            waiter,
            resource: Resource::Mutex { pid: 5 },
            mode: None,
            stack: Vec::new(),
            holders: Vec::new(),
            covered_ns: 0,
            split: None,
            timeline: Vec::new(),
        };
        let remedy = Remedy::Measured {
            arm: "fix".to_owned(),
            change: Changed::Said("--busy 1".to_owned()),
            outcome: FixOutcome::Fixed,
        };
        Explanation {
            schema: SCHEMA.to_owned(),
            scenario: "some-stall".to_owned(),
            state: State::Affected,
            arm: Some("case".to_owned()),
            cause: Cause::LongestWait,
            shares: vec![Share { what: Happened::NoHolderKnown, ns: 300_000_000, percent: 100.0 }],
            evidence: vec![Seen::Waits { count: 3, ns: 300_000_000 }],
            fix: Some(remedy),
            guest: None,
            cost: Some(Cost::default()),
            sources: vec![EvidenceSource::Probe(Sees::Scheduler)],
            missing: vec![MissingEvidence::NotSeen(NotSeen::Said(
                "kernel stacks\u{1b}[2J".to_owned(),
            ))],
            waits: vec![wait],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::explanation::Remedy;

    #[test]
    fn the_command_of_a_next_step_names_the_program_of_the_guest() {
        let mut record = crate::testing::record();
        let kernel_name = "debian:6.12".to_owned();
        record.machine.guest = Some(model::machine::Guest { kernel_name, ..Default::default() });
        let next = record.judgement.suggestions[0].clone();
        let step = Explanation {
            guest: record.machine.guest_of(),
            fix: Some(Remedy::Suggested(next)),
            ..testing::explanation()
        };
        let text = |record: &Judged| {
            explanation(&step, record, Some(&crate::testing::META), Look::default())
        };
        let vm = "      tailback vm --kernel debian:6.12 --cpus 1";
        let run = " -- run some-stall ";
        let own = text(&record);
        assert!(own.contains(&format!("{vm}{run}")), "{own}");
        record.tool.argv[0] = "/a b/tailback".to_owned();
        let named = text(&record);
        assert!(named.contains(&format!("{vm} --program '/a b/tailback'{run}")), "{named}");
    }

    #[test]
    fn an_arm_without_the_stall_has_no_reason_and_no_fix() {
        let record = crate::testing::record();
        let of = |arm: Option<&str>| {
            let explained = Explanation { arm: arm.map(str::to_owned), ..testing::explanation() };
            explanation(&explained, &record, None, Look::default())
        };
        let control = of(Some("control"));
        assert!(control.starts_with("What was seen of some-stall (control):\n"), "{control}");
        assert!(!control.contains("Fix:"), "{control}");
        for stalls in [of(Some("case")), of(None)] {
            assert!(stalls.starts_with("Why some-stall stalls"), "{stalls}");
            assert!(stalls.contains("Fix:"), "{stalls}");
        }
    }

    #[test]
    fn an_explanation_is_a_dozen_lines() {
        let look = Look { width: 100, ..Look::default() };
        let record = crate::testing::record();
        let text = explanation(&testing::explanation(), &record, None, look);
        assert_eq!(
            text.lines().collect::<Vec<_>>(),
            [
                "Why some-stall stalls (case):",
                "  worker 5 waited 264 ms for a mutex in the kernel (pid 5). Who held it is not known.",
                "  Of all the time in such waits:",
                "  100.0%        300 ms  no holder is known",
                "  - 3 waits of a millisecond or more were seen, 300 ms in total.",
                "  Fix: --busy 1 fixed the stall in this study.",
                "  Probes: no event was lost.",
                "  From eBPF on tracepoints: what the scheduler did to each thread.",
                "  Missing: kernel stacks [2J.",
            ]
        );
    }
}
