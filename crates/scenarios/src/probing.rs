//! Evidence of one trial: which processes a scenario watches, and the result.

use host::roots::Roots;
use model::Evidence;
use probe::{Role, Session, SessionOptions, Watched};

/// A process of a trial, or the leader of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The process. Its children belong to the same part.
    pub pid: u32,
    /// The name of the part: `mapper`.
    pub part: &'static str,
    /// Its role in the evidence.
    pub role: Role,
}

/// The probes around a trial. If they are not wanted, every call does nothing.
pub struct Probing {
    roots: Roots,
    session: Option<Session>,
}

impl Probing {
    /// Loads the probes. This must happen before the set-up of the trial.
    pub fn start(wanted: bool, roots: &Roots) -> Self {
        Probing::start_with(wanted, &SessionOptions::new(roots))
    }

    /// Loads the probes with the options of a scenario.
    pub fn start_with(wanted: bool, options: &SessionOptions) -> Self {
        let session = wanted.then(|| Session::start(options));
        Probing { roots: options.roots.clone(), session }
    }

    /// Watches a process and its children.
    pub fn watch(&mut self, process: &Part) {
        if let Some(session) = &mut self.session {
            let Part { pid, part, role } = *process;
            session.watch(Watched::with_children(&self.roots, pid, part, role));
        }
    }

    /// Watches a process. All processes that it started are watched as another part.
    pub fn watch_tree(&mut self, process: &Part, offspring: &str) {
        if let Some(session) = &mut self.session {
            let Part { pid, part, role } = *process;
            session.watch(vec![Watched::new(pid, part, role)]);
            session.watch(Watched::descendants(&self.roots, pid, offspring, role));
        }
    }

    /// Marks the release of the load.
    pub fn release(&mut self) {
        if let Some(session) = &mut self.session {
            session.release();
        }
    }

    /// Ends the watch. All watched processes must still be alive.
    pub fn end(&mut self) {
        if let Some(session) = &mut self.session {
            session.stop();
        }
    }

    /// The evidence, after the load is gone. Collecting it takes a moment.
    pub fn evidence(self) -> Option<Evidence> {
        self.session.map(Session::finish)
    }
}
