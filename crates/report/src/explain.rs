//! An explanation as text.

use crate::text::Look;
use model::evidence::{Span, Wait};
use model::{Explanation, State};
use os::terminal::line as plain;
use std::fmt::Write as _;

/// Spans of a timeline that are written.
const SPANS: usize = 60;

/// The explanation in about a dozen lines.
pub fn explanation(explanation: &Explanation, look: Look) -> String {
    let mut text = String::new();
    let arm = explanation.arm.as_ref().map_or_else(String::new, |arm| format!(" ({arm})"));
    let scenario = plain(&explanation.scenario);
    let _ = match explanation.state {
        State::Affected => writeln!(text, "Why {scenario} stalls{}:", plain(&arm)),
        state => writeln!(text, "What was seen of {scenario}{}, {state}:", plain(&arm)),
    };
    line(&mut text, look, "  ", &explanation.cause);
    if !explanation.shares.is_empty() {
        let _ = writeln!(text, "  Of all the time in such waits:");
    }
    for share in &explanation.shares {
        let ms = model::estimate::number(share.ns as f64 / 1e6);
        let _ = writeln!(text, "  {:>5.1}%  {:>9} ms  {}", share.percent, ms, plain(&share.what));
    }
    for sentence in &explanation.evidence {
        line(&mut text, look, "  - ", sentence);
    }
    if let Some(mend) = &explanation.mend {
        line(&mut text, look, "  ", &format!("Fix: {mend}"));
    }
    for cost in &explanation.cost {
        line(&mut text, look, "  ", &format!("Probes: {cost}"));
    }
    for source in &explanation.sources {
        line(&mut text, look, "  ", &format!("From {source}"));
    }
    for missing in &explanation.missing {
        line(&mut text, look, "  ", &format!("Missing: {missing}"));
    }
    text
}

fn line(text: &mut String, look: Look, indent: &str, sentence: &str) {
    let sentence = plain(sentence);
    let stop = if sentence.ends_with(['.', '?', '!']) { "" } else { "." };
    let rest = " ".repeat(indent.len());
    let _ = writeln!(text, "{}", look.wrap(&format!("{sentence}{stop}"), indent, &rest));
}

/// The moments of a wait, one a line.
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
            plain(&name(span)),
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

fn name(span: &Span) -> String {
    span.task.part.clone().unwrap_or_else(|| span.task.name.clone())
}
