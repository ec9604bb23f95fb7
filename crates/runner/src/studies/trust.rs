//! What a study file may do only with --trust: run programs, and read or write outside the
//! working folder.

use super::design::Design;
use super::factors::KERNEL;
use model::parameter::AUTO;
use model::{Meta, ParameterKind, Value};
use scenarios::AnyScenario;
use std::path::{Component, Path, PathBuf};

/// The prefix of the names of Debian's OTPs and kernels.
const DEBIAN: &str = "debian:";

/// A key of a study file that is refused unless the file is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Untrusted {
    /// The key, for example `fixed.erl`.
    pub key: String,
    /// What it would do, with its value.
    pub what: String,
}

impl std::fmt::Display for Untrusted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`{}` {}", self.key, self.what)
    }
}

impl Design {
    /// All keys that do more than vary a load on this machine: they run a program or a kernel,
    /// show a folder to a guest, or write outside the working folder.
    ///
    /// Programs are no safer in the working folder: they may have come with the file.
    pub fn untrusted(&self, working: &Path) -> Vec<Untrusted> {
        let mut found = Vec::new();
        let mut add = |key: String, what: Option<String>| {
            found.extend(what.map(|what| Untrusted { key, what }));
        };
        let meta = self.scenario().map(AnyScenario::meta);
        for (name, value) in &self.settings.0 {
            add(format!("fixed.{name}"), meta.and_then(|meta| danger(meta, name, value, working)));
        }
        for factor in &self.factors {
            for level in &factor.levels {
                let key = format!("factors.{}", factor.name);
                if factor.name == KERNEL && level.settings.0.is_empty() {
                    add(key.clone(), kernel(&level.name));
                }
                for (name, value) in &level.settings.0 {
                    let key = match factor.name == *name {
                        true => key.clone(),
                        false => format!("{key}.{}.{name}", level.name),
                    };
                    add(key, meta.and_then(|meta| danger(meta, name, value, working)));
                }
            }
        }
        if let Some(root) = &self.guest.root {
            add("guest.root".to_owned(), Some(format!("shows the folder {root:?} to a kernel")));
        }
        let output = [("folder", &self.output.folder), ("report", &self.output.report)];
        for (key, path) in output {
            add(format!("output.{key}"), path.as_ref().and_then(|path| outside(path, working)));
        }
        found
    }
}

/// Why a parameter needs trust; None if it does not.
fn danger(meta: &Meta, name: &str, value: &Value, working: &Path) -> Option<String> {
    let Value::Text(text) = value else { return None };
    match meta.parameter(name)?.kind {
        // OTPs of Debian's signed archive need no trust; programs do.
        ParameterKind::Programs
            if text.split(',').any(|word| word != AUTO && !word.starts_with(DEBIAN)) =>
        {
            Some(format!("runs the program {text:?}"))
        }
        ParameterKind::Folder if text != AUTO => outside(Path::new(text), working),
        ParameterKind::Flags if has_dash_flag(text) => {
            Some(format!("gives flags to a program that can write files: {text:?}"))
        }
        _ => None,
    }
}

/// Whether the text may contain a flag that begins with a dash. Such flags set variables of
/// applications, for example the file that the logger writes. Quotes and backslashes may come
/// before the dash.
fn has_dash_flag(text: &str) -> bool {
    let mut before = None;
    text.chars().any(|c| {
        let begins = before.is_none_or(|b: char| !b.is_alphanumeric() && b != '_');
        before = Some(c);
        c == '-' && begins
    })
}

/// Kernels of Debian's signed archive and those of `make kernels` need no trust; files do.
fn kernel(name: &str) -> Option<String> {
    let named = [DEBIAN, "built:"].iter().any(|kind| name.starts_with(kind));
    (!named).then(|| format!("boots the kernel {name:?}"))
}

fn outside(path: &Path, working: &Path) -> Option<String> {
    (!is_inside(path, working))
        .then(|| format!("writes outside the working folder, to {:?}", path.display().to_string()))
}

/// Whether a path is in a folder, with links followed. A path that cannot be resolved is not.
fn is_inside(path: &Path, folder: &Path) -> bool {
    let Ok(folder) = folder.canonicalize() else { return false };
    let mut place = folder.clone();
    for part in path.components() {
        let next = match part {
            Component::Prefix(_) | Component::RootDir => PathBuf::from("/"),
            Component::CurDir => continue,
            Component::ParentDir => place.parent().map_or_else(|| place.clone(), Path::to_owned),
            Component::Normal(name) => place.join(name),
        };
        place = match next.symlink_metadata() {
            Ok(_) => match next.canonicalize() {
                Ok(real) => real,
                // A link to nothing: a file would be created at its target.
                Err(_) => return false,
            },
            Err(_) => next,
        };
    }
    place.starts_with(&folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(text: &str, working: &Path) -> Vec<String> {
        let design = Design::read(text, Path::new("s.toml"), false).unwrap();
        design.untrusted(working).into_iter().map(|found| found.key).collect()
    }

    #[test]
    fn programs_flags_with_dashes_kernels_and_roots_need_trust() {
        let place = tempfile::tempdir().unwrap();
        let nif = |more: &str| {
            let text = format!("scenario = \"blocking-nif\"\n{more}");
            keys(&text, place.path())
        };
        assert_eq!(nif("factors.schedulers = [2, 4]\nfixed.otp = \"auto\""), [""; 0]);
        assert_eq!(nif("factors.schedulers = [2]\nfixed.erl = \"./erl\""), ["fixed.otp"]);
        let level = "[factors.vm]\nours = { otp = \"auto\" }\nnewer = { erl = \"/opt/erl\" }";
        assert_eq!(nif(level), ["factors.vm.newer.otp"]);
        let flags = "factors.flags = [\"+sbwt none\", \"+S 2 '-'kernel a b\"]";
        assert_eq!(nif(flags), ["factors.flags"]);
        let guest = "guest.root = \"host\"\nfactors.kernel = [\"debian:6.1\", \"./bzImage\"]";
        let text = format!("scenario = \"mmap-lock\"\n{guest}");
        assert_eq!(keys(&text, place.path()), ["factors.kernel", "guest.root"]);
    }

    #[test]
    fn what_is_written_outside_the_working_folder_needs_trust_by_whatever_name() {
        let place = tempfile::tempdir().unwrap();
        let working = place.path().join("work");
        std::fs::create_dir_all(working.join("in")).unwrap();
        std::os::unix::fs::symlink(place.path(), working.join("away")).unwrap();
        std::os::unix::fs::symlink("/nonexistent/x.txt", working.join("gone.txt")).unwrap();
        for inside in ["a.txt", "in/a.txt", "new/a.txt", "in/../a.txt", "./a.txt"] {
            assert!(is_inside(Path::new(inside), &working), "{inside}");
        }
        assert!(is_inside(&working.join("a.txt"), &working));
        for outside in ["/etc/a.txt", "../a.txt", "away/a.txt", "gone.txt", "new/../../a.txt"] {
            assert!(!is_inside(Path::new(outside), &working), "{outside}");
        }
        let text = "scenario = \"mmap-lock\"\nfactors.busy = [0, 1]\n\
                    output = { folder = \"in\", report = \"../a.txt\" }";
        assert_eq!(keys(text, &working), ["output.report"]);
    }
}
