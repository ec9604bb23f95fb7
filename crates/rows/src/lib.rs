//! Exports the rows of a census for other programs: folders of Parquet files by scenario and
//! kernel. They have one row per host and scenario, and one row per trial.
//!
//! A census only counts. These files hold every answer that it counted, so that other programs
//! can query them.

mod columns;
mod error;
mod folder;
mod series;
mod table;

pub use error::RowsError;
pub use folder::{Folder, Made};

use census::{Fleet, Verdict, Verdicts};
use columns::{TRIALS, Trial, VERDICTS};
use folder::Beside;
use series::Series;
use std::fs::File;
use std::path::{Path, PathBuf};
use table::{Column, Table};

/// Number of answers between two checks whether the caller wants to stop.
const LOOKS: usize = 1 << 12;

/// The numbers of what was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Written {
    /// Rows of verdicts.
    pub verdicts: u64,
    /// Rows of trials.
    pub trials: u64,
    /// Files.
    pub files: u64,
}

/// Writes all answers of a fleet, and the trials that were stored in `trials` while it was read.
///
/// # Errors
/// If writing fails, or `ends` says that the caller wants to stop. Then nothing is left behind.
pub fn write(
    fleet: &Fleet,
    trials: &File,
    folder: &Folder,
    made: &Made,
    ends: &dyn Fn() -> bool,
) -> Result<Written, RowsError> {
    let verdicts = Verdicts::of(fleet);
    let series = Series::of(&verdicts);
    let beside = folder.begin()?;
    let mut writing =
        Writing { verdicts: &verdicts, trials, beside: &beside, ends, written: Written::default() };
    let mut begin = 0;
    while let Some(first) = verdicts.get(begin) {
        let same =
            |place: &usize| verdicts.get(*place).is_some_and(|one| one.scenario == first.scenario);
        let end = (begin..).take_while(same).last().unwrap_or(begin) + 1;
        let place = |place: usize| {
            let kind = verdicts.get(place).and_then(|one| one.kind_number);
            (series.place(kind), place)
        };
        let mut places: Vec<(u32, usize)> = (begin..end).map(place).collect();
        places.sort_unstable();
        for part in places.chunk_by(|(a, _), (b, _)| a == b) {
            let Some((number, _)) = part.first() else { continue };
            writing.part(first.scenario, series.name(*number), part)?;
        }
        begin = end;
    }
    let written = writing.written;
    beside.publish(made)?;
    Ok(written)
}

struct Writing<'a> {
    verdicts: &'a Verdicts<'a>,
    trials: &'a File,
    beside: &'a Beside<'a>,
    ends: &'a dyn Fn() -> bool,
    written: Written,
}

impl Writing<'_> {
    /// The files of one scenario and one kernel series.
    fn part(
        &mut self,
        scenario: &str,
        series: &str,
        places: &[(u32, usize)],
    ) -> Result<(), RowsError> {
        let below = format!("scenario={scenario}/kernel_series={series}/part-0.parquet");
        let mut rows = self.open("verdicts", &below, &VERDICTS.map(|(column, _)| column))?;
        let mut trials: Option<Open> = None;
        for (number, (_, place)) in places.iter().enumerate() {
            if number % LOOKS == 0 && (self.ends)() {
                return Err(RowsError::Interrupted);
            }
            let Some(verdict) = self.verdicts.get(*place) else { continue };
            rows.row(VERDICTS.iter().map(|(_, value)| value(&verdict)))?;
            self.written.verdicts += 1;
            if verdict.trials.is_some() {
                if trials.is_none() {
                    let columns = TRIALS.map(|(column, _)| column);
                    trials = Some(self.open("trials", &below, &columns)?);
                }
                self.trials_of(&verdict, trials.as_mut())?;
            }
        }
        rows.finish()?;
        trials.map_or(Ok(()), Open::finish)
    }

    fn trials_of(&mut self, verdict: &Verdict, into: Option<&mut Open>) -> Result<(), RowsError> {
        let (Some(span), Some(into)) = (verdict.trials, into) else { return Ok(()) };
        let trials = census::kept(self.trials, span).map_err(RowsError::io(&into.path))?;
        let measure = trials.measure.as_deref();
        for (seen, place) in trials.all.iter().zip(0..) {
            let trial = Trial { verdict, measure, place, seen };
            into.row(TRIALS.iter().map(|(_, value)| value(&trial)))?;
            self.written.trials += 1;
        }
        Ok(())
    }

    fn open(&mut self, table: &str, below: &str, columns: &[Column]) -> Result<Open, RowsError> {
        let (file, path) = self.beside.create(&Path::new(table).join(below))?;
        self.written.files += 1;
        let made = Table::create(file, columns);
        let table = made.map_err(|source| RowsError::Parquet { path: path.clone(), source })?;
        Ok(Open { table, path })
    }
}

/// A file that is being written, with its name for errors.
struct Open {
    table: Table,
    path: PathBuf,
}

impl Open {
    fn row(&mut self, cells: impl IntoIterator<Item = table::Cell>) -> Result<(), RowsError> {
        let path = &self.path;
        let failed = |source| RowsError::Parquet { path: path.clone(), source };
        self.table.row(cells).map_err(failed)
    }

    fn finish(self) -> Result<(), RowsError> {
        let path = self.path;
        self.table.finish().map_err(|source| RowsError::Parquet { path, source })
    }
}
