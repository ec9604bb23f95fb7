//! The files of the kernel's cpufreq tree that tailback sets, and the values that they accept.

use crate::held;
use crate::roots::Roots;
use std::ffi::OsStr;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// The value for the highest frequency; tailback sets no other one.
pub(crate) const PERFORMANCE: &str = "performance";

/// The file systems on which the tree may be: sysfs, and tmpfs if root has mounted something else
/// over it, as `make torture` does.
const MAGICS: [u64; 2] = [0x6265_6572, 0x0102_1994];

/// A file that tailback sets.
#[derive(Debug)]
struct Knob {
    name: &'static str,
    /// The file next to it that lists its values.
    list: &'static str,
    /// Whether the kernel also accepts a number of one byte.
    takes_number: bool,
}

/// The files in the order in which they are set and restored: while the governor is
/// `performance`, the kernel refuses other preferences.
const KNOBS: [Knob; 2] = [
    Knob { name: "scaling_governor", list: "scaling_available_governors", takes_number: false },
    Knob {
        name: "energy_performance_preference",
        list: "energy_performance_available_preferences",
        takes_number: true,
    },
];

/// One of these files; its folder is held open.
#[derive(Debug)]
pub(crate) struct Setting {
    folder: OwnedFd,
    knob: &'static Knob,
}

/// Why there is no setting at a path.
#[derive(Debug)]
pub(crate) enum Absent {
    /// It is no file that tailback sets.
    Foreign(String),
    /// It does not exist any more, for example because another driver is loaded.
    Gone,
}

impl Setting {
    /// The file at a path.
    ///
    /// # Errors
    /// If tailback does not set such a file, or if the path contains links.
    pub(crate) fn at(roots: &Roots, path: &Path) -> Result<Self, Absent> {
        let foreign = |why: &str| Absent::Foreign(why.to_owned());
        let tree = tree(roots).ok_or(Absent::Gone)?;
        let (folders, knob) =
            place(&tree, path).ok_or_else(|| foreign("not a cpufreq file that tailback sets"))?;
        let opened = held::folder(&tree).and_then(|tree| held::below(tree, &folders));
        let folder = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => Absent::Gone,
            _ => Absent::Foreign(error.to_string()),
        })?;
        let magic = held::magic_of(&folder).map_err(|error| Absent::Foreign(error.to_string()))?;
        match roots.is_fake() || MAGICS.contains(&magic) {
            true => Ok(Setting { folder, knob }),
            false => Err(foreign("not on the file system of the kernel's settings")),
        }
    }

    /// Its value; None if the file does not exist any more or is empty.
    pub(crate) fn value(&self) -> io::Result<Option<String>> {
        let text = held::read(&self.folder, self.knob.name)?;
        Ok(text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
    }

    /// Whether the kernel lists `value` for it.
    ///
    /// # Errors
    /// If the list cannot be read.
    pub(crate) fn takes(&self, value: &str) -> io::Result<bool> {
        let list = held::read(&self.folder, self.knob.list)?.unwrap_or_default();
        let is_number = || value.parse::<u8>().is_ok_and(|number| number.to_string() == value);
        Ok(list.split_whitespace().any(|listed| listed == value)
            || (self.knob.takes_number && is_number()))
    }

    /// Writes a value.
    pub(crate) fn set(&self, value: &str) -> io::Result<()> {
        held::write(&self.folder, self.knob.name, value)
    }
}

/// The folder below which the files are.
fn tree(roots: &Roots) -> Option<PathBuf> {
    roots.sys.join("devices/system/cpu").canonicalize().ok()
}

/// The folders on the way to a file, and the kind of file: `cpuN/cpufreq/FILE` or
/// `cpufreq/policyN/FILE`.
fn place<'a>(tree: &Path, path: &'a Path) -> Option<([&'a OsStr; 2], &'static Knob)> {
    // The path must consist of plain names.
    held::parts(path)?;
    let parts: Vec<&OsStr> = path.strip_prefix(tree).ok()?.iter().collect();
    let [outer, inner, file] = parts[..] else { return None };
    let known = numbered(outer, "cpu") && inner == "cpufreq"
        || outer == "cpufreq" && numbered(inner, "policy");
    let knob = KNOBS.iter().find(|knob| file == knob.name)?;
    known.then_some(([outer, inner], knob))
}

/// Whether `name` is `word` followed by a number.
fn numbered(name: &OsStr, word: &str) -> bool {
    let number = name.to_str().and_then(|name| name.strip_prefix(word));
    number.is_some_and(|text| text.parse::<u32>().is_ok_and(|number| number.to_string() == text))
}

/// The files of all CPUs, governors first; CPUs that share a policy share its files.
pub(crate) fn files(roots: &Roots) -> Vec<PathBuf> {
    let Some(tree) = tree(roots) else { return Vec::new() };
    let entries = std::fs::read_dir(&tree).into_iter().flatten().flatten();
    let numbers = entries
        .filter_map(|entry| entry.file_name().to_str()?.strip_prefix("cpu")?.parse::<u32>().ok());
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    let mut folders: Vec<PathBuf> = Vec::new();
    for number in numbers {
        // On most kernels this is a link to the folder of a policy.
        let Ok(folder) = tree.join(format!("cpu{number}/cpufreq")).canonicalize() else { continue };
        if !folders.contains(&folder) {
            folders.push(folder);
        }
    }
    KNOBS.iter().flat_map(|knob| folders.iter().map(|folder| folder.join(knob.name))).collect()
}

/// Whether a path is a file that tailback sets.
#[cfg(feature = "fuzz")]
pub(crate) fn fuzz(path: &Path) -> bool {
    place(Path::new("/sys/devices/system/cpu"), path).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_cpufreq_are_settings() {
        let of = |path: &str| {
            place(Path::new("/sys/devices/system/cpu"), Path::new(path)).map(|(_, knob)| knob.name)
        };
        let cpus = "/sys/devices/system/cpu";
        assert_eq!(of(&format!("{cpus}/cpu12/cpufreq/scaling_governor")), Some("scaling_governor"));
        let preference = "energy_performance_preference";
        assert_eq!(of(&format!("{cpus}/cpufreq/policy0/{preference}")), Some(preference));
        for other in [
            "cpu0/cpufreq/scaling_max_freq",
            "cpu0/online",
            "cpu+1/cpufreq/scaling_governor",
            "cpu01/cpufreq/scaling_governor",
            "cpu/cpufreq/scaling_governor",
            "cpu99999999999/cpufreq/scaling_governor",
            "cpufreq/scaling_governor",
            "cpufreq/policy0/../policy0/scaling_governor",
            "cpu0/cpufreq/../cpufreq/scaling_governor",
            "cpu0//cpufreq/scaling_governor",
            "cpu0/cpufreq/scaling_governor/",
            "cpu0/cpufreq/stats/scaling_governor",
            "cpu0\u{1b}/cpufreq/scaling_governor",
        ] {
            assert_eq!(of(&format!("{cpus}/{other}")), None, "{other}");
        }
        for other in ["/etc/passwd", "cpu0/cpufreq/scaling_governor", "/cpu0/cpufreq/x", ""] {
            assert_eq!(of(other), None, "{other}");
        }
    }
}
