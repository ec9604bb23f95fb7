//! What the binary prints, word for word. `make golden` writes the files anew.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, packed};
use snapbox::{Data, assert_data_eq, file};
use std::path::PathBuf;

/// The golden records.
const RECORDS: [&str; 7] = [
    "mmap-lock",
    "mmap-lock.quiet",
    "study",
    "cpu-quota",
    "mailbox-flood",
    "blocking-nif",
    "busy-wait",
];

/// Standard output of the binary, which has to end with this exit code. It runs among the golden
/// records, which are named by their files alone, so that the text is the same on every machine.
fn printed(args: &[&str], code: i32) -> String {
    let place = Place::new();
    RECORDS.iter().for_each(|name| drop(place.golden(name)));
    let mut command = place.tailback(args);
    command.current_dir(place.path(""));
    let ran = place.run(command);
    assert_eq!(ran.code(), code, "{ran:?}");
    ran.out
}

/// A text of which no line but a command is wider than a terminal of 80 columns.
fn narrow(text: String) -> String {
    let wide = |line: &&str| line.chars().count() > 80 && !line.contains("tailback ");
    assert_eq!(text.lines().filter(wide).collect::<Vec<&str>>(), Vec::<&str>::new(), "{text}");
    text
}

/// The same, and short.
fn short(text: String) -> String {
    assert!(text.lines().count() <= 25, "{text}");
    narrow(text)
}

#[test]
fn help() {
    let text = printed(&["--help"], 0);
    assert!(text.lines().skip(5).all(|line| line.chars().count() <= 80), "{text}");
    assert_data_eq!(text, file!["golden/help.txt"]);
}

#[test]
fn alone_it_names_commands_to_try_here() {
    let text = narrow(printed(&[], 0));
    assert!(text.contains("\nTry on this machine:\n"), "{text}");
    assert!(text.ends_with("\nAll commands: tailback --help\n"), "{text}");
}

#[test]
fn its_version_is_told_as_text_and_as_json() {
    let built: serde_json::Value =
        serde_json::from_str(&printed(&["version", "--json"], 0)).unwrap();
    assert_eq!(built["version"], env!("CARGO_PKG_VERSION"));
    assert!(built["target"].as_str().unwrap().contains("linux"), "{built}");
    let text = printed(&["version"], 0);
    assert!(text.starts_with(concat!("tailback ", env!("CARGO_PKG_VERSION"), "\n")), "{text}");
}

#[test]
fn help_of_each_command() {
    let commands = [
        "watch",
        "probe calls",
        "check",
        "run mmap-lock",
        "run cpu-quota",
        "list",
        "study",
        "advise",
        "judge",
        "explain",
        "report",
        "compare",
        "history",
        "export",
        "census",
        "matrix",
        "bisect",
        "vm",
        "sim cpu-quota",
        "sim fleet",
        "compat",
        "host",
        "host identify",
        "host restore",
        "generate",
        "generate completions",
        "generate man",
        "generate erlang-app",
    ];
    for command in commands {
        let words: Vec<&str> = command.split(' ').chain(["--help"]).collect();
        let name = format!("golden/{}.help.txt", command.replace(' ', "-"));
        let golden = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests").join(name);
        assert_data_eq!(printed(&words, 0), Data::read_from(&golden, None));
    }
}

/// Spellings from before commands were grouped.
#[test]
fn old_spellings_keep_working_and_are_not_shown() {
    let help = printed(&["--help"], 0);
    for (roof, old) in [
        ("host", "identify"),
        ("host", "restore"),
        ("generate", "completions"),
        ("generate", "man"),
        ("generate", "erlang-app"),
    ] {
        assert!(!help.contains(&format!("\n  {old} ")), "{old}");
        let usage = |name: &str| format!("Usage: tailback {name}");
        let text = printed(&[roof, old, "--help"], 0);
        let text = text.replace(&usage(&format!("{roof} {old}")), &usage(old));
        assert_eq!(printed(&[old, "--help"], 0), text);
    }
}

#[test]
fn a_record_of_an_affected_machine() {
    let text = short(printed(&["judge", "mmap-lock.record.json"], 1));
    assert_data_eq!(text, file!["golden/mmap-lock.affected.txt"]);
    let text = narrow(printed(&["judge", "--why", "mmap-lock.record.json"], 1));
    assert_data_eq!(text, file!["golden/mmap-lock.affected.why.txt"]);
}

#[test]
fn a_record_of_a_machine_that_is_not_affected() {
    let text = short(printed(&["judge", "mmap-lock.quiet.record.json"], 0));
    assert_data_eq!(text, file!["golden/mmap-lock.not-affected.txt"]);
    let text = narrow(printed(&["judge", "--why", "mmap-lock.quiet.record.json"], 0));
    assert_data_eq!(text, file!["golden/mmap-lock.not-affected.why.txt"]);
}

#[test]
fn a_record_that_settles_nothing() {
    let text = short(printed(&["judge", "cpu-quota.record.json"], 4));
    assert_data_eq!(text, file!["golden/cpu-quota.inconclusive.txt"]);
}

/// Three records in a format of other tools.
fn exported(format: &str) -> String {
    let records = ["mmap-lock.record.json", "mmap-lock.quiet.record.json", "cpu-quota.record.json"];
    let mut args = vec!["export", "--format", format];
    args.extend(records);
    printed(&args, 0)
}

#[test]
fn formats_of_other_tools() {
    assert_data_eq!(exported("markdown"), file!["golden/export.md"]);
    assert_data_eq!(exported("junit"), file!["golden/export.junit.xml"]);
    assert_data_eq!(exported("openmetrics"), file!["golden/export.prom"]);
    let csv = printed(&["export", "--format", "csv", "mmap-lock.record.json"], 0);
    assert_data_eq!(csv, file!["golden/export.csv"]);
}

#[test]
fn what_changed_between_two_records() {
    let (quiet, affected) = ("mmap-lock.quiet.record.json", "mmap-lock.record.json");
    let same = short(printed(&["compare", affected, affected], 0));
    assert_data_eq!(same, file!["golden/compare.same.txt"]);
    let other = short(printed(&["compare", quiet, affected], 4));
    assert_data_eq!(other, file!["golden/compare.not-comparable.txt"]);
}

#[test]
fn a_record_of_a_study_of_two_factors() {
    let text = short(printed(&["judge", "study.record.json"], 1));
    assert_data_eq!(text, file!["golden/study.txt"]);
    let text = narrow(printed(&["judge", "--why", "study.record.json"], 1));
    assert_data_eq!(text, file!["golden/study.why.txt"]);
}

#[test]
fn a_reproducer_for_escript() {
    let text = printed(&["export", "--format", "reproducer", "mailbox-flood.record.json"], 0);
    assert_data_eq!(text, file!["golden/mailbox-flood.escript"]);
}

#[test]
fn judging_a_judged_record_changes_nothing() {
    for (name, code) in RECORDS.into_iter().zip([1, 0, 1, 4, 1, 1, 1]) {
        let after = printed(&["judge", "--json", &format!("{name}.record.json")], code);
        let file = packed::golden(name);
        let mut before = packed::read(&file);
        if before != after && std::env::var_os("TAILBACK_GOLDEN").is_some() {
            packed::write(&file, &after);
            before.clone_from(&after);
        }
        assert!(
            before == after,
            "{name}: the record holds another verdict than its trials support"
        );
    }
}

#[test]
fn every_parameter_is_in_the_man_page_and_in_the_completions() {
    let folder = tempfile::tempdir().unwrap();
    printed(&["generate", "man", folder.path().to_str().unwrap()], 0);
    let completions =
        ["bash", "zsh", "fish"].map(|shell| printed(&["generate", "completions", shell], 0));
    for scenario in scenarios::ALL {
        let page = format!("tailback-run-{}.1", scenario.meta().id);
        let man = std::fs::read_to_string(folder.path().join(page)).unwrap();
        assert_parameters(scenario.meta(), &man, &completions);
    }
}

#[test]
fn every_command_has_a_man_page_and_is_completed() {
    let folder = tempfile::tempdir().unwrap();
    printed(&["generate", "man", folder.path().to_str().unwrap()], 0);
    let completions =
        ["bash", "zsh", "fish"].map(|shell| printed(&["generate", "completions", shell], 0));
    let help = printed(&["--help"], 0);
    let commands = help.split("Options:").next().unwrap().lines();
    let commands = commands.filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next());
    let commands: Vec<&str> = commands.collect();
    assert!(commands.len() > 10, "{commands:?}");
    for command in commands {
        let page = folder.path().join(format!("tailback-{command}.1"));
        let man = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{page:?}: {e}"));
        let flags = printed(&[command, "--help"], 0);
        let long = flags.split_whitespace().filter_map(|word| word.strip_prefix("--"));
        for flag in long.filter(|flag| flag.chars().all(|c| c.is_ascii_lowercase() || c == '-')) {
            let escaped = format!("\\-\\-{}", flag.replace('-', "\\-"));
            assert!(flag.is_empty() || man.contains(&escaped), "--{flag} is not in {page:?}");
        }
        assert!(completions.iter().all(|text| text.contains(command)), "{command}");
    }
}

#[test]
fn each_page_about_a_scenario_is_of_one_that_exists() {
    let docs = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let pages = std::fs::read_dir(docs.join("scenarios")).unwrap();
    for page in pages {
        let id = page.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned();
        assert!(scenarios::find(&id).is_some(), "docs/scenarios/{id}.md is of no scenario");
    }
}

fn assert_parameters(meta: &model::Meta, man: &str, completions: &[String]) {
    for name in (meta.parameters.all)().iter().map(|parameter| parameter.name) {
        let escaped = format!("\\-\\-{}", name.replace('-', "\\-"));
        assert!(man.contains(&escaped), "{name} is not in the man page");
        for text in completions {
            assert!(text.contains(name), "{name} is not in the completions");
        }
    }
}
