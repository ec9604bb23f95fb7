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
use model::record::Plan;
use model::{Change, Judged, Meta};
use report::Shown;
use runs::{Made, RunFlags};
use std::borrow::Cow;
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
    /// Also write an HTML page of the comparison to FILE; with -, print the page and nothing else
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
        page::check_output(self.output.as_deref(), self.json)?;
        if !self.runs.is_asked() {
            let (before, after) = self.kept()?;
            self.check_across(before.first().and_then(Named::meta))?;
            return self.compare(session, &before, &after, &self.across);
        }
        if let Some(page) = self.output.as_deref().filter(|path| !page::is_printed(Some(path))) {
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
        let mut before = studies(records::named(before.chain(after))?)?;
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
        let change = change(before, after, across);
        if !page::is_printed(self.output.as_deref()) {
            self.show(session, &change, meta);
        }
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

/// Refuses a record of a watch, which has no trials to compare.
fn studies(named: Vec<Named>) -> Result<Vec<Named>, Failure> {
    let study = |Named { name, record }: Named| {
        if record.live.is_none() {
            return Ok(Named { name, record });
        }
        // This fails for every watch, in the words of the other commands.
        let known = records::known(record, Path::new(&name));
        known.map(|(record, _)| Named { name, record })
    };
    named.into_iter().map(study).collect()
}

/// Compares the records after the change with the records before it.
fn change(before: &[Named], after: &[Named], across: &[String]) -> Change {
    let first = before.first();
    let before = with_rates_of(first, before);
    let after = with_rates_of(first, after);
    let meta = first.and_then(Named::meta);
    let sides =
        Sides { before: &by_name(&before), after: &by_name(&after), meta, across, among: 1 };
    analysis::change(&sides)
}

/// Records with the error rates of the first record, each with the name that the user gave it.
///
/// A `check` gives each study a rate that depends on how many studies run, and on how many are
/// affected. So two checks give the same study different rates. `analysis::change` takes that for
/// two ways of judging, but a comparison uses no rate of its records: their verdicts stand already,
/// and its own error rate follows from the confidence. The page gets the records as they are.
fn with_rates_of<'a>(
    first: Option<&Named>,
    records: &'a [Named],
) -> Vec<(Cow<'a, Judged>, &'a str)> {
    let rates = |plan: &Plan| -> Vec<f64> {
        std::iter::once(&plan.judging).chain(&plan.also).map(|one| one.error_rate).collect()
    };
    let with_rates = |record: &'a Judged| {
        let Some(first) = first.map(|first| &first.record.plan) else {
            return Cow::Borrowed(record);
        };
        if rates(&record.plan) == rates(first) {
            return Cow::Borrowed(record);
        }
        let mut copy = record.clone();
        copy.facts.plan.judging.error_rate = first.judging.error_rate;
        for (own, other) in copy.facts.plan.also.iter_mut().zip(&first.also) {
            own.error_rate = other.error_rate;
        }
        Cow::Owned(copy)
    };
    records.iter().map(|one| (with_rates(&one.record), one.name.as_str())).collect()
}

fn by_name<'a>(records: &'a [(Cow<'_, Judged>, &'a str)]) -> Vec<(&'a Judged, &'a str)> {
    records.iter().map(|(record, name)| (&**record, *name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use model::record::Share;
    use model::{ChangeState, Live};

    fn named(name: &str, record: Judged) -> Named {
        Named { name: name.to_owned(), record }
    }

    #[test]
    fn a_share_of_the_error_rate_is_no_other_way_of_judging() {
        let before = testing::affected_record();
        let mut facts = before.facts.clone();
        facts.plan.share_error_rate(Share { studies: 9, affected: 3, not_affected: 2 });
        let after = scenarios::judged(facts);
        assert!(before.plan.judging.error_rate > after.plan.judging.error_rate);
        let found = change(&[named("a.json", before)], &[named("b.json", after)], &[]);
        assert_eq!(found.state, ChangeState::NoDifferenceShown, "{:?}", found.reasons);
    }

    #[test]
    fn another_margin_stays_another_way_of_judging() {
        let before = testing::affected_record();
        let mut after = before.clone();
        after.plan.judging.margin *= 2.0;
        after.plan.judging.error_rate /= 2.0;
        let found = change(&[named("a.json", before)], &[named("b.json", after)], &[]);
        assert_eq!(found.state, ChangeState::NotComparable);
    }

    #[test]
    fn a_watch_is_not_compared() {
        let study = testing::affected_record();
        let mut watch = study.clone();
        watch.facts.live = Some(Live::default());
        assert!(studies(vec![named("a.json", study.clone())]).is_ok());
        let refused = studies(vec![named("a.json", study), named("b.json", watch)]);
        let failure = refused.err().unwrap();
        assert_eq!(failure.code, exit::USAGE);
        assert!(failure.line.starts_with("b.json: ") && failure.line.contains("not of a study"));
    }
}
