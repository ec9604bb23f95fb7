//! The sinks, in the terms of the Erlang application.

use super::params::SinkKind;
use super::sentences::MailboxFloodFact;
use crate::ScenarioError;
use beam::Term;
use beam::term::{atom, list, text, tuple, uint};
use model::Problem;
use os::user::User;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::fchown;
use std::path::Path;
use std::sync::Arc;

/// The longest line of an answer from the port program of `port-line`.
const LINE_BYTES: u64 = 4096;

/// A sink that is ready for use by a node.
#[derive(Debug)]
pub(super) struct Sink {
    /// Its term for the application.
    pub term: Term,
    /// The file. It has no name, and it is deleted with its last descriptor.
    file: Option<Arc<OwnedFd>>,
    /// The folder of the file.
    folder: Option<String>,
}

impl Sink {
    /// Prepares a sink for a node that runs as `user`, or as the caller if None. The file of a
    /// file sink is created in `folder`.
    pub fn prepare(
        sink: SinkKind,
        folder: &Path,
        user: Option<User>,
    ) -> Result<Self, ScenarioError> {
        let Some(options) = sink.file_options() else {
            return Ok(Sink { term: plain(sink), file: None, folder: None });
        };
        let made = tempfile::tempfile_in(folder).and_then(|file| {
            user.map_or(Ok(()), |user| fchown(&file, Some(user.uid()), Some(user.gid())))?;
            Ok(file)
        });
        let file = made.map_err(|error| {
            let folder = (&folder.display()).into();
            ScenarioError::unusable(MailboxFloodFact::NoFolder { folder, error: (&error).into() })
        })?;
        // The file has no name, so nothing is left behind however tool or node ends. The node
        // inherits the open file.
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let options = list(options.iter().map(|option| atom(option)).collect());
        let term = tuple(vec![atom("file"), text(&path), options]);
        let folder = Some(folder.display().to_string());
        Ok(Sink { term, file: Some(Arc::new(file.into())), folder })
    }

    /// The files that the node inherits open.
    pub fn open(&self) -> Vec<Arc<OwnedFd>> {
        self.file.iter().cloned().collect()
    }

    /// Adds the folder of the file to an error. The path that a node uses for the file means
    /// nothing to a user.
    pub fn named(&self, error: ScenarioError) -> ScenarioError {
        let in_folder = |problem| match (&self.folder, problem) {
            (Some(folder), problem @ Problem::Reported(_)) => {
                Problem::InFolder { folder: folder.clone(), why: Box::new(problem) }
            }
            (_, problem) => problem,
        };
        match error {
            ScenarioError::Unusable(problem) => ScenarioError::Unusable(in_folder(problem)),
            ScenarioError::Broken(problem) => ScenarioError::Broken(in_folder(problem)),
            other => other,
        }
    }
}

/// The term of a sink that is not a file.
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
    use model::reported::{Part, Trouble};
    use std::fs::File;
    use std::io::Write as _;

    #[test]
    fn every_sink_can_be_made_ready_and_leaves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let prepare = |sink: &SinkKind| Sink::prepare(*sink, folder.path(), None).unwrap();
        let ready: Vec<Sink> = SinkKind::value_variants().iter().map(prepare).collect();
        assert_eq!(ready.len(), SinkKind::value_variants().len());
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_file_can_be_reached_by_its_descriptor() {
        let folder = tempfile::tempdir().unwrap();
        let sink = Sink::prepare(SinkKind::File, folder.path(), None).unwrap();
        let [file] = sink.open().try_into().unwrap();
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let mut again = File::options().append(true).open(path).unwrap();
        again.write_all(b"abc").unwrap();
        assert_eq!(File::from(file.try_clone().unwrap()).metadata().unwrap().len(), 3);
    }

    #[test]
    fn an_error_of_the_node_names_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let sink = Sink::prepare(SinkKind::File, folder.path(), None).unwrap();
        let full = || Problem::reported(Part::Node, Trouble::Refused, "file write: full");
        let folder = folder.path().display().to_string();
        let named = Problem::InFolder { folder, why: Box::new(full()) };
        let told = sink.named(ScenarioError::Unusable(full()));
        assert_eq!(told, ScenarioError::Unusable(named));
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let refused = Sink::prepare(SinkKind::File, Path::new("/no/such/folder"), None);
        let Err(ScenarioError::Unusable(Problem::Scenario(fact))) = refused else { panic!() };
        assert_eq!(fact.values["folder"], "/no/such/folder");
    }
}
