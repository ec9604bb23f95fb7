//! The dependencies between the crates are the arrows of ARCHITECTURE.md. The files of a crate
//! import from each other in one direction only.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[path = "common/imports.rs"]
mod imports;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// The crates that the binary may use. The fuzzer may call into each of these, and into `beam`.
const BINARY: &[&str] = &[
    "analysis",
    "bisect",
    "census",
    "dist",
    "guest",
    "host",
    "load",
    "model",
    "os",
    "probe",
    "report",
    "rows",
    "runner",
    "scenarios",
    "sim",
    "watch",
];

/// Each other crate, and which of our crates it may use.
const ARROWS: &[(&str, &[&str])] = &[
    ("tailback-census", &["analysis", "model", "os"]),
    ("tailback-rows", &["census", "model", "os"]),
    ("tailback-runner", &["model", "os", "scenarios"]),
    ("tailback-watch", &["beam", "dist", "host", "model", "os", "probe", "scenarios"]),
    ("tailback-scenarios", &["analysis", "beam", "host", "load", "model", "os", "probe"]),
    ("tailback-guest", &["debian", "host", "model", "os"]),
    ("tailback-report", &["model", "os", "scenarios", "watch"]),
    ("tailback-analysis", &["model"]),
    ("tailback-bisect", &[]),
    ("tailback-dist", &["beam", "model", "os"]),
    ("tailback-beam", &["debian", "host", "os"]),
    ("tailback-debian", &["host", "os"]),
    ("tailback-host", &["model", "os"]),
    ("tailback-probe", &["host", "model", "os"]),
    ("tailback-load", &["os"]),
    ("tailback-sim", &["model"]),
    ("tailback-torture", &["os"]),
    ("tailback-truth", &["analysis", "host", "model", "os", "runner", "scenarios"]),
    // Only to quote text, and to refuse text that would steer a terminal. It asks the system for
    // nothing.
    ("tailback-model", &["os"]),
    ("tailback-os", &[]),
    // Only for tests, so no crate may depend on it outside of tests.
    ("tailback-testing", &[]),
];

/// All allowed dependencies, by the name of the crate.
fn allowed() -> BTreeMap<&'static str, BTreeSet<String>> {
    let fuzzer = [BINARY, &["beam"]].concat();
    let users = [("tailback", BINARY), ("tailback-fuzz", fuzzer.as_slice())];
    let crates = ARROWS.iter().copied().chain(users);
    crates
        .map(|(name, uses)| (name, uses.iter().map(|to| format!("tailback-{to}")).collect()))
        .collect()
}

#[test]
fn no_crate_uses_another_that_it_may_not() {
    let allowed = allowed();
    let packages = packages();
    let names: BTreeSet<&str> = packages.iter().filter_map(|p| p["name"].as_str()).collect();
    assert_eq!(names, allowed.keys().copied().collect(), "a crate without its row here");
    for package in &packages {
        let name = package["name"].as_str().unwrap();
        let used: BTreeSet<String> = dependencies(package, &names);
        let wrong: Vec<&String> = used.difference(&allowed[name]).collect();
        assert!(wrong.is_empty(), "{name} may not use {wrong:?}; see ARCHITECTURE.md");
    }
}

#[test]
fn the_files_of_a_crate_import_from_each_other_in_one_direction() {
    let mut found = String::new();
    for package in &packages() {
        let manifest = Path::new(package["manifest_path"].as_str().unwrap());
        let src = manifest.with_file_name("src");
        let files = imports::arrows(&src);
        let mut levels = vec![files.clone()];
        // The commands of the binary are part of its command line, and some of them print it.
        if src.join("lib.rs").exists() {
            levels.push(imports::by_folder(&files));
        }
        for arrows in levels {
            for circle in imports::circles(&arrows) {
                let lines = imports::describe(&circle, &arrows);
                found += &format!("{}:\n{lines}", package["name"]);
            }
        }
    }
    assert!(found.is_empty(), "files that import from each other in circles:\n{found}");
}

#[test]
fn circles_are_found_by_what_is_imported() {
    let circles = |files: &[(&str, &str)]| circles_in(&arrows_of(files));
    let root = ("lib.rs", "mod a;\nmod b;\npub use b::B;");
    assert_eq!(
        circles(&[root, ("a.rs", "use crate::b::B;"), ("b.rs", "use super::a::A;")]),
        ["a b"]
    );
    // An item that the root re-exports belongs to b.
    assert_eq!(
        circles(&[root, ("a.rs", "use crate::B;"), ("b.rs", "fn f() { crate::a::g() }")]),
        ["a b"]
    );
    let parent = ("a/mod.rs", "mod c;\npub(crate) use c::C;\npub struct A;");
    let child = ("a/c.rs", "use super::{A as Other, d::{self, D}};");
    assert!(circles(&[root, parent, child, ("b.rs", "use std::a::A;")]).is_empty());
    let parent = ("a/mod.rs", "mod c;\npub use c::C;\npub struct A(C);");
    assert_eq!(circles(&[root, parent, child]), ["a a::c"]);
    let tests =
        "#[cfg(test)]\nmod c;\n#[cfg(test)]\nmod tests { use super::b::B; }\n// crate::b::B";
    assert!(
        circles(&[
            root,
            ("a.rs", tests),
            ("a/c.rs", "use crate::b::B;"),
            ("b.rs", "use crate::a::A;")
        ])
        .is_empty()
    );
}

#[test]
fn circles_of_folders_are_found_also_through_items_of_other_crates() {
    let root = ("lib.rs", "mod a;\nmod b;\npub use other::Other;");
    let parent = ("a/mod.rs", "mod c;\nmod kind;\npub use kind::Kind;");
    let kind = ("a/kind.rs", "pub use other::Kind;");
    let error = ("a/c.rs", "use crate::b::B;");
    let user = ("b.rs", "use crate::a::Kind;");
    let arrows = arrows_of(&[root, parent, kind, error, user]);
    assert!(circles_in(&arrows).is_empty());
    assert_eq!(circles_in(&imports::by_folder(&arrows)), ["a b"]);
    // An item of another crate that the root re-exports belongs to the file that uses it.
    let user = ("b.rs", "use crate::Other;");
    let arrows = arrows_of(&[root, parent, kind, error, user]);
    assert!(circles_in(&imports::by_folder(&arrows)).is_empty());
}

fn arrows_of(files: &[(&str, &str)]) -> imports::Arrows {
    imports::arrows(testing::Tree::new(files).root())
}

fn circles_in(arrows: &imports::Arrows) -> Vec<String> {
    let name = |circle: &BTreeSet<imports::Module>| {
        circle.iter().map(|module| module.join("::")).collect::<Vec<_>>().join(" ")
    };
    imports::circles(arrows).iter().map(name).collect()
}

fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Our crates among the ordinary dependencies. Tests may use any crate.
fn dependencies(package: &serde_json::Value, ours: &BTreeSet<&str>) -> BTreeSet<String> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|name| ours.contains(name))
        .map(str::to_owned)
        .collect()
}
