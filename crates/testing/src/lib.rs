//! What the tests of several crates share. It is not part of tailback; only tests use it.

mod tree;

use std::fmt::Display;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub use tree::{CGROUP2, Tree};

/// Prints that a test is skipped, and why.
///
/// # Panics
///
/// If no test may be skipped: `TAILBACK_SKIP_NOTHING` is set, as in `make test`.
#[track_caller]
pub fn skipped(why: impl Display) {
    assert!(
        std::env::var_os("TAILBACK_SKIP_NOTHING").is_none(),
        "TAILBACK_SKIP_NOTHING is set, and this test cannot run: {why}"
    );
    eprintln!("skipped: {why}");
}

/// Prints that a test has nothing to test on this machine, and why. Unlike [`skipped`], this is
/// for what the machine cannot be given, such as another kernel, so it never fails.
pub fn does_not_apply(why: impl Display) {
    eprintln!("does not apply: {why}");
}

/// Whether a test has what it needs. If it does not, this prints that the test is skipped.
///
/// # Panics
///
/// Under the same condition as [`skipped`].
#[track_caller]
pub fn has_or_skip(has: bool, why: impl Display) -> bool {
    if !has {
        skipped(why);
    }
    has
}

/// Writes a program that can be executed at once. A child process writes the file. If this
/// process wrote it, a child that another thread forks meanwhile could inherit the open file, and
/// the program would be busy.
///
/// # Panics
///
/// If it cannot be written.
pub fn write_program(path: &Path, text: &str) {
    let mut shell = Command::new("sh");
    shell.args(["-c", "cat >\"$0\" && chmod 755 \"$0\""]).arg(path).stdin(Stdio::piped());
    let mut child = shell.spawn().expect("sh");
    child.stdin.take().expect("its input").write_all(text.as_bytes()).expect("it reads");
    assert!(child.wait().expect("its end").success(), "{} is not written", path.display());
}

/// Copies a program into a file that can be executed at once. A child process writes the file, for
/// the same reason as in [`write_program`].
///
/// # Panics
///
/// If it cannot be copied.
pub fn copy_program(from: &Path, to: &Path) {
    let mut install = Command::new("install");
    install.args(["-m", "755"]).arg(from).arg(to);
    assert!(install.status().expect("install").success(), "{} is not copied", to.display());
}

/// Waits until `look` finds something after this process has released a lock or closed a file or
/// socket. A child process that another thread forks meanwhile holds it until its exec, so `look`
/// may need several tries.
///
/// # Panics
///
/// If it finds nothing for a long time.
#[track_caller]
pub fn once_released<T>(mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + Duration::from_secs(100);
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "somebody else still holds it");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether this process runs as root. If not, this prints that the test is skipped.
///
/// # Panics
///
/// Under the same condition as [`skipped`].
#[track_caller]
pub fn root_or_skip() -> bool {
    use std::os::unix::fs::MetadataExt;
    let root = std::fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    has_or_skip(root, "needs root")
}
