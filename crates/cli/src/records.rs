//! Reads records that the command line names.

use crate::exit::Failure;
use crate::input;
use model::{Facts, Judged, Meta};
use report::Shown;
use scenarios::AnyScenario;
use std::path::{Path, PathBuf};

/// The largest record that is read, in bytes.
pub const MOST: u64 = model::record::MOST_TEXT as u64;

/// Size limit of several records together, in bytes, since all of them are in memory at once.
const MOST_TOGETHER: u64 = MOST;

/// A record and the name of its file.
pub struct Named {
    /// The file name, as the user gave it.
    pub name: String,
    /// Its content.
    pub record: Judged,
}

impl Named {
    /// The record for output, with this name.
    pub fn shown(&self) -> Shown<'_> {
        Shown::new(&self.record, self.meta(), &self.name)
    }

    /// The declaration of its scenario, if this version knows it.
    pub fn meta(&self) -> Option<&'static Meta> {
        meta_of(&self.record.scenario)
    }
}

/// The declaration of a scenario, if this version knows it.
pub fn meta_of(id: &str) -> Option<&'static Meta> {
    scenarios::find(id).map(AnyScenario::meta)
}

/// Reads the records in these files.
///
/// # Errors
/// If a record cannot be read, or all together are too large.
pub fn named<'a>(paths: impl IntoIterator<Item = &'a PathBuf>) -> Result<Vec<Named>, Failure> {
    let mut together = 0;
    paths
        .into_iter()
        .map(|path| {
            together += std::fs::metadata(path).map_or(0, |metadata| metadata.len());
            if together > MOST_TOGETHER {
                return Err(Failure::usage(format!(
                    "{}: with this file, the records are larger than {} MiB; name fewer",
                    path.display(),
                    MOST_TOGETHER >> 20
                )));
            }
            Ok(Named { name: path.display().to_string(), record: judged(path)? })
        })
        .collect()
}

/// Reads a record and judges it.
///
/// # Errors
/// The same as [`read`].
pub fn judged(path: &Path) -> Result<Judged, Failure> {
    read(path).map(scenarios::judged)
}

/// Reads the facts of a record.
///
/// # Errors
/// A line that names the file and the problem.
pub fn read(path: &Path) -> Result<Facts, Failure> {
    let refuse = |why: &dyn std::fmt::Display| Failure::usage(format!("{}: {why}", path.display()));
    if path.is_dir() {
        return Err(refuse(&folder(path)));
    }
    let text = input::read_text(path, MOST).map_err(|error| match error.kind() {
        std::io::ErrorKind::FileTooLarge => refuse(&model::record::RecordError::TooLarge),
        _ => refuse(&format!("{error}; name a record: the last line of a run prints its path")),
    })?;
    Facts::from_json(&text).map_err(|error| refuse(&error))
}

fn folder(path: &Path) -> String {
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten();
    let records = entries.filter(|entry| entry.path().extension().is_some_and(|e| e == "json"));
    match records.count() {
        0 => "a folder without records; name a record".to_owned(),
        some => {
            format!("a folder; name the records in it: {}/*.json ({some} found)", path.display())
        }
    }
}

/// Reads a record of a scenario that this version can judge.
///
/// # Errors
/// The same as [`read`] and [`known`].
pub fn judgeable(path: &Path) -> Result<(Judged, &'static Meta), Failure> {
    known(judged(path)?, path)
}

/// Adds the declaration of the scenario to a record.
///
/// # Errors
/// If the scenario is unknown, or the record belongs to no scenario.
pub fn known(record: Judged, path: &Path) -> Result<(Judged, &'static Meta), Failure> {
    if record.live.is_some() {
        return Err(Failure::usage(format!(
            "{}: a record of `tailback watch`, which is not judged; show it with tailback explain",
            path.display()
        )));
    }
    let Some(meta) = meta_of(&record.scenario) else {
        return Err(Failure::usage(format!(
            "{}: a record of `{}`, which this version does not know; use the tailback that wrote \
             it ({})",
            path.display(),
            record.scenario,
            record.tool.version
        )));
    };
    Ok((record, meta))
}
