//! The flags that a study of an Erlang node supports, ready to paste.

use crate::grid::{Cell, Column, Grid};
use crate::look::Look;
use crate::prose::{self, Prose, plain};
use model::prose::figures;
use model::{Fix, FixOutcome, Judged, Meta, State};
use std::fmt::Write as _;

/// The flags of a node that `busy-wait` supports. Only measured flags are named.
///
/// `place` says where they were measured: `8 schedulers, a quota of 0.5 CPUs, OTP 25`.
pub fn flags(record: &Judged, meta: Option<&Meta>, place: &str, look: Look) -> String {
    let prose = Prose::new(record, meta);
    let mut text = look.wrap(&format!("Measured on this machine: {}.", plain(place)), "", "");
    text.push('\n');
    match best(&record.judgement.fixes) {
        Some(flags) => {
            let _ = writeln!(text, "\n  ERL_FLAGS={}\n", os::quote::word(flags));
        }
        None => {
            let why = match record.judgement.state {
                State::NotAffected => "the VM's defaults cost no latency here",
                State::Affected => "none of the flags that were tried was shown to help",
                _ => "the study reached no verdict",
            };
            let _ = writeln!(text, "\n  No flag is supported: {why}.\n");
        }
    }
    text.push_str(&tried(record, meta, look));
    for left_out in prose.left_out() {
        let _ = writeln!(text, "{}", look.wrap(&left_out, "  ", "  "));
    }
    let _ = write!(text, "\n{}\n", look.wrap(&prose.brief(), "  ", "  "));
    text
}

/// Every set of flags that was tried, with its effect.
fn tried(record: &Judged, meta: Option<&Meta>, look: Look) -> String {
    let mut grid = Grid::new(vec![
        Column::left("flags"),
        Column::left("outcome"),
        Column::right("with them"),
        Column::right("change"),
    ]);
    let Some(first) = record.judgement.fixes.first() else { return String::new() };
    for fix in &record.judgement.fixes {
        let with = fix.with.get(&fix.measure).map_or_else(|| "-".to_owned(), figures::estimate);
        let change = fix.comparison.as_ref().map_or_else(|| "-".to_owned(), figures::shift);
        let changed = prose::arm::change(&fix.change, meta);
        let row = [changed, prose::fix::outcome(fix.outcome).to_owned(), with, change];
        grid.row(row.map(Cell::from).to_vec());
    }
    let heading = figures::heading(&first.measure, meta);
    format!("  Tried here, judged by \"{heading}\":\n\n{}", grid.text_of_words(look, 1))
}

/// The flags with the lowest judged figure. Flags that fixed the stall come before flags that
/// only helped.
fn best(fixes: &[Fix]) -> Option<&str> {
    let left = |fix: &Fix| fix.with.get(&fix.measure).map_or(f64::INFINITY, |e| e.median);
    let fixed = |fix: &Fix| fix.outcome == FixOutcome::Fixed;
    let supported = fixes
        .iter()
        .filter(|fix| fix.change.flags().is_some() && fix.outcome != FixOutcome::NotShown);
    let best = supported.min_by(|a, b| fixed(b).cmp(&fixed(a)).then(left(a).total_cmp(&left(b))));
    best?.change.flags()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::Changed;

    #[test]
    fn the_best_flags_are_quoted_for_a_shell() {
        let mut record = testing::record();
        record.judgement.fixes = vec![
            testing::fix("+S 1:1", FixOutcome::NotShown),
            testing::fix("+sbwt none", FixOutcome::Helped),
            testing::fix("a change of code", FixOutcome::Fixed),
        ];
        record.judgement.fixes[2].change = Changed::Said("a change of code".to_owned());
        let text = flags(&record, None, "here", Look::default());
        assert!(text.contains("\n  ERL_FLAGS='+sbwt none'\n"), "{text}");
        assert!(text.contains("not shown to help"), "{text}");
        record.judgement.fixes.clear();
        assert!(flags(&record, None, "here", Look::default()).contains("No flag is supported"));
    }
}
