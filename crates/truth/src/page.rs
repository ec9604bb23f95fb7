//! Writes docs/truth.md: how many rows are right, which are not, and how to add a row.

use crate::history::Build;
use crate::standing::{Progress, Standing, build_name};
use crate::table::with_share;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Width of the text, in columns.
const COLUMNS: usize = 100;

/// Most rows with forbidden answers that are listed.
const MOST_FORBIDDEN: usize = 30;

/// Most names of rows in a sentence.
const MOST_NAMES: usize = 60;

/// The data of the page.
pub struct Page<'a> {
    /// The state of each row.
    pub rows: &'a [Standing<'a>],
    /// The day, such as 2026-11-21.
    pub day: &'a str,
    /// The build that writes the page.
    pub build: &'a Build,
}

const INTRODUCTION: &str = "\
# Known answers

Commands and simulated studies whose answer is known, and what tailback answered. `make truth` runs
what is missing and writes this page; do not edit it. [A table](../truth/table.md) has each row with
its answers and its build, [the history](../truth/history.jsonl) all runs: its lines are never
removed.

- A *forbidden* answer is wrong. Where a test has an error rate, the row says which share of its
  runs may give a forbidden answer. A row is *wrong* if more do.
- *Undecided*: where a row wants an answer, a run that gave neither this one nor a forbidden one.
  Where it wants none, a run that ended inconclusive, untrustworthy, skipped or not-comparable.
- *Stale*: answers of another judge than today's, which do not count. The judge of a row is a digest
  of the sources that decide its answer (`crates/truth/build.rs`), without comments, tests and
  prose. Not among them are the load (`load`, `beam`, `erlang/`), the probes and the libraries: the
  table names the build of each row.
- Of a command all runs count, of a simulated row its line with the most runs.
";

const ADDING: &str = "\
## Adding a row

A row is a table in a file of `truth/`: `id`, `why` its answer is known, `command` or `simulate`,
`environment`, the answers that are `allowed`, `forbidden` and perhaps `wanted`, and `runs`.
`small = true` puts it into the part that `make test` runs. `crates/truth/src/row.rs` and
`simulate.rs` document every key.

```
make truth                         # all that is missing; after Ctrl-C it resumes when repeated
make truth ONLY='mmap-*,sim-*'     # some rows
make truth ONLY=mmap-smaps RUNS=3  # another number of runs
make truth TRUTH=--no-run          # the page and the table alone, from the history
```

A row that asks something else than before, and one whose judge changed, is run again. A wrong
answer ends the command with 1 and names what repeats it. Run it in a tree without changes (else
each new line says that sources were changed after its commit), and commit history and page
together.
";

impl Page<'_> {
    /// The page.
    pub fn text(&self) -> String {
        let mut text = INTRODUCTION.to_owned();
        let (day, build) = (self.day, build_name(self.build));
        let machines = match self.machines() {
            machines if machines.is_empty() => "No run of a command counts yet".to_owned(),
            machines => format!("Commands that count ran on {machines}"),
        };
        let written = format!("Written on {day} by {build}. {machines}.");
        let _ = write!(text, "\n## What was answered\n\n{}\n\n", wrapped(&written));
        self.counts(&mut text);
        self.forbidden(&mut text);
        self.open(&mut text);
        text.push('\n');
        text.push_str(ADDING);
        text
    }

    /// The machines on which the counted commands ran.
    fn machines(&self) -> String {
        let real = self.rows.iter().filter(|standing| standing.row.simulate.is_none());
        let lines = real.flat_map(|standing| &standing.lines);
        let machines: BTreeSet<String> = lines
            .map(|line| {
                let on = &line.machine;
                let model = on.cpu_model.as_ref().map_or(String::new(), |m| format!(" ({m})"));
                format!("kernel {}, {} CPUs{model}", on.kernel, on.cpus)
            })
            .collect();
        machines.into_iter().collect::<Vec<_>>().join("; ")
    }

    /// One line per file of rows, and the sums.
    fn counts(&self, text: &mut String) {
        text.push_str(
            "| rows of | rows | complete | begun | stale | not run | runs | forbidden | wrong rows \
             | undecided | undecided where an answer is wanted |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        let files: BTreeSet<&str> = self.rows.iter().map(|s| s.row.file.as_str()).collect();
        for file in files {
            let name = format!("[{file}](../truth/{file}.toml)");
            counts_line(&name, &self.those(|standing| standing.row.file == file), text);
        }
        let real = |standing: &Standing| standing.row.simulate.is_none();
        counts_line("**all commands**", &self.those(real), text);
        counts_line("**all simulated**", &self.those(|standing| !real(standing)), text);
    }

    fn those(&self, chosen: impl Fn(&Standing) -> bool) -> Vec<&Standing<'_>> {
        self.rows.iter().filter(|standing| chosen(standing)).collect()
    }

    /// The rows with forbidden answers. Rows that are wrong come first.
    fn forbidden(&self, text: &mut String) {
        let mut rows = self.those(|standing| standing.tally.forbidden > 0);
        if rows.is_empty() {
            return;
        }
        rows.sort_by_key(|standing| standing.tally.wrong.is_empty());
        text.push_str(
            "\n## Forbidden answers\n\nA simulated run repeats by `truth --again ROW:RUN`.\n\n\
             | row | runs | answers | may be | build | run again |\n|---|---:|---|---|---|---|\n",
        );
        for standing in rows.iter().take(MOST_FORBIDDEN) {
            let again = standing.lines.iter().flat_map(|line| &line.again);
            let again: Vec<String> = again.map(u32::to_string).collect();
            let row = standing.row;
            let most: Vec<String> = row.forbidden.iter().map(|a| with_share(row, *a)).collect();
            let wrong = if standing.tally.wrong.is_empty() { "" } else { "**WRONG** " };
            let _ = writeln!(
                text,
                "| {} | {} | {wrong}{} | {} | {} | {} |",
                row.id,
                standing.tally.runs,
                standing.tally.words(),
                most.join(", "),
                standing.builds(),
                again.join(", ")
            );
        }
        if let more @ 1.. = rows.len().saturating_sub(MOST_FORBIDDEN) {
            let _ = writeln!(text, "\n{more} more stand in the table.");
        }
    }

    /// The rows that do not have all of their runs.
    fn open(&self, text: &mut String) {
        let words = [
            (Progress::Begun, "Not all runs of these rows were made"),
            (Progress::Stale, "Only stale answers"),
            (Progress::NotRun, "Never run"),
        ];
        for (progress, words) in words {
            let rows = self.those(|standing| standing.progress() == progress);
            if rows.is_empty() {
                continue;
            }
            let names: Vec<&str> = rows.iter().map(|s| s.row.id.as_str()).collect();
            let shown = names[..names.len().min(MOST_NAMES)].join(", ");
            let more = match names.len().saturating_sub(MOST_NAMES) {
                0 => String::new(),
                more => format!(", and {more} more"),
            };
            let _ = write!(text, "\n{}\n", wrapped(&format!("{words}: {shown}{more}.")));
        }
    }
}

/// Names of rows are not broken, so that they can be searched for.
fn wrapped(text: &str) -> String {
    let whole = textwrap::WordSplitter::NoHyphenation;
    let options = textwrap::Options::new(COLUMNS).word_splitter(whole);
    textwrap::fill(text, options.word_separator(textwrap::WordSeparator::AsciiSpace))
}

fn counts_line(name: &str, rows: &[&Standing], text: &mut String) {
    let at = |progress| rows.iter().filter(|s| s.progress() == progress).count();
    let sum =
        |count: &dyn Fn(&Standing) -> u32| rows.iter().map(|s| u64::from(count(s))).sum::<u64>();
    let wanted = |of: &dyn Fn(&Standing) -> u32| {
        sum(&|standing| if standing.row.wanted.is_some() { of(standing) } else { 0 })
    };
    let (runs, undecided) = (|s: &Standing| s.tally.runs, |s: &Standing| s.tally.undecided);
    let wrong = rows.iter().filter(|standing| !standing.tally.wrong.is_empty()).count();
    let _ = writeln!(
        text,
        "| {name} | {} | {} | {} | {} | {} | {} | {} | {wrong} | {} | {} |",
        rows.len(),
        at(Progress::Complete),
        at(Progress::Begun),
        at(Progress::Stale),
        at(Progress::NotRun),
        sum(&runs),
        sum(&|standing| standing.tally.forbidden),
        share(sum(&undecided), sum(&runs)),
        share(wanted(&undecided), wanted(&runs)),
    );
}

fn share(part: u64, of: u64) -> String {
    match of {
        0 => String::new(),
        _ => format!("{part} of {of} ({:.1}%)", 100.0 * part as f64 / of as f64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Answer;
    use crate::history::tests::line;
    use crate::history::{History, Line};
    use crate::row::{Row, parse, tests::ROW};

    #[test]
    fn a_page_counts_what_is_of_todays_judge_and_names_the_rest() {
        let folder = tempfile::tempdir().unwrap();
        let named = |name: &str| ROW.replace("status-idle", name);
        let mut rows =
            parse(&[ROW, &named("other"), &named("old"), &named("open")].concat()).unwrap();
        rows[3] = Row { wanted: None, runs: 1, ..rows[3].clone() };
        rows.iter_mut().for_each(|row| row.file = "mmap-lock".to_owned());
        let mut history = History::read(&folder.path().join("h")).unwrap();
        history.add(line(&rows[0], Answer::NotAffected)).unwrap();
        history.add(Line { again: vec![7], ..line(&rows[0], Answer::Affected) }).unwrap();
        history.add(Line { judge: None, ..line(&rows[2], Answer::Inconclusive) }).unwrap();
        history.add(line(&rows[3], Answer::Inconclusive)).unwrap();
        let rows: Vec<Standing> = rows.iter().map(|row| Standing::of(row, &history)).collect();
        let build = Build { commit: Some("abcdef01".to_owned()), changed: false };
        let text = Page { rows: &rows, day: "2026-11-25", build: &build }.text();
        let counts = "| 4 | 1 | 1 | 1 | 1 | 3 | 1 | 1 | 1 of 3 (33.3%) | 0 of 2 (0.0%) |";
        assert!(
            text.contains(&format!("| [mmap-lock](../truth/mmap-lock.toml) {counts}")),
            "{text}"
        );
        assert!(text.contains(&format!("| **all commands** {counts}")), "{text}");
        let written = "Written on 2026-11-25 by abcdef01. Commands that count ran on kernel 6.12.1, \
                       2 CPUs.";
        assert!(text.contains(written), "{text}");
        let forbidden = "| status-idle | 2 | **WRONG** affected 1, not-affected 1 | affected | \
                         73bdb32e | 7 |";
        assert!(text.contains(forbidden), "{text}");
        assert!(text.contains("\nOnly stale answers: old.\n"), "{text}");
        assert!(text.contains("\nNever run: other.\n"), "{text}");
        assert!(text.lines().all(|line| line.len() <= COLUMNS || line.starts_with('|')), "{text}");
    }
}
