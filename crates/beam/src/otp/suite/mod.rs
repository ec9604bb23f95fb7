//! The OTPs of Debian's suites. They are fetched once, kept side by side, and started in place
//! with the suite's own loader and libraries. Nothing is installed, and nothing needs root.

mod relink;
mod tree;

use super::found::{OLDEST, Origin, Otp};
use crate::error::BeamError;
use debian::{Apt, Cache, DebianError, MIRROR, Package, package, sha256_of, sums};
use host::{Roots, Temporary};
use os::arch::Arch;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The prefix of the word for an OTP of Debian.
pub(crate) const PREFIX: &str = "debian:";

/// The suites with a supported OTP, oldest first.
const SUITES: &[&str] = &["bookworm", "trixie", "forky", "sid"];

/// The suite whose OTP is too old, and the release of that OTP.
const TOO_OLD: (&str, &str) = ("bullseye", "23.2");

/// The packages that are fetched with their dependencies: the VM with its compiler, crypto for
/// the work that hashes, and the headers for native functions.
const PACKAGES: &[&str] = &["erlang-base", "erlang-crypto", "erlang-dev"];

/// The version of a root's layout; another number yields another root.
const LAYOUT: u32 = 1;

/// A fetched root: its content and its place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fetched {
    /// The version of `erlang-base`.
    version: String,
    /// The name of its folder, next to those of other roots.
    root: String,
    /// All packages that it contains.
    packages: Vec<Package>,
}

/// How a fetch reports slow steps to its caller, and learns that it must end.
pub struct Fetch<'a> {
    /// Receives a line for each slow step.
    pub note: &'a mut dyn FnMut(&str),
    /// Whether to give up.
    pub interrupted: &'a dyn Fn() -> bool,
}

/// The suite in a word for an OTP of Debian; None for other words.
pub fn suite_of(word: &str) -> Option<&str> {
    word.strip_prefix(PREFIX)
}

/// The OTP of a suite, from the cache or fetched into it.
pub(super) fn find(suite: &str, cache: &Cache, fetch: Fetch<'_>) -> Result<Otp, BeamError> {
    let known = known(suite)?;
    let failed = |source| BeamError::Debian { suite: known.to_owned(), source };
    let index = cache.folder().join(format!("{known}.json"));
    if let Some((root, origin)) = cached(&index, known, cache).map_err(failed)? {
        return start(&root, origin);
    }
    let _turn = cache.lock(fetch.note, fetch.interrupted).map_err(failed)?;
    // Another run may have fetched it while this run waited.
    if let Some((root, origin)) = cached(&index, known, cache).map_err(failed)? {
        return start(&root, origin);
    }
    (fetch.note)(&format!(
        "debian:{known}: fetching its OTP from {MIRROR}: about 25 MB, only once"
    ));
    let fetched = fetch_root(known, cache, fetch).map_err(failed)?;
    let origin = Origin { suite: known.to_owned(), version: fetched.version.clone() };
    let otp = start(&root_of(&fetched, cache), origin)?;
    // Only an OTP that has answered is recorded.
    let bytes = serde_json::to_vec_pretty(&fetched).unwrap_or_default();
    cache.write(&index, &bytes).map_err(failed)?;
    Ok(otp)
}

/// A suite whose OTP can be used.
fn known(suite: &str) -> Result<&'static str, BeamError> {
    let names: Vec<String> = SUITES.iter().map(|suite| format!("{PREFIX}{suite}")).collect();
    let why = match suite == TOO_OLD.0 {
        true => format!("its OTP {} is too old, tailback needs {} or newer", TOO_OLD.1, OLDEST),
        false => "no such suite is known".to_owned(),
    };
    let found = SUITES.iter().find(|known| **known == suite).copied();
    found.ok_or_else(|| BeamError::Unknown {
        word: crate::text::clean_line(&format!("{PREFIX}{suite}")),
        why: format!("{why}; known suites: {}", names.join(", ")),
    })
}

fn start(root: &Path, origin: Origin) -> Result<Otp, BeamError> {
    let otp = Otp::find(Some(&tree::erl(root)))?;
    Ok(Otp { origin: Some(origin), ..otp })
}

/// The root that was fetched before. None if there is none, if it is incomplete, or if it was made
/// for another place of the cache.
///
/// # Errors
/// If another user could have put it there, or if it differs from what was fetched.
fn cached(
    index: &Path,
    suite: &str,
    cache: &Cache,
) -> Result<Option<(PathBuf, Origin)>, DebianError> {
    let Some(bytes) = cache.read(index)? else { return Ok(None) };
    let Ok(fetched) = serde_json::from_slice::<Fetched>(&bytes) else { return Ok(None) };
    let root = root_of(&fetched, cache);
    // In a cache that was moved, the programs expect their loader at the old path.
    if fetched.root != name_of(&fetched.packages, cache) || !sums::is_whole(&root) {
        return Ok(None);
    }
    sums::compare_all(&root, cache)?;
    Ok(Some((root, Origin { suite: suite.to_owned(), version: fetched.version })))
}

fn root_of(fetched: &Fetched, cache: &Cache) -> PathBuf {
    real(cache).join("roots").join(&fetched.root)
}

/// The folder of the cache without links, as it is written into the programs.
fn real(cache: &Cache) -> PathBuf {
    cache.folder().canonicalize().unwrap_or_else(|_| cache.folder().to_owned())
}

/// The name of the root for these packages in this cache, whatever links lead to the cache.
fn name_of(packages: &[Package], cache: &Cache) -> String {
    let mut text = format!("{LAYOUT}\n{}\n", real(cache).display());
    for package in packages {
        text += &format!("{} {} {}\n", package.name, package.version, package.sha256);
    }
    sha256_of(text.as_bytes()).chars().take(16).collect()
}

/// Fetches the packages of a suite and makes a root of them.
fn fetch_root(suite: &str, cache: &Cache, fetch: Fetch<'_>) -> Result<Fetched, DebianError> {
    let apt = Apt::prepare(suite, Arch::OWN, fetch.interrupted)?;
    apt.update(fetch.note)?;
    let names: Vec<String> = apt.closure(PACKAGES)?;
    let names: Vec<String> = names.into_iter().filter(|name| tree::is_wanted(name)).collect();
    let packages = apt.describe(&names)?;
    let base = packages.iter().find(|package| package.name == PACKAGES[0]);
    let version = base
        .map(|base| base.version.clone())
        .ok_or_else(|| DebianError::tool("apt-get", format!("{suite} has no {}", PACKAGES[0])))?;
    let root = name_of(&packages, cache);
    let fetched = Fetched { version, root, packages };
    let place = root_of(&fetched, cache);
    if !sums::is_whole(&place) {
        let files = apt.download(&fetched.packages, cache)?;
        make(&place, &fetched.packages, &files, cache, fetch.interrupted)?;
    }
    Ok(fetched)
}

/// Unpacks the packages next to the root's final place and renames the result, so that a killed
/// run leaves no incomplete root.
fn make(
    place: &Path,
    packages: &[Package],
    files: &[Temporary],
    cache: &Cache,
    interrupted: &dyn Fn() -> bool,
) -> Result<(), DebianError> {
    let failed = |source| debian::failed(place, source);
    let roots = place.parent().unwrap_or(cache.folder());
    cache.make(roots)?;
    let beside = Temporary::folder(&Roots::real(), roots, ".unpacking-");
    let beside = beside.map_err(failed)?;
    let new = beside.path().join("new");
    let mut tree = tree::Tree::new(&new, cache);
    for (package, file) in packages.iter().zip(files) {
        let name = PathBuf::from(format!("{}_{}", package.name, package.version));
        package::each_member(file.path(), &name, interrupted, &mut |member| {
            tree.add_member(member)
        })?;
    }
    tree.finish(place)?;
    sums::keep(&new, cache)?;
    if place.symlink_metadata().is_ok() {
        std::fs::remove_dir_all(place).map_err(failed)?;
    }
    std::fs::rename(&new, place).map_err(failed)
}

#[cfg(test)]
mod tests;
