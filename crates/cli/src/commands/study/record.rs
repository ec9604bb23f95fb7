//! Finds the record of a study, and how far the study has come.

use super::flags::StudyFile;
use super::planned::take_calibrated;
use super::wanted::Wanted;
use crate::exit::Failure;
use crate::session::Session;
use crate::{input, paths, records};
use model::Facts;
use model::record::{Plan, Progress};
use runner::studies::{Standing, StudyError, standing};
use std::path::{Path, PathBuf};

/// How many digits of the content's digest are in the name of a record.
const DIGITS: usize = 12;

/// The path of the record, the state of the study in it, and the plan to run.
///
/// # Errors
/// If the record cannot be kept there, or the study cannot continue it.
pub fn find(
    session: &Session,
    wanted: &Wanted,
    flags: &StudyFile,
) -> Result<(PathBuf, Standing, Plan), Failure> {
    let path = path(session, wanted, flags.record.as_ref())?;
    let fresh = flags.fresh;
    let old = if fresh { None } else { load(&path)? };
    if old.is_none() && !fresh && flags.record.is_none() {
        refuse_changed(wanted, &path)?;
    }
    let asked = flags.seed.or(wanted.design.seed);
    let begun = old.as_ref().map(|record| record.plan.seed);
    let seed = asked.or(begun).unwrap_or_else(crate::settings::draw_seed);
    let mut plan = wanted.layout.plan(&wanted.design, wanted.scenario, seed);
    if let Some(old) = &old {
        take_calibrated(&mut plan, &old.plan);
    }
    let standing = match old {
        Some(old) => standing(old, &path, &wanted.layout.factorial, &plan, wanted.machine)?,
        None => Standing::New,
    };
    Ok((path, standing, plan))
}

fn path(session: &Session, wanted: &Wanted, asked: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    let folder = wanted.design.output.folder.as_deref();
    let name = format!("{}{}.json", prefix(wanted), &wanted.design.content[..DIGITS]);
    match (asked, folder) {
        (Some(path), _) => paths::record(session, Some(path), wanted.design.scenario),
        (None, Some(folder)) => {
            paths::record(session, Some(&folder.join(name)), wanted.design.scenario)
        }
        (None, None) => paths::named_record(session, &name),
    }
}

/// The prefix of the names of all records of a study.
fn prefix(wanted: &Wanted) -> String {
    let quick = if wanted.design.quick { "-quick" } else { "" };
    format!("study-{}{quick}-", wanted.design.name)
}

/// The record at a path; None if the file is missing or empty.
fn load(path: &Path) -> Result<Option<Facts>, Failure> {
    if !std::fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0) {
        return Ok(None);
    }
    let stale = |why: String| StudyError::Stale { path: path.to_owned(), why };
    let text = input::read_text(path, records::MOST).map_err(|error| stale(error.to_string()))?;
    Ok(Some(Facts::from_json(&text).map_err(|error| stale(error.to_string()))?))
}

/// Refuses to begin a study if an earlier text of its file has an unfinished record.
fn refuse_changed(wanted: &Wanted, path: &Path) -> Result<(), Failure> {
    let Some(folder) = path.parent() else { return Ok(()) };
    let (prefix, design) = (prefix(wanted), &wanted.design);
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(&prefix) {
            continue;
        }
        // An unreadable file is no study that could be continued.
        let Ok(Some(old)) = load(&entry.path()) else { continue };
        let Some(factorial) = &old.factorial else { continue };
        let other = factorial.name == design.name
            && factorial.quick == design.quick
            && factorial.content != design.content;
        if other && old.ended.progress() != Progress::Complete && !old.trials.is_empty() {
            let why = format!(
                "study {} was started with another text of its file, and is not complete; restore \
                 that text to continue",
                design.name
            );
            return Err(StudyError::Stale { path: entry.path(), why }.into());
        }
    }
    Ok(())
}
