//! Alerts, dashboard and runbooks: they name only metrics that `watch --listen` serves, and they
//! cover every finding. The plugin of node-problem-detector runs, and says what its file expects.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, readers};
use model::{Live, State};
use report::export::node_problem;
use report::export::totals::{Totals, ending};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap()
}

/// The names of all metrics, without labels.
fn served() -> BTreeSet<String> {
    let text = Totals::default().text(&Live::default()) + &ending(Duration::ZERO);
    let types = text.lines().filter_map(|line| line.strip_prefix("# TYPE "));
    let name = |line: &str| {
        let (name, kind) = line.split_once(' ').unwrap();
        if kind == "counter" { format!("{name}_total") } else { name.to_owned() }
    };
    types.map(name).collect()
}

/// The metrics of `watch` that a text names.
fn spoken_of(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_part(c));
    words.filter(|word| word.starts_with("tailback_watch_")).map(str::to_owned).collect()
}

#[test]
fn the_alerts_link_to_runbooks_where_the_package_puts_them() {
    let rules = read("debian/rules");
    let docs = rules.lines().find(|line| line.trim().starts_with("dh_installdocs ")).unwrap();
    assert!(docs.split_whitespace().any(|word| word == "docs"), "{docs}");
    let alerts = read("deploy/prometheus/tailback.rules.yml");
    let urls = alerts.lines().filter_map(|line| line.trim().strip_prefix("runbook_url: "));
    let urls: Vec<&str> = urls.collect();
    assert_eq!(urls.len(), 6);
    for url in urls {
        let path = url.strip_prefix("file:///usr/share/doc/tailback/").unwrap();
        let path = path.replace("{{ $labels.stall }}", "cpu-quota");
        assert!(root().join(path).is_file(), "{url}");
    }
}

#[test]
fn every_metric_that_is_spoken_of_is_served_and_the_page_has_them_all() {
    let served = served();
    assert!(served.len() > 10, "{served:?}");
    for path in [
        "deploy/prometheus/tailback.rules.yml",
        "deploy/prometheus/tailback.rules.test.yml",
        "deploy/grafana/tailback-watch.json",
        "docs/watch.md",
    ] {
        let spoken_of = spoken_of(&read(path));
        assert!(spoken_of.is_subset(&served), "{path}: {:?}", &spoken_of - &served);
        assert!(!spoken_of.is_empty(), "{path}");
    }
    let missing = &served - &spoken_of(&read("docs/watch.md"));
    assert!(missing.is_empty(), "docs/watch.md does not speak of {missing:?}");
    let drawn = spoken_of(&read("deploy/grafana/tailback-watch.json"));
    assert!(drawn.len() > 8, "{drawn:?}");
}

/// The queries of the dashboard, with their legends.
fn queries() -> Vec<(String, String)> {
    let text = read("deploy/grafana/tailback-watch.json");
    let board: Value = serde_json::from_str(&text).unwrap();
    let panels = board["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let word = |target: &Value, key: &str| target[key].as_str().unwrap().to_owned();
    let all: Vec<_> =
        targets.map(|target| (word(target, "expr"), word(target, "legendFormat"))).collect();
    assert!(all.len() > 10, "{all:?}");
    all
}

#[test]
fn prometheus_reads_every_query_of_the_dashboard() {
    let Some(folder) = readers::fetched("need-prometheus") else { return };
    let check = |queries: &[String]| {
        let rules: Vec<Value> = queries
            .iter()
            .enumerate()
            .map(|(number, query)| json!({ "record": format!("query_{number}"), "expr": query }))
            .collect();
        let place = Place::new();
        let file = place.path("rules.yml");
        // JSON is YAML too.
        let text = json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string();
        std::fs::write(&file, text).unwrap();
        let mut promtool = Command::new(Path::new(&folder).join("bin/promtool"));
        promtool.args(["check", "rules"]).arg(&file).output().unwrap()
    };
    // Grafana puts these in.
    let put_in = |query: &str| query.replace("$instance", ".*").replace("$__rate_interval", "5m");
    let all: Vec<String> = queries().iter().map(|(query, _)| put_in(query)).collect();
    let ran = check(&all);
    assert!(ran.status.success(), "{ran:?}");
    assert!(!check(&[format!("{} by", all[0])]).status.success());
}

#[test]
fn every_legend_of_the_dashboard_names_labels_that_its_query_keeps() {
    for (query, legend) in queries() {
        // A query that adds nothing up keeps the host.
        let by = query.split_once(" by (").map_or("instance", |(_, rest)| rest);
        let kept: Vec<&str> = by.split(')').next().unwrap().split(", ").collect();
        for label in legend.split("{{").skip(1) {
            let label = label.split("}}").next().unwrap();
            assert!(kept.contains(&label), "{legend}: {query}");
        }
    }
}

/// For a while after the pod of `watch` was restarted, each group has a series from both pods, and
/// their names of the group may differ. A join that meets both fails.
#[test]
fn every_join_with_the_names_of_groups_works_after_a_restarted_pod() {
    for (path, count) in [
        ("deploy/prometheus/tailback.rules.yml", 2),
        ("deploy/grafana/tailback-watch.json", 3),
        ("docs/watch.md", 1),
    ] {
        let words: Vec<String> = read(path).split_whitespace().map(str::to_owned).collect();
        let text = words.join(" ");
        let joins = text.split("group_left (").skip(1).filter_map(|rest| rest.split_once(") "));
        // A join that adds no label is one between rules, which are without pods.
        let joined: Vec<&str> =
            joins.filter(|(labels, _)| !labels.is_empty()).map(|(_, joined)| joined).collect();
        assert_eq!(joined.len(), count, "{path}");
        for one in joined {
            let wanted = "topk by (job, instance, group) (1, tailback_watch_group_info";
            assert!(one.starts_with(wanted), "{path}: {one:.100}");
        }
    }
}

#[test]
fn every_finding_has_a_runbook_of_the_same_form() {
    let stalls: BTreeSet<String> =
        watch::findings::samples().into_iter().map(|finding| finding.stall).collect();
    assert!(stalls.len() > 15, "{stalls:?}");
    let index = read("docs/runbooks/README.md");
    for stall in &stalls {
        let page = read(&format!("docs/runbooks/{stall}.md"));
        let parts: Vec<&str> = page.lines().filter(|line| line.starts_with('#')).collect();
        assert!(parts[0].starts_with(&format!("# {stall}: ")), "{stall}: {parts:?}");
        let form = ["## Confirm it", "## Now", "## For good", "## When it is a false alarm"];
        assert_eq!(parts[1..], form, "{stall}");
        let commands = page.split("```").nth(1).unwrap().trim().lines().count();
        assert_eq!(commands, 2, "{stall} is confirmed by two commands");
        assert!(index.contains(&format!("[{stall}]({stall}.md)")), "{stall} is not in the index");
    }
    let pages = common::files(&root().join("docs/runbooks"));
    assert_eq!(pages.len(), stalls.len() + 2, "{pages:?}");
}

#[test]
fn the_alerts_fire_when_they_should() {
    let Some(folder) = readers::fetched("need-prometheus") else { return };
    for words in [
        ["check", "rules", "tailback.rules.yml"],
        ["test", "rules", "tailback.rules.test.yml"],
        ["check", "config", "scrape.hosts.yml"],
    ] {
        let mut promtool = Command::new(Path::new(&folder).join("bin/promtool"));
        promtool.args(words).current_dir(root().join("deploy/prometheus"));
        let ran = promtool.output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    }
}

/// Made-up alerts: for each case, a few that are to be held back and a few that only look
/// similar.
#[test]
fn alerts_about_effects_are_kept_back_and_no_others() {
    if !testing::root_or_skip() || readers::fetched("need-prometheus").is_none() {
        return;
    }
    let ran = Command::new(root().join("scripts/inhibition")).output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    assert!(String::from_utf8_lossy(&ran.stdout).contains("kept back: "), "{ran:?}");
}

/// node-problem-detector does not start if the program of a rule is no file, or if its condition
/// has no default. It takes 0 for no problem, 1 for a problem, and all other codes for unknown.
#[test]
fn node_problem_detector_can_use_its_file() {
    let text = read("docs/node-problem-detector.json");
    let plugin: Value = serde_json::from_str(&text).unwrap();
    let config = &plugin["pluginConfig"];
    let [rule] = &plugin["rules"].as_array().unwrap()[..] else { panic!("{plugin}") };
    assert_eq!(plugin["plugin"], "custom");
    assert_eq!(rule["type"], "permanent");
    assert_eq!(rule["condition"], plugin["conditions"][0]["type"]);
    // A rule may take no longer than all rules.
    assert_eq!(rule["timeout"], config["timeout"]);
    // Else the names of the first stall would stay for as long as there is any.
    assert_eq!(config["enable_message_change_based_condition_update"], true);
    let most = config["max_output_length"].as_u64().unwrap();
    let many = [("some-long-scenario", State::Affected); 30];
    assert!(node_problem::line(&many).trim_end().len() as u64 <= most);

    // The program and the folder of the timer.
    let unit = read("deploy/systemd/tailback-census.service");
    let program = rule["path"].as_str().unwrap();
    assert!(unit.contains(&format!("\nExecStart={program} check --brief ")), "{program}");
    let words: Vec<&str> =
        rule["args"].as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect();
    let [command, folder, ref options @ ..] = words[..] else { panic!("{words:?}") };
    assert!(unit.contains(&format!(" TAILBACK_INTO={folder}\n")), "{folder}");

    let place = Place::new();
    let own = place.path("fleet");
    let assert_says = |code: i32, line: &str| {
        let ran = place.say(&[&[command, own.to_str().unwrap()], options].concat());
        assert_eq!((ran.code(), ran.out.as_str()), (code, line), "{ran:?}");
        assert!(line.trim_end().len() as u64 <= most, "{line}");
    };
    // The timer has not run yet.
    assert_says(2, "");
    std::fs::create_dir(&own).unwrap();
    for (name, code, line) in
        [("mmap-lock.quiet", 0, "not-affected: 1\n"), ("mmap-lock", 1, "affected: mmap-lock\n")]
    {
        let record = place.golden(name);
        let words = ["export", "--format", "brief", "--host-name", "n1", record.to_str().unwrap()];
        std::fs::write(own.join("n1.jsonl"), place.say(&words).out).unwrap();
        assert_says(code, line);
    }
}
