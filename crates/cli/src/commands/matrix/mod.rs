//! `tailback matrix`: one scenario in several versions of a kernel or an OTP.

mod bisect;
mod flags;
mod guests;
mod held;
mod hosted;
mod ladder;
mod names;
mod row;
mod show;

use super::vm::inner::Inner;
use super::vm::session::Host;
use crate::command::{Failure, Run, Session};
use crate::exit;
use crate::output;
use crate::settings::draw_seed;
pub use flags::Matrix;
pub use guests::{Member, run_all};
use hosted::Hosted;
use model::ladder::Ladder;
use names::Asked;
use row::Result as Came;
pub use row::Row;
use scenarios::AnyScenario;

impl Run for Matrix {
    /// The exit code is that of the worst verdict, or of `--expect`.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let id = self.scenario.as_str();
        let scenario = scenarios::find(id)
            .ok_or_else(|| Failure::usage(format!("no scenario {id}; see tailback list")))?;
        let meta = scenario.meta();
        let seed = self.seed.unwrap_or_else(draw_seed);
        let asked = Asked::of(self)?;
        let page = show::page(session, self)?;
        let words = names::words(self, seed);
        let interruption = session.interruption();
        let interrupted = || interruption.noticed();
        let names = asked.names();
        let things = asked.things();
        output::note(&format!("matrix {id}: {} {things}; seed {seed}", names.len()));
        let rows = match &asked {
            Asked::Otps(_) => {
                let machine = session.machine();
                let hosted = Hosted::new(session, scenario, &words, &machine, &interrupted)?;
                all(names, scenario, &Way::Hosted(Box::new(hosted)), self.bisect)?
            }
            Asked::Kernels(_) => {
                let line = ["run", id].map(str::to_owned).into_iter().chain(words.iter().cloned());
                let inner = Inner::parse(&line.collect::<Vec<String>>())?;
                let host = Host::look(session.machine(), self.machine.clone(), names.len())?;
                let guests =
                    Guests { session, host: &host, args: &inner.args, interrupted: &interrupted };
                all(names, scenario, &Way::Guests(guests), self.bisect)?
            }
        };
        let rows: Vec<Row> = rows.into_iter().map(|row| row.expecting(meta)).collect();
        let ladder = ladder::of(&rows, meta);
        show::all(session, meta, &rows, &ladder, self, page)?;
        Ok(row::code(&rows, self.expect.then(|| ladder::held(&ladder))))
    }

    fn load(&self) -> Option<String> {
        Some("matrix".to_owned())
    }
}

/// Where versions are run.
enum Way<'a> {
    /// In guests that take turns, block by block.
    Guests(Guests<'a>),
    /// On this machine, where they take turns, block by block.
    Hosted(Box<Hosted<'a>>),
}

/// What guests of a matrix have in common.
struct Guests<'a> {
    session: &'a Session,
    host: &'a Host,
    args: &'a [String],
    interrupted: &'a dyn Fn() -> bool,
}

impl Way<'_> {
    /// The rows of these versions.
    fn rows(&self, names: &[&str], scenario: &dyn AnyScenario) -> Result<Vec<Row>, Failure> {
        match self {
            Way::Hosted(hosted) => hosted.rows(names),
            Way::Guests(guests) => guests.rows(names, scenario.meta().id),
        }
    }
}

impl Guests<'_> {
    fn rows(&self, names: &[&str], id: &str) -> Result<Vec<Row>, Failure> {
        // Every kernel is looked for before the first is booted.
        let found =
            names.iter().map(|name| self.member(name, id)).collect::<Result<Vec<_>, _>>()?;
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

    /// The guest of a kernel, or the row that says why there is none. A name that stands for
    /// nothing is bad usage.
    fn member(&self, name: &str, id: &str) -> Result<Result<Member<'_>, Row>, Failure> {
        match self.host.kernel(name, self.interrupted) {
            Ok(kernel) => {
                Member::new(self.session, self.host, kernel, self.args.to_vec(), id).map(Ok)
            }
            Err(failure) if matches!(failure.code, exit::INTERRUPTED | exit::USAGE) => Err(failure),
            Err(failure) => {
                output::complain(&failure.line);
                Ok(Err(Row::of_kernel(name, "", Came::Nothing(failure.line))))
            }
        }
    }
}

/// The rows of all names, or of as many as it takes to find the boundary.
fn all(
    names: &[String],
    scenario: &'static dyn AnyScenario,
    way: &Way,
    bisect: bool,
) -> Result<Vec<Row>, Failure> {
    if !bisect || names.len() < 3 {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        return way.rows(&names, scenario);
    }
    let mut halving = Halving { names, scenario, way, rows: names.iter().map(|_| None).collect() };
    let ran = bisect::bisect(names.len(), &mut halving)?;
    output::note(&format!("matrix: {} of {} versions were run", ran.len(), names.len()));
    Ok(halving.rows.into_iter().flatten().collect())
}

/// Versions of which some have been run.
struct Halving<'a> {
    names: &'a [String],
    scenario: &'static dyn AnyScenario,
    way: &'a Way<'a>,
    rows: Vec<Option<Row>>,
}

impl bisect::Runs for Halving<'_> {
    fn run(&mut self, places: &[usize]) -> Result<(), Failure> {
        let new: Vec<usize> =
            places.iter().copied().filter(|place| self.rows[*place].is_none()).collect();
        let names: Vec<&str> = new.iter().map(|place| self.names[*place].as_str()).collect();
        for (place, row) in new.iter().zip(self.way.rows(&names, self.scenario)?) {
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
