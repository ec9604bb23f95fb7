//! `tailback compare BEFORE AFTER`, and with several records a side.

use crate::command::{Failure, Run, Session, below};
use crate::records::Named;
use crate::{output, page, records};
use analysis::{Sides, change::ACROSS};
use clap::ArgAction;
use model::{Change, Judged, Meta};
use report::Shown;
use std::path::{Path, PathBuf};

const CODES: &str = "  0  better, differs, or no difference shown\n  1  worse\n  2  bad usage or \
    input\n  4  not comparable";

const USAGE: &str = "tailback compare [OPTIONS] <BEFORE> <AFTER>\n       \
    tailback compare [OPTIONS] --before <RECORD>.. --after <RECORD>..";

/// Compare records from before and after a change.
///
/// The answer is worse, better, differs, or no difference shown.
///
/// One record per side can show that two runs differ, but not why. To show worse or better, make
/// several records per side, in turns: before, after, before, after, .. Where one figure is judged,
/// each side needs at least four.
#[derive(clap::Args)]
#[command(override_usage = USAGE)]
#[command(after_help = below(CODES, [
    "tailback compare before.json after.json",
    "tailback compare --before b1.json b2.json b3.json b4.json --after a1.json a2.json a3.json a4.json",
]))]
pub struct Compare {
    /// One record from before the change and one from after it
    #[arg(value_names = ["BEFORE", "AFTER"], num_args = 2, action = ArgAction::Set)]
    #[arg(required_unless_present = "before", conflicts_with_all = ["before", "after"])]
    pair: Vec<PathBuf>,
    /// Records from before the change
    #[arg(long, value_name = "RECORD", num_args = 1.., requires = "after")]
    before: Vec<PathBuf>,
    /// Records from after the change, made in turns with the others
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
    /// What you compare, and so may differ: host, kernel, otp, tailback, or a parameter. A single
    /// difference of kernel, OTP, file or choice needs no --across
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',')]
    across: Vec<String>,
}

impl Run for Compare {
    /// The exit code is that of what changed.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let before = self.before.iter().chain(self.pair.first());
        let count_before = before.clone().count();
        let after = self.after.iter().chain(self.pair.get(1));
        // Read together, so that together they are limited.
        let named = records::named(before.chain(after))?;
        let all: Vec<(&Judged, &str)> =
            named.iter().map(|one| (&one.record, one.name.as_str())).collect();
        let (before, after) = all.split_at(count_before.min(all.len()));
        let meta = named.first().and_then(Named::meta);
        self.check_across(meta)?;
        let across = &self.across;
        let change = analysis::change(&Sides { before, after, meta, across, among: 1 });
        if let Some(path) = &self.output {
            let shown: Vec<Shown> = named.iter().map(Named::shown).collect();
            let explanations = page::explanations(&shown);
            let shown = page::explained(&shown, &explanations);
            let page = report::html::change_page(&change, &shown)?;
            page::write(session, &page, Some(path))?;
        }
        self.show(session, &change, meta);
        Ok(change.state.exit_code())
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        Some(self.output.iter().map(PathBuf::as_path).collect())
    }
}

impl Compare {
    /// Refuses a name of `--across` that is unknown.
    fn check_across(&self, meta: Option<&Meta>) -> Result<(), Failure> {
        let Some(meta) = meta else { return Ok(()) };
        let known =
            |name: &String| ACROSS.contains(&name.as_str()) || meta.parameter(name).is_some();
        match self.across.iter().find(|name| !known(name)) {
            Some(unknown) => Err(Failure::usage(format!(
                "--across {unknown}: neither {} nor a parameter of {}; see tailback run {} --help",
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
