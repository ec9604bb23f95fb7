//! The study that a file asks for, planned for this machine.

use crate::exit::Failure;
use crate::output;
use host::Roots;
use model::Machine;
use model::factorial::Cell;
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
        // In a study over kernels, each kernel is planned by itself.
        if let Some((one, other)) = same_settings(&layout).filter(|_| design.kernels().is_none()) {
            output::complain(&format!(
                "{}: {one} and {other} have the same settings here, so the study cannot show an \
                 effect between them",
                file.display()
            ));
        }
        Ok(Wanted { design, scenario, layout, machine })
    }
}

/// The first two combinations with equal settings, by the names of their arms. A scenario may
/// decide a setting by itself, whatever the level says.
fn same_settings(layout: &Layout) -> Option<(&str, &str)> {
    let of_cell = |cell: &Cell| layout.arms.arms.iter().find(|arm| arm.id == cell.arm);
    let all: Vec<_> = layout.factorial.cells.iter().filter_map(of_cell).collect();
    all.iter().enumerate().find_map(|(number, one)| {
        let other = all[number + 1..].iter().find(|other| other.settings == one.settings)?;
        Some((one.id.as_str(), other.id.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::arm;
    use model::{Factorial, Role, Settings, Value};
    use scenarios::Arms;

    #[test]
    fn two_combinations_with_the_same_settings_are_found() {
        let layout = |bursts: [&str; 3]| {
            let named = ["control", "burst=0s", "burst=8ms"].into_iter().zip(bursts);
            let arms = named.map(|(id, burst)| {
                let settings =
                    [("burst".to_owned(), Value::Text(burst.to_owned()))].into_iter().collect();
                model::Arm { settings: Settings(settings), ..arm(id, Role::Case) }
            });
            let cell = |id: &str| Cell { arm: id.to_owned(), levels: vec![id.to_owned()] };
            // The control is no combination.
            let cells = vec![cell("burst=0s"), cell("burst=8ms")];
            let factorial = Factorial { cells, ..Factorial::default() };
            Layout { arms: Arms::from(arms.collect::<Vec<_>>()), factorial }
        };
        assert_eq!(same_settings(&layout(["0s", "0s", "0s"])), Some(("burst=0s", "burst=8ms")));
        assert_eq!(same_settings(&layout(["0s", "0s", "8ms"])), None);
    }
}
