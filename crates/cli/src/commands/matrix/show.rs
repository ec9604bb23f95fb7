//! What a matrix prints: a table and the boundaries, JSON, a page.

use super::ladder::complaints;
use super::row::Row;
use crate::exit::Failure;
use crate::{output, paths};
use clap::ArgMatches;
use model::Meta;
use model::ladder::Ladder;
use report::Shown;
use report::prose::ladder as prose;
use std::path::PathBuf;

/// Where the page goes, where one is asked for. What cannot be written is refused before anything
/// is measured.
pub fn page(matches: &ArgMatches) -> Result<Option<PathBuf>, Failure> {
    matches.get_one::<PathBuf>("page").map(|named| paths::for_page("--page", named)).transpose()
}

/// Shows it all.
///
/// # Errors
/// If the page cannot be drawn or written.
pub fn all(
    meta: &Meta,
    rows: &[Row],
    ladder: &Ladder,
    matches: &ArgMatches,
    page: Option<PathBuf>,
) -> Result<(), Failure> {
    if matches.get_flag("json") {
        let rows: Vec<serde_json::Value> = rows.iter().map(|row| row.json(meta)).collect();
        let table = serde_json::json!({
            "schema": "tailback/matrix/1",
            "scenario": meta.id,
            "rows": rows,
            "ladder": ladder,
        });
        output::json(&format!("{table:#}\n"));
    } else if matches.get_flag("markdown") {
        let shown = shown(meta, rows, ladder);
        output::print(&report::matrix_markdown(shown, ladder, Some(meta)));
    } else {
        let look = output::look();
        output::print(&report::matrix(shown(meta, rows, ladder), look));
        output::print(&report::ladder(ladder, Some(meta), look));
    }
    for line in rows.iter().filter_map(|row| row.failure(meta)) {
        output::complain(&line);
    }
    if matches.get_flag("expect") {
        if rows.iter().all(|row| !row.has_expectation()) {
            output::complain(
                "--expect: vm/versions.toml expects nothing of these versions and parameters",
            );
        }
        for row in rows.iter().filter(|row| row.met() == Some(false)) {
            output::complain(&row.complaint());
        }
        complaints(ladder).iter().for_each(|line| output::complain(line));
    }
    page.map_or(Ok(()), |path| draw(meta, rows, ladder, &path))
}

/// The rows as they are shown, each with the effect of the arm that is followed.
fn shown<'a>(
    meta: &'a Meta,
    rows: &'a [Row],
    ladder: &'a Ladder,
) -> impl Iterator<Item = report::Row> + 'a {
    let effects = ladder.rungs.iter().map(prose::effect);
    rows.iter().zip(effects).map(|(row, effect)| row.shown(effect, meta))
}

fn draw(meta: &Meta, rows: &[Row], ladder: &Ladder, path: &PathBuf) -> Result<(), Failure> {
    let records: Vec<_> = rows.iter().filter_map(|row| Some((row.name(), row.record()?))).collect();
    let shown: Vec<Shown> =
        records.iter().map(|(name, record)| Shown::new(record, Some(meta), name)).collect();
    let page = report::html::ladder_page(ladder, &shown)
        .map_err(|error| Failure::broken(error.to_string()))?;
    crate::page::write(&page, Some(path))?;
    output::note(&format!("page: {}", path.display()));
    Ok(())
}
