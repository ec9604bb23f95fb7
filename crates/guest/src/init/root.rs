//! The root file system that a host shares with its guest.

use super::mounts::{MOUNTS, mount_debug};
use crate::job::Job;
use rustix::io::Errno;
use rustix::mount::{MountFlags, mount};
use std::path::{Path, PathBuf};

/// Most bytes that are copied for each kind of the host's compiled files.
const MOST_COPIED: u64 = 64 << 20;

/// Makes the shared folder the root file system, read-only, and mounts the guest's own file
/// systems in it.
///
/// # Errors
/// If this fails, with the reason as a sentence.
pub(super) fn enter(tag: &str) -> Result<(), String> {
    let root = Path::new("/root-of-host");
    let failed = |what: &str, error: std::io::Error| format!("--root: {what}: {error}");
    std::fs::create_dir_all(root).map_err(|error| failed("a folder", error))?;
    mount(tag, root, "virtiofs", MountFlags::RDONLY, None).map_err(|error| match error {
        Errno::NODEV => {
            "--root: this kernel has no virtiofs; use one that has it, such as debian:6.12, \
                         or name its Debian package, which includes the modules"
                .to_owned()
        }
        other => failed("virtiofs in the guest", other.into()),
    })?;
    for (kind, place) in MOUNTS {
        let place = root.join(place.trim_start_matches('/'));
        let mounted = mount(*kind, &place, *kind, MountFlags::empty(), None);
        mounted.map_err(|error| failed(&format!("{kind} on {}", place.display()), error.into()))?;
    }
    mount_debug(root);
    std::os::unix::fs::chroot(root).map_err(|error| failed("chroot", error))?;
    std::env::set_current_dir("/").map_err(|error| failed("chdir", error))
}

/// Copies the host's compiled files to the command's cache: applications of Erlang, and workers
/// of runtimes. Anything that cannot be copied is compiled again.
pub(super) fn copy_compiled(job: &Job, cache: &Path) {
    let Some(from) = &job.cache else { return };
    for kind in ["erlang", "workers"] {
        let to = cache.join("tailback").join(kind);
        if copy_all(&from.join(kind), &to).is_err() {
            // A partial copy would be used as if it were complete.
            let _ = std::fs::remove_dir_all(&to);
        }
    }
}

/// Links the OTPs that the host has fetched into the command's cache. They are not copied,
/// because their programs contain the path of their loader.
pub(super) fn show_otps(job: &Job, cache: &Path) {
    let Some(otps) = job.cache.as_ref().map(|cache| cache.join("otp")) else { return };
    let to = cache.join("tailback");
    if otps.is_dir() && std::fs::create_dir_all(&to).is_ok() {
        // Without the link, the command reports that it cannot fetch an OTP.
        let _ = std::os::unix::fs::symlink(&otps, to.join("otp"));
    }
}

/// Copies the entries of a cache. In the guest everything runs as one user, so entries of other
/// host users (`-userN`) are used too, if the host's root has none.
fn copy_all(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut left = MOST_COPIED;
    std::fs::create_dir_all(to)?;
    let names = std::fs::read_dir(from)?.map(|entry| Ok(entry?.file_name()));
    let mut names: Vec<_> = names.collect::<std::io::Result<_>>()?;
    // The entry without a user comes before those with one.
    names.sort();
    for name in names {
        let name = name.to_string_lossy().into_owned();
        let plain = name.split_once("-user").map_or(&*name, |(plain, _)| plain);
        let (from, to) = (from.join(&name), to.join(plain));
        if from.symlink_metadata()?.is_dir() && !to.exists() {
            copy(&from, &to, &mut left)?;
        }
    }
    Ok(())
}

fn copy(from: &Path, to: &Path, left: &mut u64) -> std::io::Result<()> {
    std::fs::create_dir_all(to)?;
    for entry in std::fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to): (_, PathBuf) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&entry.path(), &to, left)?;
        } else if kind.is_file() {
            let length = entry.metadata()?.len();
            *left = left.checked_sub(length).ok_or(std::io::ErrorKind::FileTooLarge)?;
            std::fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::unix::fs::{MetadataExt, PermissionsExt};

    fn job(folder: &Path) -> Job {
        Job { cache: Some(folder.to_owned()), ..Job::default() }
    }

    #[test]
    fn fetched_otps_are_found_where_they_lie() {
        let place = tempfile::tempdir().unwrap();
        let cache = place.path().join("cache");
        show_otps(&job(place.path()), &cache);
        assert!(!cache.exists(), "nothing to show");
        std::fs::create_dir_all(place.path().join("otp/roots")).unwrap();
        show_otps(&job(place.path()), &cache);
        let shown = cache.join("tailback/otp").canonicalize().unwrap();
        assert_eq!(shown, place.path().join("otp").canonicalize().unwrap());
    }

    #[test]
    fn compiled_applications_are_copied_or_left_out_as_a_whole() {
        let place = tempfile::tempdir().unwrap();
        let (from, cache) = (place.path().join("erlang"), place.path().join("cache"));
        copy_compiled(&job(place.path()), &cache);
        assert!(!cache.join("tailback/erlang").exists(), "nothing to copy");
        std::fs::create_dir_all(from.join("a-otp25/tailback/ebin")).unwrap();
        std::fs::write(from.join("a-otp25/tailback/ebin/wait.beam"), "code").unwrap();
        copy_compiled(&job(place.path()), &cache);
        let copied = cache.join("tailback/erlang/a-otp25/tailback/ebin/wait.beam");
        assert_eq!(std::fs::read_to_string(copied).unwrap(), "code");
        std::fs::create_dir_all(from.join("a-otp25-user7")).unwrap();
        std::fs::create_dir_all(from.join("b-otp25-user7/tailback")).unwrap();
        copy_compiled(&job(place.path()), &cache);
        let names = std::fs::read_dir(cache.join("tailback/erlang")).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, ["a-otp25", "b-otp25"]);
        std::fs::create_dir(from.join("c-otp25")).unwrap();
        let big = File::create(from.join("c-otp25/big")).unwrap();
        big.set_len(MOST_COPIED + 1).unwrap();
        copy_compiled(&job(place.path()), &cache);
        assert!(!cache.join("tailback/erlang").exists(), "half of them is none");
    }

    #[test]
    fn a_worker_is_copied_as_a_program() {
        let place = tempfile::tempdir().unwrap();
        let (workers, cache) = (place.path().join("workers"), place.path().join("cache"));
        std::fs::create_dir_all(workers.join("go1.24-user7")).unwrap();
        let worker = workers.join("go1.24-user7/worker");
        std::fs::write(&worker, "code").unwrap();
        std::fs::set_permissions(&worker, std::fs::Permissions::from_mode(0o755)).unwrap();
        copy_compiled(&job(place.path()), &cache);
        let copied = cache.join("tailback/workers/go1.24/worker");
        assert_eq!(copied.metadata().unwrap().mode() & 0o777, 0o755);
    }
}
