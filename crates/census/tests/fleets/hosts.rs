//! Which host a record is counted for, and which names are shown.

use super::*;

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
