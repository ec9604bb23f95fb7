//! docs/truth.md, from the rows and their results.

use crate::results::{Line, Results};
use crate::tally::Tally;
use crate::{Answer, Row};
use model::Machine;
use std::collections::BTreeSet;
use std::fmt::Write;

/// Runs without an answer that are listed at most.
const MOST_WRONG: usize = 200;

/// What the page is made of.
pub struct Page<'a> {
    /// The rows.
    pub rows: &'a [Row],
    /// Their results.
    pub results: &'a Results,
    /// The machine.
    pub machine: &'a Machine,
    /// The day, as 2026-11-21.
    pub day: &'a str,
    /// What git calls this version.
    pub version: &'a str,
}

const INTRODUCTION: &str = "\
# Known answers

Commands and simulated studies of which the answer is known, and what tailback answered. `make truth` runs
what is missing and writes this page; do not edit it by hand.

An answer that is *forbidden* is wrong. Any other answer than the *wanted* one is undecided. A share
behind an answer is the largest share of runs that may give it.
";

const ADDING: &str = "\
## Adding a row

A row is a table in a file of `truth/`: an `id`, `why` its answer is known, a `command` (the arguments of
`tailback`) or a `simulate` table, the `environment`, the answers that are `allowed`, those that are
`forbidden`, the one that is `wanted` if there is one, `at_most` for an answer that may come in a share of
the runs, and the number of `runs`. `small = true` puts it into the part that `make test` runs. Unknown
keys are refused. `crates/truth/src/row.rs` and `simulate.rs` document every key.

```
make truth                          # all that is missing; Ctrl-C stops it, the same command resumes
make truth ONLY='mmap-*,sim-*'      # some rows
make truth ONLY=mmap-smaps RUNS=3   # another number of runs
```

Results and records are in `target/truth`. A row that was changed, and a tailback that was rebuilt from
other sources, are run again. A wrong answer ends the command with 1 and names its record.
";

impl Page<'_> {
    /// The page.
    pub fn text(&self) -> String {
        let mut text = INTRODUCTION.to_owned();
        let tallies: Vec<(&Row, Tally)> = self
            .rows
            .iter()
            .map(|row| (row, Tally::of(row, &self.results.of(row, None))))
            .collect();
        self.head(&tallies, &mut text);
        table(&tallies, &mut text);
        self.wrong(&mut text);
        reasons(self.rows, &mut text);
        text.push_str(ADDING);
        text
    }

    fn head(&self, tallies: &[(&Row, Tally)], text: &mut String) {
        let host = self.machine;
        let model = host.cpu_model.as_ref().map_or(String::new(), |model| format!(" ({model})"));
        let system = host.distribution.as_deref().unwrap_or("an unknown distribution");
        let (cpus, kernel) = (host.cpus.len(), &host.kernel);
        let (day, version) = (self.day, self.version);
        let _ =
            write!(text, "\n{day}, {version}: kernel {kernel}, {cpus} CPUs{model}, {system}.\n\n");
        let of = |simulated: bool| -> Vec<&(&Row, Tally)> {
            tallies.iter().filter(|(row, _)| row.simulate.is_some() == simulated).collect()
        };
        for (name, tallies) in [("On this machine", of(false)), ("Simulated", of(true))] {
            if !tallies.is_empty() {
                let _ = writeln!(text, "- {name}: {}", summary(&tallies));
            }
        }
        text.push_str(&self.versions());
    }

    /// Versions that some of the runs are of, where they are not this one.
    fn versions(&self) -> String {
        let lines = self.rows.iter().flat_map(|row| self.results.of(row, None));
        let others: BTreeSet<&str> =
            lines.map(|line| line.version.as_str()).filter(|v| *v != self.version).collect();
        let others: Vec<&str> = others.into_iter().collect();
        if others.is_empty() {
            return String::new();
        }
        format!("\nSome runs are of other versions: {}.\n", others.join(", "))
    }

    fn wrong(&self, text: &mut String) {
        let wrong: Vec<(&Row, &Line)> = self
            .rows
            .iter()
            .flat_map(|row| self.results.of(row, None).into_iter().map(move |line| (row, line)))
            .filter(|(row, line)| row.forbidden.contains(&line.answer))
            .collect();
        if wrong.is_empty() {
            return;
        }
        text.push_str("\n## Forbidden answers\n\n| row | run | answer | version | record |\n|---|---:|---|---|---|\n");
        for (row, line) in wrong.iter().take(MOST_WRONG) {
            let record = line.record.as_ref().map_or_else(
                || format!("`truth --again {}:{}`", row.id, line.run),
                |record| format!("`{}`", self.results.folder().join(record).display()),
            );
            let _ = writeln!(
                text,
                "| {} | {} | {} | {} | {record} |",
                row.id, line.run, line.answer, line.version
            );
        }
        if wrong.len() > MOST_WRONG {
            let _ = writeln!(text, "\n{} more were left out.", wrong.len() - MOST_WRONG);
        }
    }
}

/// The results of some rows together.
fn summary(tallies: &[&(&Row, Tally)]) -> String {
    let runs: usize = tallies.iter().map(|(_, tally)| tally.runs).sum();
    let done = tallies.iter().filter(|(row, tally)| tally.runs >= row.runs as usize).count();
    let wrong = tallies.iter().filter(|(_, tally)| !tally.wrong.is_empty()).count();
    let forbidden: usize = tallies
        .iter()
        .flat_map(|(row, tally)| row.forbidden.iter().filter_map(|a| tally.answers.get(a)))
        .sum();
    let asked = || tallies.iter().filter(|(_, tally)| tally.undecided.is_some());
    let asked_runs: usize = asked().map(|(_, tally)| tally.runs).sum();
    let undecided: usize = asked().filter_map(|(_, tally)| tally.undecided).sum();
    let rows = tallies.len();
    format!(
        "{runs} runs; {done} of {rows} rows have all of theirs. {forbidden} forbidden answers, **rows that \
         are wrong by them: {wrong}**. Where an answer is wanted, {undecided} of {asked_runs} runs were \
         undecided{}.",
        share(undecided, asked_runs)
    )
}

fn share(part: usize, of: usize) -> String {
    if of == 0 {
        return String::new();
    }
    format!(" ({:.1}%)", 100.0 * part as f64 / of as f64)
}

fn table(tallies: &[(&Row, Tally)], text: &mut String) {
    text.push_str(
        "\n| row | where | runs | answers | wanted | forbidden | median s |\n|---|---|---:|---|---|---|---:|\n",
    );
    for (row, tally) in tallies {
        let answers_given = match tally.wrong.as_slice() {
            [] => tally.words(),
            wrong => format!("{} **WRONG: {}**", tally.words(), answers(wrong.iter())),
        };
        let missing = (row.runs as usize).saturating_sub(tally.runs);
        let runs = match missing {
            0 => tally.runs.to_string(),
            _ => format!("{} of {}", tally.runs, row.runs),
        };
        let forbidden: Vec<String> = row.forbidden.iter().map(|a| with_share(row, *a)).collect();
        let _ = writeln!(
            text,
            "| {} | {} | {runs} | {answers_given} | {} | {} | {} |",
            row.id,
            row.place(),
            row.wanted.map_or("", Answer::word),
            forbidden.join(", "),
            tally
                .seconds
                .filter(|_| row.simulate.is_none())
                .map_or(String::new(), |s| format!("{s:.1}")),
        );
    }
}

fn answers<'a>(answers: impl Iterator<Item = &'a Answer>) -> String {
    answers.map(|answer| answer.word()).collect::<Vec<_>>().join(", ")
}

fn with_share(row: &Row, answer: Answer) -> String {
    match row.at_most.get(&answer) {
        Some(most) => format!("{answer} ({:.0}%)", 100.0 * most),
        None => answer.to_string(),
    }
}

fn reasons(rows: &[Row], text: &mut String) {
    text.push_str("\n## Why each answer is known\n\n| row | what is run | why |\n|---|---|---|\n");
    for row in rows {
        let what = match (&row.command, &row.simulate) {
            (Some(command), _) => format!("`tailback {command}`"),
            (None, Some(simulation)) => format!("`{}`", injected(simulation)),
            (None, None) => String::new(),
        };
        let _ = writeln!(text, "| {} | {} | {} |", row.id, what.replace('|', "\\|"), row.why);
    }
    text.push('\n');
}

/// What a simulation injects, without what it leaves out.
fn injected(simulation: &crate::simulate::Simulation) -> String {
    let value = serde_json::to_value(simulation).unwrap_or_default();
    let keys = value.as_object().into_iter().flatten();
    // A fix that never fails is a fix all the same.
    let zero =
        |key: &str, value: &serde_json::Value| key != "fix_fails" && value.as_f64() == Some(0.0);
    let kept = keys.filter(|(key, value)| !value.is_null() && !zero(key, value));
    let injected: Vec<String> = kept.map(|(key, value)| format!("{key} {value}")).collect();
    if injected.is_empty() { "nothing".to_owned() } else { injected.join(", ").replace('"', "") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::tests::line;
    use crate::row::{parse, tests::ROW};
    use std::path::PathBuf;

    #[test]
    fn a_page_marks_what_is_wrong_and_what_is_missing() {
        let folder = tempfile::tempdir().unwrap();
        let rows = parse(&(ROW.to_owned() + &ROW.replace("status-idle", "other"))).unwrap();
        let mut results = Results::open(folder.path()).unwrap();
        results.add(line(&rows[0], 0, Answer::NotAffected), true).unwrap();
        let record = Some(PathBuf::from("records/x.json.gz"));
        results.add(Line { record, ..line(&rows[0], 1, Answer::Affected) }, true).unwrap();
        let machine = Machine { kernel: "6.12.1".to_owned(), ..Machine::default() };
        let page = Page {
            rows: &rows,
            results: &results,
            machine: &machine,
            day: "2026-11-21",
            version: "w",
        };
        let text = page.text();
        let row = "| status-idle | idle host | 2 of 10 | affected 1, not-affected 1 **WRONG: affected** | \
                   not-affected | affected | 2.0 |";
        assert!(text.contains(row), "{text}");
        assert!(text.contains("| other | idle host | 0 of 10 | not run yet |"), "{text}");
        assert!(text.contains("2 runs; 0 of 2 rows"), "{text}");
        assert!(text.contains("0 of 2 runs were undecided (0.0%)"), "{text}");
        assert!(text.contains("1 forbidden answers, **rows that are wrong by them: 1**"), "{text}");
        assert!(text.contains("other versions: v."), "{text}");
        assert!(text.contains("records/x.json.gz"), "{text}");
    }
}
