//! A Markdown table for an issue.

use crate::prose::plain;
use crate::{Shown, advice, repro};
use model::prose::figures::heading;
use model::{ArmResult, Judged, Meta};
use std::fmt::Write as _;

/// A heading, the verdict and a table of the arms for each record.
pub fn markdown(all: &[Shown]) -> String {
    let parts: Vec<String> = all.iter().map(one).collect();
    parts.join("\n")
}

fn one(shown: &Shown) -> String {
    let (record, prose) = (shown.record, shown.prose());
    let (scenario, state) = (escaped(&record.scenario), record.judgement.state);
    let mut text = format!("### {scenario}: {state}\n\n{}\n", escaped(&prose.headline()));
    table(&mut text, record, prose.meta());
    list(&mut text, "Why", prose.why().iter().map(|sentence| escaped(sentence)));
    let advice = advice::of(record, shown.meta);
    let changes = advice.iter().map(|one| {
        let mark = one.sure.mark().map(|mark| format!("{mark}: ")).unwrap_or_default();
        let command = one.command.as_deref().map(|command| format!(" {}", code(command)));
        format!("{}{}", escaped(&format!("{mark}{}", one.what)), command.unwrap_or_default())
    });
    list(&mut text, advice::heading(state, &advice), changes);
    let _ = writeln!(
        text,
        "\n{}; tailback {}{} Repeat: {}",
        escaped(&crate::text::host(&record.machine)),
        escaped(&record.tool.version),
        seed_and_figures(record),
        code(&repro::command(record))
    );
    text
}

/// The seed, and what the figures are. A watch has no seed, and without trials there are no
/// figures.
fn seed_and_figures(record: &Judged) -> String {
    if record.live.is_some() {
        return ".".to_owned();
    }
    let seed = record.plan.seed;
    if record.trials.is_empty() {
        return format!(", seed {seed}.");
    }
    let confidence = record.plan.judging.confidence * 100.0;
    format!(", seed {seed}. Medians over trials with {confidence:.0}% intervals.")
}

/// A command, shown literally. A command with backticks stands between more of them than it has
/// in a row, so that it can be copied unchanged.
fn code(command: &str) -> String {
    let longest = command.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    match longest {
        0 => format!("`{command}`"),
        longest => {
            let fence = "`".repeat(longest + 1);
            format!("{fence} {command} {fence}")
        }
    }
}

fn list(text: &mut String, heading: &str, sentences: impl Iterator<Item = String>) {
    for (place, sentence) in sentences.enumerate() {
        if place == 0 {
            let _ = writeln!(text, "\n{heading}:\n");
        }
        let _ = writeln!(text, "- {sentence}");
    }
}

fn table(text: &mut String, record: &Judged, meta: Option<&Meta>) {
    let measures = measures(record);
    if !record.judgement.arms.is_empty() {
        let _ = write!(text, "\n| arm | verdict | hung |");
        for name in &measures {
            let _ = write!(text, " {} |", escaped(&title(record, name, meta)));
        }
        let _ = writeln!(text, "\n|---|---|---|{}", "---:|".repeat(measures.len()));
    }
    for arm in &record.judgement.arms {
        let state = arm.state.map_or("-", model::State::word);
        let _ = write!(text, "| {} | {state} | {} |", escaped(&arm.id), arm.hangs);
        for name in &measures {
            let _ = write!(text, " {} |", cell(arm, name));
        }
        text.push('\n');
    }
}

/// The deciding figure first, then the other judged ones, then others, up to five in all.
fn measures(record: &Judged) -> Vec<&str> {
    let plan = &record.plan;
    let decided = record.judgement.measure.as_deref();
    let mut names: Vec<&str> = vec![decided.unwrap_or(&plan.judging.measure)];
    for judging in std::iter::once(&plan.judging).chain(&plan.also) {
        let name: &str = &judging.measure;
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let all = record.judgement.arms.iter().flat_map(|arm| arm.measures.keys()).map(String::as_str);
    for name in all {
        if names.len() < 5 && !names.contains(&name) {
            names.push(name);
        }
    }
    names
}

fn title(record: &Judged, name: &str, meta: Option<&Meta>) -> String {
    let heading = heading(name, meta);
    let figure = record.judgement.arms.iter().find_map(|arm| arm.measures.get(name));
    match figure.map_or("", |figure| figure.unit.symbol()) {
        "" => heading,
        unit => format!("{heading}, {unit}"),
    }
}

fn cell(arm: &ArmResult, name: &str) -> String {
    let estimate = arm.measures.get(name);
    estimate
        .map_or_else(|| "-".to_owned(), |e| escaped(&format!("{} {}", e.figure(), e.interval())))
}

/// A text without any special meaning in Markdown or HTML.
fn escaped(text: &str) -> String {
    let text = plain(text);
    let mut escaped = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            // `@` is escaped, so that text from a record notifies nobody. The brackets of an
            // interval may stay; they make a link only before one of these characters.
            '<' | '>' | '&' | '@' | '|' | '`' | '*' | '~' | '\\' => entity(&mut escaped, c),
            ']' if chars.peek().is_some_and(|next| "([:".contains(*next)) => {
                entity(&mut escaped, c)
            }
            c => escaped.push(c),
        }
    }
    escaped
}

fn entity(text: &mut String, c: char) {
    let _ = write!(text, "&#{};", u32::from(c));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn a_table_stays_a_table() {
        let mut record = testing::record();
        record.judgement.arms[1].id = "a|b\n<img> @all [x](http://y)".to_owned();
        let text = markdown(&[Shown::new(&record, None, "x")]);
        let row = text.lines().find(|line| line.contains("img")).unwrap();
        assert!(row.starts_with("| a&#124;b &#60;img&#62; &#64;all [x&#93;(http://y) |"), "{row}");
    }

    #[test]
    fn what_a_record_does_not_have_is_left_out_below_its_table() {
        let mut record = testing::record();
        let below = |record: &Judged| {
            let text = markdown(&[Shown::new(record, None, "x")]);
            text.lines().last().unwrap_or_default().to_owned()
        };
        let study = below(&record);
        assert!(study.contains(", seed 1. Medians over trials with 95% intervals. Rep"), "{study}");
        record.trials.clear();
        let not_run = below(&record);
        assert!(not_run.contains(", seed 1. Repeat: "), "{not_run}");
        record.facts.live = Some(model::Live::default());
        let watch = below(&record);
        assert!(!watch.contains("seed") && !watch.contains("Medians"), "{watch}");
        assert!(watch.contains(". Repeat: "), "{watch}");
    }

    #[test]
    fn a_command_with_backticks_stays_the_command() {
        assert_eq!(code("tailback list"), "`tailback list`");
        assert_eq!(code("run --file 'a`b'"), "`` run --file 'a`b' ``");
        assert_eq!(code("a``b`c"), "``` a``b`c ```");
    }

    #[test]
    fn every_judged_figure_has_one_column() {
        let mut record = testing::record();
        let other = |name: &str| model::Judging {
            measure: name.to_owned().into(),
            ..record.plan.judging.clone()
        };
        let also = vec![other("first"), other("second")];
        record.plan.also = also;
        record.judgement.measure = Some("second".to_owned());
        assert_eq!(measures(&record), ["second", "lost", "first"]);
    }
}
