//! `tailback history DIR`.

use crate::command::{Failure, Run, Session, below};
use crate::{input, output, page, records};
use model::Judged;
use report::history::Line;
use std::path::{Path, PathBuf};

/// Most files of one folder that are read.
const MOST_FILES: usize = 10_000;

/// Size limit of all these files together, in bytes. It limits the time that reading takes.
const MOST_BYTES: u64 = 4 << 30;

/// Show how one figure changed over the records of a folder
#[derive(clap::Args)]
#[command(after_help = below("", [
    "tailback history ~/.local/state/tailback",
    "tailback history ~/.local/state/tailback -o history.html",
]))]
pub struct History {
    /// Folder with the records; check keeps its own in ~/.local/state/tailback
    #[arg(value_name = "DIR")]
    folder: PathBuf,
    /// The figure, by its name in the record [default: the judged figure]
    #[arg(long, value_name = "NAME")]
    measure: Option<String>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also write an HTML page to FILE; with -, print the page and nothing else
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

impl Run for History {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        page::check_output(self.output.as_deref(), self.json)?;
        let (named, measure) = (&self.folder, self.measure.as_deref());
        let Scanned { lines, figures, not_records } = scan(named, measure)?;
        if not_records > 0 {
            output::note(&format!(
                "{not_records} files in {} are not records that can be read here; left out",
                named.display()
            ));
        }
        if lines.is_empty() {
            return Err(none(figures, named, measure));
        }
        let histories = histories(&lines);
        if let Some(path) = &self.output {
            let page = report::html::history_page(&histories)?;
            page::write(session, &page, Some(path))?;
        }
        if page::is_printed(self.output.as_deref()) {
            return Ok(0);
        }
        if self.json {
            session.out.json(&json(&lines));
        } else {
            let texts = histories.iter().map(|lines| report::history::text(lines, output::look()));
            session.out.print(&texts.collect::<Vec<String>>().join("\n"));
        }
        Ok(0)
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        Some(self.output.iter().map(PathBuf::as_path).collect())
    }
}

/// The content of the records in a folder.
struct Scanned {
    /// One line per record that has the figure, by scenario and figure, oldest first.
    lines: Vec<Line>,
    /// Whether any record has a judged figure.
    figures: bool,
    /// Number of files that end in `.json` but are no records, or records that this version or
    /// this user cannot read.
    not_records: usize,
}

/// Reads the records of a folder one by one. Only one record at a time is in memory.
fn scan(named: &Path, measure: Option<&str>) -> Result<Scanned, Failure> {
    let mut scanned = Scanned { lines: Vec::new(), figures: false, not_records: 0 };
    for file in files(named)? {
        let Some(record) = record(&file) else {
            scanned.not_records += 1;
            continue;
        };
        let path = file.to_string_lossy();
        scanned.figures = scanned.figures || Line::new(&record, &path, None).is_some();
        scanned.lines.extend(Line::new(&record, &path, measure));
    }
    sort(&mut scanned.lines);
    Ok(scanned)
}

/// Sorts lines by their history, oldest first. Studies of one scenario may be judged by different
/// figures.
fn sort(lines: &mut [Line]) {
    lines.sort_by_cached_key(|line| {
        [&line.scenario, &line.measure, &line.started, &line.path].map(String::clone)
    });
}

/// The histories in sorted lines: one for each figure of each scenario.
fn histories(lines: &[Line]) -> Vec<Vec<Line>> {
    let same = |a: &Line, b: &Line| a.scenario == b.scenario && a.measure == b.measure;
    lines.chunk_by(same).map(<[Line]>::to_vec).collect()
}

/// The record in a file of a folder. The file may be another one than when the folder was listed.
fn record(file: &Path) -> Option<Judged> {
    let text = input::read_regular(file, records::MOST).ok()?;
    records::facts(&text).ok().map(scenarios::judged)
}

/// The files of a folder that may be records, as absolute paths.
fn files(named: &Path) -> Result<Vec<PathBuf>, Failure> {
    let refused = |why: &dyn std::fmt::Display| {
        Failure::usage(format!("{}: {why}; name a folder of records", named.display()))
    };
    let folder = std::fs::canonicalize(named).map_err(|error| refused(&error))?;
    let entries = std::fs::read_dir(folder).map_err(|error| refused(&error))?;
    let (mut files, mut bytes) = (Vec::new(), 0_u64);
    for path in entries.flatten().map(|entry| entry.path()) {
        let Ok(metadata) = path.metadata() else { continue };
        if metadata.is_file() && path.extension().is_some_and(|extension| extension == "json") {
            bytes = bytes.saturating_add(metadata.len());
            files.push(path);
        }
        if files.len() > MOST_FILES || bytes > MOST_BYTES {
            return Err(Failure::usage(format!(
                "{}: more than {MOST_FILES} files or {} GiB of records; name a folder with fewer",
                named.display(),
                MOST_BYTES >> 30
            )));
        }
    }
    files.sort();
    Ok(files)
}

/// The error if no line can be shown. `figures`: whether any record has a judged figure.
fn none(figures: bool, folder: &Path, measure: Option<&str>) -> Failure {
    match measure {
        Some(measure) if figures => Failure::usage(format!(
            "--measure {measure}: no record in {} has this figure; a record lists the names under \
             \"measures\"",
            folder.display()
        )),
        _ => Failure::usage(format!(
            "{}: no record in this folder has a judged figure; name a folder with records of \
             tailback",
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

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};

    #[test]
    fn each_figure_has_one_history_whatever_the_order_of_its_records() {
        let record = crate::testing::affected_record();
        let line = Line::new(&record, "a.json", None).unwrap();
        let of = |(measure, started): (&str, &str)| Line {
            measure: measure.to_owned(),
            started: started.to_owned(),
            ..line.clone()
        };
        let mut lines = [("lost", "2"), ("freeze", "3"), ("lost", "4"), ("freeze", "1")].map(of);
        sort(&mut lines);
        let histories = histories(&lines);
        let starts = |lines: &Vec<Line>| -> Vec<String> {
            lines.iter().map(|line| line.started.clone()).collect()
        };
        assert_eq!(histories.iter().map(starts).collect::<Vec<_>>(), [["1", "3"], ["2", "4"]]);
    }

    #[test]
    fn a_pipe_in_place_of_a_record_is_not_waited_for() {
        let place = tempfile::tempdir().unwrap();
        let pipe = place.path().join("a.json");
        mknodat(CWD, &pipe, FileType::Fifo, Mode::from_raw_mode(0o600), 0).unwrap();
        assert!(record(&pipe).is_none());
    }
}
