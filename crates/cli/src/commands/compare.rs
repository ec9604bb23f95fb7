//! `tailback compare A B`.

use crate::exit::Failure;
use crate::records::Named;
use crate::{output, page, records};
use analysis::Pair;
use clap::ArgMatches;
use model::{Change, Record};
use report::Shown;
use std::path::PathBuf;

/// Holds the second record against the first; the exit code of what changed.
pub fn compare(matches: &ArgMatches) -> Result<u8, Failure> {
    let mut named = records::all(matches)?;
    named.iter_mut().for_each(|one| judge(&mut one.record));
    let [before, after] = named.as_slice() else {
        return Err(Failure::usage("compare takes two records; see tailback compare --help"));
    };
    let across: Vec<String> =
        matches.get_many::<String>("across").into_iter().flatten().cloned().collect();
    let (was, is) = (before.name(), after.name());
    let change = analysis::change(&Pair {
        before: (&before.record, &was),
        after: (&after.record, &is),
        meta: before.meta(),
        across: &across,
    });
    if let Some(path) = matches.get_one::<PathBuf>("output") {
        let [before, after] = [(before, &was), (after, &is)].map(|(one, name)| shown(one, name));
        let page = report::html::change_page(&change, &before, &after).map_err(page::failed)?;
        page::write(&page, Some(path))?;
    }
    show(&change, before, matches.get_flag("json"));
    Ok(change.state.exit_code())
}

/// A record that this version can judge is judged again, so that both sides are by the same rules.
fn judge(record: &mut Record) {
    scenarios::judge(record);
}

fn shown<'a>(one: &'a Named, name: &'a str) -> Shown<'a> {
    Shown { record: &one.record, meta: one.meta(), name }
}

fn show(change: &Change, before: &Named, json: bool) {
    if json {
        // Text keys and finite numbers only, which always serialise.
        let text = serde_json::to_string_pretty(change).unwrap_or_default();
        output::print(&format!("{text}\n"));
    } else {
        output::print(&report::change::text(change, before.meta(), output::look()));
    }
}
