//! What may be wrong with what we are told about a node.

use os::terminal::line;
use std::fmt;
use std::path::PathBuf;

/// A node cannot be asked, whatever it does. Why one that could be is not, or does not answer, says
/// [`Problem`](model::live::Problem).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DistError {
    /// It is no name of a node.
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
