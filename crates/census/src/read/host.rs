//! What the name of a file says.

use std::path::Path;

/// Names of files with records end so.
const ENDINGS: [&str; 5] = ["json", "jsonl", "ndjson", "brief", "log"];

/// Names of archives, and of packed files, end so.
const PACKED: [&str; 3] = ["tar", "tgz", "gz"];

/// Whether a file of this name may hold records.
pub(super) fn is_wanted(name: &Path) -> bool {
    has_ending(name, &ENDINGS) || has_ending(name, &PACKED)
}

/// Whether a file of this name may be packed, or an archive.
pub(super) fn is_packed(name: &Path) -> bool {
    has_ending(name, &PACKED)
}

fn has_ending(name: &Path, endings: &[&str]) -> bool {
    let ending = name.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| endings.contains(&ending))
}

/// The host that a file is taken for where its records do not say: the folder that it stands in
/// below what was named, as engines that fetch files have one a host; else its own name without its
/// endings.
pub(super) fn host_of(below: &Path) -> String {
    let mut parts = below.components().filter_map(|part| match part {
        std::path::Component::Normal(name) => Some(name.to_string_lossy()),
        _ => None,
    });
    let first = parts.next().unwrap_or_default();
    if parts.next().is_some() {
        return first.into_owned();
    }
    let mut name = first.as_ref();
    while let Some((stem, ending)) = name.rsplit_once('.') {
        if stem.is_empty() || !(ENDINGS.contains(&ending) || PACKED.contains(&ending)) {
            break;
        }
        name = stem;
    }
    name.to_owned()
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
        assert_eq!((of(".json"), of("")), (".json".to_owned(), String::new()));
    }
}
