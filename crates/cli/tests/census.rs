//! `tailback census`, and what it takes: briefs, records, a fleet of which the truth is known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, packed};
use model::Census;
use model::census::Why;

/// A fleet in a file of this place.
fn simulated(place: &Place, args: &[&str]) -> std::path::PathBuf {
    let ran = place.run(place.tailback(&[&["sim", "fleet"], args].concat()));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.err.contains("lines that are no record"), "{ran:?}");
    let path = place.path("fleet.jsonl");
    std::fs::write(&path, ran.out).unwrap();
    path
}

fn json(place: &Place, args: &[&str]) -> Census {
    let ran = place.run(place.tailback(&[&["census", "--json"], args].concat()));
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn a_page_of_a_terminal_says_what_tells_hosts_apart() {
    let place = Place::new();
    let fleet = simulated(&place, &["--hosts", "3000", "--seed", "2", "--plant"]);
    let fleet = fleet.to_str().unwrap();
    let page = place.path("page.html");
    let ran = place.run(place.tailback(&["census", fleet, "--page", page.to_str().unwrap()]));
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.lines().count() <= 20, "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let one_line = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(one_line.contains("kernel 6.1") && one_line.contains("HZ 250"), "{}", ran.out);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("kernel 6.1") && !page.contains("<script"));
    // It has as many lines as there are groups, and no more of more hosts.
    assert!(page.len() < 64 << 10, "{} bytes", page.len());
    // The same fleet gives the same answer.
    let again = place.run(place.tailback(&["census", fleet]));
    assert_eq!(again.out, ran.out);
}

#[test]
fn hosts_of_the_inventory_and_changes_since_the_last_census_are_told() {
    let place = Place::new();
    let fleet = simulated(&place, &["--hosts", "200"]);
    let fleet = fleet.to_str().unwrap();
    let before = place.path("before.json");
    let ran = place.run(place.tailback(&["census", "--json", fleet]));
    std::fs::write(&before, ran.out).unwrap();
    let hosts = place.path("hosts");
    std::fs::write(&hosts, "# all\nhost0000000\nhost0000001 # the second\n\nnowhere\n").unwrap();
    let census = json(
        &place,
        &[fleet, "--hosts", hosts.to_str().unwrap(), "--since", before.to_str().unwrap()],
    );
    assert_eq!(census.unreachable.unwrap().count, 1);
    assert_eq!(census.not_in_inventory.unwrap().count, 198);
    let since = census.since.unwrap();
    assert!(since.scenarios.is_empty() && since.new.count + since.gone.count == 0);
    let wrong = place.run(place.tailback(&["census", fleet, "--since", fleet]));
    assert_eq!(wrong.code(), 2, "{wrong:?}");
    assert_eq!(wrong.err.lines().count(), 1, "{wrong:?}");
}

#[test]
fn records_and_briefs_of_them_are_one_fleet() {
    let place = Place::new();
    let record = place.golden("mmap-lock");
    let brief = place.run(place.tailback(&[
        "export",
        "--format",
        "brief",
        "--host-name",
        "web1",
        record.to_str().unwrap(),
    ]));
    assert_eq!(brief.code(), 0, "{brief:?}");
    let path = place.path("brief.json");
    std::fs::write(&path, &brief.out).unwrap();
    let list = place.path("list.json");
    let text = packed::read(&packed::golden("mmap-lock.quiet"));
    std::fs::write(&list, format!("[{text}]")).unwrap();
    let names = [&record, &path, &list].map(|path| path.to_str().unwrap().to_owned());
    let census = json(&place, &names.each_ref().map(String::as_str));
    assert_eq!((census.hosts, census.read.records, census.read.briefs), (3, 2, 1));
    let hosts = census.scenarios[0].hosts;
    assert_eq!((hosts.affected, hosts.clear), (2, 1));
    assert!(census.set_aside.is_empty(), "{:?}", census.set_aside);
    // A brief that says otherwise than its counts is not believed.
    let liar = brief.out.replacen("\"state\":\"affected\"", "\"state\":\"not-affected\"", 1);
    assert_ne!(liar, brief.out);
    std::fs::write(&path, liar).unwrap();
    let census = json(&place, &[path.to_str().unwrap()]);
    assert_eq!(census.scenarios[0].hosts.untrustworthy, 1);
    assert_eq!(census.set_aside[0].why, Why::Contradictory);
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let place = Place::new();
    for (args, what) in [
        (vec!["census", "/nonexistent"], "/nonexistent"),
        (vec!["census", "-", "--hosts", "/nonexistent"], "--hosts"),
        (vec!["identify", "--hash-host-name", "/nonexistent"], "--hash-host-name"),
        (vec!["identify", "--host-name", ""], "--host-name"),
    ] {
        let ran = place.run(place.tailback(&args));
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert!(ran.err.contains(what) && ran.err.lines().count() == 1, "{ran:?}");
    }
}

#[test]
fn a_machine_is_identified_by_its_name_or_a_hash_of_it() {
    let place = Place::new();
    let salt = place.path("salt");
    std::fs::write(&salt, "sixteen bytes at least\n").unwrap();
    let of = |args: &[&str]| {
        let ran = place.run(place.tailback(&[&["identify", "--json"], args].concat()));
        assert_eq!(ran.code(), 0, "{ran:?}");
        serde_json::from_str::<model::identity::Identified>(&ran.out).unwrap()
    };
    let plain = of(&["--host-name", "web1"]);
    assert_eq!(plain.host.text(), "web1");
    let hashed = of(&["--host-name", "web1", "--hash-host-name", salt.to_str().unwrap()]);
    assert_eq!((hashed.host.text().len(), &hashed.identity), (32, &plain.identity));
    assert!(!plain.identity.kernel.is_empty());
}

/// Neither the salt nor a name that it hides stands in anything that a census prints or writes.
#[test]
fn a_salt_stays_a_secret() {
    let place = Place::new();
    let (salt, secret) = (place.path("salt"), "a-secret-of-many-bytes");
    std::fs::write(&salt, format!("{secret}\n")).unwrap();
    let salt = ["--hash-host-name", salt.to_str().unwrap()];
    let record = place.golden("mmap-lock");
    let brief = ["export", "--format", "brief", "--host-name", "web-hidden-7"];
    let ran = place.say(&[&brief, &salt[..], &[record.to_str().unwrap()]].concat());
    assert_eq!(ran.code(), 0, "{ran:?}");
    let path = place.path("fleet.jsonl");
    std::fs::write(&path, &ran.out).unwrap();
    let inventory = place.path("inventory");
    std::fs::write(&inventory, "web-hidden-7\nweb-hidden-8\n").unwrap();
    let hosts = [path.to_str().unwrap(), "--hosts", inventory.to_str().unwrap()];
    let rows = place.path("rows");
    let mut all = vec![ran.out];
    for more in [
        vec![],
        vec!["--why"],
        vec!["--json"],
        vec!["--page", "-", "--parquet", rows.to_str().unwrap()],
        vec!["--format", "kcidb"],
        vec!["--format", "junit"],
        vec!["--format", "openmetrics"],
    ] {
        let ran = place.say(&[&["census"], &hosts[..], &salt[..], &more[..]].concat());
        assert_eq!(ran.code(), 1, "{ran:?}");
        all.extend([ran.out, ran.err]);
    }
    let bytes = |path: &std::path::Path| {
        String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
    };
    let mut folders = vec![rows];
    while let Some(folder) = folders.pop() {
        for entry in common::files(&folder) {
            if entry.is_dir() { folders.push(entry) } else { all.push(bytes(&entry)) }
        }
    }
    for text in &all {
        assert!(!text.contains(secret) && !text.contains("web-hidden"), "{text}");
    }
    // It is counted all the same, and the other one is missed.
    assert!(all.iter().any(|text| text.contains("unreachable: 1 host")), "{all:?}");
}

#[test]
fn a_brief_of_a_run_is_one_line_that_census_takes() {
    let place = Place::new();
    let args =
        ["run", "mmap-lock", "--brief", "--host-name", "web1", "--samples", "1", "--no-probe"];
    let ran = place.run(place.tailback(&args));
    assert!([0, 1, 3, 4].contains(&ran.code()), "{ran:?}");
    assert_eq!(ran.out.lines().count(), 1, "{ran:?}");
    let brief: model::Brief = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(brief.host.unwrap().text(), "web1");
    assert!(ran.out.len() <= model::brief::MOST_BYTES);
    let path = place.path("web1.json");
    std::fs::write(&path, &ran.out).unwrap();
    let census = json(&place, &[path.to_str().unwrap()]);
    assert_eq!((census.hosts, census.read.briefs), (1, 1));
    assert!(census.set_aside.is_empty(), "{:?}", census.set_aside);
}
