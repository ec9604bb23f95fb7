//! The guests of a matrix. They take turns.

use super::row::{Result as Came, Row};
use crate::commands::vm::session::{GuestSession, Host, Pause};
use crate::commands::vm::{console, keep_partial, show_kept, taken_over};
use crate::exit::{self, Failure};
use crate::progress::{Among, Step};
use crate::session::Session as Program;
use crate::{output, paths};
use guest::Outcome;
use model::Judged;
use model::prose::figures;
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
    /// The record that was kept, if one was.
    kept: Kept,
    /// Whether it was booted a second time, because its kernel failed in the first boot.
    again: bool,
}

/// The record of a guest on this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kept {
    Nothing,
    Partial,
    Complete,
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
        let is_interrupted = round(&mut guests, &mut rows, interrupted, |guest| {
            guest.turn(interrupted).or_else(|failure| guest.lost(failure))
        });
        if is_interrupted {
            return Err(left(&mut guests));
        }
    }
    Ok(rows.into_iter().flatten().collect())
}

/// Gives each guest without a row a turn. Returns whether the user interrupted. Only an
/// interruption is a failure of a turn.
fn round<G>(
    guests: &mut [G],
    rows: &mut [Option<Row>],
    interrupted: &dyn Fn() -> bool,
    mut turn: impl FnMut(&mut G) -> Result<Option<Row>, Failure>,
) -> bool {
    for (guest, row) in guests.iter_mut().zip(rows) {
        if interrupted() {
            return true;
        }
        if row.is_none() {
            match turn(guest) {
                Ok(ended) => *row = ended,
                // A guest may also be interrupted before it has started.
                Err(_) => return true,
            }
        }
    }
    interrupted()
}

/// After an interruption, asks every guest for its results so far. Returns the failure that ends
/// the program.
fn left(guests: &mut [Member<'_>]) -> Failure {
    let kept: Vec<Kept> = guests.iter_mut().map(Member::leave).collect();
    Failure { line: what_is_left(&kept), code: exit::INTERRUPTED }
}

/// The line about an interruption, with what was kept of each guest.
fn what_is_left(kept: &[Kept]) -> String {
    let records = |which: Kept, word: &str| {
        let count = kept.iter().filter(|one| **one == which).count() as u64;
        (count > 0).then(|| figures::plural(count, &format!("{word} record")))
    };
    let all = [records(Kept::Complete, "complete"), records(Kept::Partial, "partial")];
    let all: Vec<String> = all.into_iter().flatten().collect();
    match all.is_empty() {
        true => "interrupted; no guest returned results".to_owned(),
        false => format!("interrupted; kept: {}", all.join(", ")),
    }
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
        let kept = Kept::Nothing;
        Ok(Member { host, kernel, shown, args, record, session: None, kept, again: false })
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
                let (came, kept) = result_of(session, outcome, &self.record)?;
                self.session = None;
                self.kept = kept;
                let row = Row::of_kernel(&self.shown, &self.kernel.release, came);
                Ok(Some(row.with_config(self.kernel.config.clone())))
            }
            Pause::Interrupted(partial) => {
                self.keep(partial);
                Ok(None)
            }
        }
    }

    /// The row of a guest that the host could not start or has lost: its failure is no reason to
    /// give up the others. An interruption stays a failure.
    fn lost(&mut self, failure: Failure) -> Result<Option<Row>, Failure> {
        if failure.code == exit::INTERRUPTED {
            return Err(failure);
        }
        self.session = None;
        output::complain(&format!("guest {}: {}", self.kernel.name, failure.line));
        let came = Came::Nothing(failure.line);
        Ok(Some(Row::of_kernel(&self.shown, &self.kernel.release, came)))
    }

    /// Asks a running guest for its results so far. Returns what was kept of this guest.
    fn leave(&mut self) -> Kept {
        // The guest is paused. If it cannot be resumed, it cannot send anything either.
        let partial = self.session.as_mut().and_then(|session| {
            session.resume().ok()?;
            session.partial_outcome()
        });
        self.keep(partial);
        self.kept
    }

    /// Keeps the partial outcome of an interrupted guest, and ends the guest.
    fn keep(&mut self, partial: Option<Outcome>) {
        let Some(session) = self.session.take() else { return };
        let record = match partial {
            Some(Outcome::Done { record, .. } | Outcome::Failed { record, .. }) => record,
            None => None,
        };
        self.kept = save_partial(&session, record, &self.record);
    }
}

/// The result of a guest, and what was kept of it in this file.
fn result_of(
    session: &GuestSession,
    outcome: Outcome,
    path: &Path,
) -> Result<(Came, Kept), Failure> {
    Ok(match outcome {
        Outcome::Done { record: Some(text), .. } => {
            let record = taken_over(session, &text)?;
            let kept = save_complete(&record, path);
            (Came::Judged(Box::new(record)), kept)
        }
        Outcome::Done { code, .. } => (Came::Unrecorded(code), Kept::Nothing),
        Outcome::Failed { ending, record, .. } => {
            console(session, &ending);
            (Came::Ending(ending), save_partial(session, record, path))
        }
    })
}

/// Saves the record of a guest whose study ended, and says where.
fn save_complete(record: &Judged, path: &Path) -> Kept {
    match runner::save(record, path) {
        Ok(()) => {
            output::note(&format!("record: {}", path.display()));
            Kept::Complete
        }
        Err(error) => {
            output::complain(&format!("record {error}; the record is lost"));
            Kept::Nothing
        }
    }
}

/// Saves what a guest sent of a study that did not end, and says where.
fn save_partial(session: &GuestSession, record: Option<String>, path: &Path) -> Kept {
    let kept = record.and_then(|text| keep_partial(session, &text, path));
    show_kept(session, kept.as_deref());
    if kept.is_some() { Kept::Partial } else { Kept::Nothing }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interruption_of_a_guest_that_has_not_started_ends_the_round() {
        let mut had = Vec::new();
        let mut rows = [None, None, None];
        let is_interrupted = round(&mut [1, 2, 3], &mut rows, &|| false, |guest| {
            had.push(*guest);
            let line = "interrupted".to_owned();
            if *guest == 2 { Err(Failure { line, code: exit::INTERRUPTED }) } else { Ok(None) }
        });
        assert!(is_interrupted);
        assert_eq!(had, [1, 2]);
        assert!(!round(&mut [1], &mut [None], &|| false, |_| Ok(None)));
    }

    #[test]
    fn an_interruption_counts_the_records_of_guests_that_had_ended_too() {
        use Kept::{Complete, Nothing, Partial};
        assert_eq!(what_is_left(&[Nothing]), "interrupted; no guest returned results");
        let line = "interrupted; kept: 2 complete records";
        assert_eq!(what_is_left(&[Complete, Nothing, Complete]), line);
        let line = "interrupted; kept: 1 complete record, 1 partial record";
        assert_eq!(what_is_left(&[Complete, Partial]), line);
    }
}
