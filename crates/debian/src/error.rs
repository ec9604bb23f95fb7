//! What can go wrong between Debian's mirror and a file of the cache.

use host::tool::ToolError;
use std::path::PathBuf;

/// Why a package could not be had.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// A tool that is needed is missing or failed.
    #[error(transparent)]
    Tool(ToolError),
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
    /// Somebody interrupted.
    #[error("interrupted")]
    Interrupted,
}

impl DebianError {
    /// The error of a program that did not do what it was to.
    pub fn tool(program: &str, why: impl Into<String>) -> Self {
        DebianError::Tool(ToolError::Failed { program: program.to_owned(), why: why.into() })
    }

    /// Whether a tool says that the disk is full, in the words of the C library.
    pub fn is_full(&self) -> bool {
        matches!(self, DebianError::Tool(ToolError::Failed { why, .. })
            if why.contains("No space left on device"))
    }
}

impl From<ToolError> for DebianError {
    fn from(error: ToolError) -> Self {
        match error {
            ToolError::Interrupted => DebianError::Interrupted,
            other => DebianError::Tool(other),
        }
    }
}
