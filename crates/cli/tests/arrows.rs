//! The arrows between the crates are those of ARCHITECTURE.md.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Each crate, and which of ours it may use.
const ARROWS: &[(&str, &[&str])] = &[
    (
        "tailback",
        &[
            "analysis",
            "guest",
            "host",
            "load",
            "model",
            "probe",
            "report",
            "runner",
            "scenarios",
            "sim",
        ],
    ),
    ("tailback-runner", &["model", "scenarios"]),
    ("tailback-scenarios", &["analysis", "beam", "host", "load", "model", "probe"]),
    ("tailback-guest", &["host", "model"]),
    ("tailback-report", &["model"]),
    ("tailback-analysis", &["model"]),
    ("tailback-beam", &["host", "model"]),
    ("tailback-host", &["model"]),
    ("tailback-probe", &["host", "model"]),
    ("tailback-load", &[]),
    ("tailback-sim", &["model"]),
    ("tailback-truth", &["analysis", "host", "model", "scenarios"]),
    ("tailback-model", &[]),
];

#[test]
fn no_crate_uses_another_that_it_may_not() {
    let allowed: BTreeMap<&str, BTreeSet<String>> = ARROWS
        .iter()
        .map(|(name, uses)| (*name, uses.iter().map(|to| format!("tailback-{to}")).collect()))
        .collect();
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

fn packages() -> Vec<serde_json::Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Ours among the ordinary dependencies; tests may use what they like.
fn dependencies(package: &serde_json::Value, ours: &BTreeSet<&str>) -> BTreeSet<String> {
    let all = package["dependencies"].as_array().unwrap().iter();
    all.filter(|dependency| dependency["kind"].is_null())
        .filter_map(|dependency| dependency["name"].as_str())
        .filter(|name| ours.contains(name))
        .map(str::to_owned)
        .collect()
}
