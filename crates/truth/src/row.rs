//! The rows: what to run, where, and which answers are allowed.

use crate::simulate::Simulation;
use crate::{Answer, TruthError};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A file of rows.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    row: Vec<Row>,
}

/// A question with a known answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its name, unique in the table.
    pub id: String,
    /// Why its answer is known, in a sentence.
    pub why: String,
    /// The words after `tailback`, as a shell splits them. None for a simulated row.
    pub command: Option<String>,
    /// Simulated studies. None for a row with a command.
    pub simulate: Option<Simulation>,
    /// The scenario, if the command does not name it: `compare --run`.
    pub scenario: Option<String>,
    /// The two versions between which the effect changes. None if `matrix` compares equal
    /// versions, and for other commands.
    pub boundary: Option<[String; 2]>,
    /// The environment of the command.
    #[serde(default)]
    pub environment: Environment,
    /// The allowed answers.
    pub allowed: Vec<Answer>,
    /// The forbidden answers.
    pub forbidden: Vec<Answer>,
    /// The wanted answer. Any other allowed answer counts as undecided.
    pub wanted: Option<Answer>,
    /// The largest share of runs with this answer. Without an entry, a forbidden answer must
    /// never occur, and an allowed one may always occur.
    #[serde(default)]
    pub at_most: BTreeMap<Answer, f64>,
    /// The number of runs.
    pub runs: u32,
    /// Time limit of a run, in seconds. A run that exceeds it has failed.
    #[serde(default = "usual_limit")]
    pub limit_s: u64,
    /// Whether it belongs to the small part that `make test` runs.
    #[serde(default)]
    pub small: bool,
    /// The name of its file, without the extension.
    #[serde(skip)]
    pub file: String,
    /// A digest of the study files that its command names. Empty if it names none.
    #[serde(skip)]
    pub studies: String,
}

fn usual_limit() -> u64 {
    900
}

/// The environment of a command. The default is the idle host.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Environment {
    /// A process beside it that uses a whole CPU.
    pub hog: Option<Hog>,
    /// The CPU limit of a group around tailback itself, in CPUs.
    pub group_cpus: Option<f64>,
    /// A guest that it runs in.
    pub guest: Option<Guest>,
    /// The Debian suite whose OTP it uses.
    pub root: Option<String>,
    /// Whether an ordinary user without privileges runs it.
    #[serde(default)]
    pub ordinary_user: bool,
}

/// A process that uses a whole CPU.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hog {
    /// The CPU that it is pinned to. None for any CPU.
    pub cpu: Option<usize>,
    /// Its nice value.
    #[serde(default)]
    pub nice: i32,
}

/// A guest of `tailback vm`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// Its kernel, in the form of `--kernel`.
    pub kernel: String,
    /// The number of its CPUs.
    pub cpus: u32,
}

impl Environment {
    /// A description for the page.
    pub fn words(&self) -> String {
        let mut words = Vec::new();
        if let Some(hog) = &self.hog {
            let place = hog.cpu.map_or("any CPU".to_owned(), |cpu| format!("CPU {cpu}"));
            let nice = if hog.nice == 0 { String::new() } else { format!(", nice {}", hog.nice) };
            words.push(format!("a hog on {place}{nice}"));
        }
        if let Some(cpus) = self.group_cpus {
            words.push(format!("a group limited to {cpus} CPU"));
        }
        if let Some(guest) = &self.guest {
            words.push(format!("guest {}, {} CPUs", guest.kernel, guest.cpus));
        }
        if let Some(root) = &self.root {
            words.push(format!("the OTP of {root}"));
        }
        if self.ordinary_user {
            words.push("an ordinary user".to_owned());
        }
        if words.is_empty() { "idle host".to_owned() } else { words.join("; ") }
    }
}

impl Row {
    /// A description of the environment.
    pub fn place(&self) -> String {
        match &self.simulate {
            Some(_) => "simulated".to_owned(),
            None => self.environment.words(),
        }
    }

    /// The scenario that it runs. None if it is simulated.
    pub fn scenario(&self) -> Option<String> {
        let named = || self.words().ok()?.into_iter().nth(1);
        self.scenario.clone().or_else(named)
    }

    /// What it runs and where, on one line. Answers count only if this line is unchanged, not for
    /// another content under the same name.
    pub fn asked(&self) -> String {
        match self.what_and_where() {
            (what, None) => what,
            (what, Some(place)) => format!("{what} ({place})"),
        }
    }

    /// What it runs. For a command also where, with the known facts about it.
    pub fn what_and_where(&self) -> (String, Option<String>) {
        if let Some(simulation) = &self.simulate {
            return (format!("simulated: {}", simulation.injected()), None);
        }
        let mut place = self.environment.words();
        if let Some([from, to]) = &self.boundary {
            place.push_str(&format!("; boundary from {from} to {to}"));
        }
        if !self.studies.is_empty() {
            place.push_str(&format!("; studies {}", self.studies));
        }
        let command = self.command.as_deref().unwrap_or_default();
        (format!("tailback {command}"), Some(place))
    }

    /// The largest share of runs that may give this answer.
    pub fn most(&self, answer: Answer) -> f64 {
        let usual = if self.forbidden.contains(&answer) { 0.0 } else { 1.0 };
        self.at_most.get(&answer).copied().unwrap_or(usual)
    }

    fn check(&self) -> Result<(), String> {
        let all: Vec<Answer> = self.allowed.iter().chain(&self.forbidden).copied().collect();
        let unique: BTreeSet<Answer> = all.iter().copied().collect();
        let name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let problem = if self.id.is_empty() || !self.id.chars().all(name) {
            "its id has other characters than a to z, 0 to 9 and `-`"
        } else if self.command.is_some() == self.simulate.is_some() {
            "it takes either `command` or `simulate`"
        } else if self.simulate.is_some() && self.environment != Environment::default() {
            "a simulated row has no environment"
        } else if self.simulate.is_some() && (self.boundary.is_some() || self.scenario.is_some()) {
            "a simulated row names neither a boundary nor a scenario"
        } else if self.environment.guest.is_some() && self.environment.root.is_some() {
            "a guest has no OTP of a suite here"
        } else if unique.len() != all.len() {
            "an answer is there twice"
        } else if self.allowed.is_empty() || self.runs == 0 {
            "it allows nothing, or has no runs"
        } else if self.wanted.is_some_and(|wanted| !self.allowed.contains(&wanted)) {
            "the wanted answer is not among the allowed"
        } else if !self
            .at_most
            .iter()
            .all(|(a, most)| unique.contains(a) && (0.0..=1.0).contains(most))
        {
            "`at_most` has an answer that is nowhere else, or no share"
        } else {
            return self.words().map(drop).map_err(|why| format!("row {}: {why}", self.id));
        };
        Err(format!("row {}: {problem}", self.id))
    }

    /// The words of the command. Empty if it is simulated.
    ///
    /// # Errors
    /// If a quote is not closed.
    pub fn words(&self) -> Result<Vec<String>, String> {
        let command = self.command.as_deref().unwrap_or_default();
        shell_words::split(command).map_err(|error| format!("its command: {error}"))
    }
}

/// A short digest.
pub fn digest(bytes: &[u8]) -> String {
    hex::encode(&Sha256::digest(bytes)[..8])
}

/// Parses rows from a text.
///
/// # Errors
/// A sentence, if a key is unknown or a row is not valid.
pub fn parse(text: &str) -> Result<Vec<Row>, String> {
    let file: File = toml::from_str(text).map_err(|error| error.to_string())?;
    file.row.iter().try_for_each(Row::check)?;
    Ok(file.row)
}

/// A digest of the study files that a command names. Their paths start from the folder above
/// `folder`.
fn studies(row: &Row, folder: &Path) -> Result<String, TruthError> {
    let words = row.words().map_err(TruthError::Row)?;
    let mut all = Vec::new();
    for file in words.iter().filter(|word| word.ends_with(".toml")) {
        let path = folder.join("..").join(file);
        all.extend(std::fs::read(&path).map_err(|error| TruthError::file(&path, error))?);
    }
    Ok(if all.is_empty() { String::new() } else { digest(&all) })
}

/// Reads the rows of all files in a folder, in the order of the file names.
///
/// # Errors
/// If a file cannot be read or is not valid, or if two rows have the same name.
pub fn read(folder: &Path) -> Result<Vec<Row>, TruthError> {
    let entries = std::fs::read_dir(folder).map_err(|e| TruthError::file(folder, e))?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|end| end == "toml"));
    paths.sort();
    let mut rows = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(&path).map_err(|e| TruthError::file(&path, e))?;
        let found = parse(&text);
        let mut found =
            found.map_err(|why| TruthError::Row(format!("{}: {why}", path.display())))?;
        let file = path.file_stem().unwrap_or_default().to_string_lossy();
        for row in &mut found {
            row.file = file.to_string();
            row.studies = studies(row, folder)?;
        }
        rows.extend(found);
    }
    let mut seen = BTreeSet::new();
    match rows.iter().find(|row| !seen.insert(&row.id)) {
        Some(twice) => Err(TruthError::Row(format!("row {} is there twice", twice.id))),
        None if rows.is_empty() => Err(TruthError::Row(format!("{}: no rows", folder.display()))),
        None => Ok(rows),
    }
}

/// The rows that match one of these patterns, in which `*` stands for any characters. Without
/// patterns, all rows.
///
/// # Errors
/// If a pattern matches no row.
pub fn pick(rows: Vec<Row>, patterns: &[String]) -> Result<Vec<Row>, TruthError> {
    let names = |pattern: &String| rows.iter().any(|row| matches(pattern, &row.id));
    if let Some(vain) = patterns.iter().find(|pattern| !names(pattern)) {
        return Err(TruthError::Row(format!("no row is called {vain}; see --list")));
    }
    let wanted = |row: &Row| patterns.is_empty() || patterns.iter().any(|p| matches(p, &row.id));
    Ok(rows.into_iter().filter(wanted).collect())
}

fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            ends.into_iter().any(|at| matches(rest, &name[at..]))
        }),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) const ROW: &str = r#"
        [[row]]
        id = "status-idle"
        why = "status takes no mmap lock."
        command = "run mmap-lock --procfile status --busy '0,10'"
        allowed = ["not-affected", "inconclusive"]
        forbidden = ["affected"]
        wanted = "not-affected"
        runs = 10
    "#;

    #[test]
    fn a_row_is_read() {
        let rows = parse(ROW).unwrap();
        let row = &rows[0];
        assert_eq!(row.words().unwrap()[5], "0,10");
        assert_eq!((row.place().as_str(), row.limit_s), ("idle host", 900));
        assert_eq!(row.most(Answer::Affected), 0.0);
        assert_eq!(row.most(Answer::NotAffected), 1.0);
    }

    #[test]
    fn what_makes_no_sense_is_refused_with_its_reason() {
        let with = |old: &str, new: &str| parse(&ROW.replace(old, new)).unwrap_err();
        assert!(with("runs = 10", "runs = 10\ntypo = 1").contains("typo"));
        assert!(with("runs = 10", "runs = 0").contains("no runs"));
        assert!(with("runs = 10", "runs = 1\nat_most = { worse = 0.1 }").contains("at_most"));
        assert!(with("runs = 10", "runs = 1\nat_most = { affected = 2 }").contains("at_most"));
        assert!(with("status-idle", "Status").contains("id"));
        assert!(with("[\"affected\"]", "[\"afected\"]").contains("afected"));
        assert!(with("[\"affected\"]", "[\"inconclusive\"]").contains("twice"));
        assert!(with("wanted = \"not-affected\"", "wanted = \"affected\"").contains("wanted"));
        assert!(with("'0,10'", "'0,10").contains("its command"));
        assert!(with("runs = 10", "runs = 1\nsimulate = {}").contains("either"));
        let hog = "runs = 1\nenvironment = { hog = { cpus = 1 } }";
        assert!(with("runs = 10", hog).contains("cpus"));
    }

    #[test]
    fn what_is_asked_is_what_is_run_and_where() {
        let asked = |text: &str| parse(text).unwrap()[0].asked();
        let plain = "tailback run mmap-lock --procfile status --busy '0,10' (idle host)";
        assert_eq!(asked(ROW), plain);
        assert_eq!(asked(&ROW.replace("takes no", "needs no").replace("10\n", "20\n")), plain);
        let hog = ROW.replace("runs = 10", "runs = 10\nenvironment = { hog = { cpu = 1 } }");
        assert_eq!(asked(&hog), plain.replace("idle host", "a hog on CPU 1"));
        assert_eq!(parse(ROW).unwrap()[0].scenario().as_deref(), Some("mmap-lock"));
        let command = r#"command = "run mmap-lock --procfile status --busy '0,10'""#;
        let simulated = ROW.replace(command, "simulate = { blips = 0.1 }");
        assert_eq!(asked(&simulated), "simulated: blips 0.1");
        assert_eq!(parse(&simulated).unwrap()[0].scenario(), None);
    }

    #[test]
    fn rows_are_picked_by_name_and_pattern() {
        let rows = || parse(&(ROW.to_owned() + &ROW.replace("status-idle", "stat-hog"))).unwrap();
        let ids = |patterns: &[&str]| {
            let patterns: Vec<String> = patterns.iter().map(|p| (*p).to_owned()).collect();
            pick(rows(), &patterns).map(|rows| rows.len()).ok()
        };
        assert_eq!(ids(&[]), Some(2));
        assert_eq!(ids(&["stat-*"]), Some(1));
        assert_eq!(ids(&["sta*", "status-idle"]), Some(2));
        assert_eq!(ids(&["*-i*"]), Some(1));
        assert_eq!(ids(&["no-such"]), None);
        assert_eq!(ids(&["stat"]), None);
    }
}
