//! Errors in what the user said about a node.

use os::terminal::line;
use std::fmt;
use std::path::PathBuf;

/// A node cannot be asked, whatever the node does. [`NodeProblem`](model::live::NodeProblem) says
/// why a valid node is not asked, or does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DistError {
    /// This is not the name of a node.
    Name(String),
    /// The cookie's file cannot be used.
    Cookie(PathBuf, String),
}

impl fmt::Display for DistError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            DistError::Name(name) => {
                format!(
                    "--node {name}: not the name of a node; write it as node() shows it: web@host"
                )
            }
            DistError::Cookie(file, why) => format!(
                "--cookie-file {}: {why}; name the file that holds the node's cookie",
                file.display()
            ),
        };
        f.write_str(&line(&text))
    }
}

impl std::error::Error for DistError {}
