//! The meaning of file names.

use crate::file_host::Hashing;
use std::path::Path;

/// Endings of the names of files with records.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "brief", "log"];

/// A word that may stand before these endings.
const KIND: &str = "record";

/// The longest host name in a file name, in bytes; the rest of the file name is added to it.
const LONGEST: usize = 200;

/// Endings of the names of archives and compressed files.
const PACKED: [&str; 3] = ["tar", "tgz", "gz"];

/// Whether a file of this name may hold records.
pub(super) fn is_wanted(name: &Path) -> bool {
    has_ending(name, &ENDINGS) || has_ending(name, &PACKED)
}

/// Whether a file of this name may be compressed, or an archive.
pub(super) fn is_packed(name: &Path) -> bool {
    has_ending(name, &PACKED)
}

fn has_ending(name: &Path, endings: &[&str]) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending))
}

/// The host that a file speaks for. If the file is in a folder below the named path, it is that
/// folder: tools that collect files use one folder per host. Otherwise it is the file name
/// without its endings and its run.
pub(super) fn host_of(below: &Path) -> String {
    let mut parts = below.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let first = parts.next().unwrap_or_default();
    if parts.next().is_some() { first.into_owned() } else { without_endings(&first).to_owned() }
}

/// The name of a file below a named folder or in an archive, as it is shown. Where host names are
/// hashed, each part of it is hashed too: any folder and any file may be named after a host. Only
/// the endings of the file and its run stay.
pub(super) fn shown(below: &str, hashing: Option<Hashing>) -> String {
    let Some(Hashing(hash)) = hashing else { return below.to_owned() };
    let is_name = |part: &str| !matches!(part, "" | "." | "..");
    let hashed = |part: &str| if is_name(part) { hash(part) } else { part.to_owned() };
    let mut parts: Vec<&str> = below.split('/').collect();
    let file = parts.pop().unwrap_or_default();
    let stem = without_endings(file);
    let file = format!("{}{}", hashed(stem), file.strip_prefix(stem).unwrap_or_default());
    parts.into_iter().map(hashed).chain([file]).collect::<Vec<String>>().join("/")
}

/// A file name without its endings and its run: a part at its beginning.
fn without_endings(file: &str) -> &str {
    let mut name = file;
    while let Some((stem, ending)) = name.rsplit_once('.') {
        let is_kind = ending == KIND && name.len() < file.len();
        let is_ending = ENDINGS.contains(&ending) || PACKED.contains(&ending) || is_kind;
        if stem.is_empty() || !is_ending {
            break;
        }
        name = stem;
    }
    without_run(name)
}

/// The file name for one run of a host, which speaks for that host: HOST-TIME-PID.jsonl. None if
/// the host name cannot be part of a file name.
pub fn run_file(host: &str, time: jiff::Timestamp, process: u32) -> Option<String> {
    let fits = (1..=LONGEST).contains(&host.len()) && !host.contains('/') && !host.starts_with('.');
    let file = format!("{host}-{}-{process}.jsonl", time.strftime("%Y%m%dT%H%M%SZ"));
    (fits && host_of(Path::new(&file)) == host).then_some(file)
}

/// A file name without the time and the process that [`run_file`] adds.
fn without_run(name: &str) -> &str {
    /// The digits of a time.
    const TIME: &[u8] = b"00000000T000000Z";
    let cut = || {
        let (rest, process) = name.rsplit_once('-')?;
        let (host, time) = rest.rsplit_once('-')?;
        let digits = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
        let alike = |(c, pattern): (u8, &u8)| match pattern {
            b'0' => c.is_ascii_digit(),
            other => c == *other,
        };
        let is_time = time.len() == TIME.len() && time.bytes().zip(TIME).all(alike);
        (is_time && digits(process) && !host.is_empty()).then_some(host)
    };
    cut().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_told_by_its_folder_or_its_file() {
        let of = |below: &str| host_of(Path::new(below));
        assert_eq!(of("web1/tmp/brief.json"), "web1");
        assert_eq!(of("./web1/brief.json"), "web1");
        assert_eq!(of("web1.example.org.json.gz"), "web1.example.org");
        assert_eq!((of("web1.record.json"), of("web1.brief.json")), ("web1".into(), "web1".into()));
        assert_eq!((of("web1.record"), of("web-1.jsonl")), ("web1.record".into(), "web-1".into()));
        assert_eq!((of(".json"), of("")), (".json".to_owned(), String::new()));
    }

    #[test]
    fn where_host_names_are_hashed_no_part_of_a_name_is_shown() {
        let hash = |name: &str| format!("#{}", name.len());
        let of = |below: &str| shown(below, Some(Hashing(&hash)));
        assert_eq!(of("web1.jsonl"), "#4.jsonl");
        assert_eq!(of("web1.record.json.gz"), "#4.record.json.gz");
        assert_eq!(of("web1-20261122T180405Z-17.jsonl"), "#4-20261122T180405Z-17.jsonl");
        assert_eq!(of("r1/web12/web123.json"), "#2/#5/#6.json");
        assert_eq!(of("../web1//./db1.example.org"), "../#4//./#15");
        assert_eq!((of(""), of("web1/")), (String::new(), "#4/".to_owned()));
        assert_eq!(shown("r1/web1.json", None), "r1/web1.json");
    }

    #[test]
    fn the_file_of_a_run_speaks_for_its_host() {
        let time = jiff::Timestamp::from_second(1_795_370_645).unwrap();
        let file = |host: &str| run_file(host, time, 123);
        assert_eq!(file("n7").as_deref(), Some("n7-20261122T180405Z-123.jsonl"));
        for host in
            ["web1.example.org", "web-1", "n 7", "größe", "web1.json", "n-20261122T180405Z-1"]
        {
            assert_eq!(host_of(Path::new(&file(host).unwrap())), host);
        }
        for host in ["", "..", "../a", "a/b", ".a", &"x".repeat(201)] {
            assert_eq!(file(host), None, "{host}");
        }
        let not_ours = ["n7-20261122T180405Z.jsonl", "-20261122T180405Z-1.json", "n7-2026T18Z-1"];
        for name in not_ours {
            assert!(
                name.starts_with(&host_of(Path::new(name))) && host_of(Path::new(name)) != "n7"
            );
        }
    }
}
