//! Why a study could not start or continue. The `report` crate makes the message.

use load::protocol::FailureKind;
use load::{Awaited, Death, LoadError};
use model::generator::{GeneratorEnd, GeneratorProblem};
use model::{Fact, Need, Problem};
use os::time;

/// Why a study could not start or continue.
#[derive(Debug, Clone, PartialEq)]
pub enum ScenarioError {
    /// A setting cannot be used.
    Unusable(Problem),
    /// A need is not met.
    Missing(Need),
    /// The user ended the study.
    Interrupted,
    /// A trial failed.
    Broken(Problem),
}

impl ScenarioError {
    /// A setting that cannot be used, described by a fact of the scenario.
    pub(crate) fn unusable(fact: impl Into<Fact>) -> Self {
        ScenarioError::Unusable(Problem::Scenario(fact.into()))
    }

    /// The problem. None if the user ended the study.
    pub fn problem(self) -> Option<Problem> {
        match self {
            ScenarioError::Unusable(problem) | ScenarioError::Broken(problem) => Some(problem),
            ScenarioError::Missing(need) => Some(Problem::Missing(Box::new(need))),
            ScenarioError::Interrupted => None,
        }
    }
}

/// The error for figures of a generator's report, or a whole report, that cannot be read.
pub(crate) fn unreadable(series: &str, error: impl ToString) -> ScenarioError {
    let (series, error) = (series.to_owned(), error.to_string());
    ScenarioError::Broken(Problem::Unreadable { series, error })
}

impl From<LoadError> for ScenarioError {
    fn from(error: LoadError) -> Self {
        let kind = error.kind();
        let problem = Problem::Generator(generator(error));
        match kind {
            FailureKind::Unusable => ScenarioError::Unusable(problem),
            FailureKind::Permission => ScenarioError::Missing(Need::Privilege(problem)),
            FailureKind::Limit => ScenarioError::Missing(Need::Limit(problem)),
            FailureKind::System => ScenarioError::Broken(problem),
        }
    }
}

/// Converts a generator's error into the form of a record.
fn generator(error: LoadError) -> GeneratorProblem {
    let of =
        |role: &str, pid: Option<u32>, what| GeneratorProblem { role: role.to_owned(), pid, what };
    match error {
        LoadError::Start { role, program, source } => {
            of(role, None, GeneratorEnd::NotStarted { program, error: source.to_string() })
        }
        LoadError::Failed { role, pid, failure } => {
            of(role, Some(pid), GeneratorEnd::GaveUp { message: failure.what })
        }
        LoadError::Died { role, pid, how } => {
            let end = match how {
                Death::Killed(signal) => GeneratorEnd::Killed { signal },
                Death::Exited(code) => GeneratorEnd::Exited { code },
                Death::Closed => GeneratorEnd::Closed,
            };
            of(role, Some(pid), end)
        }
        LoadError::Late { role, pid, what, limit } => {
            let limit_ms = time::whole_ms(limit);
            let end = match what {
                Awaited::Ready => GeneratorEnd::NotReady { limit_ms },
                Awaited::Report => GeneratorEnd::NoReport { limit_ms },
            };
            of(role, Some(pid), end)
        }
        LoadError::Protocol { role, pid, message } => {
            of(role, Some(pid), GeneratorEnd::Message { message })
        }
        LoadError::System { role, source } => {
            of(role, None, GeneratorEnd::System { error: source.to_string() })
        }
    }
}
