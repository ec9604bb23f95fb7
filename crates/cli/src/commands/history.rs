//! `tailback history DIR`.

use crate::exit::Failure;
use crate::{output, page, records};
use clap::ArgMatches;
use history::{HistoryError, HistoryIndex};
use report::history::Line;
use std::path::PathBuf;

/// Shows one figure over the records of a folder, a table for each scenario.
pub fn history(matches: &ArgMatches) -> Result<u8, Failure> {
    let named = matches.get_one::<PathBuf>("folder").ok_or_else(|| Failure::usage("no folder"))?;
    let folder = std::fs::canonicalize(named).map_err(|error| {
        Failure::usage(format!("{}: {error}; name a folder of records", named.display()))
    })?;
    let cache = os::folders::cache().map(|cache| cache.join("tailback"));
    let mut index =
        HistoryIndex::open(cache.as_deref(), &mut |note| output::note(note)).map_err(failed)?;
    let not_records = index.update(&folder, &|file| records::read(file).ok()).map_err(failed)?;
    if not_records > 0 {
        output::note(&format!(
            "{not_records} files in {} are no records; left out",
            named.display()
        ));
    }
    let measure = matches.get_one::<String>("measure").map(String::as_str);
    let lines = index.lines(&folder, measure).map_err(failed)?;
    if lines.is_empty() {
        return Err(none(&index, &folder, measure));
    }
    let histories: Vec<Vec<Line>> = lines
        .chunk_by(|a, b| a.scenario == b.scenario && a.measure == b.measure)
        .map(<[Line]>::to_vec)
        .collect();
    if let Some(path) = matches.get_one::<PathBuf>("output") {
        let page = report::html::history_page(&histories).map_err(page::failed)?;
        page::write(&page, Some(path))?;
    }
    if matches.get_flag("json") {
        output::json(&json(&lines));
    } else {
        let texts = histories.iter().map(|lines| report::history::text(lines, output::look()));
        output::print(&texts.collect::<Vec<String>>().join("\n"));
    }
    Ok(0)
}

fn failed(error: HistoryError) -> Failure {
    match error {
        HistoryError::Folder { .. } => Failure::usage(error.to_string()),
        HistoryError::Index(_) => Failure::broken(error.to_string()),
    }
}

fn none(index: &HistoryIndex, folder: &std::path::Path, measure: Option<&str>) -> Failure {
    let any = index.lines(folder, None).is_ok_and(|lines| !lines.is_empty());
    match measure {
        Some(measure) if any => Failure::usage(format!(
            "--measure {measure}: no record in {} has it; a record lists the names under \"measures\"",
            folder.display()
        )),
        _ => Failure::usage(format!(
            "{}: no record in it has a figure; name a folder with records of tailback",
            folder.display()
        )),
    }
}

fn json(lines: &[Line]) -> String {
    let rows = lines.iter().map(|line| {
        serde_json::json!({
            "scenario": line.scenario,
            "measure": line.measure,
            "started": line.started,
            "kernel": line.kernel,
            "arm": line.arm,
            "verdict": line.verdict.word(),
            "estimate": line.estimate,
            "record": line.path,
        })
    });
    format!("{:#}\n", serde_json::Value::Array(rows.collect()))
}
