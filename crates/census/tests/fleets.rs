//! Censuses of simulated fleets whose truth is known.

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

/// Percentage of fleets in which a false condition may be named.
const MOST_WRONG_PERCENT: usize = 5;

/// Simulated fleets without a planted cause.
const FLEETS: u64 = 200;

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

/// The conditions that tell affected hosts from clear ones, as their parts.
fn told(census: &Census) -> Vec<(Factor, Side, String)> {
    match &scenario(census).apart {
        Telling::Conditions(found) => {
            let mut all: Vec<_> = found
                .all
                .iter()
                .map(|one| (one.cut.factor, one.cut.side, one.cut.level.clone()))
                .collect();
            all.sort_by_key(|(factor, ..)| *factor);
            all
        }
        _ => Vec::new(),
    }
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

#[test]
fn a_planted_cause_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let planted = [
        (Factor::KernelSeries, Side::Is, "6.1".to_owned()),
        (Factor::Hz, Side::Is, "250".to_owned()),
    ];
    let found = (0..10).filter(|seed| {
        let census = of(folder.path(), &lines(World::of(4000, *seed, true)).0);
        let told = told(&census);
        println!("seed {seed}: {told:?}");
        planted.iter().all(|one| told.contains(one))
    });
    assert!(found.count() >= 9);
}

/// By chance 2.5 of 100 fleets, since the first condition has half of the error rate.
#[test]
fn where_nothing_was_planted_hardly_anything_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let wrong: Vec<u64> = (0..FLEETS)
        .filter(|seed| {
            let census = of(folder.path(), &lines(World::of(500, 1000 + seed, false)).0);
            !told(&census).is_empty()
        })
        .collect();
    println!("{} of {FLEETS}: {wrong:?}", wrong.len());
    assert!(wrong.len() * 100 <= FLEETS as usize * MOST_WRONG_PERCENT, "{wrong:?}");
}

#[test]
fn what_is_wrong_with_records_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, truth) = lines(World::of(5000, 7, true));
    let census = of(folder.path(), &lines);
    let hosts = scenario(&census).hosts;
    assert_eq!(census.hosts, 5000);
    assert_eq!((hosts.affected, hosts.clear), (truth.affected, truth.clear));
    let hostile = [Why::Truncated, Why::Damaged, Why::TooLarge, Why::Newer, Why::UnknownScenario];
    assert_eq!(count(&census, &hostile), truth.hostile);
    assert_eq!(count(&census, &[Why::Duplicate]), truth.duplicates);
    assert_eq!(count(&census, &[Why::Superseded]), truth.superseded);
    // A duplicate of a record with a wrong clock has the wrong clock too.
    assert!(count(&census, &[Why::WrongClock]) >= truth.wrong_clocks);
    assert!(count(&census, &[Why::Contradictory]) >= truth.liars && truth.liars > 0);
    assert!(
        census.set_aside.iter().all(|one| !one.examples.is_empty() && one.examples.len() <= 20)
    );
    let share = scenario(&census).share.as_ref().unwrap();
    assert!(share.low.unwrap() < share.high.unwrap());
    assert_eq!(share.undecided, 5000 - truth.affected - truth.clear);
    assert!(share.least < share.most && share.most < share.high.unwrap(), "{share:?}");
    assert_eq!(census.groups.iter().map(|group| group.hosts.count).sum::<u64>(), 5000);
}

/// Files in folders, an archive, compressed lines and plain lines give the same fleet.
#[test]
fn the_form_and_the_threads_do_not_matter() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, _) = lines(World { hostile: 0.0, ..World::of(300, 3, true) });
    let plain = of(folder.path(), &lines);
    let packed = folder.path().join("fleet.jsonl.gz");
    let mut packer = GzEncoder::new(std::fs::File::create(&packed).unwrap(), Compression::fast());
    packer.write_all(&lines).unwrap();
    packer.finish().unwrap();
    let (files, archive) = (folder.path().join("files"), folder.path().join("fleet.tar"));
    let mut writer = tar::Builder::new(std::fs::File::create(&archive).unwrap());
    for (number, line) in lines.split_inclusive(|byte| *byte == b'\n').enumerate() {
        let name = format!("{}/{number:04}.json", host(line));
        let own = files.join(&name);
        std::fs::create_dir_all(own.parent().unwrap()).unwrap();
        std::fs::write(own, line).unwrap();
        let mut header = tar::Header::new_gnu();
        header.set_size(line.len() as u64);
        writer.append_data(&mut header, name, line).unwrap();
    }
    writer.finish().unwrap();
    for path in [packed, files, archive] {
        for threads in [1, 3] {
            let other = taken(&fleet(std::slice::from_ref(&path), threads), None, None);
            assert_eq!(other.hosts, plain.hosts, "{path:?}");
            assert_eq!(scenario(&other).hosts, scenario(&plain).hosts);
            assert_eq!(scenario(&other).share, scenario(&plain).share);
            let named = |census: &Census| -> Vec<_> {
                census
                    .groups
                    .iter()
                    .map(|group| (group.answers.clone(), group.hosts.clone()))
                    .collect()
            };
            assert_eq!(named(&other), named(&plain));
        }
    }
}

#[test]
fn a_truncated_or_hostile_file_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, _) = lines(World { hostile: 0.0, ..World::of(2000, 3, true) });
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(&lines).unwrap();
    let packed = packer.finish().unwrap();
    let file = |name: &str, bytes: &[u8]| {
        std::fs::write(folder.path().join(name), bytes).unwrap();
        folder.path().join(name)
    };
    let cut = file("cut.jsonl.gz", &packed[..packed.len() * 3 / 4]);
    let whole = file("whole.jsonl", &lines);
    file("garbage.tar", &[b'x'; 5000]);
    file("empty.json", b"");
    file("picture.png", &[0; 100]);
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(&vec![b' '; 70 << 20]).unwrap();
    file("bomb.json.gz", &bomb.finish().unwrap());
    // As a list in memory, each of these would take fifty times the size of its text.
    file("list.json", format!("[{}{{}}]", "{},".repeat(1 << 20)).as_bytes());
    file("lines.jsonl", "x\n".repeat(1 << 20).as_bytes());
    std::os::unix::fs::symlink("/dev/zero", folder.path().join("endless.json")).unwrap();
    let path = std::ffi::CString::new(folder.path().join("pipe.json").to_str().unwrap()).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        path,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    // These two files may speak for many hosts if they are named, but not in the folder.
    let census = taken(&fleet(&[cut, whole, folder.path().to_owned()], 2), None, None);
    assert_eq!(census.hosts, 2000);
    assert!(count(&census, &[Why::OtherHost]) > 3000, "{:?}", census.set_aside);
    assert_eq!(count(&census, &[Why::Truncated]), 4, "{:?}", census.set_aside);
    assert!(count(&census, &[Why::Duplicate]) > 1000);
    assert!(count(&census, &[Why::Damaged]) > 2 << 20, "{:?}", census.set_aside);
    assert!(census.set_aside.iter().all(|one| one.examples.len() <= 20));
}

/// The content of an archive is only read as text: no entry name is used as a path, and only
/// plain files count.
#[test]
fn an_archive_that_wants_to_be_trouble_is_text() {
    let folder = tempfile::tempdir().unwrap();
    let (lines, _) = lines(World { hostile: 0.0, duplicates: 0.0, ..World::of(4, 3, true) });
    let all: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let mut writer = tar::Builder::new(Vec::new());
    let mut put = |name: &str, kind: tar::EntryType, size: u64, bytes: &[u8]| {
        let mut header = tar::Header::new_ustar();
        header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(size);
        header.set_cksum();
        writer.append(&header, bytes).unwrap();
    };
    let size = |place: usize| all[place].len() as u64;
    let [first, second, third] = [0, 1, 2].map(|place| host(all[place]));
    let hostile = format!("../../{first}/a\u{1b}[2J.json");
    put(&hostile, tar::EntryType::Regular, size(0), all[0]);
    put(&format!("/{second}/passwd"), tar::EntryType::Regular, size(1), all[1]);
    put("link.json", tar::EntryType::Symlink, 0, b"");
    put("hard.json", tar::EntryType::Link, 0, b"");
    put("device.json", tar::EntryType::Char, 0, b"");
    put("folder.json/", tar::EntryType::Directory, 0, b"");
    // A name and a size before the next entry's header are not used.
    let long = "30 path=../../../../root/x.json\n";
    put("long", tar::EntryType::XHeader, long.len() as u64, long.as_bytes());
    put(&format!("{third}.json"), tar::EntryType::Regular, size(2), all[2]);
    // An entry that claims to be of another host.
    put("fourth.json", tar::EntryType::Regular, size(3), all[3]);
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(all[3]).unwrap();
    let packed = packer.finish().unwrap();
    put("packed.json.gz", tar::EntryType::Regular, packed.len() as u64, &packed);
    let mut bytes = writer.into_inner().unwrap();
    // An entry that claims to be far larger than the archive.
    bytes.truncate(bytes.len() - 1024);
    let mut header = tar::Header::new_ustar();
    header.as_mut_bytes()[..3].copy_from_slice(b"big");
    header.set_size(1 << 40);
    header.set_cksum();
    bytes.extend_from_slice(header.as_bytes());
    bytes.extend_from_slice(&[b'x'; 512]);
    let path = folder.path().join("fleet.tar");
    std::fs::write(&path, &bytes).unwrap();
    let census = taken(&fleet(&[path], 2), None, None);
    assert_eq!((census.hosts, census.read.files), (3, 1), "{:?}", census.set_aside);
    assert_eq!(count(&census, &[Why::Damaged, Why::Truncated]), 2, "{:?}", census.set_aside);
    assert_eq!(count(&census, &[Why::OtherHost]), 1, "{:?}", census.set_aside);
    let shown = serde_json::to_string(&census).unwrap();
    assert!(!shown.contains("\\u001b") && shown.contains("/a [2J.json"), "{shown}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

/// A brief whose counts contradict its verdict or each other is untrustworthy.
#[test]
fn a_brief_that_was_changed_by_hand_is_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let quiet = World { hostile: 0.0, duplicates: 0.0, liars: 0.0, ..World::of(200, 3, true) };
    let text = String::from_utf8(lines(quiet).0).unwrap();
    let with = |state: &str| {
        text.lines().find(|line| line.contains(&format!("\"state\":\"{state}\""))).unwrap()
    };
    let (sick, well) = (with("affected"), with("not-affected"));
    let edited = |line: &str, edit: &dyn Fn(&mut serde_json::Value)| {
        let mut brief = serde_json::from_str(line).unwrap();
        edit(&mut brief);
        brief.to_string()
    };
    let set = |line: &str, path: &str, value: serde_json::Value| {
        edited(line, &|brief| *brief.pointer_mut(path).unwrap() = value.clone())
    };
    let changed = [
        // Fewer blocks than were won, more blocks than there are, a control that does not exist,
        // and a test that everything passes.
        set(sick, "/tests/0/blocks", 2.into()),
        set(well, "/tests/0/cases/0/alike", u32::MAX.into()),
        set(sick, "/tests/0/cases/0/plain/control", u32::MAX.into()),
        set(well, "/tests/0/cases/0/control", 7.into()),
        set(sick, "/tests/0/error_rate", 1.into()),
        // Another verdict, other counts, and no counts.
        set(sick, "/verdict/state", "not-affected".into()),
        set(well, "/verdict/state", "affected".into()),
        set(well, "/tests/0/tells", false.into()),
        set(sick, "/tests", serde_json::json!([])),
        edited(sick, &|brief| brief["review"] = "affected".into()),
    ];
    for (place, line) in changed.iter().enumerate() {
        let census = of(folder.path(), format!("{line}\n").as_bytes());
        let hosts = scenario(&census).hosts;
        assert_eq!((hosts.untrustworthy, hosts.affected + hosts.clear), (1, 0), "{place}: {line}");
        assert_eq!(count(&census, &[Why::Contradictory]), 1, "{place}");
        let first = &census.set_aside[0].examples[0];
        assert!(first.place.file.ends_with("fleet.jsonl") && first.place.line == Some(1));
    }
    // A record with an invalid number of blocks is not a record.
    for (old, new) in [
        ("\"blocks\":", "\"blocks\":-"),
        ("\"margin\":1.0", "\"margin\":NaN"),
        ("\"margin\":1.0", "\"margin\":1e999"),
        ("\"seed\":", "\"seed\":1,\"seed\":"),
        ("\"alike\":", "\"alike\":99999999999"),
    ] {
        let line = well.replacen(old, new, 2);
        assert_ne!(line, well);
        let census = of(folder.path(), format!("{line}\n").as_bytes());
        assert_eq!((census.hosts, count(&census, &[Why::Damaged])), (0, 1), "{new}");
    }
}

#[test]
fn an_inventory_and_an_earlier_census_are_held_against_it() {
    let folder = tempfile::tempdir().unwrap();
    let quiet =
        World { hostile: 0.0, duplicates: 0.0, wrong_clocks: 0.0, ..World::of(400, 3, false) };
    let (lines, _) = lines(quiet);
    let before = of(folder.path(), &lines);
    let before = summary::previous(&serde_json::to_string(&before).unwrap()).unwrap();
    // The first ten hosts are gone, and one clear host is affected.
    let all: Vec<&[u8]> = lines.split_inclusive(|byte| *byte == b'\n').collect();
    let text = |line: &[u8]| String::from_utf8(line.to_vec()).unwrap();
    let clear = all[10..]
        .iter()
        .position(|line| text(line).contains("\"state\":\"not-affected\""))
        .unwrap();
    let mut now: Vec<String> = all[10..].iter().map(|line| text(line)).collect();
    let affected =
        all.iter().map(|line| text(line)).find(|l| l.contains("\"state\":\"affected\"")).unwrap();
    let name = |line: &str| line.split("\"name\":\"").nth(1).unwrap()[..11].to_owned();
    now[clear] = affected.replace(&name(&affected), &name(&now[clear]));
    let path = folder.path().join("now.jsonl");
    std::fs::write(&path, now.concat()).unwrap();
    let inventory = inventory(405, |_| None);
    let census = taken(&fleet(&[path], 1), Some(&inventory), Some(&before));
    let unreachable = census.unreachable.as_ref().unwrap();
    assert_eq!((unreachable.count, unreachable.names.len()), (15, 2));
    assert_eq!(scenario(&census).hosts.unreachable, 15);
    assert_eq!(census.not_in_inventory, None);
    let since = census.since.as_ref().unwrap();
    assert_eq!((since.gone.count, since.new.count, since.unknown), (10, 0, 0));
    assert_eq!(since.scenarios.len(), 1);
    assert_eq!(since.scenarios[0].became_affected.count, 1);
    assert!(summary::previous("{}").is_err());
    assert!(summary::previous("[").is_err());
}

/// The planted cause is also found among owners that have hosts of every kind. Without an
/// inventory, or if it names no owner, the census does not claim that owners were tested.
#[test]
fn a_planted_cause_stands_out_among_owners_too() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fleet.jsonl");
    std::fs::write(&path, lines(World::of(4000, 1, true)).0).unwrap();
    let fleet = fleet(&[path], 2);
    let owners = |owner: &dyn Fn(u32) -> Option<String>| {
        let census = taken(&fleet, Some(&inventory(4000, owner)), None);
        let one = scenario(&census);
        match &one.apart {
            Telling::Conditions(found) => (one.share.as_ref().unwrap().owners, found.owners),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(owners(&|_| None), (None, None));
    let of_twenty = |host| Some(format!("team{}", host % 20));
    assert_eq!(owners(&of_twenty), (Some(20), Some(20)));
    // Hosts without an owner count as one more owner.
    let of_some = |host: u32| host.is_multiple_of(2).then(|| format!("team{}", host % 20));
    assert_eq!(owners(&of_some), (Some(11), Some(11)));
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

/// Host a's file also claims that b is clear. In a folder or an archive with one file or folder
/// per host, compressed or not, this is reported and changes nothing else.
#[test]
fn one_host_does_not_speak_for_another() {
    let [well, sick, lie] = two_hosts();
    let both = well.clone() + &lie;
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| write_below(folder.path(), name, bytes);
    let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(both.as_bytes()).unwrap();
    // As the tools in deploy/ write them, and in other forms.
    write("ansible/a.jsonl", both.as_bytes());
    write("ansible/b.jsonl", sick.as_bytes());
    write("slurm/a-20261122T180405Z-17.jsonl", both.as_bytes());
    write("slurm/b-20261122T180405Z-17.jsonl", sick.as_bytes());
    write("fetched/a/brief.jsonl", both.as_bytes());
    write("fetched/a/b.jsonl", lie.as_bytes());
    write("fetched/b/brief.jsonl", sick.as_bytes());
    write("packed/a.jsonl.gz", &packer.finish().unwrap());
    write("packed/b.jsonl", sick.as_bytes());
    write("archives/a.tar", &tar(&[("b.jsonl", &lie), ("a.jsonl", &well)]));
    // Only its content shows that this is an archive; a host may send such a file.
    write("archives/b.jsonl", &tar(&[("b.jsonl", &sick)]));
    write(
        "fleet.tar",
        &tar(&[("answers/x", ""), ("a/brief.json", &both), ("b/brief.json", &sick)]),
    );
    for name in ["ansible", "slurm", "fetched", "packed", "archives", "fleet.tar"] {
        let census = taken(&fleet(&[folder.path().join(name)], 2), None, None);
        let hosts = scenario(&census).hosts;
        let told = &census.set_aside;
        assert_eq!((hosts.affected, hosts.clear, census.hosts), (1, 1, 2), "{name}: {told:?}");
        assert!(count(&census, &[Why::OtherHost]) >= 1, "{name}: {told:?}");
        let example = &told[0].examples[0];
        assert_eq!(example.claims.as_deref(), Some("b"), "{name}");
        assert!(
            example.place.file.contains("/a") || example.place.file.contains(":a"),
            "{example:?}"
        );
    }
    // The same files, named one by one: the answer from b's own file counts before others.
    let named = ["ansible/a.jsonl", "ansible/b.jsonl"].map(|name| folder.path().join(name));
    let census = taken(&fleet(&named, 2), None, None);
    assert_eq!((scenario(&census).hosts.affected, count(&census, &[Why::TwoFiles])), (1, 1));
}

/// A file of many hosts has no host's name. The later record counts, and the files that claim a
/// host are named.
#[test]
fn a_host_that_two_files_claim_is_named() {
    let [well, sick, lie] = two_hosts();
    let folder = tempfile::tempdir().unwrap();
    let paths = ["monday.jsonl", "tuesday.jsonl"].map(|name| folder.path().join(name));
    std::fs::write(&paths[0], well + &sick).unwrap();
    std::fs::write(&paths[1], lie).unwrap();
    let census = taken(&fleet(&paths, 2), None, None);
    assert_eq!((scenario(&census).hosts.affected, census.hosts), (0, 2));
    assert_eq!(count(&census, &[Why::TwoFiles]), 1, "{:?}", census.set_aside);
    let example = &census.set_aside[0].examples[0];
    assert!(example.place.file.ends_with("monday.jsonl") && example.place.line == Some(2));
    assert!(example.other.as_ref().unwrap().file.ends_with("tuesday.jsonl"), "{example:?}");
}

/// A file is named after a host, and its records hold a hash of that name. A user with the salt
/// can match them.
#[test]
fn a_hash_is_compared_with_the_name_of_its_file() {
    let [well, sick, lie] = two_hosts().map(|line| {
        let line = line.replace("\"name\":\"a\"", "\"hash\":\"salted a\"");
        line.replace("\"name\":\"b\"", "\"hash\":\"salted b\"")
    });
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), well + &lie).unwrap();
    std::fs::write(folder.path().join("b.jsonl"), sick).unwrap();
    let of = |hashing| {
        let options = Options { hashing, ..OPTIONS };
        let paths = [folder.path().to_owned()];
        taken(&census::read(&paths, options, &mut |_| {}).unwrap(), None, None)
    };
    let salted = of(Some(Hashing(&|name| format!("salted {name}"))));
    let hosts = scenario(&salted).hosts;
    assert_eq!((hosts.affected, hosts.clear, salted.hosts), (1, 1, 2));
    assert_eq!(count(&salted, &[Why::OtherHost]), 1);
    // Without the salt, none of them counts.
    let other = of(None);
    assert_eq!((other.hosts, count(&other, &[Why::OtherHost])), (0, 3));
}

/// `--into` names a file after the hash that its records have. They are of the host of that hash.
#[test]
fn a_file_that_is_named_after_a_hash_is_of_that_host() {
    const HASH: &str = "0123456789abcdef0123456789abcdef";
    let [well, ..] = two_hosts();
    let well = well.replace("\"name\":\"a\"", &format!("\"hash\":\"{HASH}\""));
    let folder = tempfile::tempdir().unwrap();
    let file = format!("{HASH}-20261122T180405Z-17.jsonl");
    write_below(folder.path(), &file, well.as_bytes());
    let hash = |name: &str| format!("salted {name}");
    let options = Options { hashing: Some(Hashing(&hash)), ..OPTIONS };
    let fleet = census::read(&[folder.path().to_owned()], options, &mut |_| {}).unwrap();
    let listed = [Listed { name: HASH.to_owned(), owner: None }];
    let census = taken(&fleet, Some(&listed), None);
    let hosts = scenario(&census).hosts;
    assert_eq!((census.hosts, hosts.clear, hosts.unreachable), (1, 1, 0));
}

/// The hash of a host's name in these tests.
fn salted(name: &str) -> String {
    match name {
        "web-hidden-1" => "salted 1".to_owned(),
        "web-hidden-2" => "salted 2".to_owned(),
        _ => "salted 3".to_owned(),
    }
}

/// Where host names are hashed, no name of a file in a folder or an archive shows the host that it
/// is named after.
#[test]
fn a_hashed_host_is_not_in_the_name_of_its_file() {
    let [well, sick, lie] = two_hosts().map(|line| {
        let line = line.replace("\"name\":\"a\"", "\"hash\":\"salted 1\"");
        line.replace("\"name\":\"b\"", "\"hash\":\"salted 2\"")
    });
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| write_below(folder.path(), name, bytes);
    let both = well + &lie;
    write("files/web-hidden-1.jsonl", both.as_bytes());
    write("files/web-hidden-2-20261122T180405Z-17.jsonl", sick.as_bytes());
    write("files/web-hidden-3.json", b"no record");
    write("folders/web-hidden-1/tmp/web-hidden-1.jsonl", both.as_bytes());
    write("folders/web-hidden-2/brief.json", sick.as_bytes());
    // Names of other hosts, at any depth.
    let other = ("web-hidden-2/web-hidden-4/web-hidden-5.json", "no record");
    write("folders/web-hidden-1/web-hidden-4/web-hidden-5.json", b"no record");
    write("archives/web-hidden-1.tar", &tar(&[("web-hidden-1/brief.jsonl", &both), other]));
    write("archives/web-hidden-2.jsonl", &tar(&[("web-hidden-2.json", &sick), other]));
    let entries = [("web-hidden-1/brief.jsonl", &*both), ("web-hidden-2.json", &*sick), other];
    write("fleet.tar", &tar(&entries));
    let options = Options { hashing: Some(Hashing(&salted)), ..OPTIONS };
    for name in ["files", "folders", "archives", "fleet.tar"] {
        let path = folder.path().join(name);
        let fleet = census::read(&[path], options, &mut |_| {}).unwrap();
        let census = taken(&fleet, None, None);
        let hosts = scenario(&census).hosts;
        assert_eq!((hosts.affected, hosts.clear, census.hosts), (1, 1, 2), "{name}");
        assert_eq!(count(&census, &[Why::OtherHost]), 1, "{name}");
        let rows: Vec<String> =
            Verdicts::of(&fleet).iter().map(|one| format!("{} {}", one.host, one.file)).collect();
        let shown = serde_json::to_string(&census).unwrap() + &rows.concat();
        assert!(shown.contains("salted 1") && !shown.contains("hidden"), "{name}: {shown}");
    }
}

/// A record may have a plain name although its readers have the salt. It is of the same host as
/// the hash in an inventory, and the name is shown nowhere: not as a claim either.
#[test]
fn a_plain_name_in_a_record_is_hashed_too() {
    let [well, sick, lie] = two_hosts().map(|line| {
        let line = line.replace("\"name\":\"a\"", "\"name\":\"web-hidden-1\"");
        line.replace("\"name\":\"b\"", "\"name\":\"web-hidden-2\"")
    });
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, bytes: &[u8]| write_below(folder.path(), name, bytes);
    write("all.jsonl", (well.clone() + &sick).as_bytes());
    write("files/web-hidden-1.jsonl", (well + &lie).as_bytes());
    write("files/web-hidden-2.jsonl", sick.as_bytes());
    let options = Options { hashing: Some(Hashing(&salted)), ..OPTIONS };
    for (name, claims) in [("all.jsonl", 0), ("files", 1)] {
        let path = folder.path().join(name);
        let fleet = census::read(&[path], options, &mut |_| {}).unwrap();
        let listed = ["salted 1", "salted 2"];
        let listed = listed.map(|name| Listed { name: name.to_owned(), owner: None });
        let census = taken(&fleet, Some(&listed), None);
        let hosts = scenario(&census).hosts;
        assert_eq!((hosts.affected, hosts.clear, hosts.unreachable), (1, 1, 0), "{name}");
        assert_eq!(count(&census, &[Why::OtherHost]), claims, "{name}");
        let shown = serde_json::to_string(&census).unwrap();
        assert!(shown.contains("salted 2") && !shown.contains("hidden"), "{name}: {shown}");
    }
}

/// A host can compress its records a hundredfold, as lines or as a list, in a file whose name does
/// not say so. Such files together take little memory, since only their first records are kept.
#[test]
fn a_compressed_file_with_a_plain_name_gives_few_records() {
    let [well, ..] = two_hosts();
    let folder = tempfile::tempdir().unwrap();
    let records: Vec<&str> = std::iter::repeat_n(well.trim_end(), 3000).collect();
    let list = format!("[{}]", records.join(","));
    for text in [well.repeat(3000), list] {
        let mut packer = GzEncoder::new(Vec::new(), Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        std::fs::write(folder.path().join("a.json"), packer.finish().unwrap()).unwrap();
        let census = taken(&fleet(&[folder.path().to_owned()], 2), None, None);
        assert_eq!((census.hosts, census.read.files), (1, 1));
        assert_eq!(count(&census, &[Why::Duplicate]), 999, "{:?}", census.set_aside);
        assert_eq!(count(&census, &[Why::TooMany]), 2000, "{:?}", census.set_aside);
        let aside = census.set_aside.iter().find(|one| one.why == Why::TooMany).unwrap();
        assert!(aside.examples[0].place.file.ends_with("a.json"), "{aside:?}");
    }
}

/// An OTP is shown, like the names in an identity.
#[test]
fn an_otp_that_steers_a_terminal_is_damage() {
    let [well, ..] = two_hosts();
    let folder = tempfile::tempdir().unwrap();
    let with_otp = |otp: &str| {
        let mut brief: serde_json::Value = serde_json::from_str(&well).unwrap();
        brief["otp"] = otp.into();
        of(folder.path(), format!("{brief}\n").as_bytes())
    };
    assert_eq!(with_otp("26.2").hosts, 1);
    let census = with_otp("26\u{1b}[2J");
    assert_eq!((census.hosts, count(&census, &[Why::Damaged])), (0, 1));
}

/// Folders end at some depth, which is reported.
#[test]
fn a_folder_that_lies_too_deep_is_reported() {
    let [well, sick, _] = two_hosts();
    let folder = tempfile::tempdir().unwrap();
    let deep = |levels: usize| format!("{}brief.json", "a/".repeat(levels));
    write_below(folder.path(), &deep(2), well.as_bytes());
    write_below(folder.path(), &deep(40), sick.as_bytes());
    let census = taken(&fleet(&[folder.path().to_owned()], 1), None, None);
    assert_eq!((census.hosts, scenario(&census).hosts.clear), (1, 1));
    assert_eq!(count(&census, &[Why::Unreadable]), 1, "{:?}", census.set_aside);
}

/// A study that was undecided, and that its host has continued, writes a second brief record with
/// the same start and the same seed.
#[test]
fn a_study_that_was_continued_to_its_verdict_has_that_verdict() {
    let quiet = World { hostile: 0.0, duplicates: 0.0, liars: 0.0, ..World::of(1000, 3, true) };
    let text = String::from_utf8(lines(quiet).0).unwrap();
    let of = |state: &str| {
        let is = format!("\"state\":\"{state}\"");
        let line = text.lines().find(|line| line.contains(&is)).unwrap();
        let mut brief: serde_json::Value = serde_json::from_str(line).unwrap();
        brief["host"] = serde_json::json!({ "name": "a" });
        brief["started"] = "2026-11-01T00:00:00Z".into();
        brief["plan"]["seed"] = 7.into();
        brief
    };
    let open = of("inconclusive");
    let settled = of("affected");
    let blocks = |brief: &serde_json::Value| brief["plan"]["blocks"].as_u64().unwrap();
    assert!(blocks(&open) < blocks(&settled));
    let names = ["a-20261101T000200Z-7.jsonl", "a-20261101T003000Z-9.jsonl"];
    // The names decide which of them is read first.
    for briefs in [[&open, &settled], [&settled, &open]] {
        let folder = tempfile::tempdir().unwrap();
        for (name, brief) in names.iter().zip(briefs) {
            std::fs::write(folder.path().join(name), format!("{brief}\n")).unwrap();
        }
        let census = taken(&fleet(&[folder.path().to_owned()], 1), None, None);
        let hosts = scenario(&census).hosts;
        assert_eq!((hosts.affected, census.hosts), (1, 1), "{:?}", census.set_aside);
        assert_eq!(count(&census, &[Why::Superseded]), 1, "{:?}", census.set_aside);
        assert_eq!(census.set_aside.len(), 1, "{:?}", census.set_aside);
    }
}

/// A log that begins with a bracket or a brace is read line by line.
#[test]
fn a_first_line_that_is_no_record_costs_no_other_line() {
    let [well, sick, _] = two_hosts();
    let folder = tempfile::tempdir().unwrap();
    for first in ["[   12.5] the host is up", "[1, 2]", "{"] {
        let census = of(folder.path(), format!("{first}\n{well}{sick}").as_bytes());
        assert_eq!(census.hosts, 2, "{first}: {:?}", census.set_aside);
        assert_eq!(count(&census, &[Why::Damaged, Why::Truncated]), 1, "{first}");
    }
}

/// A record of that study, with the conclusion that its host claims.
fn record(hung: bool, claimed: State) -> Judged {
    let mut only = trial(0, "control", 1.0);
    only.observation.hang = hung;
    let facts = facts(SCENARIO, plan(&[("control", Role::Control)]), vec![only]);
    Judged { facts, judgement: Judgement::new(claimed, Headline::NotMeasured) }
}

#[test]
fn a_record_counts_by_its_facts_whatever_its_host_concluded() {
    let folder = tempfile::tempdir().unwrap();
    for (hung, claimed) in [(false, State::Affected), (true, State::NotAffected)] {
        let text = record(hung, claimed).to_json();
        let absent = text.replacen("\"judgement\"", "\"claimed\"", 1);
        assert_ne!(absent, text);
        for text in [text, absent] {
            let census = of(folder.path(), text.as_bytes());
            let hosts = scenario(&census).hosts;
            assert_eq!((hosts.affected, hosts.clear), (u64::from(hung), u64::from(!hung)));
            assert_eq!(census.set_aside, []);
        }
    }
}

/// The OTP of a full record is a property of its kind, as that of a brief record is.
#[test]
fn a_record_counts_with_the_otp_of_its_trials() {
    let folder = tempfile::tempdir().unwrap();
    let with_otp = |otp: &str| {
        let mut full = record(false, State::NotAffected);
        let vm = Vm { otp: otp.to_owned(), ..Vm::default() };
        full.facts.trials[0].observation.vm = Some(vm);
        let path = folder.path().join("web1.json");
        std::fs::write(&path, full.to_json()).unwrap();
        fleet(&[path], 1)
    };
    let known = with_otp("26");
    let verdicts = Verdicts::of(&known);
    let otps: Vec<Option<String>> =
        verdicts.iter().map(|one| one.kind.and_then(|kind| kind.otp.clone())).collect();
    assert_eq!(otps, [Some("26".to_owned())]);
    let census = taken(&with_otp("26\u{1b}[2J"), None, None);
    assert_eq!((census.hosts, count(&census, &[Why::Damaged])), (0, 1));
}

#[test]
fn a_record_without_facts_that_hold_together_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let text = record(true, State::Affected).to_json();
    let foreign = text.replacen("\"arm\": \"control\"", "\"arm\": \"other\"", 1);
    assert_ne!(foreign, text);
    let newer = text.replacen("tailback/record/3", "tailback/record/4", 1);
    for (text, why) in [(foreign, Why::Damaged), (newer, Why::Newer)] {
        let census = of(folder.path(), text.as_bytes());
        assert_eq!((census.hosts, count(&census, &[why])), (0, 1), "{text}");
    }
    let mut large = record(true, State::Affected);
    let figure = large.facts.plan.judging.clone();
    large.facts.plan.also = vec![figure; 5000];
    large.facts.trials = vec![trial(0, "control", 1.0); 4000];
    let census = of(folder.path(), large.to_json().as_bytes());
    assert_eq!((census.hosts, count(&census, &[Why::TooLarge])), (0, 1));
    let cut = of(folder.path(), &text.as_bytes()[..text.len() / 2]);
    assert_eq!((cut.hosts, count(&cut, &[Why::Truncated])), (0, 1));
}

/// A path that is neither a file nor a folder is an error if it is named, and skipped in a
/// folder. Reading never blocks on it.
#[test]
fn a_pipe_and_a_device_are_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("a.json");
    let mode = rustix::fs::Mode::RUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&pipe, &link).unwrap();
    for path in [pipe, link, PathBuf::from("/dev/zero")] {
        let error = census::read(std::slice::from_ref(&path), OPTIONS, &mut |_| {}).unwrap_err();
        let said = error.to_string();
        assert!(
            said.contains("neither a file nor a folder") && said.lines().count() == 1,
            "{said}"
        );
    }
    let census = taken(&fleet(&[folder.path().to_owned()], 1), None, None);
    assert_eq!((census.hosts, census.read.files), (0, 0));
    // A link to a file is followed if it is named.
    let [well, ..] = two_hosts();
    let (file, link) = (folder.path().join("real"), folder.path().join("named.json"));
    std::fs::write(&file, well).unwrap();
    std::os::unix::fs::symlink(&file, &link).unwrap();
    assert_eq!(taken(&fleet(&[link], 1), None, None).hosts, 1);
}
