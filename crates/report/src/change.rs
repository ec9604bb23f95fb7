//! What changed between the records of two sides, as text.

use crate::Look;
use crate::html::change_row;
use crate::text::{align_right, bare};
use anstyle::{AnsiColor, Style};
use model::{Change, ChangeState, Meta};
use os::terminal::line as plain;
use std::fmt::Write as _;

/// The verdict on the difference, what is not the same, every judged figure, and what to do.
pub fn text(change: &Change, meta: Option<&Meta>, look: Look) -> String {
    let mut text = format!("{}: {}\n", plain(&change.scenario), painted(change.state, look));
    let paragraph = |text: &mut String, first: &str, rest: &str, sentence: &str| {
        let _ = writeln!(text, "{}", look.wrap(&plain(sentence), first, rest));
    };
    paragraph(&mut text, "  ", "  ", &change.headline);
    if !change.differs.is_empty() {
        let _ = writeln!(text, "\n  Not the same:");
        for setting in &change.differs {
            let words = format!("{}: {}, then {}", setting.what, setting.before, setting.after);
            paragraph(&mut text, "  - ", "    ", &words);
        }
    }
    if !change.arms.is_empty() {
        text.push_str(&figures(change, meta));
    }
    for (heading, sentences) in [("Why", &change.because), ("Next", &change.next)] {
        if !sentences.is_empty() {
            let _ = writeln!(text, "\n  {heading}:");
        }
        for sentence in sentences {
            paragraph(&mut text, "  - ", "    ", sentence);
        }
    }
    text
}

fn painted(state: ChangeState, look: Look) -> String {
    let color = match state {
        ChangeState::Worse => AnsiColor::Red,
        ChangeState::Better => AnsiColor::Green,
        ChangeState::NoDifferenceShown => AnsiColor::Cyan,
        ChangeState::Differs | ChangeState::NotComparable => AnsiColor::Yellow,
    };
    let style: Style = color.on_default().bold();
    if look.color { format!("{style}{}{style:#}", state.word()) } else { state.word().to_owned() }
}

/// The figures that are judged, of every arm; the page has the others too.
fn figures(change: &Change, meta: Option<&Meta>) -> String {
    let mut table = bare();
    table.set_header(["arm", "figure", "before", "after", "change", "verdict"]);
    let judged = |name: &str| {
        change.arms.iter().any(|arm| arm.measures.get(name).is_some_and(|d| d.state.is_some()))
    };
    for arm in &change.arms {
        for (name, difference) in arm.measures.iter().filter(|(name, _)| judged(name)) {
            let [arm, figure, before, after, shift, _, verdict] =
                change_row(change.basis, &arm.id, name, difference, meta).map(|cell| plain(&cell));
            table.add_row([arm, figure, before, after, shift, verdict]);
        }
    }
    align_right(&mut table, 2..5);
    let lines: Vec<String> = table.lines().map(|line| format!("  {}", line.trim_end())).collect();
    format!("\n{}\n", lines.join("\n"))
}
