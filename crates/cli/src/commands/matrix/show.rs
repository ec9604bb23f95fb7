//! What a matrix prints: a table and the boundaries, JSON, a page.

use super::flags::Matrix;
use super::ladder::complaints;
use super::row::Row;
use crate::exit::Failure;
use crate::session::Session;
use crate::{output, paths};
use model::Meta;
use model::ladder::Ladder;
use report::Shown;
use report::export::ktap::{self, Test};
use report::prose::ladder as prose;
use std::path::PathBuf;

/// Where the page goes, where one is asked for. What cannot be written is refused before anything
/// is measured.
pub fn page(session: &Session, flags: &Matrix) -> Result<Option<PathBuf>, Failure> {
    flags.page.as_ref().map(|named| paths::for_page(session, "--page", named)).transpose()
}

/// Shows it all; the exit code, where a test runner wants one.
///
/// # Errors
/// If the page cannot be drawn or written.
pub fn all(
    session: &Session,
    meta: &Meta,
    rows: &[Row],
    ladder: &Ladder,
    flags: &Matrix,
    page: Option<PathBuf>,
) -> Result<Option<u8>, Failure> {
    let mut code = None;
    if let Some(undecided) = flags.ktap.wanted() {
        let tests: Vec<Test> = rows.iter().map(|row| test(row, meta)).collect();
        session.out.print(&ktap::ktap(&tests, undecided));
        code = Some(ktap::code(&tests, undecided));
        let said = said(meta, rows, ladder);
        session.out.print(&said.iter().map(|line| format!("# {line}\n")).collect::<String>());
    } else if flags.json {
        let rows: Vec<serde_json::Value> = rows.iter().map(|row| row.json(meta)).collect();
        let table = serde_json::json!({
            "schema": "tailback/matrix/1",
            "scenario": meta.id,
            "rows": rows,
            "ladder": ladder,
        });
        session.out.value(&table);
    } else if flags.markdown {
        let shown = shown(meta, rows, ladder);
        let said = said(meta, rows, ladder);
        session.out.print(&report::matrix_markdown(shown, &said));
    } else {
        let look = output::look();
        session.out.print(&report::matrix(shown(meta, rows, ladder), look));
        session.out.print(&report::below_matrix(&said(meta, rows, ladder), look));
    }
    for line in rows.iter().filter_map(|row| row.failure(meta)) {
        output::complain(&line);
    }
    if flags.expect {
        if rows.iter().all(|row| !row.has_expectation()) {
            output::complain(
                "--expect: vm/versions.toml expects nothing of these versions and parameters",
            );
        }
        for row in rows.iter().filter(|row| row.is_unexpected()) {
            output::complain(&row.complaint());
        }
        complaints(ladder).iter().for_each(|line| output::complain(line));
    }
    page.map_or(Ok(()), |path| draw(session, meta, rows, ladder, &path))?;
    Ok(code)
}

/// A version as a test.
fn test<'a>(row: &'a Row, meta: &'a Meta) -> Test<'a> {
    let came = row.record().map(|record| Shown::new(record, Some(meta), row.name()));
    let instead = || row.instead().unwrap_or_default();
    Test { name: row.name().to_owned(), came: came.ok_or_else(instead) }
}

/// Which figure the effects are of, the boundaries, and what the runs without a stall would have
/// shown.
fn said(meta: &Meta, rows: &[Row], ladder: &Ladder) -> Vec<String> {
    let runs = rows.iter().filter_map(Row::record);
    let said = prose::followed(ladder, Some(meta)).into_iter().chain(prose::boundaries(ladder));
    said.chain(prose::shown_by_all(runs, Some(meta))).collect()
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

fn draw(
    session: &Session,
    meta: &Meta,
    rows: &[Row],
    ladder: &Ladder,
    path: &PathBuf,
) -> Result<(), Failure> {
    let records: Vec<_> = rows.iter().filter_map(|row| Some((row.name(), row.record()?))).collect();
    let shown: Vec<Shown> =
        records.iter().map(|(name, record)| Shown::new(record, Some(meta), name)).collect();
    let page = report::html::ladder_page(ladder, &shown)?;
    crate::page::write(session, &page, Some(path))?;
    output::note(&format!("page: {}", path.display()));
    Ok(())
}
