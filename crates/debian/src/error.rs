//! What can go wrong between Debian's mirror and a file of the cache.

use host::tool::ToolError;
use std::path::PathBuf;

/// Why a package could not be had.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// A tool that is needed is missing or failed.
    #[error("{program}: {why}")]
    Tool {
        /// The program.
        program: String,
        /// Its message, and what to do next.
        why: String,
    },
    /// The cache cannot be used.
    #[error("{}: {source}; free some room or set XDG_CACHE_HOME to another folder", .path.display())]
    Cache {
        /// Where.
        path: PathBuf,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// Somebody else could have put something into the cache.
    #[error(
        "{}: {why}; what lies there would not be trusted: set XDG_CACHE_HOME to a folder of your \
         own (sudo without -E does)",
        .path.display()
    )]
    Unsafe {
        /// The folder or file.
        path: PathBuf,
        /// Who may change it.
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
    /// A package that does not unpack, or has not got in it what it is for.
    #[error("{}: {why}", .path.display())]
    Torn {
        /// The package.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// Waiting for a tool failed.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: &'static str,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// Somebody interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl From<ToolError> for DebianError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::Failed { program, why } => DebianError::Tool { program, why },
            ToolError::System { what, source } => DebianError::System { what, source },
            ToolError::Interrupted => DebianError::Interrupted,
        }
    }
}
