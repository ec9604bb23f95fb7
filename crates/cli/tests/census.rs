//! `tailback census` and its input: brief records, records, and a fleet with a known answer.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{PATIENCE, Place, packed};
use model::census::Why;
use model::live::{Answer, AnswerState, Missing, NotMeasurable, Source, SourceUse};
use model::{Census, Live};
use std::path::Path;
use std::time::Instant;

/// A simulated fleet, in a file of this place.
fn simulated(place: &Place, args: &[&str]) -> std::path::PathBuf {
    let ran = place.run(place.tailback(&[&["sim", "fleet"], args].concat()));
    assert_eq!(ran.code(), 0, "{ran:?}");
    assert!(ran.err.contains("lines that are not records"), "{ran:?}");
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
    // The folder of the page is made.
    let page = place.path("new/pages/page.html");
    let ran = place.run(place.tailback(&["census", fleet, "--page", page.to_str().unwrap()]));
    assert_eq!(ran.code(), 1, "{ran:?}");
    assert!(ran.out.lines().count() <= 20, "{}", ran.out);
    assert!(ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let one_line = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(one_line.contains("kernel 6.1") && one_line.contains("HZ 250"), "{}", ran.out);
    assert!(one_line.contains("This fleet: hosts with a record; undecided ones count"));
    assert!(one_line.contains("Caveat hosts of one owner"), "{}", ran.out);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("kernel 6.1") && !page.contains("<script"));
    // The page has one line per group. More hosts add no lines.
    assert!(page.len() < 64 << 10, "{} bytes", page.len());
    // If the inventory has owners, the condition is tested among them and needs no caveat.
    let hosts = place.path("hosts");
    let listed = |host| format!("host{host:07} team{}  # an owner\n", host % 20);
    std::fs::write(&hosts, (0..3000).map(listed).collect::<String>()).unwrap();
    let owned = place.run(place.tailback(&["census", fleet, "--hosts", hosts.to_str().unwrap()]));
    let one_line = owned.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(one_line.contains("also among 20 owners"), "{}", owned.out);
    assert!(!one_line.contains("Caveat") && owned.out.lines().count() <= 20, "{}", owned.out);
    // The same fleet gives the same answer.
    let again = place.run(place.tailback(&["census", fleet]));
    assert_eq!(again.out, ran.out);
}

#[test]
fn a_page_on_standard_output_is_printed_alone() {
    let place = Place::new();
    let fleet = simulated(&place, &["--hosts", "30", "--seed", "2"]);
    let fleet = fleet.to_str().unwrap();
    let ran = place.run(place.tailback(&["census", fleet, "--page", "-"]));
    assert_eq!(ran.code(), place.run(place.tailback(&["census", fleet])).code(), "{ran:?}");
    assert!(ran.out.starts_with("<!"), "{}", ran.out);
    assert!(ran.out.trim_end().ends_with("</html>"), "{}", ran.out);
    let both = place.run(place.tailback(&["census", fleet, "--page", "-", "--json"]));
    assert_eq!((both.code(), both.out.as_str()), (2, ""), "{both:?}");
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
    // The verdict in a host's record is ignored: the record is judged again.
    let text = std::fs::read_to_string(&record).unwrap();
    let mut lying: serde_json::Value = serde_json::from_str(&text).unwrap();
    lying["judgement"]["state"] = "not-affected".into();
    std::fs::write(&list, lying.to_string()).unwrap();
    let census = json(&place, &[list.to_str().unwrap()]);
    assert_eq!((census.scenarios[0].hosts.affected, census.scenarios[0].hosts.clear), (1, 0));
    // A brief record that contradicts its own counts is not believed.
    let liar = brief.out.replacen("\"state\":\"affected\"", "\"state\":\"not-affected\"", 1);
    assert_ne!(liar, brief.out);
    std::fs::write(&path, liar).unwrap();
    let census = json(&place, &[path.to_str().unwrap()]);
    assert_eq!(census.scenarios[0].hosts.untrustworthy, 1);
    assert_eq!(census.set_aside[0].why, Why::Contradictory);
}

#[test]
fn a_watch_that_did_not_see_every_loss_makes_no_host_clear() {
    let place = Place::new();
    let path = place.path("web1.json");
    let name = path.to_str().unwrap();
    let mut record = common::affected_record();
    record["scenario"] = "watch".into();
    record["plan"]["arms"] = serde_json::json!([]);
    for trials in ["trials", "wash_outs", "probed"] {
        record[trials] = serde_json::json!([]);
    }
    let no = AnswerState::NotHitting { most_ms_per_s: 0.0, finding_at_ms_per_s: 10.0 };
    let never = AnswerState::NotMeasurable(NotMeasurable::NoNode);
    let source = SourceUse { source: Source::Calls, missing: Some(Missing::NoCalls) };
    for (state, sources, code, said) in [
        (no.clone(), vec![], 0, "not-affected: 1\n"),
        (no, vec![source], 2, "inconclusive: 1\n"),
        (never, vec![], 2, "skipped: 1\n"),
    ] {
        let answers = vec![Answer { stall: "cpu-quota".to_owned(), state }];
        let live = Live { over_ns: 60_000_000_000, answers, sources, ..Live::default() };
        record["live"] = serde_json::to_value(live).unwrap();
        std::fs::write(&path, record.to_string()).unwrap();
        let ran = place.say(&["export", "--format", "node-problem-detector", name]);
        assert_eq!((ran.code(), ran.out.as_str()), (code, said), "{ran:?}");
        let hosts = json(&place, &[name]).scenarios[0].hosts;
        assert_eq!(hosts.clear, u64::from(code == 0), "{hosts:?}");
    }
}

#[test]
fn what_cannot_be_read_is_one_line() {
    let place = Place::new();
    let hosts = place.path("hosts");
    std::fs::write(&hosts, "web1\nweb2 payments r12\n").unwrap();
    for (args, what) in [
        (vec!["census", "/nonexistent"], "/nonexistent"),
        (vec!["census", "-", "--hosts", hosts.to_str().unwrap()], "line 2"),
        (vec!["census", "-", "--hosts", "/nonexistent"], "--hosts"),
        (vec!["host", "identify", "--hash-host-name", "/nonexistent"], "--hash-host-name"),
        (vec!["host", "identify", "--host-name", ""], "--host-name"),
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
        let ran = place.run(place.tailback(&[&["host", "identify", "--json"], args].concat()));
        assert_eq!(ran.code(), 0, "{ran:?}");
        serde_json::from_str::<model::identity::Identified>(&ran.out).unwrap()
    };
    let plain = of(&["--host-name", "web1"]);
    assert_eq!(plain.host.text(), "web1");
    let hashed = of(&["--host-name", "web1", "--hash-host-name", salt.to_str().unwrap()]);
    assert_eq!((hashed.host.text().len(), &hashed.identity), (32, &plain.identity));
    assert!(!plain.identity.kernel.is_empty());
}

/// Neither the salt nor a hidden name is in anything that a census prints or writes.
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
    // The second one is a folder with files and folders that are named after hosts.
    let (file, folder) = (place.path("fleet.jsonl"), place.path("answers"));
    let deep = folder.join("web-hidden-7/web-hidden-9");
    for path in [&file, &folder.join("web-hidden-7.jsonl"), &deep.join("web-hidden-6.jsonl")] {
        write(path, &ran.out);
    }
    // A record with a plain name, in the file of another host.
    let brief = ["export", "--format", "brief", "--host-name", "web-hidden-9"];
    let plain = place.say(&[&brief[..], &[record.to_str().unwrap()]].concat());
    write(&deep.join("web-hidden-5.json"), &plain.out);
    let inventory = place.path("inventory");
    std::fs::write(&inventory, "web-hidden-7\nweb-hidden-8\n").unwrap();
    let rows = place.path("rows");
    let mut all = vec![ran.out];
    for from in [&file, &folder] {
        let hosts = [from.to_str().unwrap(), "--hosts", inventory.to_str().unwrap()];
        for more in [
            vec![],
            vec!["--why"],
            vec!["--json"],
            vec!["--page", "-", "--parquet", rows.to_str().unwrap()],
            vec!["--format", "junit"],
            vec!["--format", "openmetrics"],
        ] {
            let ran = place.say(&[&["census"], &hosts[..], &salt[..], &more[..]].concat());
            assert_eq!(ran.code(), 1, "{ran:?}");
            all.extend([ran.out, ran.err]);
        }
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
    // The hidden host is counted, and the other one is reported as missing.
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

/// Brief records of a clear host and of an affected one. The third says, a day later, that the
/// second host is clear.
fn two_hosts(place: &Place) -> [String; 3] {
    let ran = place.say(&["sim", "fleet", "--hosts", "300", "--seed", "2", "--plant"]);
    let of = |state: &str, host: &str, day: u32| {
        let is = format!("\"state\":\"{state}\"");
        let mut lines = ran.out.lines().filter(|line| line.contains(&is));
        let mut brief: serde_json::Value =
            lines.find_map(|line| serde_json::from_str(line).ok()).unwrap();
        brief["host"] = serde_json::json!({ "name": host });
        brief["started"] = format!("2026-11-{day:02}T00:00:00Z").into();
        format!("{brief}\n")
    };
    [of("not-affected", "host0", 1), of("affected", "host5", 1), of("not-affected", "host5", 2)]
}

fn write(path: &Path, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Attack: a later record in the file of host0 that turns host5 from affected to clear.
#[test]
fn one_host_does_not_speak_for_the_fleet() {
    let place = Place::new();
    let [well, sick, lie] = two_hosts(&place);
    let folder = place.path("answers");
    write(&folder.join("host0.jsonl"), well + &lie);
    write(&folder.join("host5.jsonl"), sick);
    let (folder, page) = (folder.to_str().unwrap(), place.path("page.html"));
    let ran = place.say(&["census", folder, "--page", page.to_str().unwrap()]);
    assert_eq!(ran.code(), 1, "{ran:?}");
    let said = "host0.jsonl:2 names host5";
    let one_line = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(one_line.contains(said) && one_line.contains("Claims"), "{}", ran.out);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains(said), "{page}");
    let census = json(&place, &[folder]);
    let hosts = census.scenarios[0].hosts;
    assert_eq!((hosts.affected, hosts.clear, census.hosts), (1, 1, 2));
    let aside = &census.set_aside[0];
    assert_eq!((aside.why, aside.count), (Why::OtherHost, 1));
    assert_eq!(aside.examples[0].claims.as_deref(), Some("host5"));
    assert_eq!(aside.examples[0].place.line, Some(2));
    assert!(aside.examples[0].place.file.ends_with("answers/host0.jsonl"), "{aside:?}");
}

/// Ansible keeps hashed answers in files with plain names, and has the salt.
#[test]
fn the_salt_tells_whose_file_a_hashed_name_is_in() {
    let place = Place::new();
    let salt = place.path("salt");
    write(&salt, "sixteen bytes at least\n");
    let salt = ["--hash-host-name", salt.to_str().unwrap()];
    let record = place.golden("mmap-lock");
    let brief = |host: &str| {
        let args = ["export", "--format", "brief", "--host-name", host, record.to_str().unwrap()];
        place.say(&[&args, &salt[..]].concat()).out
    };
    let folder = place.path("answers");
    write(&folder.join("web1.jsonl"), brief("web1"));
    write(&folder.join("web2.jsonl"), brief("web3"));
    let folder = folder.to_str().unwrap();
    let census = json(&place, &[&[folder], &salt[..]].concat());
    assert_eq!((census.hosts, census.set_aside[0].why), (1, Why::OtherHost));
    assert_eq!(json(&place, &[folder]).hosts, 0);
}

/// The file that `--into` writes counts as the file of its host. A name that cannot be a file
/// name is refused before anything is measured.
#[test]
fn a_file_that_into_names_speaks_for_its_host() {
    let place = Place::new();
    let into = place.path("into");
    std::fs::create_dir(&into).unwrap();
    let run = |host: &str| {
        let args = ["run", "mmap-lock", "--samples", "1", "--no-probe", "--brief", "--exit-zero"];
        let into = ["--into", into.to_str().unwrap(), "--host-name", host];
        // The verdict does not matter here, so this may run beside other runs.
        let mut command = place.tailback(&[&args, &into[..]].concat());
        command.env("TAILBACK_SHARE_HOST", "1");
        place.run(command)
    };
    let ran = run("web-1.example.org");
    assert_eq!(ran.code(), 0, "{ran:?}");
    let census = json(&place, &[into.to_str().unwrap()]);
    assert_eq!((census.hosts, census.read.briefs, census.set_aside.len()), (1, 1, 0));
    let ran = run("../web1");
    assert_eq!((ran.code(), ran.err.lines().count()), (2, 1), "{ran:?}");
    assert!(ran.err.contains("--into") && ran.err.contains("--host-name"), "{ran:?}");
    assert_eq!(common::files(&into).len(), 1);
}

/// A pipe without a writer, and a device, are refused if they are named. In a folder they are
/// skipped.
#[test]
fn nothing_that_is_read_is_waited_for() {
    let place = Place::new();
    let [well, ..] = two_hosts(&place);
    let folder = place.path("answers");
    write(&folder.join("host0.jsonl"), well);
    let pipe = folder.join("host1.jsonl");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, rustix::fs::Mode::RUSR, 0).unwrap();
    let began = Instant::now();
    for path in [pipe.to_str().unwrap(), "/dev/zero"] {
        // `timeout` ends it if it waits.
        let mut command = place.program("timeout");
        command.args(["60", common::BINARY, "census", path]);
        let ran = place.run(command);
        assert_eq!((ran.code(), ran.err.lines().count()), (2, 1), "{ran:?}");
        assert!(ran.err.contains("neither a file nor a folder"), "{ran:?}");
    }
    assert_eq!(json(&place, &[folder.to_str().unwrap()]).hosts, 1);
    assert!(began.elapsed() < PATIENCE);
}

/// Other users choose the names of folders, so no output may contain them unchanged.
#[test]
fn no_name_of_a_folder_steers_who_reads_the_census() {
    let place = Place::new();
    let folder = place.path("answers");
    let record = packed::read(&packed::golden("mmap-lock"));
    write(&folder.join("we\u{1b}[31mb\n1/record.json"), &record);
    write(&folder.join("bi\u{202e}di\u{9b}2J/record.json"), &record);
    let (folder, rows) = (folder.to_str().unwrap(), place.path("rows"));
    for args in [
        vec!["--json"],
        vec!["--format", "junit"],
        vec!["--format", "openmetrics"],
        vec!["--page", "-", "--parquet", rows.to_str().unwrap()],
    ] {
        let ran = place.say(&[&["census", folder], &args[..]].concat());
        assert_eq!(ran.code(), 1, "{ran:?}");
        let steers = |c: char| os::terminal::steers(c) && c != '\n' && c != '\t';
        assert!(!ran.out.chars().any(steers), "{}", ran.out);
        // An escape is not allowed either: a JSON reader would turn it back into the character.
        assert!(!ran.out.contains("\\u00") && !ran.out.contains("\\u202e"), "{}", ran.out);
    }
    assert_eq!(json(&place, &[folder]).hosts, 2);
    let below = |table: &str| {
        let folder = rows.join(table).join("scenario=mmap-lock");
        common::files(&common::files(&folder)[0])[0].clone()
    };
    for table in ["verdicts", "trials"] {
        let bytes = std::fs::read(below(table)).unwrap();
        let has = |part: &[u8]| bytes.windows(part.len()).any(|window| window == part);
        // The file holds short texts uncompressed.
        assert!(has(b"we [31mb 1") && !has(b"\x1b[31m") && !has("\u{202e}".as_bytes()), "{table}");
    }
}

/// An archive with hundreds of thousands of empty entries uses no memory for their names.
#[test]
fn an_archive_of_empty_entries_takes_no_room() {
    const MEMBER: usize = 2000;
    const MEMBERS: usize = 200;
    const MOST_KIB: usize = 96 << 10;
    const THREAD_KIB: usize = 4 << 10;
    let place = Place::new();
    let path = place.path("fleet.tar.gz");
    // The header of an empty tar file, with the longest name that fits.
    let mut header = [0; 512];
    let mut put = |at: usize, text: &[u8]| header[at..at + text.len()].copy_from_slice(text);
    put(0, &[b'n'; 95]);
    put(95, b".json");
    put(124, b"00000000000");
    put(156, b"0");
    put(257, b"ustar\x0000");
    put(345, &[b'd'; 150]);
    put(148, b"        ");
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    // The same compressed part, many times.
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, &header.repeat(MEMBER)).unwrap();
    std::fs::write(&path, packer.finish().unwrap().repeat(MEMBERS)).unwrap();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let most = (MOST_KIB + threads * THREAD_KIB).to_string();
    let mut command = place.program("sh");
    command.args(["-c", "ulimit -d \"$0\" && exec \"$@\"", &most, common::BINARY, "census"]);
    command.arg(&path);
    let ran = place.run(command);
    assert_eq!(ran.code(), 4, "{ran:?}");
    assert!(ran.out.starts_with("0 hosts"), "{ran:?}");
}

/// The script of deploy/kubernetes keeps the answers of each node in a folder with the node's
/// name. It takes the name from what Kubernetes reports about the pod. A log also has notes, which
/// are no records. A log that is gone takes no answer of an earlier run away.
#[test]
fn a_pod_speaks_for_its_node_alone() {
    let place = Place::new();
    let [well, sick, lie] = two_hosts(&place);
    let note = "tailback: a note\n";
    write(&place.path("logs/pod-a"), format!("{note}{well}{lie}"));
    write(&place.path("logs/pod-b"), &sick);
    write(&place.path("logs/pod-d"), note);
    let kubectl = place.path("kubectl");
    let text = r#"#!/bin/sh
        case "$1 $2" in
        "get nodes") printf 'node/host0\nnode/host5\nnode/host9\n' ;;
        "get pods") printf 'pod-a   host0\npod-b   host5\npod-c   <none>\npod-d   host9\n' ;;
        logs*) cat "$LOGS/$2" ;;
        esac
    "#;
    testing::write_program(&kubectl, text);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy/kubernetes/census");
    let search = format!("{}:/usr/bin:/bin", kubectl.parent().unwrap().display());
    let census = || {
        let mut command = place.program(script.to_str().unwrap());
        command.arg(place.path("results")).env("PATH", &search).env("TAILBACK", common::BINARY);
        command.env("LOGS", place.path("logs"));
        place.run(command)
    };
    let ran = census();
    assert_eq!(ran.code(), 1, "{ran:?}");
    let one_line = ran.out.split_whitespace().collect::<Vec<&str>>().join(" ");
    assert!(one_line.contains("1 unreachable") && one_line.contains("names host5"), "{ran:?}");
    assert!(!one_line.contains("damaged"), "{ran:?}");
    let kept =
        |log: &str| std::fs::read_to_string(place.path("results/answers").join(log)).unwrap();
    assert_eq!(kept("host0/pod-a.jsonl"), well + &lie);
    assert!(common::files(&place.path("results/answers/host9")).is_empty());
    assert!(place.path("results/census.html").is_file());
    std::fs::remove_file(place.path("logs/pod-b")).unwrap();
    let ran = census();
    assert!(ran.code() == 1 && ran.err.contains("census: no log of pod-b on host5"), "{ran:?}");
    assert_eq!(kept("host5/pod-b.jsonl"), sick);
}
