//! apt in a temporary folder of its own. Its lists and downloads are deleted with the folder.

use crate::cache::{Cache, failed, sha256};
use crate::error::DebianError;
use crate::package;
use host::tool::{Tool, ToolError};
use host::{Roots, Temporary};
use os::arch::Arch;
use serde::{Deserialize, Serialize};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::time::Duration;

/// The server that packages come from.
pub const MIRROR: &str = "http://deb.debian.org";
const KEYRING: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Time limit of one call of apt.
const LIMIT: Duration = Duration::from_secs(300);

/// A package as the list of its suite describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// The package name.
    #[serde(rename = "package")]
    pub name: String,
    /// Its version.
    pub version: String,
    /// The SHA-256 of its file, in hexadecimal.
    pub sha256: String,
}

/// Forbids insecure options that the configuration of the host's apt may allow.
const SECURE: &[&str] = &[
    "Acquire::AllowInsecureRepositories=false",
    "Acquire::AllowWeakRepositories=false",
    "Acquire::AllowDowngradeToInsecureRepositories=false",
    "Acquire::Check-Date=true",
    "Acquire::Check-Valid-Until=true",
    "APT::Get::AllowUnauthenticated=false",
    "APT::Authentication::TrustCDROM=false",
];

/// Settings of the host's apt that name programs to run after or before a command of apt. They are
/// for the host's own lists and packages, and for root they run as root. The rest of the host's
/// configuration stays, since it may name the proxy.
const HOOKS: [&str; 10] = [
    "APT::Update::Pre-Invoke",
    "APT::Update::Post-Invoke",
    "APT::Update::Post-Invoke-Success",
    "APT::Update::Post-Invoke-Stats",
    "APT::Install::Pre-Invoke",
    "APT::Install::Post-Invoke-Success",
    "AptCli::Hooks",
    "DPkg::Pre-Invoke",
    "DPkg::Pre-Install-Pkgs",
    "DPkg::Post-Invoke",
];

/// The configuration file without hooks, in the folder.
const NO_HOOKS: &str = "no-hooks.conf";

/// What apt says about a suite whose lists are past their validity date.
const EXPIRED: &str = " is expired ";

/// The user as which apt fetches when root starts it.
const APT_USER: &str = "_apt";

/// apt in a temporary folder of its own, which is deleted on drop. The folder is not in the cache,
/// because apt's own user has no access to folders of the cache.
pub struct Apt<'a> {
    folder: Temporary,
    options: Vec<String>,
    interrupted: &'a dyn Fn() -> bool,
}

impl<'a> Apt<'a> {
    /// Sets up apt for one suite, such as `trixie` or `bookworm-security`, and packages of this
    /// architecture. Nothing is fetched yet. Every call of apt ends early if `interrupted` says
    /// so.
    ///
    /// # Errors
    /// If the folder cannot be created, or if Debian's keys are not on this machine.
    pub fn prepare(
        suite: &str,
        arch: Arch,
        interrupted: &'a dyn Fn() -> bool,
    ) -> Result<Self, DebianError> {
        if !Path::new(KEYRING).exists() {
            return Err(DebianError::tool(
                KEYRING,
                "missing, so nothing from Debian can be verified; install debian-archive-keyring",
            ));
        }
        let temporary = std::env::temp_dir();
        let made = Temporary::folder(&Roots::real(), &temporary, "tailback-apt-");
        let folder = made.map_err(|source| failed(&temporary, source))?;
        let failed = |source| failed(folder.path(), source);
        for part in ["lists/partial", "cache/archives/partial", "download"] {
            std::fs::create_dir_all(folder.path().join(part)).map_err(failed)?;
        }
        let user = sandbox_user();
        if let Some(user) = user {
            // apt's user needs access to the folder and write access to the download folder.
            std::fs::set_permissions(folder.path(), Permissions::from_mode(0o755))
                .map_err(failed)?;
            chown(folder.path().join("download"), Some(user), None).map_err(failed)?;
        }
        let archive = if suite.ends_with("-security") { "debian-security" } else { "debian" };
        let line = format!("deb [signed-by={KEYRING}] {MIRROR}/{archive} {suite} main\n");
        std::fs::write(folder.path().join("sources.list"), line).map_err(failed)?;
        // Only a configuration file can empty a list. apt reads the host's files before it.
        let clear = HOOKS.map(|hook| format!("#clear {hook};\n")).concat();
        std::fs::write(folder.path().join(NO_HOOKS), clear).map_err(failed)?;
        let options = options(folder.path(), arch, user.is_some());
        Ok(Apt { folder, options, interrupted })
    }

    /// What a program of apt prints.
    fn run(&self, program: &str, words: &[&str]) -> Result<String, ToolError> {
        let mut tool = Tool::new(program, "it comes with Debian");
        for option in &self.options {
            tool.arg(option);
        }
        for word in words {
            tool.arg(word);
        }
        tool.command().current_dir(self.folder.path().join("download")).env("LC_ALL", "C");
        tool.run(LIMIT, self.interrupted)
    }

    /// Fetches the lists of the suite. If the suite says that they are too old, as with a mirror
    /// that is no longer updated, they are used anyway and `note` gets a message.
    ///
    /// # Errors
    /// If the lists cannot be fetched, or are not signed by Debian.
    pub fn update(&self, note: &mut dyn FnMut(&str)) -> Result<(), DebianError> {
        // A list that cannot be fetched is an error here. apt itself would only warn.
        let update = ["update", "--error-on=any", "-qq"];
        match self.run("apt-get", &update) {
            Err(ToolError::Failed { why, .. }) if why.contains(EXPIRED) => {
                note(&format!("{why} The suite's lists are used as they are: signed, but old."));
                let anyway = [&["-o", "Acquire::Check-Valid-Until=false"][..], &update].concat();
                self.run("apt-get", &anyway)?;
            }
            other => drop(other?),
        }
        Ok(())
    }

    /// The names of the suite's packages that begin with `start`.
    ///
    /// # Errors
    /// If apt fails.
    pub fn names(&self, start: &str) -> Result<Vec<String>, DebianError> {
        let names = self.run("apt-cache", &["pkgnames", start])?;
        Ok(names.lines().map(|line| line.trim().to_owned()).collect())
    }

    /// The names of these packages and of all their dependencies.
    ///
    /// # Errors
    /// If the suite does not have one of the packages.
    pub fn closure(&self, names: &[&str]) -> Result<Vec<String>, DebianError> {
        let words = ["install", "--print-uris", "-qq", "-y", "--no-install-recommends"];
        let words = [&words[..], names].concat();
        let text = self.run("apt-get", &words)?;
        Ok(text.lines().filter_map(name_of_uri).map(str::to_owned).collect())
    }

    /// The newest version of each of these packages.
    ///
    /// # Errors
    /// If apt does not describe one of the packages.
    pub fn describe(&self, names: &[String]) -> Result<Vec<Package>, DebianError> {
        let mut words = vec!["show", "--no-all-versions"];
        words.extend(names.iter().map(String::as_str));
        let text = self.run("apt-cache", &words)?;
        let found: Vec<Package> = text.split("\n\n").filter_map(described).collect();
        let missing = names.iter().find(|name| !found.iter().any(|found| found.name == **name));
        match missing {
            None => Ok(found),
            Some(name) => Err(DebianError::tool(
                "apt-cache",
                format!("{name}: it shows no version or no SHA256"),
            )),
        }
    }

    /// Downloads the packages as files in the cache folder, where apt's user can no longer change
    /// them. The files are in the order of `packages`.
    ///
    /// # Errors
    /// If a package cannot be fetched, or its checksum differs from the suite's list.
    pub fn download(
        &self,
        packages: &[Package],
        cache: &Cache,
    ) -> Result<Vec<Temporary>, DebianError> {
        let wanted: Vec<String> = packages
            .iter()
            .map(|package| format!("{}={}", package.name, package.version))
            .collect();
        let mut words = vec!["download", "-qq"];
        words.extend(wanted.iter().map(String::as_str));
        self.run("apt-get", &words)?;
        packages.iter().map(|package| self.downloaded(package, cache)).collect()
    }

    /// The file of a downloaded package.
    fn downloaded(&self, package: &Package, cache: &Cache) -> Result<Temporary, DebianError> {
        let tool = |why: &str| {
            DebianError::tool("apt-get", format!("{}={}: {why}", package.name, package.version))
        };
        let failed = |source| failed(self.folder.path(), source);
        let entries = std::fs::read_dir(self.folder.path().join("download")).map_err(failed)?;
        let start = format!("{}_", package.name);
        let mut files = entries.flatten().filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            name.starts_with(&start) && name.ends_with(".deb")
        });
        let file = files.next().ok_or_else(|| tool("it was not downloaded"))?;
        let kept = cache.copy_in(&file.path(), package::MOST_PACKAGE)?;
        match sha256(kept.path())? == package.sha256 {
            true => Ok(kept),
            false => Err(tool("the checksum differs from Debian's list")),
        }
    }
}

fn options(folder: &Path, arch: Arch, sandboxed: bool) -> Vec<String> {
    let place = |part: &str| folder.join(part).display().to_string();
    let own = [
        format!("Dir::Etc::sourcelist={}", place("sources.list")),
        "Dir::Etc::sourceparts=/dev/null".to_owned(),
        // The pins and the default release of this machine are for its own packages. With them apt
        // may find no version of a package of this suite, or refuse every command.
        "Dir::Etc::preferences=/dev/null".to_owned(),
        "Dir::Etc::preferencesparts=/dev/null".to_owned(),
        "APT::Default-Release=".to_owned(),
        format!("Dir::State::Lists={}", place("lists")),
        format!("Dir::Cache={}", place("cache")),
        "Dir::State::status=/dev/null".to_owned(),
        format!("APT::Architecture={}", arch.debian()),
        format!("APT::Architectures={}", arch.debian()),
        format!("APT::Sandbox::User={}", if sandboxed { APT_USER } else { "" }),
        "Acquire::Languages=none".to_owned(),
        "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false".to_owned(),
        "Acquire::http::Timeout=20".to_owned(),
        "Acquire::Retries=1".to_owned(),
    ];
    let all = own.into_iter().chain(SECURE.iter().map(|&option| option.to_owned()));
    let all = all.flat_map(|option| ["-o".to_owned(), option]);
    ["-c".to_owned(), place(NO_HOOKS)].into_iter().chain(all).collect()
}

/// The package name in a line such as `'http://..' NAME_VERSION_ARCH.deb SIZE CHECKSUM`.
fn name_of_uri(line: &str) -> Option<&str> {
    let file = line.split(' ').nth(1).filter(|_| line.starts_with('\''))?;
    file.split_once('_').map(|(name, _)| name)
}

/// The user ID of apt's own user. None if this process is not root or the system lacks that user.
fn sandbox_user() -> Option<u32> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let line = users.lines().find_map(|line| line.strip_prefix(APT_USER)?.strip_prefix(':'))?;
    line.split(':').nth(1)?.parse().ok()
}

fn described(text: &str) -> Option<Package> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        Some(line.strip_prefix(": ")?.trim().to_owned())
    };
    let sha256 = field("SHA256").filter(|sum| sum.len() == 64)?;
    Some(Package { name: field("Package")?, version: field("Version")?, sha256 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_host_lets_pass_is_switched_off_last() {
        let never = || false;
        let apt = Apt::prepare("bookworm", Arch::OWN, &never).unwrap();
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
    fn no_hook_of_the_host_is_run() {
        let never = || false;
        let apt = Apt::prepare("bookworm", Arch::OWN, &never).unwrap();
        let of_host = apt.folder.path().join("host.conf");
        let hooks = HOOKS.map(|hook| format!("{hook} {{ \"touch /hooked\"; }};\n")).concat();
        std::fs::write(&of_host, hooks).unwrap();
        let count = |options: &[String]| {
            let mut command = std::process::Command::new("apt-config");
            command.args(options).arg("dump").env("APT_CONFIG", &of_host);
            let dump = String::from_utf8(command.output().unwrap().stdout).unwrap();
            assert!(dump.contains("APT::Architecture "), "{dump}");
            dump.matches("touch /hooked").count()
        };
        assert_eq!((count(&[]), count(&apt.options)), (HOOKS.len(), 0));
    }

    #[test]
    fn packages_are_those_of_the_wanted_architecture_alone() {
        for (arch, name) in [(Arch::X86_64, "amd64"), (Arch::Aarch64, "arm64")] {
            let options = options(Path::new("/f"), arch, false);
            let named: Vec<&str> =
                options.iter().filter_map(|o| o.strip_prefix("APT::Architecture")).collect();
            assert_eq!(named, [format!("={name}"), format!("s={name}")]);
        }
    }

    #[test]
    fn pins_and_the_default_release_of_the_machine_do_not_count() {
        let options = options(Path::new("/f"), Arch::OWN, true);
        let file = |name: &str| format!("Dir::Etc::{name}=/dev/null");
        let release = "APT::Default-Release=".to_owned();
        for option in [file("preferences"), file("preferencesparts"), release] {
            assert!(options.contains(&option), "{option}");
        }
    }

    #[test]
    fn a_description_is_read() {
        let sum = "a".repeat(64);
        let text = format!("Package: p\nVersion: 6.1-2\nSHA256: {sum}\n");
        let expected = Package { name: "p".into(), version: "6.1-2".into(), sha256: sum };
        assert_eq!(described(&text), Some(expected));
        assert_eq!(described("Package: p\nVersion: 1\nSHA256: x\n"), None);
    }

    #[test]
    fn packages_are_read_from_what_apt_would_fetch() {
        let line =
            "'http://d/pool/l/libc6_2.41-12%2bdeb13u4_amd64.deb' libc6_2.41_amd64.deb 28 M:8";
        assert_eq!(name_of_uri(line), Some("libc6"));
        assert_eq!(name_of_uri("Reading package lists..."), None);
    }
}
