//! Brief records on standard output or in a folder, for a fleet.

use crate::exit::{self, Failure};
use crate::{identity, output, paths};
use clap::ArgMatches;
use jiff::Timestamp;
use model::identity::HostName;
use model::{Identity, Judged};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Brief records of this machine, by its name.
pub struct Briefs {
    host: HostName,
    identity: Identity,
    /// The file that they are written to; none for standard output.
    file: Option<PathBuf>,
    /// A verdict is no failure to who started this: it stands in the brief record.
    exit_zero: bool,
}

/// Waits a random time of up to what `--jitter` says. A signal ends it as it ends any program.
pub fn wait(matches: &ArgMatches) {
    let inner = std::iter::successors(Some(matches), |matches| Some(matches.subcommand()?.1));
    let asked = inner.filter_map(|matches| {
        let asked: Option<&Duration> = matches.try_get_one("jitter").ok()?;
        asked.copied()
    });
    if let Some(most) = asked.last() {
        std::thread::sleep(part(most, os::random::number()));
    }
}

/// The part of a time that a random number says.
fn part(most: Duration, number: u64) -> Duration {
    let nanos = u128::from(number) * most.as_nanos() / (u128::from(u64::MAX) + 1);
    Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
}

impl Briefs {
    /// Those that `--brief` asks for; none where it does not.
    ///
    /// # Errors
    /// If the name of the machine, its salt or the folder cannot be used: before anything is
    /// measured.
    pub fn asked(matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        if !matches.get_flag("brief") {
            return Ok(None);
        }
        let host = identity::name(matches)?;
        let folder = matches.get_one::<PathBuf>("into");
        let file = folder.map(|folder| file_in(folder, &host)).transpose()?;
        let file = file.map(|file| paths::for_briefs(&file)).transpose()?;
        let exit_zero = matches.get_flag("exit-zero");
        Ok(Some(Briefs { host, identity: identity::here(), file, exit_zero }))
    }

    /// The file that they are written to; none for standard output.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_deref()
    }

    /// Prints a line for each record, or writes it into the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn give<'a>(&self, records: impl Iterator<Item = &'a Judged>) -> Result<(), Failure> {
        let host = || Some(self.host.clone());
        let lines: String = records
            .map(|record| scenarios::brief(record, self.identity.clone(), host()).to_line())
            .collect();
        let Some(file) = &self.file else {
            output::json(&lines);
            return Ok(());
        };
        runner::save_text(&lines, file).map_err(|error| {
            output::json(&lines);
            Failure::need(format!("--into: {error}; the brief records were printed instead"))
        })?;
        output::note(&format!("brief records: {}", file.display()));
        Ok(())
    }
}

/// The exit code where brief records were made, or where none were asked for.
pub fn code(briefs: Option<&Briefs>, code: u8) -> u8 {
    let is_verdict = code != exit::INTERRUPTED;
    if is_verdict && briefs.is_some_and(|briefs| briefs.exit_zero) { 0 } else { code }
}

/// A new name for each run, so that no answer replaces another. It has the name of the host: a file
/// speaks for that host alone.
fn file_in(folder: &Path, host: &HostName) -> Result<PathBuf, Failure> {
    let host = host.text();
    let name = census::run_file(host, Timestamp::now(), std::process::id());
    name.map(|name| folder.join(name)).ok_or_else(|| {
        Failure::usage(format!(
            "--into: host name {}: it cannot begin the name of a file, with a / in it, a dot in \
             front or over 200 bytes; name the machine with --host-name",
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
    fn a_name_leads_out_of_no_folder() {
        let of = |name: &str| file_in(Path::new("/f"), &HostName::Name(name.to_owned()));
        let file = of("web-1").unwrap();
        let name = file.file_name().unwrap().to_str().unwrap();
        assert_eq!(file.parent(), Some(Path::new("/f")));
        assert!(name.starts_with("web-1-") && name.ends_with(".jsonl"), "{name}");
        assert!(of("../a b/c").is_err() && of(".").is_err());
    }
}
