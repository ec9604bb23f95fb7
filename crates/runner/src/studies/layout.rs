//! From combinations to the arms of a study on this machine.

use super::design::{Against, Design};
use model::factorial::{Cell as CellOfRecord, Factor, Factorial};
use model::record::Plan;
use model::{Arm, LeftOut, Role, Settings};
use scenarios::{Arms, Cell, Scenario, ScenarioError, Site};
use std::collections::BTreeSet;

/// Name of the control where it is no combination of the study's own.
pub(super) const CONTROL: &str = "control";

/// The arms of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// Those that can be had, control first, and those that this machine refuses.
    pub arms: Arms,
    /// Which arm is which combination.
    pub factorial: Factorial,
}

/// Makes the arms of a study.
///
/// One rule for every scenario: the settings of a combination are given to [`Scenario::cell`]; the
/// case that comes back is its arm. The control is the one that comes back with the control's
/// levels, and is an arm of its own unless it is that case, the levels holding no cause; or, where
/// the file says `against = "cell"`, that case itself. A combination that the machine refuses is
/// left out, with the reason.
///
/// # Errors
/// If a need of the whole scenario is missing, or the control or every other combination is
/// refused.
pub fn lay_out(
    design: &Design,
    scenario: &dyn Scenario,
    site: &Site,
    combinations: usize,
) -> Result<Layout, ScenarioError> {
    if let Some(missing) = scenario.missing(site) {
        return Err(ScenarioError::Missing(missing));
    }
    arms_by(design, combinations, &|settings| scenario.cell(settings, site))
}

/// The arms of a study as far as they can be told without running a program and without changing the
/// machine: what only an OTP or the kernel can refuse is found when the study runs.
///
/// # Errors
/// As [`lay_out`], but for the needs of the scenario.
pub fn sketch(
    design: &Design,
    scenario: &dyn Scenario,
    site: &Site,
    combinations: usize,
) -> Result<Layout, ScenarioError> {
    arms_by(design, combinations, &|settings| scenario.sketch(settings, site))
}

/// What makes the arm of a combination, and the control that belongs to it.
type Cells<'a> = &'a dyn Fn(&Settings) -> Result<Cell, ScenarioError>;

fn arms_by(
    design: &Design,
    combinations: usize,
    cells: Cells<'_>,
) -> Result<Layout, ScenarioError> {
    let (control, is_cell) = control(design, cells)?;
    let mut layout = Layout {
        arms: Arms { arms: vec![control], left_out: Vec::new() },
        factorial: factorial(design),
    };
    for number in 0..combinations {
        let levels = design.levels(number);
        let id = design.id(&levels);
        if is_cell && levels == design.control {
            layout.cell(design, &levels, &id);
            continue;
        }
        match cells(&design.settings_of(&levels)) {
            Ok(Cell { case, .. }) => {
                layout.cell(design, &levels, &id);
                layout.arms.arms.push(Arm { id, role: Role::Case, ..case });
            }
            Err(error @ (ScenarioError::Unusable(_) | ScenarioError::Missing(_))) => {
                layout.arms.left_out.push(LeftOut { id, why: error.to_string() });
            }
            Err(error) => return Err(error),
        }
    }
    layout.check()?;
    Ok(layout)
}

impl Layout {
    fn cell(&mut self, design: &Design, levels: &[usize], id: &str) {
        let levels = design.names(levels);
        self.factorial.cells.push(CellOfRecord { arm: id.to_owned(), levels });
    }

    fn check(&self) -> Result<(), ScenarioError> {
        let mut ids = BTreeSet::new();
        if let Some(twice) = self.arms.arms.iter().find(|arm| !ids.insert(arm.id.as_str())) {
            return Err(ScenarioError::Unusable(format!(
                "two combinations are called `{}`; name their levels otherwise",
                twice.id
            )));
        }
        let refused = self.arms.left_out.first();
        match (self.arms.arms.len(), refused) {
            (1, Some(first)) => Err(ScenarioError::Unusable(format!(
                "no combination but the control can be had here; {}: {}",
                first.id, first.why
            ))),
            (1, None) => Err(ScenarioError::Unusable(
                "there is one combination, and nothing to hold it against; give a factor another \
                 level"
                    .to_owned(),
            )),
            _ => Ok(()),
        }
    }

    /// The plan of a study of these arms.
    pub fn plan(&self, design: &Design, scenario: &dyn Scenario, seed: u64) -> Plan {
        let settings = design.settings_of(&design.control);
        let mut judging = scenario.judging(&settings).into_iter();
        let first = judging.next().unwrap_or_else(|| scenario.meta().judging.clone());
        Plan {
            arms: self.arms.arms.clone(),
            left_out: self.arms.left_out.clone(),
            seed,
            min_blocks: design.blocks.least,
            max_blocks: design.blocks.most,
            stop_when_settled: design.blocks.until_settled,
            judging: first,
            also: judging.collect(),
        }
    }
}

/// The control, and whether it is the combination of the control's levels itself.
fn control(design: &Design, cells: Cells<'_>) -> Result<(Arm, bool), ScenarioError> {
    let id = design.id(&design.control);
    let of = |error: ScenarioError| match error {
        ScenarioError::Unusable(why) => {
            ScenarioError::Unusable(format!("the control {id} cannot be had: {why}"))
        }
        other => other,
    };
    let Cell { control, case } = cells(&design.settings_of(&design.control)).map_err(of)?;
    if design.against == Against::Cell || control.settings == case.settings {
        return Ok((Arm { id, role: Role::Control, ..case }, true));
    }
    Ok((Arm { id: CONTROL.to_owned(), role: Role::Control, ..control }, false))
}

fn factorial(design: &Design) -> Factorial {
    let factors = design.factors.iter().map(|factor| Factor {
        name: factor.name.clone(),
        levels: factor.levels.iter().map(|level| level.name.clone()).collect(),
    });
    Factorial {
        name: design.name.clone(),
        content: design.content.clone(),
        quick: design.quick,
        factors: factors.collect(),
        control: design.names(&design.control),
        found: design.found.clone(),
        ..Factorial::default()
    }
}
