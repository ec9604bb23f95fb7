//! Kernels of Debian, fetched with apt in lists of its own: the system's sources stay untouched.

use super::cache::{Cache, failed, sha256};
use super::{package, sums};
use crate::catalogue::catalogue;
use crate::error::GuestError;
use crate::tool::Tool;
use host::{Roots, Temporary};
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

const MIRROR: &str = "http://deb.debian.org";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// How long apt may take for one of its steps.
const LIMIT: Duration = Duration::from_secs(300);

/// The message about a disk that is full.
const FULL: &str = "no space left on the disk of the cache";

/// The package that a series was fetched as.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Fetched {
    package: String,
    version: String,
    sha256: String,
}

/// The folder of a kernel of this series: from the cache, else from Debian.
pub(super) fn fetch(
    series: &str,
    cache: &Cache,
    refresh: bool,
    note: &mut dyn FnMut(&str),
    interrupted: &dyn Fn() -> bool,
) -> Result<PathBuf, GuestError> {
    let suite = suite(series)?;
    let index = cache.folder().join("debian").join(format!("{series}.json"));
    if let Some(folder) = cached(&index, cache)?.filter(|_| !refresh) {
        return Ok(folder);
    }
    let _turn = cache.lock(note, interrupted)?;
    // Another run may have fetched it while this one waited.
    if let Some(folder) = cached(&index, cache)?.filter(|_| !refresh) {
        return Ok(folder);
    }
    note(&format!("debian:{series}: fetching it from {MIRROR} ({suite}), once"));
    let done = Apt::prepare(suite)
        .and_then(|apt| apt.newest(series, interrupted).map(|newest| (apt, newest)))
        .and_then(|(apt, newest)| {
            let file = apt.download(&newest, cache, interrupted)?;
            package::unpack(file.path(), cache, interrupted).map(|folder| (newest, folder))
        });
    let (newest, folder) = done.map_err(|error| explain(error, series))?;
    cache.make(&cache.folder().join("debian"))?;
    cache.write(&index, &serde_json::to_vec_pretty(&newest).unwrap_or_default())?;
    Ok(folder)
}

/// The suite that has a series.
fn suite(series: &str) -> Result<&'static str, GuestError> {
    let known = &catalogue().debian;
    known.get(series).map(String::as_str).ok_or_else(|| {
        let names: Vec<String> = known.keys().map(|name| format!("debian:{name}")).collect();
        GuestError::Unknown {
            spec: format!("debian:{series}"),
            why: format!(
                "known are {}; or name a bzImage, a Debian package, or a folder of one",
                names.join(", ")
            ),
        }
    })
}

/// The folder of what was fetched before; none where nothing was, or what is torn or older than the
/// checksums of what is in it.
fn cached(index: &Path, cache: &Cache) -> Result<Option<PathBuf>, GuestError> {
    let Some(bytes) = cache.read(index)? else { return Ok(None) };
    let Ok(fetched) = serde_json::from_slice::<Fetched>(&bytes) else { return Ok(None) };
    let plain = fetched.sha256.len() == 64 && fetched.sha256.chars().all(|c| c.is_ascii_hexdigit());
    let folder = cache.unpacked(&fetched.sha256);
    Ok((plain && sums::is_whole(&folder)).then_some(folder))
}

fn explain(error: GuestError, series: &str) -> GuestError {
    match error {
        GuestError::Tool { program, why } if why.contains("No space left on device") => {
            GuestError::Fetch {
                series: series.to_owned(),
                why: format!(
                    "{program}: {FULL}; free some room or set XDG_CACHE_HOME to another folder"
                ),
            }
        }
        GuestError::Tool { program, why } => GuestError::Fetch {
            series: series.to_owned(),
            why: format!(
                "{program}: {why}; without a network name a kernel that is here, as \
                 --kernel /boot/vmlinuz-VERSION"
            ),
        },
        other => other,
    }
}

/// What a host's apt could have been told to let pass; here it may not.
const SECURE: &[&str] = &[
    "Acquire::AllowInsecureRepositories=false",
    "Acquire::AllowWeakRepositories=false",
    "Acquire::AllowDowngradeToInsecureRepositories=false",
    "Acquire::Check-Date=true",
    "Acquire::Check-Valid-Until=true",
    "APT::Get::AllowUnauthenticated=false",
    "APT::Authentication::TrustCDROM=false",
];

/// The user that apt fetches as where it is started by root.
const APT_USER: &str = "_apt";

/// apt with a folder of its own, which goes with it. It is among temporary files and not in the cache,
/// whose folders apt's own user may not enter.
struct Apt {
    folder: Temporary,
    options: Vec<String>,
}

impl Apt {
    fn prepare(suite: &str) -> Result<Self, GuestError> {
        let temporary = std::env::temp_dir();
        let made = Temporary::folder(&Roots::real(), &temporary, "tailback-apt-");
        let folder = made.map_err(|source| failed(&temporary, source))?;
        let failed = |source| failed(folder.path(), source);
        for part in ["lists/partial", "cache/archives/partial", "download"] {
            std::fs::create_dir_all(folder.path().join(part)).map_err(failed)?;
        }
        let user = sandbox_user();
        if let Some(user) = user {
            // apt's user has to come through, and to write where a package is put.
            std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))
                .map_err(failed)?;
            chown(folder.path().join("download"), Some(user), None).map_err(failed)?;
        }
        let archive = if suite.ends_with("-security") { "debian-security" } else { "debian" };
        let sources = folder.path().join("sources.list");
        let line = format!("deb [signed-by={KEYRING}] {MIRROR}/{archive} {suite} main\n");
        std::fs::write(&sources, line).map_err(failed)?;
        let place = |part: &str| folder.path().join(part).display().to_string();
        let own = [
            format!("Dir::Etc::sourcelist={}", sources.display()),
            "Dir::Etc::sourceparts=/dev/null".to_owned(),
            format!("Dir::State::Lists={}", place("lists")),
            format!("Dir::Cache={}", place("cache")),
            "Dir::State::status=/dev/null".to_owned(),
            "APT::Architecture=amd64".to_owned(),
            "APT::Architectures=amd64".to_owned(),
            format!("APT::Sandbox::User={}", if user.is_some() { APT_USER } else { "" }),
            "Acquire::Languages=none".to_owned(),
            "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
            "Acquire::http::Timeout=20".to_owned(),
            "Acquire::Retries=1".to_owned(),
        ];
        let options = own.into_iter().chain(SECURE.iter().map(|&option| option.to_owned()));
        let options = options.flat_map(|option| ["-o".to_owned(), option]).collect();
        Ok(Apt { folder, options })
    }

    fn tool(&self, program: &str, words: &[&str]) -> Tool {
        let mut tool = Tool::new(program, "it comes with Debian; name a kernel file elsewhere");
        for option in &self.options {
            tool.arg(option);
        }
        for word in words {
            tool.arg(word);
        }
        tool.command().current_dir(self.folder.path().join("download")).env("LC_ALL", "C");
        tool
    }

    fn newest(&self, series: &str, interrupted: &dyn Fn() -> bool) -> Result<Fetched, GuestError> {
        // Lists that could not be fetched are an error here, where apt would only warn.
        let update = ["update", "--error-on=any", "-qq"];
        self.tool("apt-get", &update).run(LIMIT, interrupted)?;
        let names = self.tool("apt-cache", &["pkgnames", "linux-"]).run(LIMIT, interrupted)?;
        let name = newest_name(names.lines(), series).ok_or_else(|| GuestError::Fetch {
            series: series.to_owned(),
            why: "Debian has no such cloud kernel any more; see vm/kernels.toml".to_owned(),
        })?;
        let show = ["show", "--no-all-versions", &name];
        let text = self.tool("apt-cache", &show).run(LIMIT, interrupted)?;
        described(&text).ok_or_else(|| GuestError::Tool {
            program: "apt-cache".to_owned(),
            why: format!("{name}: it shows no version and no SHA256"),
        })
    }

    /// The package as a file of the cache's folder, where apt's user cannot change it any more.
    fn download(
        &self,
        newest: &Fetched,
        cache: &Cache,
        interrupted: &dyn Fn() -> bool,
    ) -> Result<Temporary, GuestError> {
        let wanted = format!("{}={}", newest.package, newest.version);
        self.tool("apt-get", &["download", "-qq", &wanted]).run(LIMIT, interrupted)?;
        let failed = |source| failed(self.folder.path(), source);
        let folder = self.folder.path().join("download");
        let entries = std::fs::read_dir(&folder).map_err(failed)?;
        let mut files = entries.flatten().map(|entry| entry.path());
        let tool = |why: String| GuestError::Tool { program: "apt-get".to_owned(), why };
        let file = files.find(|path| path.extension().is_some_and(|end| end == "deb"));
        let file = file.ok_or_else(|| tool(format!("{wanted}: it was not downloaded")))?;
        let kept = cache.take_in(&file, package::MOST_PACKAGE)?;
        match sha256(kept.path())? == newest.sha256 {
            true => Ok(kept),
            false => Err(tool(format!("{wanted}: the checksum is not the one of Debian's list"))),
        }
    }
}

/// The number of apt's own user, where this is root and the system has that user.
fn sandbox_user() -> Option<u32> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = users.lines().find_map(|line| line.strip_prefix(APT_USER)?.strip_prefix(':'))?;
    line.split(':').nth(1)?.parse().ok()
}

/// The newest signed cloud kernel of a series, or of all for `sid`.
fn newest_name<'a>(names: impl Iterator<Item = &'a str>, series: &str) -> Option<String> {
    let release = |name: &'a str| {
        let rest = name.strip_prefix("linux-image-").or(name.strip_prefix("linux-binary-"))?;
        let release = rest.strip_suffix("-cloud-amd64")?;
        let digit = release.starts_with(|c: char| c.is_ascii_digit());
        let of_series = series == "sid"
            || release
                .strip_prefix(series)
                .is_some_and(|rest| rest.starts_with('.') && rest.as_bytes().get(1).is_some());
        // What Debian made for an older release of its own is another kernel.
        (digit && of_series && !release.contains(".deb")).then_some((name, release))
    };
    // Where there is a `linux-binary-` of a release, its `linux-image-` has no kernel in it.
    let newest = names.filter_map(release).max_by(|a, b| natural(a.1, b.1).then(b.0.cmp(a.0)));
    newest.map(|(name, _)| name.to_owned())
}

/// Numbers by their size, the rest by its letters.
fn natural(a: &str, b: &str) -> Ordering {
    let numbers = |text: &str| -> Vec<u64> {
        text.split(|c: char| !c.is_ascii_digit()).filter_map(|number| number.parse().ok()).collect()
    };
    numbers(a).cmp(&numbers(b)).then(a.cmp(b))
}

fn described(text: &str) -> Option<Fetched> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.strip_prefix(": ")?.trim().to_owned())
    };
    let sha256 = field("SHA256").filter(|sum| sum.len() == 64)?;
    Some(Fetched { package: field("Package")?, version: field("Version")?, sha256 })
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
        "linux-image-6.12.200+deb12-amd64",
        "linux-image-cloud-amd64",
        "linux-binary-7.2.13+deb14-cloud-amd64",
        "linux-image-7.2.13+deb14-cloud-amd64",
        "linux-binary-unsigned-7.2.13+deb14-cloud-amd64",
    ];

    #[test]
    fn what_a_host_lets_pass_is_switched_off_last() {
        let apt = Apt::prepare("bookworm").unwrap();
        let options = apt.options.join(" ");
        for option in SECURE {
            assert!(options.contains(option), "{option}");
        }
        let sources = std::fs::read_to_string(apt.folder.path().join("sources.list")).unwrap();
        assert!(sources.contains("signed-by=") && !sources.contains("trusted"), "{sources}");
        if sandbox_user().is_some() {
            assert!(options.contains("APT::Sandbox::User=_apt"), "{options}");
        }
    }

    #[test]
    fn the_newest_signed_cloud_kernel_of_a_series_is_chosen() {
        let newest = |series| newest_name(NAMES.iter().copied(), series);
        assert_eq!(newest("6.1").unwrap(), "linux-image-6.1.0-56-cloud-amd64");
        assert_eq!(newest("6.12").unwrap(), "linux-image-6.12.117+deb12-cloud-amd64");
        assert_eq!(newest("sid").unwrap(), "linux-binary-7.2.13+deb14-cloud-amd64");
        assert_eq!(newest("5.10"), None);
    }

    #[test]
    fn a_description_is_read() {
        let sum = "a".repeat(64);
        let text = format!("Package: p\nVersion: 6.1-2\nSHA256: {sum}\n\nPackage: q\n");
        let expected = Fetched { package: "p".into(), version: "6.1-2".into(), sha256: sum };
        assert_eq!(described(&text), Some(expected));
        assert_eq!(described("Package: p\nVersion: 1\nSHA256: x\n"), None);
    }

    #[test]
    fn what_is_cached_takes_no_network() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::at(folder.path().to_owned());
        let sum = "b".repeat(64);
        let fetched = Fetched { package: "p".into(), version: "1".into(), sha256: sum.clone() };
        std::fs::create_dir_all(folder.path().join("debian")).unwrap();
        let index = folder.path().join("debian/6.1.json");
        std::fs::write(&index, serde_json::to_vec(&fetched).unwrap()).unwrap();
        assert_eq!(cached(&index, &cache).unwrap(), None, "an index without its package");
        std::fs::create_dir_all(cache.unpacked(&sum)).unwrap();
        assert_eq!(cached(&index, &cache).unwrap(), None, "a package without its checksums");
        sums::keep(&cache.unpacked(&sum), &cache).unwrap();
        let found = fetch("6.1", &cache, false, &mut |_| {}, &|| false).unwrap();
        assert_eq!(found, cache.unpacked(&sum));
        std::fs::write(&index, "torn").unwrap();
        assert_eq!(cached(&index, &cache).unwrap(), None);
    }
}
