//! Tells `tailback version` what the binary was built from: the commit, the compiler and the
//! crates.
//!
//! Only release builds are asked about their origin, so that a new commit does not compile the
//! crate again while somebody develops.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The commit of an archive of `git archive`, which fills in this file (.gitattributes).
const ARCHIVED: &str = "commit";
/// What a binary is made of.
const SOURCES: [&str; 4] = ["crates", "erlang", "Cargo.toml", "Cargo.lock"];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let root = Path::new(&variable("CARGO_MANIFEST_DIR")).join("../..");
    let release = variable("PROFILE") == "release";
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={ARCHIVED}");
    println!("cargo:rustc-env=TAILBACK_TARGET={}", variable("TARGET"));
    println!("cargo:rustc-env=TAILBACK_FEATURES={}", features());
    println!("cargo:rustc-env=TAILBACK_RUSTC={}", said(Command::new(variable("RUSTC")).arg("-V"))?);
    let commit = archived(&root).or_else(|| release.then(|| checked_out(&root)).flatten());
    println!("cargo:rustc-env=TAILBACK_COMMIT={}", commit.unwrap_or_default());
    let crates = if release { crates(&root)? } else { String::new() };
    std::fs::write(PathBuf::from(variable("OUT_DIR")).join("crates"), crates)?;
    Ok(())
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// The features of this build, with commas between them.
fn features() -> String {
    let all = [("bpf", "CARGO_FEATURE_BPF"), ("parquet", "CARGO_FEATURE_PARQUET")];
    let on = all.iter().filter(|(_, set)| std::env::var_os(set).is_some());
    on.map(|(name, _)| *name).collect::<Vec<_>>().join(",")
}

/// What a program prints.
fn said(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{command:?}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{command:?}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The commit that an archive names.
fn archived(root: &Path) -> Option<String> {
    let text = std::fs::read_to_string(root.join("crates/cli").join(ARCHIVED)).ok()?;
    let commit = text.trim();
    commit.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| commit.to_owned())
}

/// The commit of a checkout, and `+` after it if the sources differ from it. None without git.
fn checked_out(root: &Path) -> Option<String> {
    let git = |words: &[&str]| said(Command::new("git").arg("-C").arg(root).args(words)).ok();
    // A checkout of another project may contain these sources.
    git(&["ls-files", "--error-unmatch", "crates/cli/build.rs"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let differs = git(&[&["status", "--porcelain", "--"][..], &SOURCES].concat())?;
    for source in SOURCES {
        println!("cargo:rerun-if-changed=../../{source}");
    }
    for file in ["HEAD", "refs/heads", "packed-refs"] {
        let path = PathBuf::from(git(&["rev-parse", "--git-path", file])?);
        let path = if path.is_absolute() { path } else { root.join(path) };
        if path.exists() {
            println!("cargo:rerun-if-changed={}", path.display());
        }
    }
    Some(if differs.is_empty() { commit } else { commit + "+" })
}

/// The crates that are linked into the binary: a line each, with name, version and licence.
fn crates(root: &Path) -> Result<String, String> {
    let mut tree = Command::new(variable("CARGO"));
    tree.current_dir(root).args(["tree", "--locked", "--offline", "--package", "tailback"]);
    tree.args(["--target", &variable("TARGET"), "--edges", "normal,no-proc-macro"]);
    tree.args(["--no-default-features", "--features", &features()]);
    tree.args(["--prefix", "none", "--format", "{p}|{l}"]);
    let text = said(&mut tree)?;
    // The workspace's own crates have a path.
    let others = text.lines().filter(|line| !line.contains("(/"));
    let mut lines: Vec<String> = others
        .filter_map(|line| {
            let (name, licence) = line.trim_end_matches(" (*)").split_once('|')?;
            let (name, version) = name.split_once(" v")?;
            Some(format!("{name}|{version}|{licence}"))
        })
        .collect();
    lines.sort();
    lines.dedup();
    Ok(lines.join("\n"))
}
