//! Reads records that the command line names.

use crate::exit::Failure;
use crate::input;
use model::record::RecordError;
use model::{Facts, Judged, Judgement, Live, Meta, State};
use report::Shown;
use scenarios::AnyScenario;
use std::path::{Path, PathBuf};
use watch::Summary;

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
    read(path).map(with_judgement)
}

/// Facts together with their judgement.
pub fn with_judgement(facts: Facts) -> Judged {
    let judgement = judge(&facts);
    Judged { facts, judgement }
}

/// The judgement of a study or a watch. The state of a watch is that of its last line.
pub fn judge(facts: &Facts) -> Judgement {
    let judgement = scenarios::judge(facts);
    match &facts.live {
        Some(live) => Judgement { state: of_watch(live), ..judgement },
        None => judgement,
    }
}

/// The state of a watch. That there is no finding is not enough for `not-affected`: a loss may have
/// no finding, and a loss that is not measured gives none.
fn of_watch(live: &Live) -> State {
    if !live.findings.is_empty() {
        return State::Affected;
    }
    match watch::summary(live) {
        Summary::Finding | Summary::FindingBeside(_) => State::Affected,
        Summary::AllWell(_) => State::NotAffected,
        // A watch that could not measure everything can still see a loss near the limit.
        Summary::Near(_) if watch::sees_all(live) => State::NotAffected,
        Summary::NothingMeasured => State::Skipped,
        Summary::NoFigures
        | Summary::Loses(_)
        | Summary::Together(_)
        | Summary::Near(_)
        | Summary::Stolen(_)
        | Summary::PartlyMeasured => State::Inconclusive,
    }
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
        std::io::ErrorKind::FileTooLarge => refuse(&RecordError::TooLarge),
        _ => refuse(&format!("{error}; name a record: the last line of a run prints its path")),
    })?;
    facts(&text).map_err(|error| refuse(&error))
}

/// The facts in the text of a record.
///
/// # Errors
/// Says why it is no record, or that its names would take too much memory once it is judged.
pub fn facts(text: &str) -> Result<Facts, String> {
    let facts = Facts::from_json(text).map_err(|error| error.to_string())?;
    census::check_names(&facts).map_err(|error| error.to_string())?;
    Ok(facts)
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
            "{}: a record of `tailback watch`, not of a study; show it with tailback explain",
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::watch::record;
    use model::Factorial;
    use model::factorial::Factor;
    use model::live::{
        Answer, AnswerState, Finding, LockWaits, Missing, NotMeasurable, Scope, Source, SourceUse,
        Victim,
    };
    use model::not_seen::NoPrograms;

    const MS: u64 = 1_000_000;

    /// Each effect of a study repeats the names of its levels.
    #[test]
    fn a_record_with_a_long_name_is_refused_before_it_is_judged() {
        let mut record = crate::testing::affected_record();
        assert!(facts(&record.to_json()).is_ok());
        let control = vec!["x".repeat(5000)];
        let factors = vec![Factor { name: "busy".to_owned(), levels: control.clone() }];
        record.facts.factorial = Some(Factorial { factors, control, ..Factorial::default() });
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), record.to_json()).unwrap();
        let failure = read(file.path()).unwrap_err();
        assert_eq!(failure.code, crate::exit::USAGE);
        assert!(failure.line.contains("a name in it is longer than 4096 bytes"), "{failure:?}");
    }

    /// A second in which a program ran for 400 ms and lost this to the lock of its memory map.
    fn live(lost_ms: u64) -> Live {
        let lock = LockWaits { ns: lost_ms * MS, ..LockWaits::default() };
        let victim = Victim { ran_ns: 400 * MS, lock, ..Victim::default() };
        let no = AnswerState::NotHitting { most_ms_per_s: 0.0, finding_at_ms_per_s: 1.0 };
        Live {
            over_ns: 1_000 * MS,
            victims: vec![victim],
            answers: vec![Answer { stall: "neighbour".to_owned(), state: no }],
            ..Live::default()
        }
    }

    fn without_programs(live: Live) -> Live {
        let missing = Some(Missing::NoPrograms(NoPrograms::PidNamespace));
        let sources = vec![SourceUse { source: Source::Scheduler, missing }];
        Live { sources, ..live }
    }

    #[test]
    fn a_watch_without_a_finding_is_only_not_affected_where_its_last_line_is_good_news() {
        let mut nothing = live(10);
        nothing.answers[0].state = AnswerState::NotMeasurable(NotMeasurable::NoNode);
        let scope = Scope { comm: Some("web".to_owned()), ..Scope::default() };
        let unseen = Live { scope, victims: Vec::new(), ..live(10) };
        let found = Live { findings: vec![Finding::default()], ..without_programs(live(10)) };
        for (live, state) in [
            (live(10), State::NotAffected),
            (live(80), State::NotAffected),
            (without_programs(live(10)), State::Inconclusive),
            (without_programs(live(80)), State::Inconclusive),
            (live(250), State::Inconclusive),
            (unseen, State::Inconclusive),
            (nothing, State::Skipped),
            (Live::default(), State::Skipped),
            (found, State::Affected),
        ] {
            let record = record::of(&live);
            assert_eq!(record.judgement.state, state, "{:?}", watch::summary(&live));
            assert_eq!(judge(&record.facts), record.judgement);
        }
    }
}
