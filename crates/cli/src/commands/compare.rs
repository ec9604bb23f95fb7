//! `tailback compare BEFORE AFTER`, and with several records a side.

use crate::exit::Failure;
use crate::records::Named;
use crate::{output, page, records};
use analysis::{Sides, change::ACROSS};
use clap::ArgMatches;
use model::{Change, Judged, Meta};
use report::Shown;
use std::path::PathBuf;

/// Compares the records after a change with those before it; the exit code of what changed.
pub fn compare(matches: &ArgMatches) -> Result<u8, Failure> {
    let paths = |id| matches.try_get_many::<PathBuf>(id).ok().flatten().into_iter().flatten();
    let mut paths_before: Vec<&PathBuf> = paths("before").collect();
    let pair: Vec<&PathBuf> = paths("record").collect();
    paths_before.extend(pair.first());
    let after = paths("after").chain(pair.get(1).copied());
    // Read together, so that together they are limited.
    let named = records::named(paths_before.iter().copied().chain(after))?;
    let names: Vec<String> = named.iter().map(Named::name).collect();
    let all: Vec<(&Judged, &str)> =
        named.iter().zip(&names).map(|(one, name)| (&one.record, name.as_str())).collect();
    let (before, after) = all.split_at(paths_before.len().min(all.len()));
    let meta = named.first().and_then(Named::meta);
    let across = across(matches, meta)?;
    let change = analysis::change(&Sides { before, after, meta, across: &across, among: 1 });
    if let Some(path) = matches.get_one::<PathBuf>("output") {
        let shown: Vec<Shown> =
            named.iter().zip(&names).map(|(one, name)| one.shown(name)).collect();
        let explanations = page::explanations(&shown);
        let shown = page::explained(&shown, &explanations);
        let page = report::html::change_page(&change, &shown).map_err(page::failed)?;
        page::write(&page, Some(path))?;
    }
    show(&change, meta, matches);
    Ok(change.state.exit_code())
}

/// What may differ.
///
/// # Errors
/// If a name of `--across` is unknown.
fn across(matches: &ArgMatches, meta: Option<&Meta>) -> Result<Vec<String>, Failure> {
    let names: Vec<String> =
        matches.get_many::<String>("across").into_iter().flatten().cloned().collect();
    let Some(meta) = meta else { return Ok(names) };
    let known = |name: &String| ACROSS.contains(&name.as_str()) || meta.parameter(name).is_some();
    match names.iter().find(|name| !known(name)) {
        Some(unknown) => Err(Failure::usage(format!(
            "--across {unknown}: neither {} nor a parameter of {}; see tailback run {} --help",
            ACROSS.join(", "),
            meta.id,
            meta.id
        ))),
        None => Ok(names),
    }
}

fn show(change: &Change, meta: Option<&Meta>, matches: &ArgMatches) {
    if matches.get_flag("json") {
        // Text keys and finite numbers only, which always serialise.
        let text = serde_json::to_string_pretty(change).unwrap_or_default();
        output::json(&format!("{text}\n"));
    } else {
        output::print(&report::change::text(change, meta, output::look_of(matches)));
    }
}
