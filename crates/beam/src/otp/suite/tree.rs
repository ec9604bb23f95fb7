//! The content of a root: `erlang`, which the suite has in `/usr/lib/erlang`; `lib`, the loader
//! and the libraries; `bin/erl`.

use super::relink;
use debian::package::Member;
use debian::{Cache, DebianError, failed};
use os::arch::Arch;
use std::collections::BTreeSet;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where Debian installs Erlang.
const ERLANG: [&str; 3] = ["usr", "lib", "erlang"];

/// Where Debian installs libraries.
const LIBRARIES: &str = Arch::OWN.libraries();

/// The loader; it is in the folder of the libraries.
const LOADER: &str = Arch::OWN.loader();

/// The program `erl` of a root.
pub(super) fn erl(root: &Path) -> PathBuf {
    root.join("bin/erl")
}

/// Whether anything of a package is needed. Of the packages that Erlang depends on, these are the
/// libraries; programs that set up a system are not run.
pub(super) fn is_wanted(package: &str) -> bool {
    ["erlang-", "lib", "zlib"].iter().any(|start| package.starts_with(start))
}

/// A root that is being made.
pub(super) struct Tree<'a> {
    root: &'a Path,
    cache: &'a Cache,
    /// Folders that exist already.
    made: BTreeSet<PathBuf>,
    /// Names of libraries that are links to others.
    links: Vec<(String, String)>,
}

impl<'a> Tree<'a> {
    /// A root in this folder of the cache.
    pub fn new(root: &'a Path, cache: &'a Cache) -> Self {
        Tree { root, cache, made: BTreeSet::new(), links: Vec::new() }
    }

    /// Takes a file from a package, if it is needed.
    pub fn add_member(&mut self, mut member: Member<'_>) -> Result<(), DebianError> {
        let parts: Vec<&str> = member.parts().iter().map(String::as_str).collect();
        let library = library(&parts).map(str::to_owned);
        if let (Some(name), Some(target)) = (&library, member.link()) {
            // Other links belong to the documentation.
            if !target.contains('/') {
                self.links.push((name.clone(), target.to_owned()));
            }
            return Ok(());
        }
        let to = match (&library, erlang(&parts)) {
            _ if member.link().is_some() => return Ok(()),
            (Some(name), _) => self.root.join("lib").join(name),
            (None, Some(place)) => self.root.join("erlang").join(place),
            (None, None) => return Ok(()),
        };
        let folder = to.parent().unwrap_or(self.root).to_owned();
        if self.made.insert(folder.clone()) {
            self.cache.make(&folder)?;
        }
        member.write(&to)?;
        let mode = if member.executable() { 0o755 } else { 0o644 };
        fs::set_permissions(&to, Permissions::from_mode(mode)).map_err(|e| failed(&to, e))
    }

    /// Gives the libraries the names that programs use, makes the programs use them, and writes
    /// `bin/erl`; `place` is the final path of the root.
    pub fn finish(self, place: &Path) -> Result<(), DebianError> {
        let lib = self.root.join("lib");
        for (name, target) in &self.links {
            let (from, to) = (lib.join(target), lib.join(name));
            if from.is_file() && !to.exists() {
                fs::copy(&from, &to).map_err(|source| failed(&to, source))?;
            }
        }
        if !lib.join(LOADER).is_file() {
            return Err(lacks(place, LOADER));
        }
        let bin = self.programs(place)?;
        let loader = place.join("lib").join(LOADER);
        for entry in fs::read_dir(&bin).map_err(|source| failed(&bin, source))?.flatten() {
            relink::relink(&entry.path(), &loader)?;
        }
        let version = bin.parent().and_then(Path::file_name).unwrap_or_default();
        let erl = erl(self.root);
        self.cache.make(erl.parent().unwrap_or(self.root))?;
        fs::write(&erl, script(&place.join("erlang"), &version.to_string_lossy()))
            .and_then(|()| fs::set_permissions(&erl, Permissions::from_mode(0o755)))
            .map_err(|source| failed(&erl, source))
    }

    /// The folder of the VM's programs.
    fn programs(&self, place: &Path) -> Result<PathBuf, DebianError> {
        let erlang = self.root.join("erlang");
        let entries = fs::read_dir(&erlang).map_err(|_| lacks(place, "Erlang"))?;
        let mut folders = entries.flatten().map(|entry| entry.path().join("bin"));
        folders
            .find(|folder| folder.join("erlexec").is_file() && folder.join("beam.smp").is_file())
            .ok_or_else(|| lacks(place, "beam.smp"))
    }
}

fn lacks(place: &Path, what: &str) -> DebianError {
    let why = format!("the fetched packages do not contain {what}");
    DebianError::Torn { path: place.to_owned(), why }
}

/// The name of a library, if the path is a library or a link to one.
fn library<'a>(parts: &[&'a str]) -> Option<&'a str> {
    let parts = parts.strip_prefix(&["usr"]).unwrap_or(parts);
    match parts {
        ["lib", LIBRARIES, name] if name.contains(".so") => Some(name),
        _ => None,
    }
}

/// The path of a file inside Erlang's folder.
fn erlang(parts: &[&str]) -> Option<PathBuf> {
    let place = parts.strip_prefix(&ERLANG)?;
    // A node does not need examples and manual pages.
    let idle = |part: &&str| ["examples", "man", "doc"].contains(part);
    (!place.iter().any(idle)).then(|| place.iter().collect())
}

/// A copy of Erlang's own script `erl`, for another place.
fn script(erlang: &Path, erts: &str) -> String {
    let root = os::quote::word(&erlang.display().to_string());
    let bin = os::quote::word(&erlang.join(erts).join("bin").display().to_string());
    format!(
        "#!/bin/sh\n\
         ROOTDIR={root}\nBINDIR={bin}\nEMU=beam\nPROGNAME=erl\n\
         export ROOTDIR BINDIR EMU PROGNAME\n\
         exec \"$BINDIR/erlexec\" ${{1+\"$@\"}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_and_erlang_are_taken_and_nothing_else() {
        for place in ["lib/HERE/libc.so.6", "usr/lib/HERE/libc.so.6"] {
            let place = place.replace("HERE", LIBRARIES);
            let parts: Vec<&str> = place.split('/').collect();
            assert_eq!(library(&parts), Some("libc.so.6"));
        }
        for place in ["usr/lib/HERE/gconv/A.so", "usr/lib/HERE/crt1.o", "lib/other/libc.so.6"] {
            let place = place.replace("HERE", LIBRARIES);
            assert_eq!(library(&place.split('/').collect::<Vec<_>>()), None, "{place}");
        }
        let parts = |path: &'static str| path.split('/').collect::<Vec<_>>();
        let erlang = |path| erlang(&parts(path));
        assert_eq!(erlang("usr/lib/erlang/bin/start.boot").unwrap(), Path::new("bin/start.boot"));
        for place in ["usr/bin/erl", "usr/lib/erlang/man/man3/a.3", "usr/share/doc/a"] {
            assert_eq!(erlang(place), None, "{place}");
        }
        assert!(is_wanted("erlang-base") && is_wanted("zlib1g") && is_wanted("libc6"));
        assert!(!is_wanted("passwd") && !is_wanted("adduser"));
    }

    #[test]
    fn the_script_quotes_its_places() {
        let text = script(Path::new("/a b/erlang"), "erts-15");
        assert!(text.contains("ROOTDIR='/a b/erlang'\n"), "{text}");
        assert!(text.contains("BINDIR='/a b/erlang/erts-15/bin'\n"), "{text}");
        assert!(text.ends_with("exec \"$BINDIR/erlexec\" ${1+\"$@\"}\n"), "{text}");
    }
}
