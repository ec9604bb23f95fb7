//! What can go wrong before a guest runs, or around it.

use debian::DebianError;
use host::tool::ToolError;
use std::path::PathBuf;

/// Why a guest could not be run.
#[derive(Debug, thiserror::Error)]
pub enum GuestError {
    /// The file is no kernel.
    #[error("{}: {why}; name a bzImage, a Debian kernel package or debian:6.12", .path.display())]
    NotKernel {
        /// The file.
        path: PathBuf,
        /// What it is instead.
        why: String,
    },
    /// A kernel that was built without what a guest needs.
    #[error("{}: without {lacking}, which a guest needs; switch it on and build again", .path.display())]
    Options {
        /// Its configuration.
        path: PathBuf,
        /// The options.
        lacking: String,
    },
    /// A kernel for another architecture.
    #[error("{}: a kernel for {arch}, and this host and its binary are x86_64", .path.display())]
    WrongArch {
        /// The file.
        path: PathBuf,
        /// The other architecture.
        arch: &'static str,
    },
    /// A kernel that is not to be had by this name.
    #[error("--kernel {spec}: {why}")]
    Unknown {
        /// What was asked for.
        spec: String,
        /// Why not, and what else.
        why: String,
    },
    /// A size that makes no sense.
    #[error("{0}")]
    Size(String),
    /// The host has not got what the guest would take.
    #[error("{0}")]
    Room(String),
    /// What it takes of Debian, or a tool, or the cache cannot be had.
    #[error(transparent)]
    Debian(DebianError),
    /// The kernel does not start the program that shares a folder.
    #[error("{0}; --root takes a mount of its own: run where mount(2) is allowed (CAP_SYS_ADMIN)")]
    NotShared(ToolError),
    /// A kernel could not be fetched.
    #[error("debian:{series}: {why}")]
    Fetch {
        /// The series.
        series: String,
        /// Why, and what next.
        why: String,
    },
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    File {
        /// Where.
        path: PathBuf,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// The host's kernel refused something that a guest needs.
    #[error("guest: {what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// QEMU sent something that makes no sense.
    #[error("qemu: {0}")]
    Qemu(String),
    /// Somebody interrupted.
    #[error("interrupted")]
    Interrupted,
}

/// What sort of error it is, for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// What was asked for cannot be done.
    Usage,
    /// Something is missing.
    Need,
    /// Something broke.
    Broken,
    /// Somebody interrupted.
    Interrupted,
}

impl GuestError {
    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        use GuestError as E;
        match self {
            E::NotKernel { .. }
            | E::WrongArch { .. }
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
