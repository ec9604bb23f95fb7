//! The packages name everything that is linked into the binary, each with its licence text.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Linked parts that are not crates, each with a line of every licence that it is under.
const OTHERS: &[(&str, &[&str])] = &[
    ("libbpf", &["Redistribution and use in source and binary forms"]),
    ("libelf (elfutils)", &["GNU LESSER GENERAL PUBLIC LICENSE", "GNU GENERAL PUBLIC LICENSE"]),
    ("zlib", &["Jean-loup Gailly"]),
    ("glibc", &["GNU LESSER GENERAL PUBLIC LICENSE"]),
    ("libgcc", &["GNU GENERAL PUBLIC LICENSE", "GCC RUNTIME LIBRARY EXCEPTION"]),
    ("programs for the kernel", &["GNU GENERAL PUBLIC LICENSE", "Redistribution and use"]),
    ("Rust's standard library", &["Permission is hereby granted", "Apache License"]),
    ("Rust's standard library and its parts", &["In-tree files", "Out-of-tree dependencies"]),
];

/// The line between two texts.
fn rule() -> String {
    format!("\n{}\n", "-".repeat(100))
}

/// A text and its owners.
struct Text<'a> {
    whose: Vec<&'a str>,
    text: &'a str,
}

fn texts(notices: &str) -> Vec<Text<'_>> {
    let rule = rule();
    let sections = notices.split(rule.as_str()).skip(1);
    let parts = sections.map(|section| section.split_once("\n\n").unwrap());
    parts
        .map(|(head, text)| Text {
            whose: head.lines().map(|line| line.strip_prefix("# ").unwrap()).collect(),
            text,
        })
        .collect()
}

fn in_the_repository(program: &str) -> Command {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap();
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

fn output(command: &mut Command) -> String {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {said}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The target that `make` builds for.
fn target() -> String {
    let version = output(in_the_repository("rustc").arg("-vV"));
    version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap().to_owned()
}

/// The linked crates, as cargo lists them: `name-version`.
fn linked(target: &str) -> BTreeSet<String> {
    let mut tree = in_the_repository(env!("CARGO"));
    tree.args(["tree", "--locked", "--offline", "-p", "tailback", "-e", "normal,no-proc-macro"]);
    tree.args(["--target", target, "--prefix", "none", "--format", "{p}"]);
    let tree = output(&mut tree);
    let others = tree.lines().filter(|line| !line.contains("(/"));
    others
        .map(|line| {
            let mut words = line.split(' ');
            format!("{}-{}", words.next().unwrap(), &words.next().unwrap()[1..])
        })
        .collect()
}

#[test]
fn everything_that_is_linked_is_named_and_has_its_licence() {
    let target = target();
    let notices = output(in_the_repository("scripts/licences").arg(&target));
    let texts = texts(&notices);
    let linked = linked(&target);
    assert!(linked.len() > 100, "{linked:?}");
    let list = notices.split(&rule()).next().unwrap();
    let named: BTreeSet<&str> =
        list.lines().filter_map(|line| line.strip_prefix("  ")?.split(' ').next()).collect();
    let of = |owner: &str| {
        // After the name may come the package of a text, or the reason for this text.
        let is = |whose: &&str| {
            whose.strip_prefix(owner).is_some_and(|rest| {
                rest.is_empty() || rest.starts_with(", ") || rest.starts_with(" (taken")
            })
        };
        let texts = texts.iter().filter(|text| text.whose.iter().any(is));
        texts.map(|text| text.text).collect::<Vec<&str>>()
    };
    for name in &linked {
        assert!(named.contains(name.as_str()), "{name} is not named");
        assert!(of(name).iter().any(|text| text.len() > 100), "{name} has no text");
    }
    for (owner, parts) in OTHERS {
        let text = of(owner).concat();
        for part in *parts {
            assert!(text.contains(part), "{owner} lacks the text with {part:?}");
        }
    }
}
