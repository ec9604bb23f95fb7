//! Errors between Debian's mirror and a file in the cache.

use host::tool::ToolError;
use std::path::PathBuf;

/// Why a package is not available.
#[derive(Debug, thiserror::Error)]
pub enum DebianError {
    /// A required tool is missing or failed.
    #[error(transparent)]
    Tool(ToolError),
    /// The cache cannot be used.
    #[error(
        "{}: {source}; free some disk space or set XDG_CACHE_HOME to another folder",
        .path.display()
    )]
    Cache {
        /// The path that failed.
        path: PathBuf,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// Another user could have put something into the cache.
    #[error(
        "{}: {why}; tailback would not trust the files there: set XDG_CACHE_HOME to your own \
         folder (sudo without -E does this)",
        .path.display()
    )]
    Unsafe {
        /// The folder or file.
        path: PathBuf,
        /// Why the content is not trusted.
        why: String,
    },
    /// A file cannot be read.
    #[error("{}: {source}", .path.display())]
    File {
        /// The path that failed.
        path: PathBuf,
        /// The kernel's reason.
        source: std::io::Error,
    },
    /// A package cannot be unpacked, or lacks the file that it is needed for.
    #[error("{}: {why}", .path.display())]
    Torn {
        /// The package.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The user interrupted the run.
    #[error("interrupted")]
    Interrupted,
}

impl DebianError {
    /// The error of a program that did not do its task.
    pub fn tool(program: &str, why: impl Into<String>) -> Self {
        DebianError::Tool(ToolError::Failed { program: program.to_owned(), why: why.into() })
    }

    /// Whether a tool reports a full disk, in the words of the C library.
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
