//! Guests of a matrix, which take turns.

use super::row::{Result as Came, Row};
use crate::commands::vm::session::{Host, Pause, Session};
use crate::commands::vm::{console, keep_partial, show_kept, taken_over};
use crate::exit::{self, Failure};
use crate::progress::{Among, Step};
use crate::session::Session as Program;
use crate::{output, paths};
use guest::Outcome;
use std::path::{Path, PathBuf};

/// A guest of the matrix: started at its first turn.
pub struct Member<'a> {
    host: &'a Host,
    kernel: guest::Kernel,
    /// What its row is called.
    shown: String,
    args: Vec<String>,
    record: PathBuf,
    session: Option<Session>,
    /// Whether a record was kept that is not whole.
    kept: bool,
    /// Whether it was booted once more, after its kernel gave up in its first boot.
    again: bool,
}

/// Lets the guests take turns, a block each, until all have ended; their rows in the order asked.
///
/// # Errors
/// If the host fails, or the user interrupts; what was measured until then is kept.
pub fn run_all(
    mut guests: Vec<Member<'_>>,
    interrupted: &dyn Fn() -> bool,
) -> Result<Vec<Row>, Failure> {
    let mut rows: Vec<Option<Row>> = guests.iter().map(|_| None).collect();
    while rows.iter().any(Option::is_none) {
        for (guest, row) in guests.iter_mut().zip(&mut rows) {
            if interrupted() {
                break;
            }
            if row.is_none() {
                *row = match guest.turn(interrupted) {
                    // What one guest comes to is no reason to give up the others.
                    Err(failure) if failure.code != exit::INTERRUPTED => Some(guest.lost(failure)),
                    turn => turn?,
                };
            }
        }
        if interrupted() {
            return Err(left(&mut guests));
        }
    }
    Ok(rows.into_iter().flatten().collect())
}

/// Has every guest send what it has, since the user interrupted; the failure that ends the program.
fn left(guests: &mut [Member<'_>]) -> Failure {
    let kept = guests.iter_mut().filter_map(Member::leave).count();
    let line = match kept {
        0 => "interrupted; nothing of the studies came back".to_owned(),
        _ => format!("interrupted; {kept} records of what was measured until then were kept"),
    };
    Failure { line, code: exit::INTERRUPTED }
}

impl<'a> Member<'a> {
    /// A guest that will run this command line, with its record in the state folder. Its row is
    /// called `shown`.
    ///
    /// # Errors
    /// If there is no state folder.
    pub fn new(
        session: &Program,
        host: &'a Host,
        kernel: guest::Kernel,
        shown: &str,
        args: Vec<String>,
        scenario: &str,
    ) -> Result<Self, Failure> {
        let shown = shown.to_owned();
        let name = Among::Versions(shown.clone()).file_name(scenario);
        let record = paths::record(session, None, &name)?;
        Ok(Member { host, kernel, shown, args, record, session: None, kept: false, again: false })
    }

    /// Runs until the end of a block; the row, if that was the last.
    fn turn(&mut self, interrupted: &dyn Fn() -> bool) -> Result<Option<Row>, Failure> {
        let session = match &mut self.session {
            Some(session) => {
                session.resume()?;
                session
            }
            empty => {
                let session = self.host.start(&self.kernel, &self.args, interrupted)?;
                session.announce();
                empty.insert(session)
            }
        };
        match session.run_until(&Step::ends_block, interrupted)? {
            Pause::Step => session.pause().map(|()| None),
            Pause::End(Outcome::Failed { ending, .. })
                if !self.again && session.boots_again(&ending) =>
            {
                (self.session, self.again) = (None, true);
                Ok(None)
            }
            Pause::End(outcome) => {
                let came = came(session, outcome, &self.record)?;
                self.session = None;
                self.save(&came);
                let row = Row::of_kernel(&self.shown, &self.kernel.release, came);
                Ok(Some(row.with_config(self.kernel.config.clone())))
            }
            Pause::Interrupted(partial) => {
                self.keep(partial);
                Ok(None)
            }
        }
    }

    /// The row of a guest that the host could not start, or lost.
    fn lost(&mut self, failure: Failure) -> Row {
        self.session = None;
        output::complain(&format!("guest {}: {}", self.kernel.name, failure.line));
        Row::of_kernel(&self.shown, &self.kernel.release, Came::Nothing(failure.line))
    }

    /// Has it send what it has, where it was started and has not ended; the record, if one was
    /// kept.
    fn leave(&mut self) -> Option<&Path> {
        // It is paused; one that cannot be resumed cannot send anything either.
        let partial = self.session.as_mut().and_then(|session| {
            session.resume().ok()?;
            session.partial_outcome()
        });
        self.keep(partial);
        self.kept.then_some(self.record.as_path())
    }

    /// Keeps the partial outcome of an interrupted guest, and drops the guest.
    fn keep(&mut self, partial: Option<Outcome>) {
        let Some(session) = self.session.take() else { return };
        let record = match partial {
            Some(Outcome::Done { record, .. } | Outcome::Failed { record, .. }) => record,
            None => None,
        };
        let kept = record.and_then(|text| keep_partial(&session, &text, &self.record));
        self.kept = kept.is_some();
        show_kept(&session, kept.as_deref());
    }

    fn save(&self, came: &Came) {
        let Came::Judged(record) = came else { return };
        match runner::save(record, &self.record) {
            Ok(()) => output::note(&format!("record: {}", self.record.display())),
            Err(error) => output::complain(&format!("record {error}; it is lost")),
        }
    }
}

/// What came of a guest.
fn came(session: &Session, outcome: Outcome, path: &Path) -> Result<Came, Failure> {
    Ok(match outcome {
        Outcome::Done { record: Some(text), .. } => {
            Came::Judged(Box::new(taken_over(session, &text)?))
        }
        Outcome::Done { code, .. } => Came::Unrecorded(code),
        Outcome::Failed { ending, record } => {
            console(session, &ending);
            let kept = record.and_then(|text| keep_partial(session, &text, path));
            show_kept(session, kept.as_deref());
            Came::Ending(ending)
        }
    })
}
