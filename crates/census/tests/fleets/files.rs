//! Files, archives and folders that somebody else wrote.

use super::*;

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
