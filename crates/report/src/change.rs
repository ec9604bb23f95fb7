//! What changed between two records, as text.

use crate::Look;
use crate::html::change_table;
use crate::text::{align_right, bare, plain};
use anstyle::{AnsiColor, Style};
use model::{Change, ChangeState, Meta};
use std::fmt::Write as _;

/// The verdict on the difference, what is not the same, and every judged figure.
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
        ChangeState::NotComparable => AnsiColor::Yellow,
    };
    let style: Style = color.on_default().bold();
    if look.color { format!("{style}{}{style:#}", state.word()) } else { state.word().to_owned() }
}

fn figures(change: &Change, meta: Option<&Meta>) -> String {
    let figures = change_table(change, meta);
    let mut table = bare();
    table.set_header(&figures.head);
    for row in &figures.rows {
        table.add_row(row.iter().map(|cell| plain(cell)));
    }
    align_right(&mut table, 2..6);
    let lines: Vec<String> = table.lines().map(|line| format!("  {}", line.trim_end())).collect();
    format!("\n{}\n", lines.join("\n"))
}
