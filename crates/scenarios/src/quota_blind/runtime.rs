//! The runtimes: how each is found, told its number of CPUs, and installed where it is not there.

use crate::params::choice;
use clap::ValueEnum;
use std::path::{Path, PathBuf};

/// Where a runtime's own scripts find the system's programs.
pub(super) const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// A language's runtime.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Runtime {
    /// The Erlang VM
    Beam,
    /// A Java virtual machine
    Jvm,
    /// Go: a worker compiled by the toolchain
    Go,
    /// Node.js
    Node,
}

choice!(Runtime);

/// The setting by which a runtime is told its number of CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Setting {
    /// A variable of its environment, and the value.
    Variable(&'static str, String),
    /// Words of its command line.
    Flags(Vec<String>),
}

impl Setting {
    /// As one writes it.
    pub fn text(&self) -> String {
        match self {
            Setting::Variable(name, value) => format!("{name}={value}"),
            Setting::Flags(words) => words.join(" "),
        }
    }
}

impl Runtime {
    /// Its name in a sentence.
    pub fn name(self) -> &'static str {
        match self {
            Runtime::Go => "Go",
            Runtime::Jvm => "the JVM",
            Runtime::Node => "Node.js",
            Runtime::Beam => "the BEAM",
        }
    }

    /// The program by which it is found.
    pub(super) fn program(self) -> &'static str {
        match self {
            Runtime::Go => "go",
            Runtime::Jvm => "java",
            Runtime::Node => "node",
            Runtime::Beam => "erl",
        }
    }

    /// What installs it on Debian.
    pub(super) fn install(self) -> &'static str {
        match self {
            Runtime::Go => "apt-get install golang-go",
            Runtime::Jvm => "apt-get install openjdk-17-jdk-headless",
            Runtime::Node => "apt-get install nodejs",
            Runtime::Beam => "apt-get install erlang-base erlang-crypto",
        }
    }

    /// What tells it to use so many CPUs. Node has no such setting but the size of its pool.
    pub(super) fn setting(self, cpus: u32) -> Setting {
        match self {
            Runtime::Go => Setting::Variable("GOMAXPROCS", cpus.to_string()),
            Runtime::Node => Setting::Variable("UV_THREADPOOL_SIZE", cpus.to_string()),
            Runtime::Jvm => Setting::Flags(vec![format!("-XX:ActiveProcessorCount={cpus}")]),
            Runtime::Beam => Setting::Flags(
                ["+S", &format!("{cpus}:{cpus}"), "+SDcpu", &format!("{cpus}:{cpus}")]
                    .map(str::to_owned)
                    .to_vec(),
            ),
        }
    }

    /// The program on a search path, or none; folders of it that are relative are passed over.
    pub(super) fn on_path(self, search: &std::ffi::OsStr) -> Option<PathBuf> {
        let folders = std::env::split_paths(search).filter(|folder| folder.is_absolute());
        folders.map(|folder| folder.join(self.program())).find(|file| is_program(file))
    }

    /// The program that a user named, by itself or by the folder of its installation.
    pub(super) fn named(self, path: &Path) -> PathBuf {
        match path.is_dir() {
            true => path.join("bin").join(self.program()),
            false => path.to_owned(),
        }
    }
}

/// Whether a file can be executed.
pub(super) fn is_program(path: &Path) -> bool {
    path.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_runtime_is_told_by_its_own_setting() {
        let told = |runtime: Runtime| runtime.setting(1).text();
        assert_eq!(told(Runtime::Go), "GOMAXPROCS=1");
        assert_eq!(told(Runtime::Jvm), "-XX:ActiveProcessorCount=1");
        assert_eq!(told(Runtime::Node), "UV_THREADPOOL_SIZE=1");
        assert_eq!(told(Runtime::Beam), "+S 1:1 +SDcpu 1:1");
    }

    #[test]
    fn a_program_is_found_on_absolute_folders_alone() {
        let place = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink("/bin/sh", place.path().join("node")).unwrap();
        let search = std::env::join_paths([Path::new("bin"), place.path()]).unwrap();
        assert_eq!(Runtime::Node.on_path(&search), Some(place.path().join("node")));
        assert_eq!(Runtime::Go.on_path(&search), None);
        assert_eq!(Runtime::Go.named(Path::new("/x/go")), Path::new("/x/go"));
        let root = place.path().join("bin/go");
        assert_eq!(Runtime::Go.named(place.path()), root);
    }
}
