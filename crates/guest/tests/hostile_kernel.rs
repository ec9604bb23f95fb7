//! A guest that ignores the read-only mount of its folder. This program is its process 1, in the
//! role of a hostile kernel, and tries to change the host through virtiofs.
//!
//! It has no test harness, since it has to start as `/init` without arguments.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use os::arch::Arch;
use rustix::mount::{MountFlags, mount, mount_remount};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Duration;
use tailback_guest::{
    Accel, Cache, Clock, Event, Guest, Job, Kernel, Limits, Qemu, ROOT_TAG, Search, Setup,
    find_kernel, initramfs,
};

const NAME: &str = "a_guest_that_remounts_its_folder_writable_cannot_change_the_host";
const KERNEL: &str = "debian:6.1";
/// Far longer than an emulated guest takes to boot, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(400);

/// The prefix of the guest's line about each attempt, and of its last line.
const TRIED: &str = "tried ";
const ALL: &str = "all has been tried";

fn main() -> ExitCode {
    if std::process::id() == 1 {
        attack();
        // The machine ends with its process 1.
        return ExitCode::SUCCESS;
    }
    let words: Vec<String> = std::env::args().skip(1).collect();
    let listed = words.iter().any(|word| word == "--list");
    let asked = words.iter().find(|word| !word.starts_with('-'));
    if listed || asked.is_some_and(|word| !NAME.contains(word.as_str())) {
        return ExitCode::SUCCESS;
    }
    let Some(kernel) = kernel_or_skip() else { return ExitCode::SUCCESS };
    cannot_change_the_host(&kernel);
    println!("test {NAME} ... ok");
    ExitCode::SUCCESS
}

// Guest side.

fn attack() {
    let share = Path::new("/root-of-host");
    let tried = |what: &str, how: std::io::Result<()>| {
        println!("{TRIED}{what}: {}", how.map_or_else(|e| e.to_string(), |()| "done".to_owned()));
    };
    load_modules();
    if let Err(e) = silence_the_kernel() {
        println!("the kernel is not silent: {e}");
    }
    let shared = mount(ROOT_TAG, share, "virtiofs", MountFlags::RDONLY, None);
    tried("mounting", shared.map_err(Into::into));
    let writable = mount_remount(share, MountFlags::empty(), "");
    tried("remounting", writable.map_err(Into::into));
    let kept = share.join("kept");
    tried("reading", fs::read(&kept).map(|bytes| println!("read {} bytes", bytes.len())));
    tried("writing", OpenOptions::new().write(true).open(&kept).map(drop));
    tried("truncating", File::create(&kept).map(drop));
    tried("creating", File::create(share.join("new")).map(drop));
    tried("removing", fs::remove_file(&kept));
    tried("renaming", fs::rename(&kept, share.join("renamed")));
    tried("linking", symlink("/etc/passwd", share.join("link")));
    tried("a folder", fs::create_dir(share.join("folder")));
    tried("mode", fs::set_permissions(&kept, PermissionsExt::from_mode(0o4777)));
    tried("owner", std::os::unix::fs::chown(&kept, Some(1), Some(1)));
    let time = File::open(&kept).and_then(|f| f.set_modified(std::time::UNIX_EPOCH));
    tried("time", time);
    println!("below the mount: {:?}", fs::read_dir(share.join("mount")).map(Iterator::count));
    println!("{ALL}");
    // The last console output of a machine that ends at once can be lost.
    std::thread::sleep(Duration::from_secs(2));
}

/// Keeps the kernel's messages off the console. A message in the middle of our line would change
/// what the host reads.
fn silence_the_kernel() -> std::io::Result<()> {
    fs::create_dir_all("/proc")?;
    mount("proc", "/proc", "proc", MountFlags::empty(), None)?;
    fs::write("/proc/sys/kernel/printk", "1")
}

/// Loads the packed modules, those without dependencies first.
fn load_modules() {
    let folder = fs::read_dir("/tailback/modules").into_iter().flatten().flatten();
    let paths: Vec<PathBuf> = folder.map(|entry| entry.path()).collect();
    for _ in &paths {
        for path in &paths {
            let _ = File::open(path).map(|file| rustix::system::finit_module(&file, c"", 0));
        }
    }
}

// Host side.

/// The kernel, if it is in the user's cache. Tests of this crate do not download anything.
fn kernel_or_skip() -> Option<Kernel> {
    let cache = Cache::of_user("kernels");
    if !rustix::process::geteuid().is_root() {
        testing::skipped("only root can show a guest a folder");
        return None;
    }
    let sharer = ["/usr/libexec/virtiofsd", "/usr/lib/qemu/virtiofsd"];
    if !sharer.iter().any(|path| Path::new(path).exists()) {
        testing::skipped("needs virtiofsd");
        return None;
    }
    if Command::new("qemu-system-x86_64").arg("--version").output().is_err() {
        testing::skipped("needs qemu-system-x86");
        return None;
    }
    if !cache.folder().join("debian/6.1.json").exists() {
        testing::skipped(
            "debian:6.1 is not cached; tailback vm --kernel debian:6.1 -- list fetches it",
        );
        return None;
    }
    let search = Search::default();
    Some(find_kernel(KERNEL, Arch::OWN, &cache, search, &mut |_| {}, &|| false).unwrap())
}

/// A mount below the folder, removed on drop.
struct Below(PathBuf);

impl Drop for Below {
    fn drop(&mut self) {
        let _ = rustix::mount::unmount(&self.0, rustix::mount::UnmountFlags::DETACH);
    }
}

fn cannot_change_the_host(kernel: &Kernel) {
    let place = tempfile::tempdir().unwrap();
    let kept = place.path().join("kept");
    fs::write(&kept, "eleven bytes").unwrap();
    let below = Below(place.path().join("mount"));
    fs::create_dir(&below.0).unwrap();
    let mounted = mount("none", &below.0, "tmpfs", MountFlags::empty(), None);
    if mounted.is_ok() {
        fs::write(below.0.join("secret"), "").unwrap();
    }
    let before = state(place.path());
    let said = whole_console_of(kernel, place.path());
    let tried = |what: &str| {
        let start = format!("{TRIED}{what}: ");
        let line = said.iter().find_map(|line| Some(line.split_once(&start)?.1.trim().to_owned()));
        line.unwrap_or_else(|| panic!("{what}: {said:#?}"))
    };
    // It must have reached these attempts.
    for what in ["mounting", "remounting", "reading"] {
        assert_eq!(tried(what), "done", "{what}: {said:#?}");
    }
    let refused = [
        "writing",
        "truncating",
        "creating",
        "removing",
        "renaming",
        "linking",
        "a folder",
        "mode",
        "owner",
        "time",
    ];
    for what in refused {
        assert!(tried(what).contains("Read-only file system"), "{what}: {}", tried(what));
    }
    assert!(said.iter().any(|line| line.contains("below the mount: Ok(0)")), "{said:#?}");
    assert_eq!(state(place.path()), before, "the guest has changed the host");
}

/// Names, contents and attributes of the files in a folder.
fn state(folder: &Path) -> Vec<String> {
    let entry = |path: PathBuf| {
        let metadata = path.symlink_metadata().unwrap();
        let text = fs::read_to_string(&path).unwrap_or_default();
        let (mode, owner) = (metadata.mode(), metadata.uid());
        format!("{path:?} {mode:o} {owner} {:?} {text:?}", metadata.modified().unwrap())
    };
    let mut all: Vec<String> =
        fs::read_dir(folder).unwrap().map(|found| entry(found.unwrap().path())).collect();
    all.sort();
    all
}

/// The console output of a boot in which everything was tried. On a busy emulator a kernel may
/// panic by itself, so it is booted up to three times.
fn whole_console_of(kernel: &Kernel, folder: &Path) -> Vec<String> {
    let mut said = Vec::new();
    for _ in 0..3 {
        said = console_of(kernel, folder);
        if said.iter().any(|line| line.contains(ALL)) {
            return said;
        }
        eprintln!("not everything was tried: {said:#?}");
    }
    panic!("not everything was tried in three boots: {said:#?}")
}

/// Boots this program as process 1 with this folder. Returns its console output.
fn console_of(kernel: &Kernel, folder: &Path) -> Vec<String> {
    let qemu = Qemu::find(Arch::OWN).unwrap();
    // The modules for a root are packed only for a job with a root.
    let job = Job { root: Some(ROOT_TAG.to_owned()), ..Job::default() };
    let initramfs = initramfs::build(&std::env::current_exe().unwrap(), kernel, &job).unwrap();
    let setup = Setup {
        qemu: &qemu,
        kernel,
        cpus: 1,
        memory: 512 << 20,
        clock: Clock::Host,
        initramfs: &initramfs,
        // It never reports that it is up, so only the boot limit applies.
        limits: Limits { boot: PATIENCE, ..Limits::new(1, Clock::Host, Some(PATIENCE)) },
        root: Some(folder.to_owned()),
    };
    let mut guest = Guest::start(&setup, Accel::Tcg).unwrap();
    let pid = guest.pid();
    assert_unprivileged(pid);
    while !matches!(guest.next(&|| false).unwrap(), Event::End(_)) {}
    guest.console(1000)
}

/// Asserts that this QEMU, which a guest kernel may take over, does not run as root.
fn assert_unprivileged(pid: u32) {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = |name: &str| status.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(!line("Uid:").split_whitespace().skip(1).any(|uid| uid == "0"), "{status}");
    assert!(line("CapEff:").ends_with("0000000000000000"), "{status}");
}
