//! Records the groups of this process in its journal, and removes the groups of journals whose
//! process has ended.
//!
//! Most groups of dead processes are found by their names ([`super::sweep`]). The pid in a name
//! means nothing in another pid namespace, such as the next pod on a node. There, only the
//! journal shows whose process has ended.

use super::clear::clear;
use super::error::CgroupError;
use super::place::{HeldGroup, NoGroup};
use crate::journal::{self, Change, JournalError, Noted, Undone};
use crate::owner::Owner;
use crate::roots::Roots;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;

/// The controllers in whose hierarchies groups are made.
const CONTROLLERS: [&str; 3] = ["cpu", "cpuacct", "memory"];

/// Makes an empty group after it is recorded in the journal. Without a folder for journals, as for
/// an ordinary user without a session, only its name shows whose it is. Such a user cannot write to
/// the folder that root's runs have made.
///
/// # Errors
/// If the kernel refuses the group, or if the journal cannot be written, for example on a full
/// disk. Nobody in another pid namespace could tell that a group without an entry is left behind.
pub(super) fn make(roots: &Roots, path: &Path) -> Result<Option<Noted>, CgroupError> {
    let noted = match journal::note(roots, Change::Group { path: path.to_owned() }) {
        Ok(noted) => Some(noted),
        Err(JournalError::Folder(_)) => None,
        Err(error) => return Err(error.into()),
    };
    match fs::create_dir(path) {
        Ok(()) => Ok(noted),
        Err(failed) => {
            noted.into_iter().for_each(Noted::undone);
            Err(super::error::io(path, failed))
        }
    }
}

/// Removes the group of a dead process, with all processes in it.
pub(crate) fn remove(roots: &Roots, path: &Path, owner: &Owner) -> Undone {
    let name = path.file_name().and_then(OsStr::to_str);
    let Some((name, above)) = name.zip(path.parent()) else {
        return Undone::Refused("not the path of a group".to_owned());
    };
    if Owner::parse(name) != Some(*owner) {
        return Undone::Refused("not the name of a group of that process".to_owned());
    }
    let mut why = String::new();
    for controller in CONTROLLERS {
        match HeldGroup::open(roots, controller, None, above) {
            Ok(parent) => return clear_in(&parent, name, path),
            Err(NoGroup::Gone) => return Undone::Before,
            Err(NoGroup::Foreign(reason)) => why = reason,
        }
    }
    Undone::Refused(why)
}

fn clear_in(parent: &HeldGroup, name: &str, path: &Path) -> Undone {
    let group = parent.path().join(name);
    match fs::symlink_metadata(&group) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Undone::Before,
        Ok(found) if !found.is_dir() => Undone::Refused("no group is there".to_owned()),
        _ => match clear(&group) {
            Ok(()) => Undone::Now,
            Err(error) => Undone::Failed(path.to_owned(), sentence(&error)),
        },
    }
}

fn sentence(error: &CgroupError) -> String {
    match error {
        CgroupError::Busy { left, .. } => {
            format!("{} processes in it do not end", left.len())
        }
        CgroupError::OwnProcess { pid, .. } => format!("this process ({pid}) is in it"),
        CgroupError::Io { error, .. } => error.clone(),
        _ => "the kernel refuses".to_owned(),
    }
}
