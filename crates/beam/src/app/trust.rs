//! Whether code from a folder may be run: nobody else may have put it there.

use crate::error::BeamError;
use std::fs::{self, DirBuilder, Metadata};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Makes a folder that is ours alone, unless it is there, and says where it really is.
///
/// # Errors
/// If it cannot be made, or if another user could change what is in it.
pub(super) fn folder(path: &Path) -> Result<PathBuf, BeamError> {
    let failed = |what| move |source| BeamError::File { path: path.to_owned(), what, source };
    DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failed("make it"))?;
    let real = fs::canonicalize(path).map_err(failed("find it"))?;
    check(&real)?;
    Ok(real)
}

/// Refuses a folder, given without symbolic links, that another user could change, or put
/// another in the place of.
pub(super) fn check(real: &Path) -> Result<(), BeamError> {
    for (depth, path) in real.ancestors().enumerate() {
        let failed = |source| BeamError::File { path: path.to_owned(), what: "look at it", source };
        let metadata = fs::symlink_metadata(path).map_err(failed)?;
        let us = rustix::process::geteuid().as_raw();
        if let Some(why) = objection(&metadata, us, depth == 0) {
            return Err(BeamError::Unsafe { path: path.to_owned(), why });
        }
    }
    Ok(())
}

fn objection(metadata: &Metadata, us: u32, innermost: bool) -> Option<String> {
    let (owner, mode) = (metadata.uid(), metadata.mode());
    if owner != us && (innermost || owner != 0) {
        return Some(format!("owned by user {owner}, not by user {us}"));
    }
    // In a folder such as /tmp others may add, but not take away what is ours.
    let sticky = mode & 0o1000 != 0 && !innermost;
    let others = if innermost { 0o022 } else { 0o002 };
    (mode & others != 0 && !sticky)
        .then(|| format!("others may write to it (mode {:04o})", mode & 0o7777))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    fn mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_folder_is_made_for_us_alone() {
        let dir = tempfile::tempdir().unwrap();
        let made = folder(&dir.path().join("a/b")).unwrap();
        assert_eq!(fs::metadata(made).unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn a_folder_that_others_may_write_to_is_refused_and_so_is_one_below_it() {
        let dir = tempfile::tempdir().unwrap();
        let inner = folder(&dir.path().join("a/b")).unwrap();
        for bad in [0o777, 0o1777, 0o720] {
            mode(&inner, bad);
            let told = folder(&inner).unwrap_err().to_string();
            assert!(told.contains("others may write to it"), "{told}");
        }
        mode(&inner, 0o755);
        folder(&inner).unwrap();
        let outer = dir.path().join("a");
        mode(&outer, 0o777);
        assert!(matches!(folder(&inner), Err(BeamError::Unsafe { .. })));
        mode(&outer, 0o1777);
        folder(&inner).unwrap();
    }

    #[test]
    fn a_folder_of_another_user_is_refused_also_behind_a_link() {
        let dir = tempfile::tempdir().unwrap();
        let theirs = folder(&dir.path().join("theirs")).unwrap();
        if chown(&theirs, Some(65_534), None).is_err() {
            return eprintln!("skipped: only root can give a folder away");
        }
        let link = dir.path().join("link");
        std::os::unix::fs::symlink(&theirs, &link).unwrap();
        for path in [&theirs, &link] {
            let told = folder(path).unwrap_err().to_string();
            assert!(told.contains("owned by user 65534"), "{told}");
        }
    }

    #[test]
    fn a_file_in_its_place_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("f");
        fs::write(&file, "").unwrap();
        assert!(matches!(folder(&file), Err(BeamError::File { .. })));
    }
}
