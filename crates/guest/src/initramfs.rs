//! The file system that a guest boots with: this binary as `/init`, and its job.

use crate::error::GuestError;
use crate::job::{Job, MODULES, PLACE};
use crate::kernel::Kernel;
use crate::libraries;
use crate::mkfs;
use cpio::newc::{Builder, trailer};
use std::io::Write;
use std::path::Path;

const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_644;
const PROGRAM: u32 = 0o100_755;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// The largest file in the archive, in bytes: ten times this program.
const MOST_OF_FILE: u64 = 256 << 20;

/// Folders that the guest's init uses as mount points, or that programs expect.
const FOLDERS: &[&str] =
    &["dev", "proc", "sys", "tmp", "run", "root", "etc", "boot", "tailback", "root-of-host"];

/// The archive (cpio, newc) for a guest with this kernel and this job.
///
/// `program` becomes `/init`. If it is linked dynamically, its libraries are included. If the job
/// makes file systems, so is the host's mkfs.ext4, unless a shared root hides it.
///
/// # Errors
/// If a program or one of its libraries cannot be read.
pub fn build(program: &Path, kernel: &Kernel, job: &Job) -> Result<Vec<u8>, GuestError> {
    let mut archive = Archive::default();
    for folder in FOLDERS {
        archive.entry(folder, FOLDER, &[])?;
    }
    // The kernel opens this console for init; devtmpfs is mounted later.
    archive.console()?;
    archive.entry("init", PROGRAM, &read(program)?)?;
    for library in libraries::needed_by(program, "link tailback statically: make build")? {
        archive.file_with_folders(&library, PROGRAM, &read(&library)?)?;
    }
    // A program that is none for a known architecture does not run in a guest.
    if job.loop_devices
        && job.root.is_none()
        && let Ok(arch) = libraries::arch_of(program)
    {
        for file in mkfs::files(arch)? {
            let mode = if file.is_program { PROGRAM } else { FILE };
            archive.file_with_folders(&file.to, mode, &read(&file.from)?)?;
        }
    }
    archive.entry("etc/os-release", FILE, b"PRETTY_NAME=\"initramfs of tailback\"\n")?;
    archive.entry("etc/passwd", FILE, b"root:x:0:0:root:/root:/bin/sh\n")?;
    if let Some(config) = &kernel.config {
        archive.entry(&format!("boot/config-{}", kernel.release), FILE, &read(config)?)?;
    }
    for module in kernel.modules_for(job.root.is_some(), job.loop_devices) {
        let name = module.file_name().unwrap_or_default().to_string_lossy();
        let place = Path::new(MODULES).join(name.as_ref());
        archive.file_with_folders(&place, FILE, &read(&module)?)?;
    }
    let job = serde_json::to_vec(job).unwrap_or_default();
    archive.entry(PLACE.trim_start_matches('/'), FILE, &job)?;
    archive.finish()
}

/// The content of a file. A larger one than any program or module is an error.
fn read(path: &Path) -> Result<Vec<u8>, GuestError> {
    let failed = |source| GuestError::File { path: path.to_owned(), source };
    let bytes = os::file::read_start(path, MOST_OF_FILE + 1).map_err(failed)?;
    if bytes.len() as u64 > MOST_OF_FILE {
        let why = format!("larger than {} MiB", MOST_OF_FILE >> 20);
        return Err(failed(std::io::Error::other(why)));
    }
    Ok(bytes)
}

#[derive(Debug, Default)]
struct Archive {
    bytes: Vec<u8>,
    names: std::collections::BTreeSet<String>,
}

impl Archive {
    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) -> Result<(), GuestError> {
        self.add_entry(Builder::new(name).mode(mode), name, content)
    }

    fn console(&mut self) -> Result<(), GuestError> {
        let name = "dev/console";
        let builder = Builder::new(name).mode(CHARACTER_DEVICE).rdev_major(5).rdev_minor(1);
        self.add_entry(builder, name, &[])
    }

    fn add_entry(
        &mut self,
        builder: Builder,
        name: &str,
        content: &[u8],
    ) -> Result<(), GuestError> {
        if !self.names.insert(name.to_owned()) {
            return Ok(());
        }
        let failed = |source| GuestError::System { what: "the initramfs", source };
        let length = u32::try_from(content.len())
            .map_err(|_| failed(std::io::ErrorKind::FileTooLarge.into()))?;
        let number = self.names.len() as u32;
        let mut writer = builder.ino(number).nlink(1).write(&mut self.bytes, length);
        writer.write_all(content).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(())
    }

    /// A file at the same path as on the host, with the folders above it.
    fn file_with_folders(
        &mut self,
        path: &Path,
        mode: u32,
        content: &[u8],
    ) -> Result<(), GuestError> {
        let name = path.to_string_lossy().trim_start_matches('/').to_owned();
        for (at, _) in name.match_indices('/') {
            self.entry(&name[..at], FOLDER, &[])?;
        }
        self.entry(&name, mode, content)
    }

    fn finish(mut self) -> Result<Vec<u8>, GuestError> {
        trailer(&mut self.bytes)
            .map_err(|source| GuestError::System { what: "the initramfs", source })?;
        Ok(self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::Reader;
    use std::collections::BTreeMap;
    use std::io::Read;

    type Entries = BTreeMap<String, (u32, Vec<u8>)>;

    fn entries(mut bytes: &[u8]) -> Entries {
        let mut found = BTreeMap::new();
        loop {
            let mut reader = Reader::new(bytes).unwrap();
            if reader.entry().is_trailer() {
                return found;
            }
            let name = reader.entry().name().to_owned();
            let mode = reader.entry().mode();
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            found.insert(name, (mode, content));
            bytes = reader.finish().unwrap();
        }
    }

    #[test]
    fn the_archive_has_the_program_the_job_and_a_console() {
        let folder = tempfile::tempdir().unwrap();
        let (program, config) = (folder.path().join("program"), folder.path().join("config"));
        std::fs::write(&program, b"\x7fELF static").unwrap();
        std::fs::write(&config, b"CONFIG_HZ=250\n").unwrap();
        let modules = ["virtiofs.ko", "loop.ko.xz"].map(|name| folder.path().join(name));
        modules.iter().for_each(|module| std::fs::write(module, "module").unwrap());
        let kernel = Kernel {
            name: "k".into(),
            image: program.clone(),
            release: "6.1.0-x".into(),
            sha256: String::new(),
            config: Some(config),
            modules: modules.to_vec(),
        };
        let job = Job { args: vec!["run".into(), "mmap-lock".into()], ..Job::default() };
        let found = entries(&build(&program, &kernel, &job).unwrap());
        assert_eq!(found["init"], (PROGRAM, b"\x7fELF static".to_vec()));
        assert_eq!(found["dev/console"].0, CHARACTER_DEVICE);
        assert_eq!(found["boot/config-6.1.0-x"].1, b"CONFIG_HZ=250\n");
        assert_eq!(found["proc"].0, FOLDER);
        let job_read: Job = serde_json::from_slice(&found["tailback/job.json"].1).unwrap();
        assert_eq!(job_read, job);
        assert!(!found.contains_key("tailback/modules"), "a job that needs no modules");
        for (root, loop_devices, name, other) in [
            (Some("tag".to_owned()), false, "virtiofs.ko", "loop.ko.xz"),
            (None, true, "loop.ko.xz", "virtiofs.ko"),
        ] {
            let job = Job { root, loop_devices, ..job.clone() };
            let found = entries(&build(&program, &kernel, &job).unwrap());
            assert_eq!(found[&format!("tailback/modules/{name}")], (FILE, b"module".to_vec()));
            assert!(!found.contains_key(&format!("tailback/modules/{other}")), "{name}");
            assert!(!found.contains_key("usr"), "no mkfs.ext4 for an unknown architecture");
        }
    }

    #[test]
    fn a_job_that_makes_file_systems_has_the_mkfs_of_the_host() {
        if !Path::new("/usr/sbin/mkfs.ext4").is_file() {
            return testing::skipped("needs e2fsprogs");
        }
        let program = Path::new("/bin/true");
        let kernel = Kernel {
            name: "k".into(),
            image: program.to_owned(),
            release: "6.1.0-x".into(),
            sha256: String::new(),
            config: None,
            modules: Vec::new(),
        };
        let has_it = |root: Option<&str>, loop_devices| {
            let job = Job { root: root.map(str::to_owned), loop_devices, ..Job::default() };
            let found = entries(&build(program, &kernel, &job).unwrap());
            found.get("usr/sbin/mkfs.ext4").is_some_and(|(mode, content)| {
                *mode == PROGRAM && *content == std::fs::read("/usr/sbin/mkfs.ext4").unwrap()
            })
        };
        assert!(has_it(None, true));
        assert!(!has_it(None, false), "no other job pays for it");
        assert!(!has_it(Some("tag"), true), "a shared root hides it");
    }

    #[test]
    fn a_library_brings_its_folders_once() {
        let mut archive = Archive::default();
        for name in ["/lib/x/a.so", "/lib/x/b.so"] {
            archive.file_with_folders(Path::new(name), PROGRAM, b"x").unwrap();
        }
        let found = entries(&archive.finish().unwrap());
        let names: Vec<&str> = found.keys().map(String::as_str).collect();
        assert_eq!(names, ["lib", "lib/x", "lib/x/a.so", "lib/x/b.so"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let error = read(Path::new("/nonexistent/program")).unwrap_err();
        assert!(error.to_string().starts_with("/nonexistent/program: "), "{error}");
    }
}
