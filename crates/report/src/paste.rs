//! The flags that a study of an Erlang node supports, ready to be pasted.

use crate::text::Look;
use model::{Fix, FixOutcome, Record, State};
use std::fmt::Write as _;

/// What `busy-wait` says for the flags of a node, and nothing that it did not measure.
///
/// `place` says where it was measured: `8 schedulers, a quota of 0.5 CPUs, OTP 25`.
pub fn flags(record: &Record, place: &str, look: Look) -> String {
    let supported: Vec<&Fix> = record
        .verdict
        .fixes
        .iter()
        .filter(|fix| fix.outcome != FixOutcome::NotShown && fix.change.starts_with(['+', '-']))
        .collect();
    let mut text = look.wrap(&format!("Measured on this machine: {place}."), "", "");
    text.push('\n');
    let best = best(&supported);
    match best {
        Some(best) => {
            let _ = writeln!(text, "\n  ERL_FLAGS=\"{}\"\n", best.change);
        }
        None => {
            let why = match record.verdict.state {
                State::NotAffected => "the VM's defaults cost no latency here",
                State::Affected => "none of the flags that were tried was shown to help",
                _ => "the study did not come to a verdict",
            };
            let _ = writeln!(text, "\n  No flag is supported: {why}.\n");
        }
    }
    for fix in &record.verdict.fixes {
        let _ = writeln!(text, "{}", look.wrap(&sentence(fix), "  - ", "    "));
    }
    for arm in &record.plan.left_out {
        let _ = writeln!(text, "{}", look.wrap(&format!("left out: {}", arm.why), "  - ", "    "));
    }
    let _ = write!(text, "\n{}\n", look.wrap(&record.verdict.headline, "  ", "  "));
    text
}

/// The fix that leaves the least of what is judged, of those that fixed it if any did.
fn best<'a>(fixes: &[&'a Fix]) -> Option<&'a Fix> {
    let left = |fix: &Fix| fix.with.get(&fix.measure).map_or(f64::INFINITY, |e| e.median);
    let fixed = |fix: &Fix| fix.outcome == FixOutcome::Fixed;
    fixes.iter().copied().min_by(|a, b| fixed(b).cmp(&fixed(a)).then(left(a).total_cmp(&left(b))))
}

fn sentence(fix: &Fix) -> String {
    let figure = |all: &std::collections::BTreeMap<String, model::Estimate>| {
        all.get(&fix.measure).map_or_else(|| "-".to_owned(), ToString::to_string)
    };
    let effect = fix.comparison.as_ref().map_or_else(String::new, |comparison| {
        let end = |end: Option<f64>| end.map_or_else(|| "..".to_owned(), model::estimate::number);
        format!(
            ", a change of {} {} [{}, {}]",
            model::estimate::number(comparison.shift),
            comparison.unit.symbol(),
            end(comparison.low),
            end(comparison.high)
        )
    });
    format!(
        "{}: {}; {} {} instead of {}{effect}",
        fix.change,
        fix.outcome.word(),
        fix.measure,
        figure(&fix.with),
        figure(&fix.without)
    )
}
