//! OTPs and kernels of Debian's suites, from a mirror that replaces Debian's. It is a folder with
//! shell scripts that are called like apt.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::{Place, Ran, erlang_or_skip};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A mirror with the packages of a test, and an apt that reads it.
struct Mirror {
    place: Place,
    /// The cache. No other user may write to it.
    cache: tempfile::TempDir,
}

impl Mirror {
    /// A mirror whose `apt-get update` runs these shell lines.
    fn new(update: &str) -> Self {
        let mirror = Mirror { place: Place::new(), cache: tempfile::tempdir().unwrap() };
        std::fs::create_dir(mirror.bin()).unwrap();
        std::fs::create_dir(mirror.place.path("pool")).unwrap();
        let pool = mirror.place.path("pool");
        let pool = pool.display();
        mirror.tool(
            "apt-get",
            &format!(
                "case \" $* \" in\n\
                 *' update '*) {update}\n;;\n\
                 *' install '*) for f in {pool}/*.deb; do\n\
                    echo \"'http://d/$f' $(basename $f) 1 MD5Sum:0\"; done;;\n\
                 *' download '*) cp {pool}/*.deb .;;\n\
                 esac"
            ),
        );
        mirror.tool(
            "apt-cache",
            &format!(
                "what=\" $* \"\n\
                 for f in {pool}/*.deb; do name=$(basename $f); name=${{name%%_*}}\n\
                 case $what in *' pkgnames '*) echo $name; continue;; esac\n\
                 set -- $(sha256sum $f)\n\
                 printf 'Package: %s\\nVersion: 1\\nSHA256: %s\\n\\n' $name $1; done"
            ),
        );
        mirror
    }

    /// The folder of programs that come first on the PATH. Root runs no program that another user
    /// could have put there.
    fn bin(&self) -> PathBuf {
        self.cache.path().join("bin")
    }

    /// Adds a program that comes before the machine's own.
    fn tool(&self, name: &str, lines: &str) {
        let text = format!("#!/bin/sh\nset -e\n{lines}\n");
        testing::write_program(&self.bin().join(name), &text);
    }

    /// Adds a package with this name and the content of this folder.
    fn package(&self, name: &str, folder: &Path) {
        let control = folder.join("DEBIAN");
        std::fs::create_dir_all(&control).unwrap();
        let text = format!("Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: a\n");
        std::fs::write(control.join("control"), text + "Description: a\n").unwrap();
        let file = self.place.path("pool").join(format!("{name}_1_amd64.deb"));
        let mut command = Command::new("dpkg-deb");
        command.args(["-Znone", "--build"]).arg(folder).arg(file);
        assert!(command.output().unwrap().status.success());
    }

    /// Runs the binary with these words. Its PATH has no `erl`.
    fn say(&self, words: &[&str]) -> Ran {
        let mut command = self.place.tailback(words);
        let path = format!("{}:/usr/sbin:/sbin:{}", self.bin().display(), self.path());
        command.env("XDG_CACHE_HOME", self.cache.path()).env("PATH", path);
        self.place.start(command).end_within(3 * common::PATIENCE)
    }

    /// A folder with links to all programs of the machine except Erlang's.
    fn path(&self) -> String {
        let folder = self.cache.path().join("programs");
        if std::fs::create_dir(&folder).is_ok() {
            for entry in std::fs::read_dir("/usr/bin").unwrap().flatten() {
                let name = entry.file_name();
                if !name.to_string_lossy().starts_with("erl") && !self.bin().join(&name).exists() {
                    std::os::unix::fs::symlink(entry.path(), folder.join(name)).unwrap();
                }
            }
        }
        folder.display().to_string()
    }

    /// The unpacked root folders.
    fn roots(&self) -> Vec<PathBuf> {
        common::files(&self.cache.path().join("tailback/otp/roots"))
    }
}

const RUN: &[&str] = &["run", "mailbox-flood", "--samples", "1", "--fixes", "", "--otp"];

fn run(mirror: &Mirror, otp: &str) -> Ran {
    mirror.say(&[RUN, &[otp]].concat())
}

fn refused(ran: &Ran, code: i32, words: &[&str]) {
    ran.assert_no_panic();
    assert_eq!((ran.code(), ran.wrongs().len()), (code, 1), "{ran:?}");
    for word in words {
        assert!(ran.wrongs()[0].contains(word), "{word}: {ran:?}");
    }
}

#[test]
fn a_suite_that_is_unknown_or_too_old_fetches_nothing() {
    let mirror = Mirror::new("touch $TMPDIR/asked");
    refused(&run(&mirror, "debian:bullseye"), 2, &["23.2", "debian:bookworm"]);
    refused(&run(&mirror, "debian:../etc"), 2, &["no such suite", "debian:trixie"]);
    assert!(!mirror.place.path("asked").exists());
}

#[test]
fn without_a_network_one_line_says_so() {
    let mirror = Mirror::new("echo 'E: Could not resolve deb.debian.org' >&2; exit 100");
    refused(&run(&mirror, "debian:trixie"), 3, &["debian:trixie: apt-get: ", "resolve", "--otp /"]);
    let mirror = Mirror::new("echo 'E: write (28: No space left on device)' >&2; exit 100");
    refused(&run(&mirror, "debian:trixie"), 3, &["debian:trixie: apt-get: ", "XDG_CACHE_HOME"]);
}

#[test]
fn a_package_that_does_not_unpack_leaves_nothing() {
    let mirror = Mirror::new("");
    std::fs::write(mirror.place.path("pool/erlang-base_1_amd64.deb"), "torn").unwrap();
    refused(&run(&mirror, "debian:sid"), 3, &["debian:sid: "]);
    assert_eq!(mirror.roots(), [] as [PathBuf; 0]);
    let empty = mirror.place.path("empty");
    std::fs::create_dir_all(&empty).unwrap();
    mirror.package("erlang-base", &empty);
    refused(&run(&mirror, "debian:sid"), 3, &["debian:sid: ", "ld-linux"]);
    assert_eq!(mirror.roots(), [] as [PathBuf; 0]);
}

#[test]
fn a_suite_is_fetched_once_and_used_without_an_erlang_or_a_network() {
    if !erlang_or_skip() || !Path::new("/usr/lib/erlang/bin/erl").exists() {
        return testing::skipped("it packs the Erlang of Debian that is installed here");
    }
    let mirror = Mirror::new(
        "echo u >>$TMPDIR/updates\n\
         case \"$*\" in *Valid-Until=false*) ;;\n\
         *) echo 'E: Release file for http://d/InRelease is expired (invalid since 3h).' >&2\n\
         exit 100;; esac",
    );
    pack_what_is_here(&mirror);
    let ran = mirror.say(&[RUN, &["debian:sid", "--json"]].concat());
    ran.assert_no_panic();
    assert!(ran.err.contains("is expired") && ran.err.contains("fetching its OTP"), "{ran:?}");
    let record = ran.json();
    let vm = &record["trials"][0]["observation"]["vm"];
    assert_eq!(vm["origin"], serde_json::json!({ "suite": "sid", "version": "1" }), "{ran:?}");
    let root = mirror.cache.path().join("tailback/otp/roots");
    assert!(vm["erl"].as_str().unwrap().starts_with(root.to_str().unwrap()), "{vm}");
    let settings = &record["plan"]["arms"][0]["settings"];
    assert_eq!(settings["otp"], "debian:sid", "{settings}");
    let updates = || std::fs::read_to_string(mirror.place.path("updates")).unwrap();
    let before = updates();

    // From the cache, and with the old name of the flag.
    let words = ["run", "mailbox-flood", "--samples", "1", "--fixes", "", "--erl", "debian:sid"];
    let again = mirror.say(&words);
    again.assert_no_panic();
    assert!(!again.err.contains("fetching"), "{again:?}");
    assert_eq!(updates(), before);

    // A changed file is not run.
    let beam = common::files(&mirror.roots()[0].join("lib")).into_iter().next().unwrap();
    std::fs::write(&beam, "evil").unwrap();
    refused(&run(&mirror, "debian:sid"), 3, &["differs from what was unpacked"]);
}

/// Packages with the Erlang and the libraries of this machine.
fn pack_what_is_here(mirror: &Mirror) {
    let base = mirror.place.path("base");
    let (erlang, lib) = (base.join("usr/lib"), base.join("usr/lib/x86_64-linux-gnu"));
    std::fs::create_dir_all(&lib).unwrap();
    let copy = |what: &str, to: &Path| {
        let copied = Command::new("cp").args(["-a", what]).arg(to).status().unwrap();
        assert!(copied.success(), "{what}");
    };
    copy("/usr/lib/erlang", &erlang);
    let beam = common::files(&erlang.join("erlang"))
        .into_iter()
        .find_map(|folder| Some(folder.join("bin/beam.smp")).filter(|file| file.is_file()));
    let ldd = Command::new("ldd").arg(beam.unwrap()).output().unwrap();
    let text = String::from_utf8(ldd.stdout).unwrap();
    for path in text.split_whitespace().filter(|word| word.starts_with('/')) {
        // The link and its target, as in a package.
        let real = Path::new(path).canonicalize().unwrap();
        copy(real.to_str().unwrap(), &lib);
        let name = Path::new(path).file_name().unwrap();
        if real.file_name().unwrap() != name {
            std::os::unix::fs::symlink(real.file_name().unwrap(), lib.join(name)).unwrap();
        }
    }
    mirror.package("erlang-base", &base);
}

#[test]
fn a_series_that_is_gone_is_told_with_those_that_are_there() {
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        return testing::skipped("needs qemu-system-x86");
    }
    let mirror = Mirror::new("echo u >>$TMPDIR/updates");
    for release in ["6.16.12+deb13", "6.9.1+deb13", "7.3.4+deb13"] {
        let name = format!("pool/linux-image-{release}-cloud-amd64_1_amd64.deb");
        std::fs::write(mirror.place.path(&name), "").unwrap();
    }
    let ran = mirror.say(&["vm", "--kernel", "debian:7.9", "--", "list"]);
    refused(&ran, 3, &["debian:7.9: ", "no such cloud kernel; it has 6.9, 6.16, 7.3"]);
    // Every suite was searched.
    let updates = std::fs::read_to_string(mirror.place.path("updates")).unwrap();
    assert!(updates.lines().count() > 4, "{updates}");
}
