//! Brief records on standard output or in a folder, for a fleet.

use crate::exit::{self, Failure};
use crate::identity::{self, HostFlags};
use crate::session::Session;
use crate::{output, paths};
use jiff::Timestamp;
use model::identity::HostName;
use model::{Identity, Judged, units};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Writes brief records under the name of this machine.
pub struct Briefs {
    host: HostName,
    identity: Identity,
    /// The file for the brief records; None for standard output.
    file: Option<PathBuf>,
    /// Whether a verdict leaves the exit code 0. The caller then finds the verdict in the brief
    /// record.
    exit_zero: bool,
}

// No doc comment: clap would show it as the help of the command.
#[derive(Debug, Clone, clap::Args)]
#[command(mut_arg("host_name", |arg| arg.requires("brief")))]
#[command(mut_arg("hash_host_name", |arg| arg.requires("brief")))]
pub struct BriefFlags {
    /// Print only a brief record for `tailback census`: one JSON line per study, without trials
    #[arg(long, conflicts_with_all = ["json", "why"])]
    pub brief: bool,
    #[command(flatten)]
    host: HostFlags,
    /// Write the brief records to a new file in FOLDER [default: standard output]
    #[arg(long, value_name = "FOLDER", requires = "brief")]
    into: Option<PathBuf>,
    /// First wait a random time of at most TIME, so that the hosts of a fleet do not start
    /// together
    #[arg(long, value_name = "TIME", requires = "brief", value_parser = units::parse_duration)]
    pub jitter: Option<Duration>,
    /// Exit 0 if brief records were written, whatever the verdict is
    #[arg(long, requires = "brief")]
    exit_zero: bool,
}

/// Waits a random time, `longest` at most. A signal ends the program as usual.
pub fn wait(longest: Duration) {
    std::thread::sleep(part(longest, os::random::number()));
}

/// Maps a random number to a time between zero and `most`.
fn part(most: Duration, number: u64) -> Duration {
    let nanos = u128::from(number) * most.as_nanos() / (u128::from(u64::MAX) + 1);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Briefs {
    /// Prepares the brief records that `--brief` asks for; None without `--brief`.
    ///
    /// # Errors
    /// If the name of the machine, its salt or the folder cannot be used. This is checked before
    /// anything is measured.
    pub fn asked(session: &Session, flags: &BriefFlags) -> Result<Option<Self>, Failure> {
        if !flags.brief {
            return Ok(None);
        }
        let host = flags.host.name()?;
        let file = flags.into.as_deref().map(|folder| file_in(folder, &host)).transpose()?;
        let file = file.map(|file| paths::for_briefs(session, &file)).transpose()?;
        let identity = identity::here();
        Ok(Some(Briefs { host, identity, file, exit_zero: flags.exit_zero }))
    }

    /// The file for the brief records; None for standard output.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Prints one line per record, or writes the lines to the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn give<'a>(
        &self,
        session: &Session,
        records: impl Iterator<Item = &'a Judged>,
    ) -> Result<(), Failure> {
        let host = || Some(self.host.clone());
        let lines: String = records
            .map(|record| scenarios::brief(record, self.identity.clone(), host()).to_line())
            .collect();
        let Some(file) = &self.file else {
            session.out.json(&lines);
            return Ok(());
        };
        runner::save_text(&lines, file).map_err(|error| {
            session.out.json(&lines);
            Failure::need(format!("--into: {error}; the brief records were printed instead"))
        })?;
        output::note(&format!("brief records: {}", file.display()));
        Ok(())
    }
}

/// The exit code of a run, with or without brief records.
pub fn code(briefs: Option<&Briefs>, code: u8) -> u8 {
    let is_verdict = code != exit::INTERRUPTED;
    if is_verdict && briefs.is_some_and(|briefs| briefs.exit_zero) { 0 } else { code }
}

/// The result of a run. With `--exit-zero`, the failure of a study whose brief record was written
/// is only reported: the record says that a need was missing, or that a trial broke.
///
/// # Errors
/// The failure of the run, without `--exit-zero`.
pub fn ended(briefs: Option<&Briefs>, ended: Result<u8, Failure>) -> Result<u8, Failure> {
    let ended = match (ended, briefs) {
        (Err(failure), Some(briefs)) if briefs.exit_zero => {
            output::complain(&failure.line);
            failure.code
        }
        (ended, _) => ended?,
    };
    Ok(code(briefs, ended))
}

/// A new file name for each run, so that no answer replaces another. The name includes the name
/// of the host: a file holds the answer of that host only.
fn file_in(folder: &Path, host: &HostName) -> Result<PathBuf, Failure> {
    let host = host.text();
    let name = census::run_file(host, Timestamp::now(), std::process::id());
    name.map(|name| folder.join(name)).ok_or_else(|| {
        Failure::usage(format!(
            "--into: host name {}: a file name cannot begin with it: it contains a /, begins with \
             a dot or is longer than 200 bytes; name the machine with --host-name",
            os::terminal::line(host)
        ))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_time_is_never_more_than_it() {
        let most = Duration::from_secs(10);
        assert_eq!(part(most, 0), Duration::ZERO);
        assert_eq!(part(most, u64::MAX / 2 + 1), most / 2);
        assert!(part(most, u64::MAX) < most);
    }

    #[test]
    fn with_exit_zero_only_an_interruption_has_another_code() {
        let briefs = |exit_zero| Briefs {
            host: HostName::Name("a".to_owned()),
            identity: Identity::default(),
            file: None,
            exit_zero,
        };
        let skipped = || Err(Failure::need("no erl"));
        assert_eq!(ended(Some(&briefs(true)), skipped()), Ok(0));
        assert_eq!(ended(Some(&briefs(true)), Ok(1)), Ok(0));
        assert_eq!(ended(Some(&briefs(true)), Ok(exit::INTERRUPTED)), Ok(exit::INTERRUPTED));
        assert_eq!(ended(Some(&briefs(false)), skipped()), skipped());
        assert_eq!(ended(None, Ok(1)), Ok(1));
    }

    #[test]
    fn a_name_leads_out_of_no_folder() {
        let of = |name: &str| file_in(Path::new("/f"), &HostName::Name(name.to_owned()));
        let file = of("web-1").unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        assert_eq!(file.parent(), Some(Path::new("/f")));
        assert!(name.starts_with("web-1-") && name.ends_with(".jsonl"), "{name}");
        assert!(of("../a b/c").is_err() && of(".").is_err());
    }
}
