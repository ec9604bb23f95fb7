//! `tailback compare`: compares two records, several records per side, or runs that it makes
//! itself.

mod files;
mod one_pair;
mod runs;
mod sides;

use crate::command::{Failure, Run, Session, below};
use crate::records::Named;
use crate::{exit, output, page, records};
use analysis::Sides;
use analysis::change::{ACROSS, across_all};
use clap::ArgAction;
use model::{Change, Judged, Meta};
use report::Shown;
use runs::{Made, RunFlags};
use std::path::{Path, PathBuf};

const CODES: &str = "  0    better, differs, or no difference shown\n  1    worse\n  2    bad \
    usage or input\n  3    a need is missing, such as disk space, or a record is not in its \
    folder\n  4    not comparable, or pairs could not be used\n  130  interrupted; complete pairs \
    are kept and compared";

const USAGE: &str = "tailback compare [OPTIONS] <BEFORE> <AFTER>\n       \
    tailback compare [OPTIONS] --before <RECORD>.. --after <RECORD>..\n       \
    tailback compare [OPTIONS] --run <BEFORE.toml> <AFTER.toml>";

/// Compare records from before and after a change.
///
/// The answer is worse, better, differs, or no difference shown.
///
/// Two runs of the same thing differ too. So two records can show that these runs differ, but not
/// why. Only several pairs of runs, in random order, show worse or better. --run makes such pairs
/// from two study files. Records that were made by hand count as pairs if they were made in the
/// order before, after, after, before, ..
#[derive(clap::Args)]
#[command(override_usage = USAGE)]
#[command(after_help = below(CODES, [
    "tailback compare before.json after.json",
    "tailback compare --run before.toml after.toml",
]))]
pub struct Compare {
    /// One record from before the change and one from after it
    #[arg(value_names = ["BEFORE", "AFTER"], num_args = 2, action = ArgAction::Set)]
    #[arg(required_unless_present_any = ["before", "run"])]
    #[arg(conflicts_with_all = ["before", "after"])]
    pair: Vec<PathBuf>,
    /// Records from before the change
    #[arg(long, value_name = "RECORD", num_args = 1.., requires = "after")]
    before: Vec<PathBuf>,
    /// Records from after the change, made in pairs with the others
    #[arg(long, value_name = "RECORD", num_args = 1.., requires = "before")]
    after: Vec<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Also show every figure, the reasons for the verdict, and what it cannot tell
    #[arg(long)]
    why: bool,
    /// Also write an HTML page of the comparison to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What may differ because you compare it: host, kernel, otp, tailback, or a parameter. If
    /// only a kernel, OTP, file or choice differs, --across is not needed
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',')]
    across: Vec<String>,
    #[command(flatten)]
    runs: RunFlags,
}

impl Run for Compare {
    /// The exit code is the one of the change. If a record of the command's own runs is not in
    /// its place, it is the one of a missing need.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        if !self.runs.is_asked() {
            let (before, after) = self.kept()?;
            self.check_across(before.first().and_then(Named::meta))?;
            return self.compare(session, &before, &after, &self.across);
        }
        if let Some(page) = self.output.as_deref().filter(|page| *page != Path::new("-")) {
            crate::paths::for_page(session, "--output", page)?;
        }
        let Made { before, after, misplaced, ended } = self.runs.make(session)?;
        let across = across_all(before.first().and_then(Named::meta));
        let code = self.compare(session, &before, &after, &across)?;
        // Results from before an interruption are shown.
        ended.map(|()| if misplaced { exit::NEED } else { code })
    }

    fn load(&self) -> Option<String> {
        self.runs.is_asked().then(|| "compare".to_owned())
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        (!self.runs.is_asked()).then(|| self.output.iter().map(PathBuf::as_path).collect())
    }
}

impl Compare {
    /// The named records: before, after.
    fn kept(&self) -> Result<(Vec<Named>, Vec<Named>), Failure> {
        let before = self.before.iter().chain(self.pair.first());
        let count_before = before.clone().count();
        let after = self.after.iter().chain(self.pair.get(1));
        // All are read in one call, because the size limit applies to all of them together.
        let mut before = records::named(before.chain(after))?;
        let after = before.split_off(count_before.min(before.len()));
        Ok((before, after))
    }

    /// Compares the records of two sides, prints the change, and returns the exit code.
    fn compare(
        &self,
        session: &Session,
        before: &[Named],
        after: &[Named],
        across: &[String],
    ) -> Result<u8, Failure> {
        let meta = before.first().and_then(Named::meta);
        let (was, is) = (by_name(before), by_name(after));
        let sides = Sides { before: &was, after: &is, meta, across, among: 1 };
        let change = analysis::change(&sides);
        self.show(session, &change, meta);
        if let Some(path) = &self.output {
            let shown: Vec<Shown> = before.iter().chain(after).map(Named::shown).collect();
            let explanations = page::explanations(&shown);
            let shown = page::explained(&shown, &explanations);
            let page = report::html::change_page(&change, &shown)?;
            page::write(session, &page, Some(path))?;
        }
        Ok(change.state.exit_code())
    }

    /// Refuses an unknown name in `--across`.
    fn check_across(&self, meta: Option<&Meta>) -> Result<(), Failure> {
        let Some(meta) = meta else { return Ok(()) };
        let known =
            |name: &String| ACROSS.contains(&name.as_str()) || meta.parameter(name).is_some();
        match self.across.iter().find(|name| !known(name)) {
            Some(unknown) => Err(Failure::usage(format!(
                "--across {unknown}: not one of {}, and no parameter of {}; see tailback run {} \
                 --help",
                ACROSS.join(", "),
                meta.id,
                meta.id
            ))),
            None => Ok(()),
        }
    }

    fn show(&self, session: &Session, change: &Change, meta: Option<&Meta>) {
        if self.json {
            session.out.value(change);
        } else {
            session.out.print(&report::change::text(change, meta, output::look_with(self.why)));
        }
    }
}

/// Records, each with the name that the user gave it.
fn by_name(records: &[Named]) -> Vec<(&Judged, &str)> {
    records.iter().map(|one| (&one.record, one.name.as_str())).collect()
}
