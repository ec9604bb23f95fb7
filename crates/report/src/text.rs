//! A record as text for a terminal or a file.

use crate::advice::{self, Advice, Sure};
use crate::heat::heat_map;
use anstyle::{AnsiColor, Style};
use comfy_table::{CellAlignment, Table, presets};
use model::scenario::MeasureMeta;
use model::{ArmResult, Machine, Meta, Record, Role, State, Trial, Verdict};
use os::terminal::line as plain;
use std::collections::BTreeSet;
use std::fmt::Write as _;

/// The most heat maps that a text shows.
const MOST_MAPS: usize = 2;

/// How the text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Whether words are coloured.
    pub color: bool,
    /// Width that sentences are broken at, in columns.
    pub width: usize,
}

impl Default for Look {
    fn default() -> Self {
        Look { color: false, width: 100 }
    }
}

impl Look {
    fn paint(self, style: Style, text: &str) -> String {
        if self.color { format!("{style}{text}{style:#}") } else { text.to_owned() }
    }

    fn state(self, state: State) -> String {
        let color = match state {
            State::Affected => AnsiColor::Red,
            State::NotAffected => AnsiColor::Green,
            State::Inconclusive | State::Untrustworthy => AnsiColor::Yellow,
            State::Skipped => AnsiColor::Cyan,
        };
        self.paint(color.on_default().bold(), state.word())
    }

    pub(crate) fn wrap(self, text: &str, first: &str, rest: &str) -> String {
        let options =
            textwrap::Options::new(self.width).initial_indent(first).subsequent_indent(rest);
        textwrap::fill(text, options)
    }
}

/// One record: verdict, table, grounds, what to do next.
pub fn record(record: &Record, meta: Option<&Meta>, look: Look) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{}: {}", record.scenario, look.state(record.verdict.state));
    paragraph(&mut text, look, &record.verdict.headline);
    if !record.trials.is_empty() {
        figures(&mut text, record, meta, look);
    }
    text.push_str(&crate::effects::table(record, meta, look));
    text.push_str(&crate::found::table(record, meta, look));
    heat(&mut text, record, look);
    grounds(&mut text, look, &record.verdict);
    if let (Some(meta), State::Affected) = (meta, record.verdict.state) {
        let _ = writeln!(text, "\n{}", look.wrap(&format!("Matters to {}.", meta.who), "  ", "  "));
    }
    fixes(&mut text, record, meta, look);
    left_out(&mut text, record, look);
    next(&mut text, look, &record.verdict);
    text
}

/// What the arms that should mend the stall did in this study.
fn fixes(text: &mut String, record: &Record, meta: Option<&Meta>, look: Look) {
    let fixes = &record.verdict.fixes;
    if fixes.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n  Tried in this very run:");
    for fix in fixes {
        let sentence = plain(&advice::of_fix(fix, meta));
        let _ = writeln!(text, "{}", look.wrap(&sentence, "  - ", "    "));
    }
}

fn left_out(text: &mut String, record: &Record, look: Look) {
    for arm in &record.plan.left_out {
        let sentence = format!("Left out: {}: {}.", arm.id, arm.why.trim_end_matches('.'));
        paragraph(text, look, &sentence);
    }
}

/// The table of estimates, what its figures are, and where they are from.
fn figures(text: &mut String, record: &Record, meta: Option<&Meta>, look: Look) {
    let columns: Vec<&MeasureMeta> =
        meta.map_or(&[][..], |meta| meta.measures).iter().filter(|m| m.column).collect();
    let _ = write!(text, "\n{}\n", table(&record.arms, &columns));
    let confidence = record.plan.judging.confidence * 100.0;
    let bounded = |arm: &ArmResult| {
        columns.iter().all(|m| arm.measures.get(m.name).is_none_or(|e| e.low.is_some()))
    };
    let intervals = match record.arms.iter().all(bounded) {
        true => format!("medians over trials with {confidence:.0}% intervals"),
        false => format!("medians over trials, too few for {confidence:.0}% intervals"),
    };
    paragraph(text, look, &format!("Figures are {intervals}; on {}.", host(&record.host)));
    let notes: BTreeSet<&String> =
        record.trials.iter().flat_map(|trial| &trial.observation.notes).collect();
    for note in notes {
        paragraph(text, look, note);
    }
}

/// The series of the last trial with the cause.
fn heat(text: &mut String, record: &Record, look: Look) {
    let case = |trial: &&Trial| {
        let arm = record.plan.arms.iter().find(|arm| arm.id == trial.arm);
        arm.is_some_and(|arm| arm.role == Role::Case)
    };
    let Some(trial) = record.trials.iter().rev().find(case) else { return };
    let seen = &trial.observation;
    let over_time = seen.series.iter().filter(|(name, _)| seen.is_over_time(name));
    for (_, series) in over_time.take(MOST_MAPS) {
        let map = heat_map(series, look.width);
        if !map.is_empty() {
            let _ = write!(text, "\n  {}, block {}:\n{}", plain(&trial.arm), trial.block, map);
        }
    }
}

fn paragraph(text: &mut String, look: Look, sentence: &str) {
    let _ = writeln!(text, "{}", look.wrap(&plain(sentence), "  ", "  "));
}

fn grounds(text: &mut String, look: Look, verdict: &Verdict) {
    if verdict.because.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n  Why:");
    for sentence in &verdict.because {
        let _ = writeln!(text, "{}", look.wrap(&plain(sentence), "  - ", "    "));
    }
}

fn next(text: &mut String, look: Look, verdict: &Verdict) {
    if verdict.next.is_empty() {
        return;
    }
    let heading = if verdict.state == State::Affected {
        "What may fix it; each run measures whether it does here:"
    } else {
        "Next:"
    };
    let _ = writeln!(text, "\n  {heading}");
    for sentence in &verdict.next {
        let (what, command) = advice::with_command(sentence);
        let _ = writeln!(text, "{}", look.wrap(&plain(what), "  - ", "    "));
        if let Some(command) = command {
            // Never broken, so that it can be copied.
            let _ = writeln!(text, "      {}", plain(command));
        }
    }
}

/// Several records: a table of verdicts, then each affected one in a sentence.
pub fn check<'a>(records: impl Iterator<Item = &'a Record>, look: Look) -> String {
    let mut table = bare();
    table.set_header(["scenario", "verdict", "seconds"]);
    for record in records {
        table.add_row([
            record.scenario.clone(),
            record.verdict.state.word().to_owned(),
            format!("{:.0}", record.elapsed_s),
        ]);
    }
    align_right(&mut table, 2..3);
    let mut text = String::new();
    for line in table.lines() {
        let _ = writeln!(text, "  {}", paint_states(line.trim_end(), look));
    }
    text
}

/// The settings worth changing that a check found, the surest first.
pub fn settings(advice: &[Advice], look: Look) -> String {
    if advice.is_empty() {
        return String::new();
    }
    let mut text = "\n  Worth changing:\n".to_owned();
    for one in advice {
        let tried = match one.sure {
            Sure::Fixed => ", fixed here",
            Sure::Helped => ", helped here",
            Sure::Try => ", not tried yet",
        };
        let sentence = format!("{}{tried}: {}", one.scenario, plain(&one.what));
        let _ = writeln!(text, "{}", look.wrap(&sentence, "  - ", "    "));
        if let Some(command) = &one.command {
            let _ = writeln!(text, "      {}", plain(command));
        }
    }
    text
}

/// Colours the words of verdicts in a line that is laid out already.
pub(crate) fn paint_states(line: &str, look: Look) -> String {
    let words = [
        State::NotAffected,
        State::Affected,
        State::Inconclusive,
        State::Untrustworthy,
        State::Skipped,
    ];
    let found = words.into_iter().find(|state| line.split(' ').any(|word| word == state.word()));
    match found {
        Some(state) => line.replacen(state.word(), &look.state(state), 1),
        None => line.to_owned(),
    }
}

fn table(arms: &[ArmResult], columns: &[&MeasureMeta]) -> String {
    let mut table = bare();
    let mut header = ["arm", "verdict", "hung"].map(str::to_owned).to_vec();
    header.extend(columns.iter().map(|measure| heading(measure)));
    table.set_header(header);
    for arm in arms {
        let state = arm.state.map_or("-", State::word).to_owned();
        let mut row = vec![plain(&arm.id), state, arm.hangs.to_string()];
        row.extend(columns.iter().map(|measure| cell(arm, measure.name)));
        table.add_row(row);
    }
    align_right(&mut table, 2..3 + columns.len());
    let lines: Vec<String> = table.lines().map(|line| format!("  {}", line.trim_end())).collect();
    lines.join("\n")
}

pub(crate) fn heading(measure: &MeasureMeta) -> String {
    match measure.unit.symbol() {
        "" => measure.heading.to_owned(),
        unit => format!("{}, {unit}", measure.heading),
    }
}

fn cell(arm: &ArmResult, measure: &str) -> String {
    arm.measures.get(measure).map_or_else(
        || "-".to_owned(),
        |e| match e.low {
            Some(_) => format!("{} {}", e.figure(), e.interval()),
            None => e.figure(),
        },
    )
}

pub(crate) fn bare() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

pub(crate) fn align_right(table: &mut Table, columns: std::ops::Range<usize>) {
    for index in columns {
        if let Some(column) = table.column_mut(index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}

/// The machine in a few words.
pub fn host(machine: &Machine) -> String {
    let mut words = format!("Linux {}", plain(&machine.kernel));
    if let Some(hz) = machine.hz {
        let _ = write!(words, ", HZ {hz}");
    }
    if let Some(mode) = &machine.preemption {
        let _ = write!(words, ", preemption {}", plain(mode));
    }
    let _ = write!(words, ", {} CPUs", machine.cpus.len());
    if machine.virtualised == Some(true) {
        words.push_str(", virtual");
    }
    words
}
