//! Errors before a guest runs, or around it.

use debian::DebianError;
use host::tool::ToolError;
use std::path::PathBuf;

/// Why a guest could not be run.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The file is not a kernel.
    #[error(
        "{}: {why}; name a bzImage (arm64: an Image), a Debian kernel package or debian:6.12",
        .path.display()
    )]
    NotKernel {
        /// The file.
        path: PathBuf,
        /// What the file is instead.
        why: String,
    },
    /// The kernel was built without an option that a guest needs.
    #[error("{}: lacks {lacking}, which a guest needs; enable it and build again", .path.display())]
    Options {
        /// Its configuration.
        path: PathBuf,
        /// The missing options.
        lacking: String,
    },
    /// The kernel is for another architecture.
    #[error(
        "{}: a kernel for {arch}, but the tailback in the guest is not; see --program",
        .path.display()
    )]
    WrongArch {
        /// The file.
        path: PathBuf,
        /// The other architecture.
        arch: &'static str,
    },
    /// The file cannot be the tailback of a guest.
    #[error("--program {}: not a program for x86_64 or aarch64", .path.display())]
    NotProgram {
        /// The file.
        path: PathBuf,
    },
    /// There is no kernel of this name.
    #[error("--kernel {spec}: {why}")]
    Unknown {
        /// The requested name.
        spec: String,
        /// Why not, and what to use instead.
        why: String,
    },
    /// The requested size is invalid.
    #[error("{0}")]
    Size(String),
    /// The host has too few resources for the guest.
    #[error("{0}")]
    Room(String),
    /// A package from Debian, a tool or the cache is not available.
    #[error(transparent)]
    Debian(DebianError),
    /// The program that shares a folder could not be started.
    #[error("{0}; --root needs its own mount: run where mount(2) is allowed (CAP_SYS_ADMIN)")]
    NotShared(ToolError),
    /// A kernel could not be fetched.
    #[error("debian:{series}: {why}")]
    Fetch {
        /// The series.
        series: String,
        /// Why, and what to do.
        why: String,
    },
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error from the kernel.
        source: std::io::Error,
    },
    /// A system call that a guest needs failed.
    #[error("guest: {what}: {source}")]
    System {
        /// The operation.
        what: &'static str,
        /// The error from the kernel.
        source: std::io::Error,
    },
    /// QEMU sent an invalid answer.
    #[error("qemu: {0}")]
    Qemu(String),
    /// The user interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// The class of an error, for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The request cannot be fulfilled.
    Usage,
    /// Something that is needed is missing.
    Need,
    /// Something failed unexpectedly.
    Broken,
    /// The user interrupted.
    Interrupted,
}

impl GuestError {
    /// The class of the error.
    pub fn kind(&self) -> ErrorKind {
        use GuestError as E;
        match self {
            E::NotKernel { .. }
            | E::WrongArch { .. }
            | E::NotProgram { .. }
            | E::Unknown { .. }
            | E::Options { .. }
            | E::Size(_)
            | E::File { .. } => ErrorKind::Usage,
            E::Debian(DebianError::Tool(ToolError::System { .. }))
            | E::System { .. }
            | E::Qemu(_) => ErrorKind::Broken,
            E::Debian(_) | E::NotShared(_) | E::Fetch { .. } | E::Room(_) => ErrorKind::Need,
            E::Interrupted => ErrorKind::Interrupted,
        }
    }
}

impl From<DebianError> for GuestError {
    fn from(error: DebianError) -> Self {
        match error {
            DebianError::File { path, source } => GuestError::File { path, source },
            DebianError::Torn { path, why } => GuestError::NotKernel { path, why },
            DebianError::Interrupted => GuestError::Interrupted,
            other => GuestError::Debian(other),
        }
    }
}

impl From<ToolError> for GuestError {
    fn from(error: ToolError) -> Self {
        DebianError::from(error).into()
    }
}
