//! The next steps.

use super::command::{self, InGuest};
use super::fact::fact;
use super::problem::grant;
use model::prose::sentence::sentence;
use model::{Meta, Suggestion, What};
use os::terminal::line as plain;

/// A suggestion in words, and the command that carries it out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What to do, in a sentence.
    pub what: String,
    /// The command, ready for a shell.
    pub command: Option<String>,
}

/// A suggestion as a step, for the kind of machine of the record: this machine, or a guest.
pub fn step(suggestion: &Suggestion, meta: Option<&Meta>, guest: Option<InGuest>) -> Step {
    let what = match &suggestion.what {
        What::Fix(id) => match meta.and_then(|meta| meta.fix(id)) {
            Some(known) => sentence(known.what),
            None => sentence(&plain(id)),
        },
        What::Scenario(own) => fact(own, meta),
        What::Grant(need) => sentence(&grant(need, meta)),
        What::RunAgain => "Run it again once nothing interferes.".to_owned(),
    };
    let run = suggestion.run.as_ref();
    Step { what, command: run.and_then(|run| command::line_in(guest, run, meta)) }
}
