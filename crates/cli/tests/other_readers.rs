//! The output of a census for other programs, read by those programs: Parquet, KCIDB's JSON made
//! from it, OpenMetrics, JUnit, and the line of node-problem-detector's plugin.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::readers::{python, read_with};
use common::{PATIENCE, Place, Running, packed};
use model::Census;
use model::census::Run;
use std::path::Path;
use std::time::Instant;

/// A folder with a simulated fleet, and three records with trials, one of them twice. Each host
/// has its own folder.
fn fleet(place: &Place) -> String {
    let folder = place.path("fleet");
    std::fs::create_dir(&folder).unwrap();
    let ran = place.say(&["sim", "fleet", "--hosts", "600", "--seed", "2", "--plant"]);
    // One folder per host. Lines that are no records go into no host's folder.
    for (number, line) in ran.out.lines().enumerate() {
        let name = line.split("\"name\":\"").nth(1).and_then(|rest| rest.split('"').next());
        let name = name.filter(|name| name.starts_with("host0") && name.len() == 11);
        let own = folder.join(name.unwrap_or("nobody"));
        std::fs::create_dir_all(&own).unwrap();
        std::fs::write(own.join(format!("{number}.jsonl")), line).unwrap();
    }
    for (host, name) in [("a1", "mmap-lock"), ("a2", "mmap-lock"), ("a3", "mmap-lock.quiet")] {
        let own = folder.join(host);
        std::fs::create_dir(&own).unwrap();
        std::fs::write(own.join("record.json"), packed::read(&packed::golden(name))).unwrap();
    }
    std::fs::copy(folder.join("a1/record.json"), folder.join("a1/again.json")).unwrap();
    folder.to_str().unwrap().to_owned()
}

fn json(place: &Place, args: &[&str]) -> Census {
    let ran = place.say(&[&["census", "--json"], args].concat());
    assert!([0, 1, 4].contains(&ran.code()), "{ran:?}");
    serde_json::from_str(&ran.out).unwrap()
}

#[test]
fn parquet_says_to_three_programs_which_kernel() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let (fleet, out) = (fleet(&place), place.path("rows"));
    let out = out.to_str().unwrap();
    let census = json(&place, &[&fleet, "--parquet", out]);
    let hosts = census.scenarios[0].hosts;
    let said = read_with(&python, "parquet.py", &[out]);
    let found: Vec<serde_json::Value> =
        said.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(found.len(), 3, "{said}");
    for one in &found {
        let rows = one["rows"].as_array().unwrap();
        let sum = |column: usize| rows.iter().filter_map(|row| row[column].as_u64()).sum::<u64>();
        assert_eq!((sum(1), sum(2)), (hosts.affected, hosts.affected + hosts.clear), "{one}");
        // The planted cause affects only kernel 6.1.
        assert_eq!(rows[0][0], "linux-6.1", "{one}");
        assert_eq!(one["trials"], found[0]["trials"]);
    }
    // Three studies count, each with its trials once.
    let golden = |name: &str| model::Facts::from_json(&packed::read(&packed::golden(name)));
    let (one, quiet) = (golden("mmap-lock").unwrap(), golden("mmap-lock.quiet").unwrap());
    let expected = 2 * one.trials.len() + quiet.trials.len();
    let trials = found[0]["trials"].as_array().unwrap();
    let counted: u64 = trials.iter().filter_map(|row| row[1].as_u64()).sum();
    assert_eq!(counted, expected as u64, "{trials:?}");
    assert!(trials.iter().all(|row| row[2].is_number() && row[3].is_string()), "{trials:?}");
}

#[test]
fn kcidb_takes_what_the_manual_makes_of_parquet() {
    let Some(python) = python() else { return };
    let place = Place::new();
    let (fleet, rows) = (fleet(&place), place.path("rows"));
    std::fs::write(place.path("inventory"), "host0000000\nnowhere1\nnowhere2\n").unwrap();
    let census = json(&place, &[fleet.as_str(), "--parquet", rows.to_str().unwrap()]);
    let said = read_with(&python, "kcidb.py", &[place.path("").to_str().unwrap()]);
    let counts: serde_json::Value = serde_json::from_str(&said).unwrap();
    let answers = census.scenarios[0].hosts;
    let expected = serde_json::json!({
        "FAIL": answers.affected,
        "ERROR": answers.untrustworthy,
        "MISS": 2,
        "PASS": answers.clear,
        "DONE": answers.inconclusive,
        "SKIP": answers.skipped,
    });
    assert_eq!(counts, expected);
}

#[test]
fn a_folder_of_parquet_is_whole_or_as_it_was() {
    let place = Place::new();
    let (fleet, out) = (fleet(&place), place.path("rows"));
    let run = |out: &Path| place.say(&["census", &fleet, "--parquet", out.to_str().unwrap()]);
    std::fs::create_dir(&out).unwrap();
    let ran = run(&out);
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.err.contains("parquet: 603 verdicts"), "{ran:?}");
    let names = |folder: &Path| {
        let mut files = common::files(folder);
        files.sort();
        files
    };
    assert_eq!(names(&out).len(), 1 + 2);
    // A second census replaces its own folder and leaves nothing beside it.
    let ran = run(&out);
    assert_eq!(ran.code(), 1, "{ran:?}");
    let hidden = |place: &Place| {
        let all = std::fs::read_dir(place.path("")).unwrap().flatten();
        all.filter(|entry| entry.file_name().to_string_lossy().starts_with('.')).count()
    };
    assert_eq!(hidden(&place), 0);
    // The rest of a killed census is removed. A folder in use by another process stays.
    let left = place.path(".rows.1.tailback.tmp");
    std::fs::create_dir_all(left.join("verdicts")).unwrap();
    assert_eq!(run(&out).code(), 1);
    assert_eq!(hidden(&place), 0);
    // A folder of others stays unchanged.
    for (name, inside) in [("foreign", "a.txt"), ("unmarked", "verdicts"), ("mixed", "_x")] {
        let other = place.path(name);
        std::fs::create_dir(&other).unwrap();
        std::fs::write(other.join(inside), "kept").unwrap();
        let ran = run(&other);
        assert_eq!(ran.code(), 2, "{ran:?}");
        assert!(
            ran.err.contains("not written by a census") && ran.err.lines().count() == 1,
            "{ran:?}"
        );
        assert_eq!(std::fs::read_to_string(other.join(inside)).unwrap(), "kept");
    }
    let ran = run(&place.path("no/such/folder"));
    assert_eq!((ran.code(), ran.err.lines().count()), (2, 1), "{ran:?}");
}

/// Killed at any moment, a census leaves the folder unchanged or complete. The next census
/// removes what the kill left beside it.
#[test]
fn a_killed_census_leaves_no_half_of_a_folder() {
    let place = Place::new();
    let (fleet, out, timed) = (fleet(&place), place.path("rows"), place.path("timed"));
    let args = ["census", &fleet, "--parquet", out.to_str().unwrap()];
    let whole = |folder: &Path| folder.join("_tailback.json").is_file();
    let kill = |running: Running<'_>, when: &dyn std::fmt::Debug| {
        running.signal(rustix::process::Signal::KILL);
        running.end();
        assert!(!out.exists() || whole(&out), "killed after {when:?}");
    };
    let began = Instant::now();
    assert_eq!(place.say(&["census", &fleet, "--parquet", timed.to_str().unwrap()]).code(), 1);
    let took = began.elapsed();
    // The kills are spread over a whole run.
    for wait in (0..12).map(|step| took * step / 12) {
        let running = place.start(place.tailback(&args));
        std::thread::sleep(wait);
        kill(running, &wait);
    }
    // These kills come when the hidden folder is there.
    let until = Instant::now() + PATIENCE;
    let mut found = 0;
    while found < 3 {
        assert!(Instant::now() < until, "no kill found the hidden folder");
        let mut running = place.start(place.tailback(&args));
        let hidden = place.path(&format!(".rows.{}.tailback.tmp", running.pid()));
        while !hidden.exists() && !running.has_ended() {
            std::thread::yield_now();
        }
        if hidden.exists() {
            kill(running, &"the hidden folder appeared");
            found += u32::from(hidden.exists());
        }
    }
    assert_eq!(place.say(&args).code(), 1);
    assert!(whole(&out));
    let all = std::fs::read_dir(place.path("")).unwrap().flatten();
    let hidden: Vec<_> = all
        .map(|entry| entry.file_name())
        .filter(|name| name.as_encoded_bytes()[0] == b'.')
        .collect();
    assert!(hidden.is_empty(), "{hidden:?}");
}

/// No file can grow beyond a few bytes, as on a full disk. One line reports that, and nothing is
/// left.
#[test]
fn a_full_disk_leaves_what_was_there() {
    let place = Place::new();
    let (fleet, out) = (fleet(&place), place.path("rows"));
    let limited = |args: &[&str]| {
        let words = "trap '' XFSZ; ulimit -f 1; exec \"$@\"";
        let mut command = place.program("bash");
        command.args(["-c", words, "bash", common::BINARY]).args(args);
        place.run(command)
    };
    let parquet = ["census", &fleet, "--parquet", out.to_str().unwrap()];
    let ran = limited(&parquet);
    assert_eq!((ran.code(), ran.err.lines().count()), (2, 1), "{ran:?}");
    assert!(ran.err.contains("--parquet") && ran.err.contains("too large"), "{ran:?}");
    assert!(!out.exists());
    assert_eq!(place.say(&parquet).code(), 1);
    let before = std::fs::read_to_string(out.join("_tailback.json")).unwrap();
    assert_eq!(limited(&parquet).code(), 2);
    assert_eq!(std::fs::read_to_string(out.join("_tailback.json")).unwrap(), before);
    let suite = place.path("junit.xml");
    let ran = limited(&["census", &fleet, "--format", "junit", "-o", suite.to_str().unwrap()]);
    assert_eq!((ran.code(), ran.err.lines().count()), (2, 1), "{ran:?}");
    assert!(!suite.exists());
    let all = std::fs::read_dir(place.path("")).unwrap().flatten();
    assert!(all.into_iter().all(|entry| entry.file_name().as_encoded_bytes()[0] != b'.'));
}

#[test]
fn ci_and_metrics_are_bounded_by_groups_and_scenarios() {
    let place = Place::new();
    let (fleet, inventory) = (fleet(&place), place.path("inventory"));
    std::fs::write(&inventory, "nowhere1\n").unwrap();
    let hosts = ["--hosts", inventory.to_str().unwrap()];
    let census = json(&place, &[&[fleet.as_str()], &hosts[..]].concat());
    let of = |format: &str| {
        let ran = place.say(&[&["census", &fleet, "--format", format], &hosts[..]].concat());
        assert_eq!(ran.code(), 1, "{ran:?}");
        ran.out
    };
    let metrics = of("openmetrics");
    let affected = census.scenarios[0].hosts.affected;
    let sample = "tailback_census_answers{scenario=\"mmap-lock\",state=\"affected\"}";
    assert!(metrics.contains(&format!("{sample} {affected}")), "{metrics}");
    assert!(metrics.contains("tailback_census_unreachable_hosts{} 1"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n") && metrics.lines().count() < 80, "{metrics}");
    let junit = of("junit");
    assert_eq!(junit.matches("<testcase").count(), census.groups.len() + 1, "{junit}");
    assert!(junit.contains("type=\"affected\"") && junit.contains("Told by: "), "{junit}");
    assert!(junit.contains("unreachable: 1 host: nowhere1"), "{junit}");
    let names: u64 = census.groups.iter().flat_map(|g| &g.hosts.names).map(Run::len).sum();
    assert_eq!(names, census.hosts);
}

#[test]
fn node_problem_detector_has_its_line_and_codes() {
    let place = Place::new();
    let brief = |name: &str| {
        let record = place.golden(name);
        let args = ["export", "--format", "brief", "--host-name", "n1"];
        let ran = place.say(&[&args, &[record.to_str().unwrap()][..]].concat());
        let path = place.path(&format!("{name}.brief"));
        std::fs::write(&path, ran.out).unwrap();
        (record, path)
    };
    let empty = place.path("empty.jsonl");
    std::fs::write(&empty, "").unwrap();
    let (sick, sick_brief) = brief("mmap-lock");
    let (well, well_brief) = brief("mmap-lock.quiet");
    for (command, path, code, line) in [
        ("export", &sick, 1, "affected: mmap-lock\n"),
        ("census", &sick_brief, 1, "affected: mmap-lock\n"),
        ("export", &well, 0, "not-affected: 1\n"),
        ("census", &well_brief, 0, "not-affected: 1\n"),
        ("census", &empty, 2, "not a record of tailback\n"),
    ] {
        let format = ["--format", "node-problem-detector"];
        let ran = place.say(&[&[command, path.to_str().unwrap()], &format[..]].concat());
        assert_eq!((ran.code(), ran.out.as_str()), (code, line), "{command} {ran:?}");
    }
}

/// Without warnings.
#[test]
fn a_c_compiler_takes_the_reproducer() {
    let place = Place::new();
    let record = place.golden("mmap-lock");
    let (source, program) = (place.path("stall.c"), place.path("stall"));
    let args = ["export", "--format", "reproducer", record.to_str().unwrap(), "-o"];
    let ran = place.say(&[&args[..], &[source.to_str().unwrap()]].concat());
    assert_eq!(ran.code(), 0, "{ran:?}");
    let text = std::fs::read_to_string(&source).unwrap();
    assert!(text.contains("#define PROCFILE \"smaps\""), "{text}");
    let words = ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-static", "-o"];
    let mut gcc = std::process::Command::new("gcc");
    let Ok(ran) = gcc.args(words).arg(&program).arg(&source).output() else {
        return testing::skipped("no gcc");
    };
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}
