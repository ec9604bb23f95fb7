//! The guests of a matrix. They take turns.

use super::row::{Result as Came, Row};
use crate::commands::vm::session::{GuestSession, Host, Pause};
use crate::commands::vm::{console, keep_partial, show_kept, taken_over};
use crate::exit::{self, Failure};
use crate::progress::{Among, Step};
use crate::session::Session as Program;
use crate::{output, paths};
use guest::Outcome;
use std::path::{Path, PathBuf};

/// A guest of the matrix. It starts at its first turn.
pub struct Member<'a> {
    host: &'a Host,
    kernel: guest::Kernel,
    /// The name of its row.
    shown: String,
    args: Vec<String>,
    record: PathBuf,
    session: Option<GuestSession>,
    /// Whether an incomplete record was kept.
    kept: bool,
    /// Whether it was booted a second time, because its kernel failed in the first boot.
    again: bool,
}

/// Lets the guests take turns, one block each, until all have ended. Returns their rows in the
/// order of the request.
///
/// # Errors
/// If the host fails, or the user interrupts. Results so far are kept.
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
                    // The failure of one guest is no reason to give up the others.
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

/// After an interruption, asks every guest for its results so far. Returns the failure that ends
/// the program.
fn left(guests: &mut [Member<'_>]) -> Failure {
    let kept = guests.iter_mut().filter_map(Member::leave).count();
    let line = match kept {
        0 => "interrupted; no guest returned results".to_owned(),
        _ => format!("interrupted; {kept} partial records were kept"),
    };
    Failure { line, code: exit::INTERRUPTED }
}

impl<'a> Member<'a> {
    /// A guest that will run this command line, with its record in the state folder. `shown` is
    /// the name of its row.
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

    /// Runs until the end of a block. Returns the row if that was the last block.
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
                let came = result_of(session, outcome, &self.record)?;
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

    /// The row of a guest that the host could not start or has lost.
    fn lost(&mut self, failure: Failure) -> Row {
        self.session = None;
        output::complain(&format!("guest {}: {}", self.kernel.name, failure.line));
        Row::of_kernel(&self.shown, &self.kernel.release, Came::Nothing(failure.line))
    }

    /// Asks a running guest for its results so far. Returns the record, if one was kept.
    fn leave(&mut self) -> Option<&Path> {
        // The guest is paused. If it cannot be resumed, it cannot send anything either.
        let partial = self.session.as_mut().and_then(|session| {
            session.resume().ok()?;
            session.partial_outcome()
        });
        self.keep(partial);
        self.kept.then_some(self.record.as_path())
    }

    /// Keeps the partial outcome of an interrupted guest, and ends the guest.
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
            Err(error) => output::complain(&format!("record {error}; the record is lost")),
        }
    }
}

/// The result of a guest.
fn result_of(session: &GuestSession, outcome: Outcome, path: &Path) -> Result<Came, Failure> {
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
