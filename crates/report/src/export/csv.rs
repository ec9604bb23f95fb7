//! Every figure of every trial, one per row.

use crate::ReportError;
use crate::limited::Limited;
use crate::prose::plain;
use model::{Judged, Measure, Trial};
use std::io::Write;

/// The columns.
const HEAD: [&str; 12] = [
    "scenario",
    "study",
    "kernel",
    "block",
    "arm",
    "started_ms",
    "window_ms",
    "hang",
    "measure",
    "value",
    "unit",
    "at_least",
];

/// Writes the trials of some records, in the order in which they ran. A trial without figures
/// still has a row.
///
/// # Errors
/// If a row cannot be written.
pub fn csv(records: &[&Judged]) -> Result<String, ReportError> {
    let failed = |why: String| ReportError::Export { format: "csv", why };
    let mut bytes = Vec::new();
    write(records, &mut bytes).map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

/// The same of one record; None if it takes more than `most` bytes.
pub(crate) fn up_to(record: &Judged, most: usize) -> Option<String> {
    let mut text = Limited::new(most);
    write(&[record], &mut text).ok()?;
    text.into_text()
}

fn write(records: &[&Judged], out: impl Write) -> Result<(), csv::Error> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(HEAD)?;
    for record in records {
        for trial in &record.trials {
            let mut rows: Vec<_> = trial.observation.measures.iter().map(Some).collect();
            if rows.is_empty() {
                rows.push(None);
            }
            for figure in rows {
                writer.write_record(row(record, trial, figure))?;
            }
        }
    }
    Ok(writer.flush()?)
}

fn row(record: &Judged, trial: &Trial, figure: Option<(&String, &Measure)>) -> [String; 12] {
    let seen = &trial.observation;
    let (name, value, unit, at_least) = match figure {
        Some((name, measure)) => (
            text(name),
            measure.value.to_string(),
            measure.unit.symbol().to_owned(),
            measure.at_least.to_string(),
        ),
        None => (String::new(), String::new(), String::new(), String::new()),
    };
    [
        text(&record.scenario),
        text(&record.started),
        text(&record.machine.kernel),
        trial.block.to_string(),
        text(&trial.arm),
        trial.started_ms.to_string(),
        seen.window_ms.to_string(),
        seen.hang.to_string(),
        name,
        value,
        unit,
        at_least,
    ]
}

/// A word on one line, without anything that a terminal or a spreadsheet would interpret.
fn text(word: &str) -> String {
    let word = plain(word);
    if word.trim_start().starts_with(['=', '+', '-', '@']) { format!("'{word}") } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[test]
    fn each_figure_is_a_row_that_a_reader_reads_back() {
        let mut record = testing::record();
        record.plan.arms[1].id = "=cmd(\"x\"),\n1".to_owned();
        record.trials[1].arm = record.plan.arms[1].id.clone();
        let text = csv(&[&record]).unwrap();
        let mut reader = csv::Reader::from_reader(text.as_bytes());
        let rows: Vec<csv::StringRecord> = reader.records().map(Result::unwrap).collect();
        assert_eq!(rows.len(), record.trials.len());
        assert_eq!(&rows[1][4], "'=cmd(\"x\"), 1");
        assert_eq!(&rows[0][8], "lost");
        assert!(rows[0][9].parse::<f64>().is_ok());
        assert_eq!(up_to(&record, text.len()).as_deref(), Some(text.as_str()));
        assert_eq!(up_to(&record, text.len() - 1), None);
    }
}
