//! Where the kernel's files are: on the real machine, or in a fake tree.

use crate::error::HostError;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Most bytes of an ordinary file that are read.
pub const FILE_LIMIT: u64 = 1 << 20;

/// Most bytes of a mount table that are read: a busy container host has several megabytes.
const MOUNTS_LIMIT: u64 = 16 << 20;

/// The directories that readers use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Roots {
    /// procfs, `/proc`.
    pub proc: PathBuf,
    /// sysfs, `/sys`.
    pub sys: PathBuf,
    /// Configuration of the machine, `/etc`.
    pub etc: PathBuf,
    /// Kernels, `/boot`.
    pub boot: PathBuf,
    /// Files that last until the next boot: `/run`, or the session folder of an ordinary user.
    pub run: PathBuf,
    /// The root for all other absolute paths.
    top: PathBuf,
    /// The mount table, if it was read beforehand.
    mounts: Option<Arc<str>>,
}

impl Roots {
    /// The machine itself.
    pub fn real() -> Self {
        let mut roots = Roots::at("/");
        // Root does not trust a folder of the user who became root.
        if !rustix::process::geteuid().is_root() {
            let session = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
            roots.run = session.filter(|path| path.is_absolute()).unwrap_or(roots.run);
        }
        roots
    }

    /// A tree with `proc`, `sys`, `etc`, `boot` and `run` below `dir`.
    pub fn at(dir: impl Into<PathBuf>) -> Self {
        let top = dir.into();
        Roots {
            proc: top.join("proc"),
            sys: top.join("sys"),
            etc: top.join("etc"),
            boot: top.join("boot"),
            run: top.join("run"),
            top,
            mounts: None,
        }
    }

    /// The same, with the mount table read now and not again: a read can take half a millisecond.
    /// Later mounts are not seen. So this is for a caller that asks about all scenarios at once.
    pub fn with_mounts_read(self) -> Self {
        Roots { mounts: Some(self.mounts()), ..self }
    }

    /// The mount table of this process; empty if it cannot be read.
    pub(crate) fn mounts(&self) -> Arc<str> {
        self.mounts.clone().unwrap_or_else(|| {
            let text = read_text_up_to(&self.proc.join("self/mountinfo"), MOUNTS_LIMIT);
            text.unwrap_or_default().into()
        })
    }

    /// The root for all other absolute paths.
    pub(crate) fn top(&self) -> &Path {
        &self.top
    }

    /// Whether this is a fake tree in place of a machine, as in tests.
    pub(crate) fn is_fake(&self) -> bool {
        self.top != Path::new("/")
    }

    /// The location in this tree of an absolute path of the machine, such as a mount point.
    pub fn resolve(&self, absolute: &Path) -> PathBuf {
        let known = [
            ("/proc", &self.proc),
            ("/sys", &self.sys),
            ("/etc", &self.etc),
            ("/boot", &self.boot),
        ];
        for (prefix, root) in known {
            if let Ok(rest) = absolute.strip_prefix(prefix) {
                return root.join(rest);
            }
        }
        self.top.join(absolute.strip_prefix("/").unwrap_or(absolute))
    }
}

/// Whether a text is a valid kernel release and so may become part of a path: a kernel may call
/// itself anything.
pub fn is_release(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._+~-".contains(c);
    (1..=64).contains(&text.len()) && text.chars().all(plain) && !text.starts_with('.')
}

/// All text of a file of at most [`FILE_LIMIT`] bytes; bytes that are not UTF-8 are replaced.
///
/// # Errors
/// If the file cannot be read or is larger.
pub fn read_text(path: &Path) -> Result<String, HostError> {
    read_text_up_to(path, FILE_LIMIT)
}

/// All text of a file of at most `limit` bytes; bytes that are not UTF-8 are replaced.
///
/// # Errors
/// If the file cannot be read or is larger.
pub fn read_text_up_to(path: &Path, limit: u64) -> Result<String, HostError> {
    read_bytes(path, limit).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// All of a file of at most `limit` bytes.
///
/// # Errors
/// If the file cannot be read or is larger.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, HostError> {
    let bytes = read_start(path, limit.saturating_add(1))?;
    if bytes.len() as u64 > limit {
        return Err(HostError::TooLarge { path: path.to_owned(), limit });
    }
    Ok(bytes)
}

/// The first `limit` bytes of a file, or all of a shorter one. A pipe or a device is not read,
/// since some of these paths lead through folders of other users.
///
/// # Errors
/// If the file cannot be read, or is no regular file.
pub fn read_start(path: &Path, limit: u64) -> Result<Vec<u8>, HostError> {
    os::file::read_start(path, limit)
        .map_err(|source| HostError::Read { path: path.to_owned(), source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_paths_land_in_the_tree() {
        let roots = Roots::at("/tmp/fake");
        let resolved = |path: &str| roots.resolve(Path::new(path));
        assert_eq!(resolved("/sys/fs/cgroup"), Path::new("/tmp/fake/sys/fs/cgroup"));
        assert_eq!(resolved("/dev/cgroup"), Path::new("/tmp/fake/dev/cgroup"));
        assert_eq!(resolved("/system"), Path::new("/tmp/fake/system"));
        assert_eq!(
            Roots::real().resolve(Path::new("/dev/cgroup/cpu")),
            Path::new("/dev/cgroup/cpu")
        );
    }

    #[test]
    fn a_file_over_its_limit_is_refused_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("big");
        std::fs::write(&path, "12345").unwrap();
        assert_eq!(read_text_up_to(&path, 5).unwrap(), "12345");
        let error = read_text_up_to(&path, 4).unwrap_err().to_string();
        assert!(error.contains("big") && error.contains("4 bytes"), "{error}");
        assert_eq!(read_start(&path, 2).unwrap(), b"12");
    }

    #[test]
    fn a_release_leads_out_of_no_folder() {
        for good in ["6.18.44-fc-v657", "6.1.0-56-cloud-amd64", "5.10.0+deb11~1"] {
            assert!(is_release(good), "{good}");
        }
        for bad in ["", ".", "..", "../../etc", "6.1/x", "6.1\n", "a b"] {
            assert!(!is_release(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_missing_file_is_named() {
        let error = read_text(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(error.starts_with("/nowhere/at/all: "), "{error}");
    }
}
