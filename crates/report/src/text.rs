//! A record as text for a terminal or a file: a short answer, or everything.

use crate::advice::{self, Advice};
use crate::cells::{cell, column};
use crate::grid::{self, Cell, Column, Grid};
use crate::heat::heat_map;
use crate::look::Look;
use crate::prose::{self, Prose, Step, plain};
use crate::shown::Shown;
use model::prose::figures;
use model::scenario::MeasureMeta;
use model::{ArmResult, Caveat, Judged, Machine, Meta, Role, State, Suggestion, Trial};
use std::fmt::Write as _;

/// Most heat maps of a text.
const MOST_MAPS: usize = 2;

/// Most changes that a short answer names.
const SHORT_ADVICE: usize = 3;

/// Most arms that a short answer shows.
const SHORT_ARMS: usize = 8;

/// The text of one record: verdict, table, what to change. With [`Look::why`], also the reasons
/// and the fine print.
pub fn record(shown: &Shown, look: Look) -> String {
    let (record, meta, prose) = (shown.record, shown.meta, shown.prose());
    let state = record.judgement.state;
    let mut text = format!("{}: {}\n", plain(&record.scenario), painted(state, look));
    paragraph(&mut text, look, &prose.headline());
    if !look.why {
        for sentence in prose.in_short() {
            paragraph(&mut text, look, &sentence);
        }
    }
    if !record.trials.is_empty() {
        figures_of(&mut text, record, meta, look);
    }
    text.push_str(&crate::effects::table(record, meta, look));
    text.push_str(&crate::prior_findings::table(record, meta, look));
    if look.why {
        in_full(&mut text, record, &prose, look);
    }
    advise(&mut text, record, meta, look);
    further(&mut text, shown, look);
    text
}

fn painted(state: State, look: Look) -> String {
    look.paint(grid::color(state).on_default().bold(), state.word())
}

/// Reasons, limits, notes, and what was left out.
fn in_full(text: &mut String, record: &Judged, prose: &Prose, look: Look) {
    heat(text, record, prose.meta(), look);
    list(text, look, "Why", &prose.why());
    let notes: Vec<String> = prose.notes().into_iter().chain(prose.left_out()).collect();
    list(text, look, "Notes", &notes);
    if let Some(matters) = prose.matters().filter(|_| record.judgement.state == State::Affected) {
        text.push('\n');
        paragraph(text, look, &matters);
    }
}

fn list(text: &mut String, look: Look, heading: &str, sentences: &[String]) {
    if sentences.is_empty() {
        return;
    }
    let _ = writeln!(text, "\n  {heading}:");
    for sentence in sentences {
        let _ = writeln!(text, "{}", look.wrap(sentence, "  - ", "    "));
    }
}

/// The table of estimates, and its legend.
fn figures_of(text: &mut String, record: &Judged, meta: Option<&Meta>, look: Look) {
    let columns = columns(record, meta);
    let (arms, left_out) = arms(record, look);
    let table = table(&arms, &columns);
    let parts = match look.why {
        true => table.parts(look.width, 1),
        // A short answer has the first figure, also on a narrow terminal.
        false => table.parts_up_to(table.columns() - columns.len(), look.width, 1),
    };
    let parts: Vec<String> = parts.iter().map(|part| part.text(look)).collect();
    let _ = write!(text, "\n{}", parts.join("\n"));
    if left_out > 0 {
        let _ = writeln!(text, "  {left_out} more arms: --why");
    }
    if look.why {
        paragraph(text, look, &legend(record, &arms, &columns));
    }
}

/// The figures that have a column. The judged figure is first, since a short answer may have room
/// for little else.
fn columns<'a>(record: &Judged, meta: Option<&'a Meta>) -> Vec<&'a MeasureMeta> {
    let measures = meta.map_or(&[][..], |meta| meta.measures);
    let judged = record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let has = |measure: &MeasureMeta| {
        record.judgement.arms.iter().any(|arm| arm.measures.contains_key(measure.name))
    };
    let shown = |measure: &&MeasureMeta| (measure.column || measure.name == judged) && has(measure);
    let mut columns: Vec<&MeasureMeta> = measures.iter().filter(shown).collect();
    columns.sort_by_key(|measure| measure.name != judged);
    columns
}

/// The arms that have a row, in the order of the record, and the number of arms without one. A
/// short answer keeps the controls and the worst arms.
fn arms(record: &Judged, look: Look) -> (Vec<&ArmResult>, usize) {
    let most = look.most(SHORT_ARMS);
    if record.judgement.arms.len() <= most {
        return (record.judgement.arms.iter().collect(), 0);
    }
    let judged = record.judgement.measure.as_deref().unwrap_or(&record.plan.judging.measure);
    let median = |arm: &ArmResult| arm.measures.get(judged).map_or(f64::MIN, |e| e.median);
    let mut ranked: Vec<(usize, &ArmResult)> = record.judgement.arms.iter().enumerate().collect();
    let affected = |arm: &ArmResult| arm.state == Some(State::Affected);
    ranked.sort_by(|(_, a), (_, b)| {
        let first = |arm: &ArmResult| arm.role != Role::Control;
        let stalls = |arm: &ArmResult| !affected(arm);
        (first(a), stalls(a)).cmp(&(first(b), stalls(b))).then(median(b).total_cmp(&median(a)))
    });
    ranked.truncate(most);
    ranked.sort_by_key(|(place, _)| *place);
    (ranked.into_iter().map(|(_, arm)| arm).collect(), record.judgement.arms.len() - most)
}

fn table(arms: &[&ArmResult], measures: &[&MeasureMeta]) -> Grid {
    let hung = arms.iter().any(|arm| arm.hangs.count > 0);
    let mut columns = vec![Column::left("arm"), Column::left("verdict")];
    columns.extend(hung.then(|| Column::right("hung")));
    columns.extend(measures.iter().map(|measure| column(measure)));
    let mut grid = Grid::new(columns);
    for arm in arms {
        let mut row = vec![Cell::from(plain(&arm.id)), verdict_of(arm)];
        row.extend(hung.then(|| Cell::from(arm.hangs.to_string())));
        row.extend(measures.iter().map(|measure| Cell::from(cell(arm, measure.name))));
        grid.row(row);
    }
    grid
}

/// The verdict on an arm; for a control or a baseline without a verdict, its role.
fn verdict_of(arm: &ArmResult) -> Cell {
    match (arm.state, arm.role) {
        (Some(state), _) => Cell::state(state),
        (None, Role::Control) => Cell::from("control"),
        (None, Role::Baseline) => Cell::from("baseline"),
        (None, Role::Case | Role::Fix) => Cell::from("-"),
    }
}

/// The kind of the figures, and the machine that they were measured on.
fn legend(record: &Judged, arms: &[&ArmResult], columns: &[&MeasureMeta]) -> String {
    let confidence = figures::percent(record.plan.judging.confidence);
    let bounded = |arm: &&ArmResult| {
        columns.iter().all(|m| arm.measures.get(m.name).is_none_or(|e| e.low.is_some()))
    };
    let intervals = match arms.iter().all(bounded) {
        true => format!("medians over trials with {confidence} intervals"),
        false => format!("medians over trials; some arms have too few for {confidence} intervals"),
    };
    format!("Figures are {intervals}; on {}.", host(&record.machine))
}

/// The heat maps of the last trial with the cause.
fn heat(text: &mut String, record: &Judged, meta: Option<&Meta>, look: Look) {
    let case = |trial: &&Trial| {
        let arm = record.plan.arms.iter().find(|arm| arm.id == trial.arm);
        arm.is_some_and(|arm| arm.role == Role::Case)
    };
    let Some(trial) = record.trials.iter().rev().find(case) else { return };
    let seen = &trial.observation;
    let over_time = seen.series.iter().filter(|(name, _)| seen.is_over_time(name));
    for (name, series) in over_time.take(MOST_MAPS) {
        let map = heat_map(series, &prose::series(name, series, meta), look.width);
        if !map.is_empty() {
            let title = format!("{}, block {}:", plain(&trial.arm), trial.block + 1);
            let _ = write!(text, "\n{}\n{map}", look.wrap(&title, "  ", "  "));
        }
    }
}

fn paragraph(text: &mut String, look: Look, sentence: &str) {
    let _ = writeln!(text, "{}", look.wrap(sentence, "  ", "  "));
}

/// What to change, or what to do next.
fn advise(text: &mut String, record: &Judged, meta: Option<&Meta>, look: Look) {
    let advice = advice::of(record, meta);
    if advice.is_empty() {
        return;
    }
    text.push('\n');
    paragraph(text, look, &format!("{}:", advice::heading(record.judgement.state, &advice)));
    shortened(text, look, &advice, |_| None);
}

/// The first part of the advice; with [`Look::why`] all of it. `about` gives the scenario of each
/// advice, if it is not clear.
fn shortened(
    text: &mut String,
    look: Look,
    advice: &[Advice],
    about: fn(&Advice) -> Option<String>,
) {
    let most = look.most(SHORT_ADVICE);
    for one in advice.iter().take(most) {
        item(text, look, one, about(one));
    }
    if advice.len() > most {
        let _ = writeln!(text, "  {} more: --why", advice.len() - most);
    }
}

fn item(text: &mut String, look: Look, advice: &Advice, scenario: Option<String>) {
    let mark = advice.sure.mark().map(|mark| format!("{mark}: ")).unwrap_or_default();
    let scenario = scenario.map(|scenario| format!("{scenario}, ")).unwrap_or_default();
    let sentence = format!("{scenario}{mark}{}", advice.what);
    let _ = writeln!(text, "{}", look.wrap(&sentence, "  - ", "    "));
    if let Some(command) = &advice.command {
        // The command is never wrapped, so that it can be copied.
        let _ = writeln!(text, "      {command}");
    }
}

/// The commands that show more of this record.
fn further(text: &mut String, shown: &Shown, look: Look) {
    let file = os::quote::word(shown.name);
    // Standard input cannot be read again.
    let is_file = !shown.name.is_empty() && shown.name != "-";
    let mut lines = Vec::new();
    if shown.record.judgement.state == State::Inconclusive && goes_on(shown.record) {
        lines.push(format!("Go on: {}", crate::repro::command_to_continue(shown.record)));
    }
    if is_file && !look.why {
        lines.push(format!("Why: tailback judge --why {file}"));
    }
    if is_file && !shown.record.probed.is_empty() {
        lines.push(format!("Who held up whom: tailback explain {file}"));
    }
    if !lines.is_empty() {
        text.push('\n');
    }
    for line in lines {
        let _ = writeln!(text, "  {line}");
    }
}

/// Whether more blocks would settle the verdict, and a command runs them.
fn goes_on(record: &Judged) -> bool {
    let until_settled = record.plan.stop_when_settled;
    let on = |caveat: &Caveat| match caveat {
        Caveat::MoreBlocks { goes_on, .. } => *goes_on,
        Caveat::ControlHung { .. } => until_settled,
        _ => false,
    };
    record.judgement.caveats.iter().any(on) && crate::repro::can_continue(record)
}

/// Several records: a table of verdicts, the reasons why verdicts are open, and what to change.
pub fn check(all: &[Shown], look: Look) -> String {
    let mut grid = Grid::new(vec![
        Column::left("scenario"),
        Column::left("verdict"),
        Column::right("seconds"),
        Column::left("over its control"),
    ]);
    for shown in all {
        let record = shown.record;
        let affected = record.judgement.state == State::Affected;
        let effect = shown.prose().worst_effect().filter(|_| affected);
        grid.row(vec![
            Cell::from(plain(&record.scenario)),
            Cell::state(record.judgement.state),
            Cell::from(format!("{:.0}", record.elapsed_s)),
            Cell::from(effect.map_or_else(|| "-".to_owned(), |(_, effect)| effect)),
        ]);
    }
    let mut text = grid.text_of_words(look, 1);
    if !look.why {
        in_brief(&mut text, all, look);
    }
    text.push_str(&settings(all, look));
    text
}

/// Other stalls that the machine may have, with the command that measures each. These suggestions
/// are in no record.
pub fn beside(all: &[(&Suggestion, &Meta)], look: Look) -> String {
    let mut text = String::new();
    for (suggestion, meta) in all {
        let Step { what, command } = crate::prose::suggestion::step(suggestion, Some(meta), None);
        let _ = writeln!(text, "{}", look.wrap(&format!("{}: {what}", meta.id), "  ", "    "));
        if let Some(command) = command {
            let _ = writeln!(text, "      {command}");
        }
    }
    text
}

/// The reason of each open verdict, and the loss that would have been detected in each study that
/// found no stall.
fn in_brief(text: &mut String, all: &[Shown], look: Look) {
    let grounds = all.iter().filter_map(|shown| {
        let prose = shown.prose();
        let said: Vec<_> =
            prose.first_reason().into_iter().chain(prose.would_have_shown()).collect();
        (!said.is_empty()).then(|| (shown, said.join(" ")))
    });
    for (place, (shown, said)) in grounds.enumerate() {
        if place == 0 {
            text.push('\n');
        }
        let sentence = format!("{}: {said}", plain(&shown.record.scenario));
        let _ = writeln!(text, "{}", look.wrap(&sentence, "  ", "    "));
    }
}

/// The changes that a check recommends, the most certain first.
fn settings(all: &[Shown], look: Look) -> String {
    let advice = advice::first(all.iter().map(|shown| (shown.record, shown.meta)));
    if advice.is_empty() {
        return String::new();
    }
    let mut text = "\n  Worth changing:\n".to_owned();
    shortened(&mut text, look, &advice, |one| Some(plain(&one.scenario)));
    text
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
    let _ = write!(words, ", {}", figures::plural(machine.cpus.len() as u64, "CPU"));
    if machine.virtualised == Some(true) {
        words.push_str(", virtual");
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::{FixOutcome, Headline, Reason};
    use textwrap::core::display_width;

    fn shown<'a>(record: &'a Judged, meta: &'a Meta) -> Shown<'a> {
        Shown::new(record, Some(meta), "a b.json")
    }

    fn assert_narrow(text: &str, width: usize) {
        let wide = |line: &&str| display_width(line) > width && !line.contains("tailback ");
        let wide: Vec<&str> = text.lines().filter(wide).collect();
        assert!(wide.is_empty(), "{wide:#?}");
    }

    #[test]
    fn a_short_answer_has_the_verdict_the_table_and_what_to_change() {
        let mut record = testing::record();
        record.judgement.fixes = vec![testing::fix("--nice 0", FixOutcome::Fixed)];
        let text = super::record(&shown(&record, &testing::META), Look::default());
        assert!(text.lines().count() <= 20, "{text}");
        assert!(text.starts_with("some-stall: affected\n  Work stalls here.\n"), "{text}");
        assert!(text.contains("fixed here: --nice 0: lost 1.5 ms/s"), "{text}");
        assert!(text.contains("\n  Why: tailback judge --why 'a b.json'\n"), "{text}");
        assert!(!text.contains("- No arm with the cause was run."), "{text}");
        assert_narrow(&text, 80);
    }

    #[test]
    fn a_record_from_standard_input_is_not_read_again() {
        let record = testing::record();
        let meta = testing::META;
        let of = |name| super::record(&Shown::new(&record, Some(&meta), name), Look::default());
        assert!(of("./-").contains("\n  Why: tailback judge --why ./-\n"), "{}", of("./-"));
        assert!(!of("-").contains("judge --why") && !of("").contains("judge --why"));
    }

    #[test]
    fn the_reasons_come_with_why() {
        let record = testing::record();
        let look = Look { why: true, ..Look::default() };
        let text = super::record(&shown(&record, &testing::META), look);
        assert!(text.contains("\n  Why:\n  - No arm with the cause was run.\n"), "{text}");
        assert!(text.contains("Figures are medians over trials"), "{text}");
        assert!(!text.contains("judge --why"), "{text}");
    }

    #[test]
    fn what_settles_nothing_says_why_by_itself() {
        let mut record = testing::record();
        record.judgement.state = State::Inconclusive;
        record.judgement.headline = Headline::NotMeasured;
        record.judgement.reasons = vec![Reason::NoCase, Reason::NoControl];
        let more = Caveat::MoreBlocks { more: 3, blocks: 9, goes_on: true };
        record.judgement.caveats = vec![Caveat::Emulated, more];
        let text = super::record(&shown(&record, &testing::META), Look::default());
        assert!(text.contains("  No arm with the cause was run.\n"), "{text}");
        assert!(text.contains("  About 3 more blocks like these would settle the"), "{text}");
        assert!(!text.contains("emulated") && !text.contains("no control"), "{text}");
        assert!(text.contains("\n  Go on: tailback run "), "{text}");
        assert!(text.contains("run the same command"), "{text}");
        let [arm, control] = ["case", "control"].map(str::to_owned);
        let hung = Caveat::ControlHung { arm, control, blocks: 3, lacking: 0 };
        let before = std::mem::replace(&mut record.judgement.caveats, vec![hung]);
        for until_settled in [true, false] {
            record.plan.stop_when_settled = until_settled;
            let text = super::record(&shown(&record, &testing::META), Look::default());
            assert!(text.contains("hung in 3 complete blocks"), "{text}");
            assert_eq!(text.contains("Go on: "), until_settled, "{text}");
        }
        record.judgement.caveats = before;
        // The same command runs another study.
        record.tool.argv[1] = "advise".to_owned();
        let text = super::record(&shown(&record, &testing::META), Look::default());
        assert!(text.contains("--samples 9.") && !text.contains("Go on: "), "{text}");
    }

    #[test]
    fn nothing_is_wider_than_the_terminal_and_many_arms_are_cut_short() {
        let mut record = testing::record();
        let case = record.judgement.arms[1].clone();
        for place in 0..40 {
            record.judgement.arms.push(ArmResult {
                id: format!("{}-{place}", "busy=10,".repeat(12)),
                ..case.clone()
            });
        }
        let short = super::record(&shown(&record, &testing::META), Look::default());
        assert!(short.contains("34 more arms: --why"), "{short}");
        for (width, why) in [(80, false), (80, true), (60, true)] {
            let look = Look { width, why, ..Look::default() };
            assert_narrow(&super::record(&shown(&record, &testing::META), look), width);
        }
    }

    #[test]
    fn a_short_answer_has_the_judged_figure_also_on_a_narrow_terminal() {
        let mut record = testing::record();
        record.judgement.arms[1].hangs.count = 2;
        let look = Look { width: 40, ..Look::default() };
        let text = super::record(&shown(&record, &testing::META), look);
        assert!(text.contains("2 of 2"), "{text}");
        assert!(text.contains("\n  case     900 [899, 901]\n"), "{text}");
        assert_narrow(&text, 40);
    }

    #[test]
    fn a_check_says_what_each_stall_costs_and_what_is_open() {
        let mut affected = testing::record();
        affected.judgement.arms[1]
            .against_control
            .insert("lost".to_owned(), model::testing::shift(898.5));
        let mut open = testing::record();
        open.judgement.state = State::Inconclusive;
        let meta = testing::META;
        let all = [shown(&affected, &meta), shown(&open, &meta)];
        let text = check(&all, Look::default());
        assert!(text.contains("affected            3  lost +898 ms/s"), "{text}");
        assert!(text.contains("\n  some-stall: No arm with the cause was run.\n"), "{text}");
        assert!(text.contains("Worth changing:") && !text.contains("more: --why"), "{text}");
        assert_narrow(&text, 80);
        let five = [0; 5].map(|_| shown(&affected, &meta));
        assert!(check(&five, Look::default()).ends_with("\n  2 more: --why\n"));
        assert!(!check(&five, Look { why: true, ..Look::default() }).contains("more: --why"));
    }
}
