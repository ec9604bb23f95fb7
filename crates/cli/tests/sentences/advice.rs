//! Whether `scripts/advice` knows each fix that has a sample: it has a function that applies it, or
//! says why not.

use report::prose::live;
use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// The lines that a function of the script prints, each split at its tab.
fn printed_by(function: &str) -> Vec<(String, String)> {
    let mut bash = Command::new("bash");
    let run = bash.args(["-c", ". \"$0\" && \"$1\""]).arg(script()).arg(function);
    let ran = run.output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    let of = |line: &str| line.split_once('\t').map(|(one, other)| (one.into(), other.into()));
    text.lines().map(|line| of(line).unwrap()).collect()
}

/// Whether the script has a function of this name.
fn is_function(name: &str) -> bool {
    let mut bash = Command::new("bash");
    bash.args(["-c", ". \"$0\" && declare -F \"$1\""]).arg(script()).arg(name);
    bash.output().unwrap().status.success()
}

fn script() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../scripts/advice-fixes")
}

/// The lines that fit an extended regular expression as a whole.
fn fitting(pattern: &str, lines: &[String]) -> Vec<String> {
    let mut grep = Command::new("grep");
    grep.args(["-xE", "-e", pattern]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = grep.spawn().unwrap();
    let text = lines.iter().map(|line| format!("{line}\n")).collect::<String>();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let found = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    found.lines().map(str::to_owned).collect()
}

#[test]
fn each_fix_is_tried_by_a_script_or_has_a_reason() {
    let all = watch::findings::samples();
    let mut left: Vec<String> =
        all.iter().flat_map(|one| live::finding(one, |_| None).fixes).collect();
    left.sort();
    left.dedup();
    assert!(left.len() > 40, "{left:?}");
    let printed = left.clone();
    for (function, pattern) in printed_by("known_fixes") {
        let fitting = fitting(&pattern, &printed);
        assert!(!fitting.is_empty(), "{function}: no finding prints {pattern}");
        assert!(is_function(&function), "{function} is not there");
        left.retain(|fix| !fitting.contains(fix));
    }
    for (begin, reason) in printed_by("untried_fixes") {
        let before = left.len();
        left.retain(|fix| !fix.starts_with(&begin));
        assert!(left.len() < before && !reason.is_empty(), "no finding prints {begin}");
    }
    assert_eq!(left, Vec::<String>::new(), "scripts/advice-fixes lacks these");
}
