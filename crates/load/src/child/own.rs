//! Generators that belong to one scenario. The scenario defines them in its own folder. Their
//! input and report are JSON that only the scenario understands.

use super::control::{self, Order};
use crate::protocol::{Failure, FailureKind, Message, Ready, Report};
use clap::Args;
use os::user::User;
use serde_json::Value;

/// The work of a generator after its set-up. It returns the report.
pub type Work = Box<dyn FnOnce() -> Result<Value, Failure>>;

/// A generator of one scenario.
#[derive(Debug, Clone, Copy)]
pub struct OwnGenerator {
    /// Name, unique among all scenarios.
    pub name: &'static str,
    /// Sets the generator up with its input. The returned work runs after the tool's release.
    pub prepare: fn(Value) -> Result<Work, Failure>,
}

/// Options of a generator of one scenario.
#[derive(Debug, Clone, PartialEq, Eq, Args)]
pub struct OwnArgs {
    /// Name of the generator
    pub name: String,
    /// Input of the generator, as JSON
    #[arg(long, default_value = "null")]
    pub spec: String,
    /// Process whose death ends the generator; none if absent
    #[arg(long)]
    pub parent: Option<u32>,
}

impl OwnArgs {
    /// The command line that starts a generator with this input.
    pub fn to_args(generator: &OwnGenerator, spec: &Value) -> Vec<String> {
        let words = ["own", generator.name, "--spec"].map(str::to_owned);
        words.into_iter().chain([spec.to_string()]).collect()
    }
}

/// Runs the generator with the given name from `generators` until it ends.
pub(super) fn serve(
    args: &OwnArgs,
    user: Option<User>,
    generators: &[OwnGenerator],
) -> Result<(), Failure> {
    let unusable = |what: String| Failure { kind: FailureKind::Unusable, what };
    if !control::die_with(args.parent) {
        return Ok(());
    }
    let generator = generators.iter().find(|generator| generator.name == args.name);
    let generator = generator.ok_or_else(|| unusable(format!("no generator {}", args.name)))?;
    let spec = serde_json::from_str(&args.spec);
    let spec = spec.map_err(|error| unusable(format!("{}: {error}", args.name)))?;
    let work = (generator.prepare)(spec)?;
    if !control::step_down(user, args.parent)? {
        return Ok(());
    }
    let ready = Ready { pid: std::process::id(), workers: 1, region: 0 };
    // If the tool has ended, there is no work to do.
    if control::send(&Message::Ready(ready)).is_err() || control::wait_for_order() == Order::Stop {
        return Ok(());
    }
    let report = work()?;
    let _ = control::send(&Message::Report(Report::Own(report)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn echo(spec: Value) -> Result<Work, Failure> {
        Ok(Box::new(move || Ok(spec)))
    }

    #[test]
    fn a_generator_that_no_scenario_has_is_refused_by_name() {
        let generators = [OwnGenerator { name: "echo", prepare: echo }];
        let args = |name: &str, spec: &str| OwnArgs {
            name: name.to_owned(),
            spec: spec.to_owned(),
            parent: None,
        };
        let failure = serve(&args("other", "null"), None, &generators).unwrap_err();
        assert_eq!(
            (failure.kind, failure.what.as_str()),
            (FailureKind::Unusable, "no generator other")
        );
        let failure = serve(&args("echo", "{"), None, &generators).unwrap_err();
        assert!(failure.what.starts_with("echo: "), "{}", failure.what);
    }

    #[test]
    fn what_it_is_told_travels_as_one_word() {
        let generator = OwnGenerator { name: "echo", prepare: echo };
        let words = OwnArgs::to_args(&generator, &serde_json::json!({"a b": 1}));
        assert_eq!(words, ["own", "echo", "--spec", "{\"a b\":1}"]);
    }
}
