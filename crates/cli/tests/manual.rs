//! README and the manual: their command lines, make targets and links are valid, and
//! docs/SUMMARY.md names every page.
//!
//! Every `tailback ..` in a code block or between backquotes is given to the binary, followed by
//! `--help`. So the binary's own parser reads each word before `--help`, and nothing runs. The
//! test cannot see a missing option.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::Place;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Words of the manual that stand for a value, each with a value.
const VALUES: [(&str, &str); 9] = [
    ("SCENARIO", "mmap-lock"),
    ("FORMAT", "csv"),
    ("N", "4"),
    ("N+1", "5"),
    ("K", "debian:6.1"),
    ("P", "1"),
    ("on|off", "on"),
    ("PID", "7"),
    ("OTHER", "8"),
];

/// Programs that may come before `tailback`.
const WRAPPERS: [&str; 4] = ["sudo", "taskset", "systemd-run", "nohup"];

/// Words that end a command line.
const ENDS: [&str; 7] = ["|", "||", "&&", ";", ">", "&", "#"];

/// A piece of code on a page.
struct Code {
    page: PathBuf,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// All pages for readers.
fn pages() -> Vec<PathBuf> {
    let folders = ["", "docs", "docs/runbooks", "docs/scenarios", "erlang"];
    let mut pages: Vec<PathBuf> =
        folders.iter().flat_map(|folder| common::files(&root().join(folder))).collect();
    pages.retain(|path| path.extension().is_some_and(|end| end == "md"));
    pages.sort();
    assert!(pages.len() > 15, "{pages:?}");
    pages
}

/// The lines of code blocks, and the text between the blocks.
fn blocks_and_prose(page: &Path) -> (Vec<String>, Vec<String>) {
    let text = std::fs::read_to_string(page).unwrap().replace("\\\n", " ");
    let (mut blocks, mut prose) = (Vec::new(), Vec::new());
    for (at, part) in text.split("```").enumerate() {
        match at % 2 {
            0 => prose.push(part.to_owned()),
            _ => blocks.extend(part.lines().skip(1).map(str::to_owned)),
        }
    }
    (blocks, prose)
}

/// All code of all pages: lines of blocks, indented lines, and code between backquotes.
fn all_code() -> Vec<Code> {
    let mut all = Vec::new();
    for page in pages() {
        let (mut texts, prose) = blocks_and_prose(&page);
        for part in &prose {
            let indented = part.lines().filter(|line| line.starts_with("    "));
            texts.extend(indented.map(str::to_owned));
            // A backquote without its pair can only spoil one paragraph.
            let spans = part.split("\n\n").flat_map(|text| text.split('`').skip(1).step_by(2));
            texts.extend(spans.map(|span| span.split_whitespace().collect::<Vec<_>>().join(" ")));
        }
        all.extend(texts.into_iter().map(|text| Code { page: page.clone(), text }));
    }
    all
}

/// The words of a line up to a pipe, a remark or two blanks. A quoted text is one word.
fn words(line: &str) -> Vec<String> {
    let line = line.trim().trim_start_matches("$ ").split("  ").next().unwrap_or_default();
    let mut words: Vec<String> = Vec::new();
    for (at, part) in line.split('"').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    let end = words.iter().position(|word| ENDS.contains(&word.as_str())).unwrap_or(words.len());
    words.truncate(end);
    words
}

/// The arguments of a line that calls `tailback`. Words that stand for a value are replaced by
/// one.
fn arguments(line: &str) -> Option<Vec<String>> {
    let words = words(line);
    let first = words.first()?.as_str();
    let at = match WRAPPERS.contains(&first) {
        true => words.iter().position(|word| word == "tailback")?,
        false => 0,
    };
    if words[at] != "tailback" || words.len() == at + 1 {
        return None;
    }
    let value = |word: &String| {
        let word = word.trim_start_matches('[').trim_end_matches([']', ';']);
        let value = VALUES.iter().find(|(name, _)| *name == word);
        value.map_or(word, |(_, value)| *value).to_owned()
    };
    Some(words[at + 1..].iter().map(value).collect())
}

/// The words up to `--`, and the words after it, which another command gets.
fn split(arguments: &[String]) -> (&[String], Option<Vec<String>>) {
    let Some(at) = arguments.iter().position(|word| word == "--") else {
        return (arguments, None);
    };
    let (own, rest) = (&arguments[..at], arguments[at + 1..].to_vec());
    let before: Vec<&str> = match own[0].as_str() {
        "vm" => Vec::new(),
        "matrix" | "bisect" => {
            let named = |word: &&String| scenarios::find(word).is_some();
            vec!["run", own.iter().find(named).map_or("nosuch", String::as_str)]
        }
        // The table of the originals passes these words to the program for one of its lines.
        _ => vec!["compat", "proc-vs-map"],
    };
    let inner = before.into_iter().map(str::to_owned).chain(rest).collect();
    (own, Some(inner))
}

/// The error of the binary about these words; None if it accepts them.
fn refusal(place: &Place, arguments: &[String]) -> Option<String> {
    let (own, inner) = split(arguments);
    let mut asked: Vec<&str> = own.iter().map(String::as_str).collect();
    // Twice, since an option without its value would take the first one.
    asked.extend(["--help", "--help"]);
    let ran = place.say(&asked);
    if ran.code() != 0 {
        return Some(ran.err.lines().next().unwrap_or("nothing").to_owned());
    }
    inner.and_then(|inner| refusal(place, &inner))
}

#[test]
fn every_command_line_is_one() {
    let place = Place::new();
    let mut seen = BTreeSet::new();
    let mut wrong = Vec::new();
    for code in all_code() {
        let Some(arguments) = arguments(&code.text) else { continue };
        if !seen.insert(arguments.clone()) {
            continue;
        }
        if let Some(why) = refusal(&place, &arguments) {
            wrong.push(format!("{}: `{}`: {why}", code.page.display(), code.text.trim()));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(seen.len() > 40, "{seen:?}");
}

#[test]
fn a_line_that_is_wrong_is_found() {
    let place = Place::new();
    let refused = |line: &str| refusal(&place, &arguments(line).unwrap());
    for line in [
        "tailback run nosuch",
        "tailback run mmap-lock --nosuch 3   a remark",
        "tailback run mmap-lock --busy many | jq",
        "tailback vm --kernel debian:6.12 -- run mmap-lock --nosuch",
        "tailback matrix cpu-quota --kernels debian:6.1 -- --procfile maps",
        "tailback compat run-proc-vs-map --nsamples 3 -- --nosuch 3",
        "taskset -c 1 tailback check --only nosuch",
    ] {
        assert!(refused(line).is_some(), "{line}");
    }
    assert_eq!(refused("tailback export --format FORMAT RECORD.. [-o FILE]"), None);
    assert!(arguments("make run").is_none() && arguments("tailback").is_none());
}

/// The targets of a Makefile.
fn targets(path: &Path) -> BTreeSet<String> {
    let text = std::fs::read_to_string(path).unwrap();
    let rules = text.lines().filter(|line| !line.starts_with(['\t', '#', '.']));
    let heads = rules.filter_map(|line| line.split_once(':').map(|(head, _)| head));
    heads.flat_map(|head| head.split_whitespace().map(str::to_owned)).collect()
}

#[test]
fn every_make_target_is_one() {
    let mut there = targets(&root().join("Makefile"));
    assert!(there.contains("run") && there.contains("dist"), "{there:?}");
    there.extend(targets(&root().join("erlang/Makefile")));
    let mut seen = 0;
    for code in all_code() {
        let words = words(&code.text);
        if words.first().is_none_or(|word| word != "make") {
            continue;
        }
        let named = |word: &&String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
        for word in words[1..].iter().filter(named) {
            assert!(there.contains(word), "{}: make {word}", code.page.display());
            seen += 1;
        }
    }
    assert!(seen > 5);
}

#[test]
fn every_link_leads_somewhere() {
    let mut seen = 0;
    for page in pages() {
        let (_, prose) = blocks_and_prose(&page);
        let links = prose.iter().flat_map(|part| part.split("](").skip(1));
        for link in links.filter_map(|rest| rest.split(')').next()) {
            let file = link.split('#').next().unwrap();
            if file.is_empty() || link.contains("://") {
                continue;
            }
            let leads = page.parent().unwrap().join(file).exists();
            assert!(leads, "{} leads to {link}, which is not there", page.display());
            seen += 1;
        }
    }
    assert!(seen > 20);
}

/// All files of a folder and of the folders in it.
fn below(folder: &Path) -> Vec<PathBuf> {
    let files = common::files(folder).into_iter();
    files.flat_map(|path| if path.is_dir() { below(&path) } else { vec![path] }).collect()
}

/// mdBook leaves out a page that the summary does not name, and says nothing.
#[test]
fn the_summary_names_every_page_once() {
    let docs = root().join("docs");
    let summary = docs.join("SUMMARY.md");
    let text = std::fs::read_to_string(&summary).unwrap();
    let links = text.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut named: Vec<PathBuf> =
        links.filter(|link| !link.starts_with("../")).map(|link| docs.join(link)).collect();
    let mut there = below(&docs);
    there.retain(|path| path.extension().is_some_and(|end| end == "md") && *path != summary);
    named.sort();
    there.sort();
    assert_eq!(named, there);
}

/// The script of the site empties its folder.
#[test]
fn the_site_is_not_written_over_other_pages() {
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("index.html");
    std::fs::write(&page, "another site").unwrap();
    let mut script = std::process::Command::new(root().join("scripts/site"));
    let ran = script.arg(folder.path()).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert_eq!(ran.status.code(), Some(2), "{said}");
    assert!(said.contains("not made by this script"), "{said}");
    assert_eq!(std::fs::read_to_string(&page).unwrap(), "another site");
}

/// The record of the picture in README. The example there is the table of the same run.
#[test]
fn the_example_of_readme_is_what_its_record_prints() {
    let place = Place::new();
    let ran = place.say(&["judge", place.golden("example").to_str().unwrap()]);
    assert_eq!(ran.code(), 1, "{ran:?}");
    let (blocks, _) = blocks_and_prose(&root().join("README.md"));
    let rows: Vec<&String> = blocks.iter().filter(|line| line.starts_with("  ")).collect();
    assert!(rows.len() >= 3, "{rows:?}");
    for row in rows {
        assert!(ran.out.lines().any(|line| line == row), "README has `{row}`, and not: {ran:?}");
    }
}
