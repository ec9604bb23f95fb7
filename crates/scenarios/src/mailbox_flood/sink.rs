//! The sinks in the words of the Erlang application.

use super::params::SinkKind;
use crate::ScenarioError;
use beam::Term;
use beam::term::{atom, list, text, tuple, uint};
use std::fs::File;
use std::os::fd::AsRawFd as _;
use std::path::Path;

/// The longest line that the port program of `port-line` answers with.
const LINE_BYTES: u64 = 4096;

/// A sink that is ready to be named to a node.
#[derive(Debug)]
pub(super) struct Sink {
    /// What the application calls it.
    pub term: Term,
    /// The file, which has no name and goes with its last descriptor.
    _file: Option<File>,
    /// What a node calls the file, and what a person does.
    names: Option<(String, String)>,
}

impl Sink {
    /// Makes a sink ready; a file sink gets its file in that folder.
    pub fn prepare(sink: SinkKind, folder: &Path) -> Result<Self, ScenarioError> {
        let Some(options) = sink.file_options() else {
            return Ok(Sink { term: plain(sink), _file: None, names: None });
        };
        let file = tempfile::tempfile_in(folder).map_err(|error| {
            let folder = folder.display();
            ScenarioError::Unusable(format!(
                "{folder}: {error}; name a folder that can be written to: --folder FOLDER"
            ))
        })?;
        // The node opens it through the tool, so that nothing is left however either of them ends.
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let options = list(options.iter().map(|option| atom(option)).collect());
        let term = tuple(vec![atom("file"), text(&path), options]);
        let names = Some((path, format!("a file in {}", folder.display())));
        Ok(Sink { term, _file: Some(file), names })
    }

    /// An error as a person knows the file: the path by which a node reaches it says nothing.
    pub fn in_words(&self, error: ScenarioError) -> ScenarioError {
        let named = |line: String| match &self.names {
            Some((path, name)) => line.replace(path, name),
            None => line,
        };
        match error {
            ScenarioError::Unusable(line) => ScenarioError::Unusable(named(line)),
            ScenarioError::Broken(line) => ScenarioError::Broken(named(line)),
            other => other,
        }
    }
}

/// A sink that is no file.
fn plain(sink: SinkKind) -> Term {
    let tcp = |backend: &str| tuple(vec![atom("tcp"), atom(backend)]);
    match sink {
        SinkKind::PortLine => {
            let framing = tuple(vec![atom("line"), uint(LINE_BYTES)]);
            tuple(vec![atom("port"), framing])
        }
        SinkKind::Tcp => tcp("inet"),
        SinkKind::TcpSocket => tcp("socket"),
        other => atom(&other.atom()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum as _;
    use std::io::Write as _;

    #[test]
    fn every_sink_can_be_made_ready_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let prepare = |sink: &SinkKind| Sink::prepare(*sink, folder.path()).unwrap();
        let ready: Vec<Sink> = SinkKind::value_variants().iter().map(prepare).collect();
        assert_eq!(ready.len(), SinkKind::value_variants().len());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_can_be_reached_through_the_tool() {
        let folder = tempfile::tempdir().unwrap();
        let sink = Sink::prepare(SinkKind::File, folder.path()).unwrap();
        let file = sink._file.as_ref().unwrap();
        let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
        let mut again = File::options().append(true).open(path).unwrap();
        again.write_all(b"abc").unwrap();
        assert_eq!(file.metadata().unwrap().len(), 3);
    }

    #[test]
    fn an_error_names_the_folder_and_not_a_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let sink = Sink::prepare(SinkKind::File, folder.path()).unwrap();
        let file = sink._file.as_ref().unwrap();
        let line =
            format!("file write: /proc/{}/fd/{}: full", std::process::id(), file.as_raw_fd());
        let told = sink.in_words(ScenarioError::Unusable(line)).to_string();
        assert!(told.contains(&folder.path().display().to_string()), "{told}");
        assert!(!told.contains("/proc/"), "{told}");
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let refused = Sink::prepare(SinkKind::File, Path::new("/no/such/folder"));
        let line = refused.unwrap_err().to_string();
        assert!(line.contains("/no/such/folder") && line.contains("--folder"), "{line}");
    }
}
