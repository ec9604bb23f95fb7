//! Censuses of many hosts. Here is what all of these tests share.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use census::simulated::{self, SCENARIO, Truth, World};
use census::summary::{self, Listed};
use census::{Fleet, Hashing, Options, Verdicts};
use flate2::Compression;
use flate2::write::GzEncoder;
use model::census::{Factor, ScenarioCensus, Side, Telling, Why};
use model::testing::{facts, plan, trial};
use model::{Census, Facts, Headline, Judged, Judgement, Role, State, Vm};
use std::io::Write;
use std::path::{Path, PathBuf};

mod files;
mod hosts;
mod known_truth;
mod records;

/// 2026-12-01: later than all simulated records with a right clock.
const NOW: i64 = 1_796_083_200;

/// A census of the simulated scenario alone.
const OPTIONS: Options = Options {
    scenarios: &[SCENARIO],
    judge: by_hangs,
    now: NOW,
    threads: 1,
    trials: None,
    hashing: None,
};

/// A judge for which a host is affected if any trial hung.
fn by_hangs(facts: &Facts) -> Judgement {
    let hung = facts.trials.iter().any(|trial| trial.observation.hang);
    let state = if hung { State::Affected } else { State::NotAffected };
    Judgement::new(state, Headline::NotMeasured)
}

fn lines(world: World) -> (Vec<u8>, Truth) {
    let mut lines = Vec::new();
    let truth = simulated::write(world, &mut lines).unwrap();
    (lines, truth)
}

fn fleet(paths: &[PathBuf], threads: usize) -> Fleet {
    let scenarios = &["cpu-quota", SCENARIO];
    let options = Options { scenarios, threads, ..OPTIONS };
    census::read(paths, options, &mut |_| {}).unwrap()
}

fn taken(fleet: &Fleet, inventory: Option<&[Listed]>, before: Option<&Census>) -> Census {
    summary::census(fleet, inventory, before, "1", "2026-12-01T00:00:00Z")
}

/// An inventory of `hosts` hosts with their owners.
fn inventory(hosts: u32, owner: impl Fn(u32) -> Option<String>) -> Vec<Listed> {
    let listed = |host| Listed { name: format!("host{host:07}"), owner: owner(host) };
    (0..hosts).map(listed).collect()
}

/// The census of some lines.
fn of(folder: &Path, lines: &[u8]) -> Census {
    let path = folder.join("fleet.jsonl");
    std::fs::write(&path, lines).unwrap();
    taken(&fleet(&[path], 2), None, None)
}

fn scenario(census: &Census) -> &ScenarioCensus {
    census.scenarios.iter().find(|one| one.scenario == SCENARIO).unwrap()
}

/// The host of a brief record.
fn host(line: &[u8]) -> String {
    let text = std::str::from_utf8(line).unwrap();
    text.split("\"name\":\"").nth(1).unwrap()[..11].to_owned()
}

fn count(census: &Census, whys: &[Why]) -> u64 {
    let counted = census.set_aside.iter().filter(|one| whys.contains(&one.why));
    counted.map(|one| one.count).sum()
}

/// Brief records of host a, which is clear, and of host b, which is affected, and a record from a
/// day later that claims that b is clear.
fn two_hosts() -> [String; 3] {
    let quiet = World {
        hostile: 0.0,
        duplicates: 0.0,
        liars: 0.0,
        wrong_clocks: 0.0,
        ..World::of(200, 3, true)
    };
    let text = String::from_utf8(lines(quiet).0).unwrap();
    let of = |state: &str, host: &str, day: u32| {
        let is = format!("\"state\":\"{state}\"");
        let line = text.lines().find(|line| line.contains(&is)).unwrap();
        let mut brief: serde_json::Value = serde_json::from_str(line).unwrap();
        brief["host"] = serde_json::json!({ "name": host });
        brief["started"] = format!("2026-11-{day:02}T00:00:00Z").into();
        format!("{brief}\n")
    };
    [of("not-affected", "a", 1), of("affected", "b", 1), of("not-affected", "b", 2)]
}

/// Writes a file, with the folders above it.
fn write_below(folder: &Path, name: &str, bytes: &[u8]) {
    let path = folder.join(name);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

/// An archive of these files, by name and text.
fn tar(files: &[(&str, &str)]) -> Vec<u8> {
    let mut writer = tar::Builder::new(Vec::new());
    for (name, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        writer.append_data(&mut header, name, text.as_bytes()).unwrap();
    }
    writer.into_inner().unwrap()
}
