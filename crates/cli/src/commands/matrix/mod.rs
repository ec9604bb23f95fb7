//! `tailback matrix`: runs one scenario in several versions of a kernel or an OTP.

mod confirm;
mod flags;
mod guests;
mod held;
mod hosted;
mod ladder;
mod names;
mod repeat;
mod row;
mod show;
mod way;

use super::vm::session::Host;
use crate::command::{Failure, Run, Session};
use crate::settings::draw_seed;
use crate::{ktap, output};
pub use flags::Matrix;
pub use guests::{Member, run_all};
use hosted::Hosted;
use model::ladder::Ladder;
use names::Length;
pub use names::{Asked, Name};
pub use row::Row;
use scenarios::AnyScenario;
pub use way::{Guests, Way, inner};

impl Run for Matrix {
    /// The exit code is the one of the worst verdict, or of `--expect`.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        self.ktap.print_failure(session, self.ran(session))
    }

    fn refused(&self, session: &Session, failure: Failure) -> Result<u8, Failure> {
        self.ktap.print_failure(session, Err(failure))
    }

    fn load(&self) -> Option<String> {
        Some("matrix".to_owned())
    }
}

impl Matrix {
    fn ran(&self, session: &Session) -> Result<u8, Failure> {
        let id = self.scenario.as_str();
        let scenario = scenarios::find(id)
            .ok_or_else(|| Failure::usage(format!("no scenario {id}; see tailback list")))?;
        let meta = scenario.meta();
        let seed = self.seed.unwrap_or_else(draw_seed);
        let asked = Asked::of(self)?;
        let files = show::Files::of(session, self)?;
        let words = names::words(self, seed, Length::Whole);
        let interruption = session.interruption();
        let interrupted = || interruption.noticed();
        let names = asked.names();
        let things = asked.things();
        output::note(&format!("matrix {id}: {} {things}; seed {seed}", names.len()));
        let (machine, host);
        let way = match &asked {
            Asked::Otps(_) => {
                machine = session.machine();
                let hosted = Hosted::new(session, scenario, &words, &machine, &interrupted)?;
                Way::Hosted(Box::new(hosted))
            }
            Asked::Kernels(_) => {
                let loop_devices = inner(id, &words)?.loop_devices;
                let hardware = self.machine.clone();
                let guests = at_once(names.len(), self.bisect);
                host = Host::look(session.machine(), hardware, guests, loop_devices)?;
                Way::Guests(Guests { session, host: &host, interrupted: &interrupted })
            }
        };
        let rows = all(names, scenario, &way, &words, self.bisect)?;
        let mut rows: Vec<Row> = rows.into_iter().map(|row| row.expecting(meta, names)).collect();
        let mut ladder = ladder::of(&rows, meta);
        let fresh = |seed| names::words(self, seed, Length::Fresh);
        let run = |names: &[Name], words: &[String]| way.rows(names, scenario, words);
        let whole = |seed| names::words(self, seed, Length::Whole);
        let runs = repeat::Runs { run: &run, scenario, seed, fresh: &fresh, whole: &whole };
        let repeated = if self.once {
            repeat::first_spread(&mut ladder, names, &rows);
            Ok(())
        } else {
            repeat::repeat(&mut ladder, names, &rows, &runs)
        };
        let repeated = match self.expect {
            true => repeated.and_then(|()| confirm::confirm(&mut rows, names, &runs)),
            false => repeated,
        };
        // Results from before an interruption are shown.
        let code = show::all(session, meta, &rows, &ladder, self, &files)?;
        let code = ktap::after_tests(code, repeated)?;
        let own = || row::code(&rows, self.expect.then(|| ladder::held(&ladder)));
        Ok(code.unwrap_or_else(own))
    }
}

/// The number of guests that exist at the same time, for this number of versions. A bisection runs
/// both ends together, and then one version at a time. Fresh runs are pairs.
fn at_once(versions: usize, bisect: bool) -> usize {
    if bisect { versions.min(2) } else { versions }
}

/// The rows of all names, or of as many as are needed to find the boundary.
fn all(
    names: &[Name],
    scenario: &'static dyn AnyScenario,
    way: &Way,
    words: &[String],
    bisect: bool,
) -> Result<Vec<Row>, Failure> {
    if !bisect || names.len() < 3 {
        return way.rows(names, scenario, words);
    }
    let rows = names.iter().map(|_| None).collect();
    let mut halving = Halving { names, scenario, way, words, rows };
    let ran = analysis::ladder::bisect(names.len(), &mut halving)?;
    output::note(&format!("matrix: {} of {} versions were run", ran.len(), names.len()));
    Ok(halving.rows.into_iter().flatten().collect())
}

/// Versions, some of which have been run.
struct Halving<'a> {
    names: &'a [Name],
    scenario: &'static dyn AnyScenario,
    way: &'a Way<'a>,
    words: &'a [String],
    rows: Vec<Option<Row>>,
}

impl analysis::ladder::Runs for Halving<'_> {
    type Error = Failure;

    fn run(&mut self, places: &[usize]) -> Result<(), Failure> {
        let new: Vec<usize> =
            places.iter().copied().filter(|place| self.rows[*place].is_none()).collect();
        let names: Vec<Name> = new.iter().map(|place| self.names[*place].clone()).collect();
        for (place, row) in new.iter().zip(self.way.rows(&names, self.scenario, self.words)?) {
            self.rows[*place] = Some(row);
        }
        Ok(())
    }

    fn has_record(&self, place: usize) -> bool {
        self.rows[place].as_ref().is_some_and(|row| row.record().is_some())
    }

    fn ladder(&self, places: &[usize]) -> Ladder {
        let rows = places.iter().filter_map(|place| self.rows[*place].as_ref());
        let versions: Vec<_> = rows.map(Row::version).collect();
        analysis::ladder::ladder(&versions, Some(self.scenario.meta()), Some("otp"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bisection_needs_room_for_two_guests() {
        assert_eq!([1, 2, 9].map(|versions| at_once(versions, true)), [1, 2, 2]);
        assert_eq!(at_once(9, false), 9);
    }
}
