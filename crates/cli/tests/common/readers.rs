//! Other programs that read the output of the binary.

use std::path::{Path, PathBuf};
use std::process::Command;

/// A Python with the packages of tests/readers/python.txt; `None` if that is unavailable, for
/// example without a network.
pub fn python() -> Option<PathBuf> {
    fetched("need-python").map(PathBuf::from)
}

/// The folder that a script of `scripts/` fetched; `None` if it could not.
pub fn fetched(script: &str) -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // The build folder, wherever it is.
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).parent()?;
    let ran = Command::new(root.join("scripts").join(script))
        .env("CARGO_TARGET_DIR", built)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    let why = said.lines().last().unwrap_or(script);
    testing::has_or_skip(ran.status.success(), why)
        .then(|| String::from_utf8(ran.stdout).unwrap().trim().to_owned())
}

/// The output of a script of `readers/`.
pub fn read_with(python: &Path, script: &str, args: &[&str]) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers").join(script);
    let ran = Command::new(python).arg(script).args(args).output().unwrap();
    let said = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{said}");
    String::from_utf8(ran.stdout).unwrap()
}
