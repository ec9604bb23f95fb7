//! The study that a file asks for, planned for this machine.

use crate::exit::Failure;
use host::Roots;
use model::Machine;
use runner::studies::{Design, Layout, lay_out};
use scenarios::erlang::Otps;
use scenarios::{AnyScenario, Host, ScenarioError};
use std::path::Path;

/// A study with its arms on this machine.
pub(super) struct Wanted<'a> {
    pub(super) design: Design,
    pub(super) scenario: &'static dyn AnyScenario,
    pub(super) layout: Layout,
    pub(super) machine: &'a Machine,
}

/// The function that makes the arms of a study.
type LayOut = dyn Fn(&Design, &dyn AnyScenario, &Host, usize) -> Result<Layout, ScenarioError>;

impl<'a> Wanted<'a> {
    pub(super) fn of(
        design: Design,
        file: &Path,
        machine: &'a Machine,
        otps: &Otps,
    ) -> Result<Self, Failure> {
        Self::laid_out(design, file, machine, otps, &lay_out)
    }

    pub(super) fn laid_out(
        design: Design,
        file: &Path,
        machine: &'a Machine,
        otps: &Otps,
        lay_out: &LayOut,
    ) -> Result<Self, Failure> {
        let combinations = design.combinations(file)?;
        let scenario = design
            .scenario()
            .ok_or_else(|| Failure::usage(format!("no scenario {}", design.scenario)))?;
        let roots = Roots::real();
        let host = Host { roots: &roots, machine, otps };
        let layout = lay_out(&design, scenario, &host, combinations).map_err(|error| {
            let failure = Failure::of(error, Some(scenario.meta()));
            Failure { line: format!("{}: {}", file.display(), failure.line), ..failure }
        })?;
        Ok(Wanted { design, scenario, layout, machine })
    }
}
