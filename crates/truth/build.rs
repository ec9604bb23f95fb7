//! Identifies the judge: a digest of the sources that decide an answer, computed at build time.
//!
//! The digest covers tokens. Comments, formatting and test modules do not count. Prose does not
//! count either: the sentences of scenarios, and longer texts in their `meta.rs`. All other
//! tokens in these files count, whether or not they change an answer. So two judges with the same
//! digest behave the same.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

#[path = "src/tokens.rs"]
mod tokens;

/// The crates below `crates/` whose sources all decide.
const CRATES: [&str; 4] = ["analysis", "model", "runner", "scenarios"];

/// Single source files of other crates: the definition of a machine's disturbances, and the error
/// rate at which a census names a condition.
const FILES: [&str; 2] = ["census/src/summary/apart.rs", "host/src/disturbance.rs"];

/// The sources that decide about a fleet. A fleet is always simulated, so real rows do without.
const OF_FLEETS: [&str; 2] = ["analysis/src/fleet/", "census/src/summary/apart.rs"];

/// The parts of these crates that decide nothing: explanations, live systems, the files of fleets,
/// sentences, and the list of scenarios.
const NOT_DECIDING: [&str; 10] = [
    "analysis/src/explain.rs",
    "analysis/src/explain/",
    "model/src/brief.rs",
    "model/src/census.rs",
    "model/src/live.rs",
    "model/src/live/",
    "model/src/prose/",
    "model/src/vm.rs",
    "scenarios/src/lib.rs",
    "scenarios/src/list.rs",
];

/// The file of a scenario that turns its facts into sentences.
const SENTENCES: &str = "sentences.rs";

/// The file that describes a scenario. Its prose decides nothing.
const META: &str = "meta.rs";

/// Files of this crate that do not affect a simulated answer.
const NOT_SIMULATING: [&str; 17] = [
    "answer.rs",
    "error.rs",
    "history.rs",
    "hog.rs",
    "judge.rs",
    "lib.rs",
    "main.rs",
    "page.rs",
    "real.rs",
    "records.rs",
    "row.rs",
    "seal.rs",
    "session.rs",
    "standing.rs",
    "table.rs",
    "tally.rs",
    "tokens.rs",
];

/// The scenario whose trials are simulated.
const SIMULATED: &str = "mmap_lock";

fn main() -> io::Result<()> {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let crates = here.join("..").canonicalize()?;
    let sources = sources(&crates)?;
    let scenarios = scenarios(&sources);
    let belongs = |path: &str, scenario: &str| {
        path.strip_prefix("scenarios/src/").is_some_and(|rest| rest.starts_with(scenario))
    };
    let common = |path: &str| {
        (FILES.contains(&path) || CRATES.iter().any(|one| path.starts_with(&format!("{one}/"))))
            && !scenarios.iter().any(|scenario| belongs(path, scenario))
    };
    let of_fleets = |path: &str| OF_FLEETS.iter().any(|part| path.starts_with(part));
    let mut table = String::from("&[\n");
    for scenario in &scenarios {
        let decides = |path: &str| common(path) && !of_fleets(path) || belongs(path, scenario);
        let digest = digest(&sources, decides);
        let _ = writeln!(table, "    ({:?}, \"{digest}\"),", scenario.trim_end_matches('/'));
    }
    let simulator = |path: &str| path.starts_with("truth/");
    let simulated = digest(&sources, |path| {
        common(path) || simulator(path) || belongs(path, &format!("{SIMULATED}/"))
    });
    let _ = writeln!(table, "    (\"simulated\", \"{simulated}\"),\n]");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    fs::write(out.join("judges.rs"), table)
}

/// The tokens of each source that decides, by its path below `crates/`.
fn sources(crates: &Path) -> io::Result<BTreeMap<String, String>> {
    let mut found = BTreeMap::new();
    for name in CRATES.iter().chain(&["truth"]) {
        let folder = crates.join(name).join("src");
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(crates, &folder, &mut found)?;
    }
    for name in FILES {
        let path = crates.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        let text = fs::read_to_string(&path)?;
        found.insert(name.to_owned(), tokens::without_tests(&text).unwrap_or(text));
    }
    Ok(found)
}

fn collect(crates: &Path, folder: &Path, found: &mut BTreeMap<String, String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.strip_prefix(crates).unwrap_or(&path).display().to_string();
        if path.is_dir() {
            collect(crates, &path, found)?;
        } else if name.ends_with(".rs") && decides(&name) {
            let text = fs::read_to_string(&path)?;
            let tokens = match path.file_name().is_some_and(|file| file == META) {
                true => tokens::without_prose(&text),
                false => tokens::without_tests(&text),
            };
            // A file that is not valid Rust does not compile, so its raw bytes never identify a
            // judge.
            found.insert(name, tokens.unwrap_or(text));
        }
    }
    Ok(())
}

/// Whether a source can affect an answer.
fn decides(name: &str) -> bool {
    let file = name.rsplit('/').next().unwrap_or(name);
    let own = name.strip_prefix("truth/src/");
    !["tests.rs", "testing.rs", SENTENCES].contains(&file)
        && !name.contains("/tests/")
        && !NOT_DECIDING.iter().any(|part| name.starts_with(part))
        && own.is_none_or(|own| !NOT_SIMULATING.contains(&own))
}

/// The folders of scenarios, each with a slash at its end.
fn scenarios(sources: &BTreeMap<String, String>) -> Vec<String> {
    let folder = |path: &String| {
        let (folder, file) = path.strip_prefix("scenarios/src/")?.split_once('/')?;
        (file == META).then(|| format!("{folder}/"))
    };
    sources.keys().filter_map(folder).collect()
}

fn digest(sources: &BTreeMap<String, String>, chosen: impl Fn(&str) -> bool) -> String {
    let mut hasher = Sha256::new();
    for (path, tokens) in sources.iter().filter(|(path, _)| chosen(path)) {
        hasher.update(format!("{path}\0{tokens}\0"));
    }
    let digest = hasher.finalize();
    digest.iter().take(8).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}
