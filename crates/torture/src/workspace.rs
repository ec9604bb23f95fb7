//! A separate workspace for runs, so that their leftovers can be told from changes of other
//! programs. It is a mount namespace with its own /run/tailback, /tmp and /dev/shm, and folders
//! for records and cache. Its frequency governors are plain files, since few test machines have
//! real ones.

use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind, mount_change, unmount,
};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use std::ffi::CString;
use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The kernel's folder of the CPUs.
const CPUS: &str = "/sys/devices/system/cpu";

/// The files of a governor, with their initial values.
pub const GOVERNORS: [(&str, &str); 2] =
    [("scaling_governor", "powersave"), ("energy_performance_preference", "balance_power")];

/// The files beside them that list the allowed values. A restore writes no other value.
const LISTS: [(&str, &str); 2] = [
    ("scaling_available_governors", "performance powersave"),
    ("energy_performance_available_preferences", "performance balance_power"),
];

/// The most bytes that are copied of a file in /sys.
const MOST: u64 = 64 << 10;

/// The workspace of one worker.
#[derive(Debug)]
pub struct Workspace {
    base: PathBuf,
}

impl Workspace {
    /// Makes the workspace in an empty folder, with a copy of the program and of the kernels for
    /// guests.
    ///
    /// # Errors
    /// If this does not run as root, or a mount fails.
    pub fn make(base: &Path, program: &Path, kernels: Option<&Path>) -> io::Result<Self> {
        // SAFETY: this process has one thread, and no descriptor is shared or closed.
        unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
        mount_change("/", MountPropagationFlags::PRIVATE | MountPropagationFlags::REC)?;
        let workspace = Workspace { base: base.to_owned() };
        memory(base, "mode=755,size=2g")?;
        for folder in ["tmp", "state", "cache", "work", "home", "out", "full", "run"] {
            fs::create_dir(workspace.at(folder))?;
        }
        fs::set_permissions(workspace.at("tmp"), fs::Permissions::from_mode(0o1777))?;
        fs::copy(program, workspace.program())?;
        if let Some(kernels) = kernels {
            copy(kernels, &workspace.at("cache/tailback/kernels/built"))?;
        }
        fs::create_dir_all("/run/tailback")?;
        memory(Path::new("/run/tailback"), "mode=700")?;
        memory(Path::new("/dev/shm"), "mode=1777")?;
        governors(&workspace.at("cpus"))?;
        // This mount comes last, because paths used before may be in /tmp.
        mount_bind(workspace.at("tmp"), "/tmp")?;
        Ok(workspace)
    }

    /// A path in the workspace.
    pub fn at(&self, name: &str) -> PathBuf {
        self.base.join(name)
    }

    /// The copy of the program.
    pub fn program(&self) -> PathBuf {
        self.at("tailback")
    }

    /// The folder of the records.
    pub fn records(&self) -> PathBuf {
        self.at("state/tailback")
    }

    /// A command in this workspace. The program may be another one that starts the copy.
    pub fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.at("work")).env("HOME", self.at("home"));
        command.env("XDG_STATE_HOME", self.at("state")).env("XDG_CACHE_HOME", self.at("cache"));
        for name in ["TMPDIR", "TAILBACK_SHARE_HOST", "XDG_RUNTIME_DIR"] {
            command.env_remove(name);
        }
        command.stdin(Stdio::null());
        command
    }

    /// The folders that are checked after a run. Only the files that [`crate::state`] allows may
    /// be left there.
    pub fn watched(&self) -> Vec<PathBuf> {
        let own = ["tmp", "state", "cache", "work", "home", "full"].map(|name| self.at(name));
        own.into_iter().chain(["/run/tailback", "/dev/shm"].map(PathBuf::from)).collect()
    }

    /// Empties the folders for the next case, including the cache of Erlang files if `cache` is
    /// set.
    pub fn clean(&self, cache: bool) {
        for folder in ["tmp", "state", "work", "home"] {
            empty(&self.at(folder));
        }
        if cache {
            // The copied kernels stay.
            let _ = fs::remove_dir_all(self.at("cache/tailback/erlang"));
        }
    }

    /// Mounts a disk of this size on a folder.
    ///
    /// # Errors
    /// If the kernel refuses the mount.
    pub fn small_disk(&self, kib: u64) -> io::Result<PathBuf> {
        let folder = self.at("full");
        memory(&folder, &format!("mode=755,size={kib}k"))?;
        Ok(folder)
    }

    /// Unmounts the small disk.
    pub fn unmount_small_disk(&self) {
        let _ = unmount(self.at("full"), UnmountFlags::DETACH);
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // A folder on which something is mounted cannot be removed, and this one would stay in
        // /run.
        let _ = unmount(self.base.as_path(), UnmountFlags::DETACH);
    }
}

fn empty(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let _ = match entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            true => fs::remove_dir_all(path),
            false => fs::remove_file(path),
        };
    }
}

fn memory(at: &Path, options: &str) -> io::Result<()> {
    let options = CString::new(options)?;
    Ok(mount("tmpfs", at, "tmpfs", MountFlags::empty(), options.as_c_str())?)
}

/// Mounts a copy of the kernel's description of the CPUs in this namespace, with governors.
fn governors(copied: &Path) -> io::Result<()> {
    copy(Path::new(CPUS), copied)?;
    for entry in fs::read_dir(copied)?.flatten() {
        let name = entry.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("cpu"));
        if number.is_none_or(|number| number.parse::<u32>().is_err()) {
            continue;
        }
        let folder = entry.path().join("cpufreq");
        fs::create_dir_all(&folder)?;
        for (file, value) in GOVERNORS.into_iter().chain(LISTS) {
            fs::write(folder.join(file), value)?;
        }
    }
    Ok(mount_bind(copied, CPUS)?)
}

/// Copies folders, links and files. Of a file in /sys, only the first [`MOST`] bytes are copied;
/// if it cannot be read, it is left out.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    use io::Read;
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)?.flatten() {
        let (path, kind, new) = (entry.path(), entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            copy(&path, &new)?;
        } else if kind.is_symlink() {
            symlink(fs::read_link(&path)?, new)?;
        } else if path.starts_with("/sys") {
            let mut bytes = Vec::new();
            let opened = fs::File::open(&path);
            if opened.and_then(|file| file.take(MOST).read_to_end(&mut bytes)).is_ok() {
                fs::write(new, bytes)?;
            }
        } else {
            fs::copy(&path, new)?;
        }
    }
    Ok(())
}
