//! The restrictions of a command that reads files of others.
//!
//! A record may come from anybody, and root reads it like everybody else. So the process is
//! restricted with Landlock before it reads any part of a record. (Landlock needs Linux 5.13; an
//! older kernel restricts nothing.) After that it can write only where its output goes. It can
//! execute nothing, reach no network and signal no process. Root keeps only the privilege to read
//! and write files of others, since a record may be in the folder of any user. Landlock limits
//! this privilege too. A filter of system calls refuses all new sockets: through a UNIX socket,
//! root could have systemd start a program.

use crate::paths::folder_of;
use os::sandbox::{Files, Network, keep_privileges, refuse_sockets, restrict};
use rustix::thread::CapabilitySet;
use std::path::{Path, PathBuf};

/// Restricts this process, and all that it starts, to writing in the folders of these files. This
/// cannot be undone. For a link, the folder is that of the file to which it leads.
pub fn enter(files: &[&Path]) {
    let folders: Vec<PathBuf> = files.iter().map(|file| folder_of(&target(file))).collect();
    // The command works without these restrictions. They only add a second layer of protection.
    let _ = keep_privileges(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
    let _ = restrict(Files::Read { writable: &folders }, Network::None);
    let _ = refuse_sockets(Network::None);
}

/// The file that is written. If there is none, writing to it fails later, with the reason.
fn target(file: &Path) -> PathBuf {
    runner::target(file).unwrap_or_else(|_| file.to_owned())
}
