//! Where versions run, and how each becomes a row.

use super::guests::{Member, run_all};
use super::hosted::Hosted;
use super::names::Name;
use super::row::{Result as Came, Row};
use crate::commands::vm::inner::Inner;
use crate::commands::vm::session::Host;
use crate::exit::{self, Failure};
use crate::output;
use crate::session::Session;
use scenarios::AnyScenario;

/// Where versions run.
pub enum Way<'a> {
    /// In guests that take turns, block by block.
    Guests(Guests<'a>),
    /// On this machine, where they take turns, block by block.
    Hosted(Box<Hosted<'a>>),
}

/// The common parts of the guests of a matrix.
pub struct Guests<'a> {
    /// The program's session.
    pub session: &'a Session,
    /// This machine.
    pub host: &'a Host,
    /// Whether the user interrupts.
    pub interrupted: &'a dyn Fn() -> bool,
}

impl Way<'_> {
    /// The rows of these versions, each run with these words.
    pub fn rows(
        &self,
        names: &[Name],
        scenario: &dyn AnyScenario,
        words: &[String],
    ) -> Result<Vec<Row>, Failure> {
        match self {
            Way::Hosted(hosted) => hosted.rows(names, words),
            Way::Guests(guests) => guests.rows(names, scenario.meta().id, words),
        }
    }
}

/// The command that runs in a guest.
pub fn inner(scenario: &str, words: &[String]) -> Result<Inner, Failure> {
    let line = ["run", scenario].map(str::to_owned).into_iter().chain(words.iter().cloned());
    Inner::parse(&line.collect::<Vec<String>>())
}

impl Guests<'_> {
    fn rows(&self, names: &[Name], id: &str, words: &[String]) -> Result<Vec<Row>, Failure> {
        let args = inner(id, words)?.args;
        // All kernels are looked up before the first one boots.
        let found =
            names.iter().map(|name| self.member(name, id, &args)).collect::<Result<Vec<_>, _>>()?;
        let mut members = Vec::new();
        let mut places: Vec<Option<Row>> = Vec::new();
        for one in found {
            match one {
                Ok(member) => {
                    members.push(member);
                    places.push(None);
                }
                Err(row) => places.push(Some(row)),
            }
        }
        let mut ran = run_all(members, self.interrupted)?.into_iter();
        Ok(places.into_iter().filter_map(|place| place.or_else(|| ran.next())).collect())
    }

    /// The guest of a kernel, or the row that says why there is none. An unknown name is a usage
    /// error.
    fn member(
        &self,
        name: &Name,
        id: &str,
        args: &[String],
    ) -> Result<Result<Member<'_>, Row>, Failure> {
        match self.host.kernel(&name.asked, self.interrupted) {
            Ok(kernel) => {
                let (session, host) = (self.session, self.host);
                Member::new(session, host, kernel, &name.shown, args.to_vec(), id).map(Ok)
            }
            Err(failure) if matches!(failure.code, exit::INTERRUPTED | exit::USAGE) => Err(failure),
            Err(failure) => {
                output::complain(&failure.line);
                Ok(Err(Row::of_kernel(&name.shown, "", Came::Nothing(failure.line))))
            }
        }
    }
}
