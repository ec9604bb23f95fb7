//! The comparison of two sets of records, as text.

use crate::Look;
use crate::grid::{Cell, Column, Grid};
use crate::prose::change as prose;
use crate::prose::plain;
use anstyle::{AnsiColor, Style};
use model::change::Setting;
use model::prose::figures::{self, heading};
use model::{Change, ChangeState, Difference, Meta, Role};
use std::fmt::Write as _;

/// Most differing settings in a short answer.
const SHORT_SETTINGS: usize = 4;

/// Most figures in a short answer.
const SHORT_FIGURES: usize = 4;

/// The verdict on the difference, the settings that differ, the largest changes, and what to do.
/// With [`Look::why`] also every judged figure and the reasons.
pub fn text(change: &Change, meta: Option<&Meta>, look: Look) -> String {
    let mut text = format!("{}: {}\n", plain(&change.scenario), painted(change.state, look));
    let _ = writeln!(text, "{}", look.wrap(&prose::headline(change, meta), "  ", "  "));
    text.push_str(&settings(&change.differs, look));
    text.push_str(&judged_figures(change, meta, look));
    // If the records are not comparable, the reason is the answer.
    if look.why || change.state == ChangeState::NotComparable {
        reasons(&mut text, change, meta, look);
    }
    next(&mut text, change, look);
    text
}

fn painted(state: ChangeState, look: Look) -> String {
    let style: Style = color(state).on_default().bold();
    look.paint(style, state.word())
}

fn color(state: ChangeState) -> AnsiColor {
    match state {
        ChangeState::Worse => AnsiColor::Red,
        ChangeState::Better => AnsiColor::Green,
        ChangeState::NoDifferenceShown => AnsiColor::Cyan,
        ChangeState::Differs | ChangeState::NotComparable => AnsiColor::Yellow,
    }
}

/// The settings that differ between the two sides.
fn settings(differs: &[Setting], look: Look) -> String {
    if differs.is_empty() {
        return String::new();
    }
    let most = if look.why { differs.len() } else { SHORT_SETTINGS };
    let columns = ["not the same", "before", "after"].map(Column::left);
    let mut grid = Grid::new(columns.into());
    for setting in differs.iter().take(most) {
        grid.row(prose::setting(setting).map(Cell::from).into());
    }
    let left_out = left_out(differs.len(), most, "settings that differ");
    format!("\n{}{left_out}", grid.text_of_words(look, 1))
}

/// An arm, the name of a judged figure, and its difference.
type Judged<'a> = (&'a str, &'a str, &'a Difference);

/// The judged figures. A short answer has only those of the cases that decided, largest change
/// first.
fn judged_figures(change: &Change, meta: Option<&Meta>, look: Look) -> String {
    let shown = if look.why { all(change) } else { decisive(change) };
    if shown.is_empty() {
        return String::new();
    }
    let most = if look.why { shown.len() } else { SHORT_FIGURES };
    // A column that repeats the verdict of the first line in every row is left out.
    let mixed = shown.iter().any(|(.., difference)| difference.state != Some(change.state));
    let mut columns = vec![Column::left("arm"), Column::left("figure")];
    columns.extend(["before", "after", "change"].map(Column::right));
    columns.extend(mixed.then(|| Column::left("verdict")));
    let mut grid = Grid::new(columns);
    for (arm, name, difference) in shown.iter().take(most) {
        grid.row(row(change, (arm, name, difference), mixed, meta));
    }
    let all_figures = if look.why { shown.len() } else { cases(change).len() };
    let left_out = left_out(all_figures, shown.len().min(most), "judged figures");
    let note = look.wrap(prose::note(change.basis), "  ", "  ");
    format!("\n{}{left_out}{note}\n", grid.text_of_words(look, 2))
}

fn row(
    change: &Change,
    (arm, name, difference): Judged,
    mixed: bool,
    meta: Option<&Meta>,
) -> Vec<Cell> {
    let side = |estimate| Cell::from(prose::side_alone(change.basis, estimate));
    let mut cells = vec![
        Cell::from(plain(arm)),
        Cell::from(heading(name, meta)),
        side(&difference.before),
        side(&difference.after),
        Cell::from(figures::shift(&difference.comparison)),
    ];
    let state = difference.state.filter(|state| *state != ChangeState::NoDifferenceShown);
    let word = state.map_or(Cell::from("-"), |state| Cell::painted(state.word(), color(state)));
    cells.extend(mixed.then_some(word));
    cells
}

/// The judged figures of the arms with the cause.
fn cases(change: &Change) -> Vec<Judged<'_>> {
    let mut all = all(change);
    all.retain(|(.., difference)| difference.state.is_some());
    all
}

/// The judged figures that decided the verdict, the largest change first.
fn decisive(change: &Change) -> Vec<Judged<'_>> {
    let mut decisive = cases(change);
    decisive.retain(|(.., difference)| difference.state == Some(change.state));
    decisive.sort_by(|a, b| b.2.size().total_cmp(&a.2.size()));
    decisive
}

/// The judged figures of every arm. The page has the other figures too.
fn all(change: &Change) -> Vec<Judged<'_>> {
    let is_judged = |name: &str| {
        let cases = change.arms.iter().filter(|arm| arm.role == Role::Case);
        cases.filter_map(|arm| arm.measures.get(name)).any(|found| found.state.is_some())
    };
    let figures = change.arms.iter().flat_map(|arm| {
        arm.measures.iter().map(|(name, found)| (arm.id.as_str(), name.as_str(), found))
    });
    figures.filter(|(_, name, _)| is_judged(name)).collect()
}

fn left_out(of: usize, shown: usize, what: &str) -> String {
    match of.saturating_sub(shown) {
        0 => String::new(),
        more => format!("  and {more} more {what}: --why\n"),
    }
}

fn reasons(text: &mut String, change: &Change, meta: Option<&Meta>, look: Look) {
    let _ = writeln!(text, "\n  Why:");
    for reason in prose::reasons(change, meta) {
        let _ = writeln!(text, "{}", look.wrap(&reason, "  - ", "    "));
    }
}

fn next(text: &mut String, change: &Change, look: Look) {
    let steps = prose::suggestions(change);
    if !steps.is_empty() {
        let _ = writeln!(text, "\n  Next:");
    }
    for step in steps {
        let _ = writeln!(text, "{}", look.wrap(&step.what, "  - ", "    "));
        if let Some(command) = step.command {
            // The command is never wrapped, so that it can be copied.
            let _ = writeln!(text, "      {command}");
        }
    }
}

/// A comparison with made-up figures, for tests.
#[cfg(test)]
pub(crate) mod testing {
    use model::change::{
        ArmChange, ChangeHeadline, ChangeReason, ChangeSuggestion, Purpose, SCHEMA, Side,
    };
    use model::{
        Basis, Change, ChangeState, Comparison, Difference, Estimate, Machine, Role, State, Unit,
    };

    /// A figure that changed from the median `before` to the median `after`.
    pub(crate) fn difference(before: f64, after: f64) -> Difference {
        let unit = Unit::MillisecondsPerSecond;
        let estimate = |median: f64| Estimate {
            unit,
            trials: 8,
            median,
            median_at_least: false,
            low: Some(median - 1.0),
            high: Some(median + 1.0),
            high_unbounded: false,
            confidence: 0.95,
            min: median - 2.0,
            max: median + 2.0,
            max_at_least: false,
        };
        let shift = after - before;
        let comparison = Comparison {
            unit,
            shift,
            shift_at_least: false,
            low: Some(shift - 10.0),
            high: Some(shift + 10.0),
            confidence: 0.95,
            superiority: 0.9,
            superiority_low: None,
            superiority_high: None,
            p_value: None,
        };
        Difference {
            over: Some("control".to_owned()),
            before: estimate(before),
            after: estimate(after),
            comparison,
            state: Some(ChangeState::Differs),
            margin: Some(1.0),
        }
    }

    /// One case and its control, with one judged figure.
    pub(crate) fn change(state: ChangeState, basis: Basis) -> Change {
        let difference = Difference { state: Some(state), ..difference(20.0, 900.0) };
        let headline = ChangeHeadline::Largest {
            arm: "case".to_owned(),
            measure: "lost".to_owned(),
            difference: Box::new(difference.clone()),
        };
        let plain = Difference { over: None, state: None, margin: None, ..difference.clone() };
        let arm = |id: &str, role, state, difference| ArmChange {
            id: id.to_owned(),
            role,
            state,
            measures: [("lost".to_owned(), difference)].into(),
        };
        let side = |name: &str| Side {
            name: name.to_owned(),
            started: "2026-11-21T10:00:00Z".to_owned(),
            verdict: State::Affected,
            host: Machine::default(),
        };
        let purpose = Purpose::Cause;
        Change {
            schema: SCHEMA.to_owned(),
            scenario: "some-stall".to_owned(),
            before: vec![side("before.json")],
            after: vec![side("after.json")],
            basis,
            state,
            headline,
            reasons: vec![ChangeReason::OneRecordEach, ChangeReason::Claim { error_rate: 0.05 }],
            suggestions: vec![ChangeSuggestion::MakePairs { pairs: 8, purpose }],
            differs: Vec::new(),
            arms: vec![
                arm("control", Role::Control, None, plain),
                arm("case", Role::Case, Some(state), difference),
            ],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{change, difference};
    use super::*;
    use model::Basis;
    use model::change::{ChangeReason, SettingName};

    /// A comparison with many arms and settings.
    fn long(state: ChangeState) -> Change {
        let mut long = change(state, Basis::Blocks);
        let case = long.arms[1].clone();
        for busy in 0..20 {
            let mut arm = case.clone();
            arm.id = format!("busy-{busy}\u{1b}[2J");
            arm.measures = [("lost", 20.0), ("late", 400.0)]
                .map(|(name, before)| {
                    let figure = difference(before, before + f64::from(busy));
                    (name.to_owned(), Difference { state: Some(state), ..figure })
                })
                .into();
            long.arms.push(arm);
        }
        for parameter in 0..20 {
            long.differs.push(Setting {
                what: SettingName::Parameter(format!("parameter{parameter}")),
                arms: Vec::new(),
                before: Some("\u{1b}[2Jone".into()),
                after: None,
            });
        }
        long
    }

    #[test]
    fn the_answer_is_short_and_all_of_it_is_there_where_it_is_asked_for() {
        for state in [ChangeState::NoDifferenceShown, ChangeState::Differs] {
            let mut same = long(state);
            same.differs.clear();
            let short = text(&same, None, Look::default());
            assert!(short.lines().count() <= 20, "{short}");
            assert!(short.contains("and 37 more judged figures: --why"), "{short}");
            let changed = text(&long(state), None, Look::default());
            assert!(changed.contains("and 16 more settings that differ: --why"), "{changed}");
            assert!(changed.lines().count() <= 27, "{changed}");
            let whole = text(&long(state), None, Look { why: true, ..Look::default() });
            for word in ["busy-19", "parameter19", "control", "Why:", "is wrong in at most 5%"] {
                assert!(whole.contains(word), "{word}: {whole}");
            }
            assert!([&short, &changed, &whole].iter().all(|text| !text.contains('\u{1b}')));
            let wide = |line: &&str| line.len() > 80 && !line.contains("tailback compare");
            assert_eq!(changed.lines().find(wide), None);
        }
    }

    #[test]
    fn the_largest_change_stands_first_and_the_verdict_only_where_it_is_not_that_of_all() {
        let short = text(&long(ChangeState::Differs), None, Look::default());
        let at = |word: &str| short.find(word).unwrap_or(usize::MAX);
        assert!(at("case ") < at("busy-19") && at("busy-19") < at("busy-18"), "{short}");
        assert!(!short.contains("verdict"), "{short}");
        let whole = text(
            &change(ChangeState::Worse, Basis::Pairs),
            None,
            Look { why: true, ..Look::default() },
        );
        assert!(whole.contains("verdict") && whole.contains("900 (898 to 902)"), "{whole}");
    }

    #[test]
    fn what_stands_in_the_way_is_said_without_being_asked() {
        let mut none = change(ChangeState::NotComparable, Basis::Blocks);
        none.arms.clear();
        none.reasons = vec![ChangeReason::NoCommonCase];
        none.suggestions.clear();
        let text = text(&none, None, Look::default());
        assert!(text.contains("No arm with the cause is in all records."), "{text}");
        assert!(!text.contains("Next:"), "{text}");
    }
}
