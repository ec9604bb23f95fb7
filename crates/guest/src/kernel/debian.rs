//! Debian kernels, found in the package lists of the suites that may have them.

use super::package;
use super::search::Search;
use crate::catalogue::catalogue;
use crate::error::GuestError;
use debian::{Apt, Cache, DebianError, MIRROR, Package, sums};
use host::tool::ToolError;
use os::arch::Arch;
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The newest kernel of sid, of any series.
const SID: &str = "sid";

/// What apt says if it cannot find or reach a server.
const NO_NETWORK: &[&str] = &[
    "Could not resolve",
    "Temporary failure resolving",
    "System error resolving",
    "Something wicked happened resolving",
    "Could not connect",
    "Cannot initiate the connection",
    "Unable to connect",
];

/// A kernel in the lists of a suite.
struct Found<'a> {
    apt: Apt<'a>,
    kernel: Package,
    /// The package of its configuration, if that is a separate one.
    base: Option<String>,
    /// The package of its modules, if that is a separate one.
    modules: Option<String>,
}

/// The folder of a kernel of this series and architecture, from the cache or from Debian. A kernel
/// in the cache that lacks what the search has to find is fetched again. If that fails, it is used
/// as it is.
pub(super) fn fetch(
    series: &str,
    arch: Arch,
    cache: &Cache,
    search: Search,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<PathBuf, GuestError> {
    let suites = suites(series)?;
    let index = cache.folder().join("debian").join(index_name(series, arch));
    let lacks = |folder: &Path| search.loop_devices && package::lacks_loop(folder);
    let is_enough = |folder: &PathBuf| !search.refresh && !lacks(folder);
    if let Some(folder) = cached(&index, cache)?.filter(is_enough) {
        return Ok(folder);
    }
    let _turn = cache.lock(note, interrupted)?;
    // Another run may have fetched it while this run waited.
    let before = cached(&index, cache)?.filter(|_| !search.refresh);
    if let Some(folder) = before.clone().filter(is_enough) {
        return Ok(folder);
    }
    let line = match before {
        None => format!("debian:{series}: fetching it from {MIRROR} (only once)"),
        Some(_) => format!(
            "debian:{series}: the cached kernel lacks its driver of loop devices; fetching it \
             again from {MIRROR}"
        ),
    };
    note(&line);
    let named = (series, suites.as_slice());
    match fetch_newest(named, arch, cache, search.loop_devices, note, interrupted) {
        Ok((kernel, folder)) => {
            cache.make(&cache.folder().join("debian"))?;
            cache.write(&index, &serde_json::to_vec_pretty(&kernel).unwrap_or_default())?;
            Ok(folder)
        }
        Err(error) => or_cached(error, before, note),
    }
}

/// The cached kernel that lacks its driver of loop devices, if it could not be fetched again. The
/// error if there is none.
fn or_cached(
    error: GuestError,
    cached: Option<PathBuf>,
    note: &mut dyn FnMut(&str),
) -> Result<PathBuf, GuestError> {
    match cached {
        Some(folder) if !matches!(error, GuestError::Interrupted) => {
            note(&format!("{error}; the cached kernel is used without that driver"));
            Ok(folder)
        }
        _ => Err(error),
    }
}

/// Fetches the newest kernel of a series from the first of these suites that has one. Returns its
/// package and its folder.
fn fetch_newest(
    (series, suites): (&str, &[&str]),
    arch: Arch,
    cache: &Cache,
    loop_devices: bool,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<(Package, PathBuf), GuestError> {
    let found = newest(series, arch, suites, note, interrupted)?;
    let explained = |error| explain(error, series);
    let file = fetch_one(&found.apt, &found.kernel, cache).map_err(explained)?;
    let named = (file.path(), found.kernel.name.as_str());
    let folder = package::unpack(named, cache, interrupted).map_err(explained)?;
    // A kernel without its configuration or its modules still boots.
    let mut accept = |what: &str, added: Result<(), GuestError>| match added {
        Err(GuestError::Interrupted) => Err(GuestError::Interrupted),
        Err(error) => {
            note(&format!("debian:{series}: {error}; {what} left out"));
            Ok(())
        }
        Ok(()) => Ok(()),
    };
    if let Some(base) = found.base.filter(|_| package::configuration(&folder).is_none()) {
        let added = fetch_named(&found.apt, &base, cache).and_then(|file| {
            package::add_configuration((file.path(), &base), &folder, cache, interrupted)
        });
        accept("its configuration is", added)?;
    }
    if loop_devices && package::lacks_loop(&folder) {
        let added = match &found.modules {
            Some(modules) => fetch_named(&found.apt, modules, cache).and_then(|file| {
                package::add_modules((file.path(), modules), &folder, cache, interrupted)
            }),
            // An earlier version of tailback has unpacked this package.
            None => package::add_modules(named, &folder, cache, interrupted),
        };
        accept("its modules are", added)?;
    }
    Ok((found.kernel, folder))
}

/// The file name of a cached series. Those of amd64 have no architecture in their names: caches of
/// earlier versions have only these.
fn index_name(series: &str, arch: Arch) -> String {
    match arch {
        Arch::X86_64 => format!("{series}.json"),
        Arch::Aarch64 => format!("{series}-{}.json", arch.debian()),
    }
}

fn fetch_one(
    apt: &Apt<'_>,
    wanted: &Package,
    cache: &Cache,
) -> Result<host::Temporary, GuestError> {
    let files = apt.download(std::slice::from_ref(wanted), cache)?;
    files.into_iter().next().ok_or_else(|| {
        DebianError::tool("apt-get", format!("{}: it was not downloaded", wanted.name)).into()
    })
}

/// Fetches the newest package with this name.
fn fetch_named(apt: &Apt<'_>, name: &str, cache: &Cache) -> Result<host::Temporary, GuestError> {
    let found = apt.describe(&[name.to_owned()])?;
    let wanted = found.first().ok_or_else(|| {
        GuestError::from(DebianError::tool("apt-cache", format!("{name}: it shows no package")))
    })?;
    fetch_one(apt, wanted, cache)
}

/// The suites that may have a series, the most likely first.
fn suites(series: &str) -> Result<Vec<&'static str>, GuestError> {
    let catalogue = catalogue();
    let number = |part: &str| part.parse::<u16>().is_ok();
    let is_series = series.split_once('.').is_some_and(|(a, b)| number(a) && number(b));
    let older = |known: &String| known == SID || natural(series, known) == Ordering::Less;
    if series != SID && (!is_series || catalogue.debian.keys().all(older)) {
        let names: Vec<String> =
            catalogue.debian.keys().map(|name| format!("debian:{name}")).collect();
        let names = names.join(", ");
        let why = format!(
            "not known; use {names}, a kernel image, a Debian package, or a folder with a kernel"
        );
        return Err(GuestError::Unknown { spec: format!("debian:{series}"), why });
    }
    let likeliest = catalogue.debian.get(series).map(String::as_str);
    let others = catalogue.suites.iter().map(String::as_str).filter(|_| series != SID);
    let others = others.filter(|suite| Some(*suite) != likeliest);
    Ok(likeliest.into_iter().chain(others).collect())
}

/// The newest kernel of a series in the first suite that has one. A suite that cannot be read is
/// skipped, unless the reason affects every suite. `note` gets a line about the first one that
/// could not be read.
fn newest<'a>(
    series: &str,
    arch: Arch,
    suites: &[&str],
    note: &mut dyn FnMut(&str),
    interrupted: &'a dyn Fn() -> bool,
) -> Result<Found<'a>, GuestError> {
    let mut unread: Option<(&str, GuestError)> = None;
    let mut there = BTreeSet::new();
    for suite in suites {
        match look((suite, arch), series, &mut there, note, interrupted) {
            Ok(Some(found)) => {
                if let Some((other, error)) = &unread {
                    note(&format!(
                        "debian:{series}: {other} could not be read, so the kernel is from \
                         {suite}: {error}"
                    ));
                }
                return Ok(found);
            }
            Ok(None) => {}
            Err(GuestError::Interrupted) => return Err(GuestError::Interrupted),
            // Without a network, each of them would take the same time to fail.
            Err(error) if affects_every_suite(&error) => return Err(explain(error, series)),
            Err(error) => unread = unread.or(Some((*suite, error))),
        }
    }
    Err(not_found(series, there, unread, note))
}

/// The error if no suite has a series. `there` are the series that suites have; `unread` is the
/// first suite that could not be read.
fn not_found(
    series: &str,
    there: BTreeSet<String>,
    unread: Option<(&str, GuestError)>,
    note: &mut dyn FnMut(&str),
) -> GuestError {
    if let Some((suite, error)) = unread {
        // Without any list, nothing is known about what Debian has.
        if there.is_empty() {
            return explain(error, series);
        }
        note(&format!("debian:{series}: {suite} could not be read: {error}"));
    }
    let mut there: Vec<String> = there.into_iter().collect();
    there.sort_by(|a, b| natural(a, b));
    let why = match there.is_empty() {
        true => "no suite of Debian has a cloud kernel for this architecture".to_owned(),
        false => format!("Debian has no such cloud kernel; it has {}", there.join(", ")),
    };
    GuestError::Fetch { series: series.to_owned(), why }
}

/// The newest kernel of a series in a suite, for an architecture. The series of the suite are added
/// to `there`.
fn look<'a>(
    (suite, arch): (&str, Arch),
    series: &str,
    there: &mut BTreeSet<String>,
    note: &mut dyn FnMut(&str),
    interrupted: &'a dyn Fn() -> bool,
) -> Result<Option<Found<'a>>, GuestError> {
    let apt = Apt::prepare(suite, arch, interrupted)?;
    apt.update(note)?;
    let names = apt.names("linux-")?;
    there.extend(names.iter().filter_map(|name| release(name, arch)).filter_map(series_of));
    let Some(kernel) = newest_name(names.iter().map(String::as_str), series, arch) else {
        return Ok(None);
    };
    let separate = |part: &str| beside(&kernel, part).filter(|name| names.contains(name));
    let base = separate("base");
    let modules = separate("modules");
    let kernel = apt.describe(&[kernel])?.pop();
    Ok(kernel.map(|kernel| Found { apt, kernel, base, modules }))
}

/// The package with a part of a kernel whose own package has only the kernel: `base` has its
/// configuration.
fn beside(kernel: &str, part: &str) -> Option<String> {
    kernel.strip_prefix("linux-binary-").map(|release| format!("linux-{part}-{release}"))
}

/// Whether every suite would fail in the same way: without a network, or without apt.
fn affects_every_suite(error: &GuestError) -> bool {
    match error {
        GuestError::Debian(DebianError::Tool(ToolError::NotFound { .. })) => true,
        // apt has no exit code for it.
        GuestError::Debian(DebianError::Tool(ToolError::Failed { why, .. })) => {
            NO_NETWORK.iter().any(|words| why.contains(words))
        }
        _ => false,
    }
}

/// The folder of an earlier download. None if there was none, or if it is damaged or has no
/// checksums yet.
fn cached(index: &Path, cache: &Cache) -> Result<Option<PathBuf>, GuestError> {
    let Some(bytes) = cache.read(index)? else { return Ok(None) };
    let Ok(fetched) = serde_json::from_slice::<Package>(&bytes) else { return Ok(None) };
    let plain = fetched.sha256.len() == 64 && fetched.sha256.chars().all(|c| c.is_ascii_hexdigit());
    let folder = cache.unpacked(&fetched.sha256);
    Ok((plain && sums::is_whole(&folder)).then_some(folder))
}

fn explain(error: GuestError, series: &str) -> GuestError {
    let why = match &error {
        GuestError::Debian(full) if full.is_full() => {
            "no space left on the disk of the cache; free some room or set XDG_CACHE_HOME to \
             another folder"
                .to_owned()
        }
        GuestError::Debian(DebianError::Tool(tool)) => format!(
            "{tool}; without a network, name a local kernel, such as --kernel \
             /boot/vmlinuz-VERSION"
        ),
        _ => return error,
    };
    GuestError::Fetch { series: series.to_owned(), why }
}

/// The release of a signed cloud kernel, from the name of its package. A kernel that Debian built
/// for an older Debian release is rejected, since it is another kernel.
fn release(name: &str, arch: Arch) -> Option<&str> {
    let rest = name.strip_prefix("linux-image-").or(name.strip_prefix("linux-binary-"))?;
    let release = rest.strip_suffix(arch.debian())?.strip_suffix("-cloud-")?;
    let digit = release.starts_with(|c: char| c.is_ascii_digit());
    (digit && !release.contains(".deb")).then_some(release)
}

/// The series of a release: `6.12` for `6.12.117+deb12`.
fn series_of(release: &str) -> Option<String> {
    let mut parts = release.split('.');
    let series = format!("{}.{}", parts.next()?, parts.next()?);
    parts.next().map(|_| series)
}

/// The newest signed cloud kernel of a series, or of all for `sid`.
fn newest_name<'a>(
    names: impl Iterator<Item = &'a str>,
    series: &str,
    arch: Arch,
) -> Option<String> {
    let of_series = |name: &'a str| {
        let release = release(name, arch)?;
        let wanted = series == SID || series_of(release).is_some_and(|found| found == series);
        wanted.then_some((name, release))
    };
    // If there is a `linux-binary-` package of a release, its `linux-image-` package has no
    // kernel.
    let newest = names.filter_map(of_series).max_by(|a, b| natural(a.1, b.1).then(b.0.cmp(a.0)));
    newest.map(|(name, _)| name.to_owned())
}

/// Compares the numbers in two names by value, and then the names by their characters.
fn natural(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then(a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: &[&str] = &[
        "linux-image-6.1-cloud-amd64-dbg",
        "linux-image-6.1.0-0.deb11.50-cloud-amd64",
        "linux-image-6.1.0-9-cloud-amd64",
        "linux-image-6.1.0-56-cloud-amd64",
        "linux-image-6.1.0-57-cloud-amd64-unsigned",
        "linux-image-6.12-cloud-amd64",
        "linux-image-6.12.99+deb12-cloud-amd64",
        "linux-image-6.12.117+deb12-cloud-amd64",
        "linux-image-6.12.115+deb12-cloud-arm64",
        "linux-image-6.12.200+deb12-amd64",
        "linux-image-cloud-amd64",
        "linux-binary-7.2.13+deb14-cloud-amd64",
        "linux-image-7.2.13+deb14-cloud-amd64",
        "linux-binary-unsigned-7.2.13+deb14-cloud-amd64",
    ];

    #[test]
    fn the_newest_signed_cloud_kernel_of_a_series_is_chosen() {
        let newest = |series| newest_name(NAMES.iter().copied(), series, Arch::X86_64);
        assert_eq!(newest("6.1").unwrap(), "linux-image-6.1.0-56-cloud-amd64");
        assert_eq!(newest("6.12").unwrap(), "linux-image-6.12.117+deb12-cloud-amd64");
        assert_eq!(newest("sid").unwrap(), "linux-binary-7.2.13+deb14-cloud-amd64");
        assert_eq!(newest("5.10"), None);
        let arm = |series| newest_name(NAMES.iter().copied(), series, Arch::Aarch64);
        assert_eq!(arm("6.12").unwrap(), "linux-image-6.12.115+deb12-cloud-arm64");
        assert_eq!(arm("6.1"), None);
    }

    #[test]
    fn kernels_of_two_architectures_are_cached_side_by_side() {
        assert_eq!(index_name("6.12", Arch::X86_64), "6.12.json");
        assert_eq!(index_name("6.12", Arch::Aarch64), "6.12-arm64.json");
    }

    #[test]
    fn the_other_parts_of_a_kernel_are_looked_for_beside_a_package_without_them() {
        for part in ["base", "modules"] {
            let name = beside("linux-binary-7.2.13+deb14-cloud-amd64", part).unwrap();
            assert_eq!(name, format!("linux-{part}-7.2.13+deb14-cloud-amd64"));
            assert_eq!(beside("linux-image-6.1.0-56-cloud-amd64", part), None);
        }
    }

    #[test]
    fn series_are_read_from_names() {
        let series: BTreeSet<String> = NAMES
            .iter()
            .filter_map(|name| release(name, Arch::X86_64))
            .filter_map(series_of)
            .collect();
        assert_eq!(series.into_iter().collect::<Vec<_>>(), ["6.1", "6.12", "7.2"]);
    }

    #[test]
    fn a_series_is_looked_for_in_all_suites_and_in_the_likeliest_first() {
        let found = suites("6.16").unwrap();
        assert_eq!(found[0], "trixie-backports");
        assert!(found.len() == catalogue().suites.len(), "{found:?}");
        assert_eq!(suites("sid").unwrap(), ["sid"]);
        assert_eq!(suites("9.9").unwrap().len(), catalogue().suites.len());
        for wrong in ["x", "2.4", "6", "6.1.2", "../6.1", "6.", "trixie"] {
            assert!(matches!(suites(wrong), Err(GuestError::Unknown { .. })), "{wrong}");
        }
    }

    #[test]
    fn suites_that_cannot_be_read_do_not_pass_for_suites_without_the_series() {
        let mut notes: Vec<String> = Vec::new();
        let mut say = |there: &[&str], unread: bool| {
            let there = there.iter().map(|series| (*series).to_owned()).collect();
            let torn = DebianError::tool("apt-get", "Hash Sum mismatch");
            let unread = unread.then(|| ("trixie", GuestError::from(torn)));
            let mut note = |line: &str| notes.push(line.to_owned());
            not_found("6.12", there, unread, &mut note).to_string()
        };
        let none_read = say(&[], true);
        assert!(none_read.contains("Hash Sum mismatch"), "{none_read}");
        assert!(!none_read.contains("no such cloud kernel"), "{none_read}");
        for unread in [true, false] {
            let line = say(&["6.16", "6.9"], unread);
            assert!(line.ends_with("no such cloud kernel; it has 6.9, 6.16"), "{line}");
        }
        let noted = "debian:6.12: trixie could not be read: ";
        assert!(notes.len() == 1 && notes[0].starts_with(noted), "{notes:?}");
    }

    #[test]
    fn without_a_network_one_suite_is_tried_and_no_other() {
        let affects = |why: &str| affects_every_suite(&DebianError::tool("apt-get", why).into());
        for why in [
            "Could not resolve 'deb.debian.org'",
            "Temporary failure resolving 'deb.debian.org'",
            "System error resolving 'deb.debian.org:http' - getaddrinfo (5: Input/output error)",
            "Something wicked happened resolving 'deb.debian.org:http' (-5 - No address)",
            "Could not connect to 127.0.0.1:9 (127.0.0.1). - connect (111: Connection refused)",
            "Cannot initiate the connection to deb.debian.org:80 (2a04:4e42::644).",
            "Unable to connect to deb.debian.org:http:",
        ] {
            assert!(affects(&format!("E: Failed to fetch http://d/x  {why}")), "{why}");
        }
        assert!(!affects("E: Failed to fetch http://d/x  404  Not Found"));
    }

    #[test]
    fn a_cached_kernel_that_cannot_be_fetched_again_is_used_as_it_is() {
        let mut notes = Vec::new();
        let mut or_cached = |error, cached: Option<&str>| {
            let mut note = |line: &str| notes.push(line.to_owned());
            super::or_cached(error, cached.map(PathBuf::from), &mut note)
        };
        let gone = || not_found("6.16", BTreeSet::from(["6.18".to_owned()]), None, &mut |_| {});
        assert_eq!(or_cached(gone(), Some("/k")).unwrap(), Path::new("/k"));
        assert!(matches!(or_cached(gone(), None), Err(GuestError::Fetch { .. })));
        let interrupted = or_cached(GuestError::Interrupted, Some("/k"));
        assert!(matches!(interrupted, Err(GuestError::Interrupted)));
        let start = "debian:6.16: Debian has no such cloud kernel; it has 6.18; the cached kernel ";
        assert!(notes.len() == 1 && notes[0].starts_with(start), "{notes:?}");
    }

    #[test]
    fn what_is_cached_takes_no_network() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let sum = "b".repeat(64);
        let fetched = Package { name: "p".into(), version: "1".into(), sha256: sum.clone() };
        std::fs::create_dir_all(folder.path().join("debian")).unwrap();
        let index = folder.path().join("debian/6.1.json");
        std::fs::write(&index, serde_json::to_vec(&fetched).unwrap()).unwrap();
        assert_eq!(cached(&index, &cache).unwrap(), None, "an index without its package");
        std::fs::create_dir_all(cache.unpacked(&sum)).unwrap();
        assert_eq!(cached(&index, &cache).unwrap(), None, "a package without its checksums");
        sums::keep(&cache.unpacked(&sum), &cache).unwrap();
        let arch = Arch::X86_64;
        let search = Search { loop_devices: true, ..Search::default() };
        let found = fetch("6.1", arch, &cache, search, &mut |_| {}, &|| false).unwrap();
        assert_eq!(found, cache.unpacked(&sum));
        std::fs::write(&index, "torn").unwrap();
        assert_eq!(cached(&index, &cache).unwrap(), None);
    }
}
