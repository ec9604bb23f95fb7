//! Evidence of one trial: whom a scenario has watched, and what came of it.

use host::roots::Roots;
use model::Evidence;
use probe::{Role, Session, SessionOptions, Watched};

/// A process of a trial, or the leader of several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// The process; its children are the same part.
    pub pid: u32,
    /// What it is: `mapper`.
    pub part: &'static str,
    /// What it means to the evidence.
    pub role: Role,
}

/// Probes around a trial, where they are wanted; every call does nothing where they are not.
pub struct Probing {
    roots: Roots,
    session: Option<Session>,
}

impl Probing {
    /// Loads the probes, before anything is set up.
    pub fn start(wanted: bool, roots: &Roots) -> Self {
        Probing::start_with(wanted, &SessionOptions::new(roots))
    }

    /// Loads the probes as a scenario wants them.
    pub fn start_with(wanted: bool, options: &SessionOptions) -> Self {
        let session = wanted.then(|| Session::start(options));
        Probing { roots: options.roots.clone(), session }
    }

    /// Watches a process with its children.
    pub fn watch(&mut self, process: &Part) {
        if let Some(session) = &mut self.session {
            let Part { pid, part, role } = *process;
            session.watch(Watched::with_children(&self.roots, pid, part, role));
        }
    }

    /// Watches a process alone, and all that it started as another part.
    pub fn watch_tree(&mut self, process: &Part, offspring: &str) {
        if let Some(session) = &mut self.session {
            let Part { pid, part, role } = *process;
            session.watch(vec![Watched::new(pid, part, role)]);
            session.watch(Watched::descendants(&self.roots, pid, offspring, role));
        }
    }

    /// Says that the load is released.
    pub fn release(&mut self) {
        if let Some(session) = &mut self.session {
            session.release();
        }
    }

    /// Ends the watch, while all that were watched still live.
    pub fn end(&mut self) {
        if let Some(session) = &mut self.session {
            session.stop();
        }
    }

    /// What was seen, once the load is gone; putting it together takes a moment.
    pub fn evidence(self) -> Option<Evidence> {
        self.session.map(Session::finish)
    }
}
