//! The installed Erlang/OTPs, found without running any.

use crate::roots::{self, Roots};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Where packages install an OTP.
const USUAL: [&str; 3] = ["/usr/lib/erlang", "/usr/lib64/erlang", "/usr/local/lib/erlang"];

/// Most folders of a PATH that are searched.
const MOST_FOLDERS: usize = 64;

/// Most releases of one installation that are examined.
const MOST_RELEASES: usize = 16;

/// Most entries of the folder of releases that are read: anybody may have made that folder.
const MOST_ENTRIES: usize = 1_024;

/// Longest version text, in bytes.
const LONGEST: u64 = 64;

/// Versions of the OTPs in the usual places and on this PATH, in ascending order: the full
/// version, such as `27.3.4.1`, or the number of the release if the full version is not known.
pub fn otps(roots: &Roots, path: Option<&OsStr>) -> Vec<String> {
    let usual = USUAL.iter().map(|place| roots.resolve(Path::new(place)));
    let folders = path.map(std::env::split_paths).into_iter().flatten().take(MOST_FOLDERS);
    // `erl` is a link into the `bin` folder of its installation.
    let on_path = folders.filter_map(|folder| {
        let program = folder.join("erl").canonicalize().ok()?;
        program.parent()?.parent().map(Path::to_owned)
    });
    let places: BTreeSet<PathBuf> = usual.chain(on_path).collect();
    let versions: BTreeSet<String> = places.iter().flat_map(|place| releases(place)).collect();
    versions.into_iter().collect()
}

fn releases(place: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(place.join("releases")).into_iter().flatten();
    let releases = entries.take(MOST_ENTRIES).flatten().filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let is_release = name.len() <= 3 && name.bytes().all(|byte| byte.is_ascii_digit());
        is_release.then(|| version(&entry.path()).unwrap_or(name))
    });
    releases.take(MOST_RELEASES).collect()
}

fn version(release: &Path) -> Option<String> {
    let text = roots::read_text_up_to(&release.join("OTP_VERSION"), LONGEST).ok()?;
    let text = text.trim();
    let is_version = text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-+*".contains(&byte));
    is_version.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::fs::{CWD, FileType, Mode, mknodat};
    use std::fs;

    #[test]
    fn versions_are_read_and_nothing_is_run() {
        let dir = tempfile::tempdir().unwrap();
        let release = |place: &str, name: &str, version: Option<&str>| {
            let release = dir.path().join(place).join("releases").join(name);
            fs::create_dir_all(&release).unwrap();
            if let Some(version) = version {
                fs::write(release.join("OTP_VERSION"), version).unwrap();
            }
        };
        release("usr/lib/erlang", "25", Some("25.2.3\n"));
        release("usr/lib/erlang", "RELEASES", Some("99"));
        release("opt/otp", "27", Some("27.3\u{1b}[2J"));
        fs::create_dir_all(dir.path().join("opt/otp/bin")).unwrap();
        fs::write(dir.path().join("opt/otp/bin/erl"), "").unwrap();
        fs::create_dir_all(dir.path().join("bin")).unwrap();
        std::os::unix::fs::symlink("../opt/otp/bin/erl", dir.path().join("bin/erl")).unwrap();
        let path = dir.path().join("bin").into_os_string();
        let roots = Roots::at(dir.path());
        assert_eq!(otps(&roots, Some(&path)), ["25.2.3", "27"]);
        // A pipe without a writer: reading must not wait for it.
        let pipe = dir.path().join("opt/otp/releases/28");
        fs::create_dir_all(&pipe).unwrap();
        let (pipe, mode) = (pipe.join("OTP_VERSION"), Mode::from_raw_mode(0o600));
        mknodat(CWD, &pipe, FileType::Fifo, mode, 0).unwrap();
        assert_eq!(otps(&roots, Some(&path)), ["25.2.3", "27", "28"]);
        assert_eq!(otps(&roots, None), ["25.2.3"]);
    }
}
