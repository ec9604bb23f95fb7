//! From combinations to the arms of a study on this machine.

use super::design::{Against, Design};
use model::factorial::{Cell as CellOfRecord, Factor, Factorial};
use model::problem::ArmsProblem;
use model::record::Plan;
use model::{Arm, Judging, LeftOut, Problem, Role, Settings, WhyLeftOut};
use scenarios::{AnyScenario, Arms, Cell, Host, ScenarioError};
use std::collections::BTreeSet;

/// Name of the control if it is no combination of the study's own.
pub(super) const CONTROL: &str = "control";

/// The arms of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Layout {
    /// The arms that can be run, control first, and the arms that this machine refuses.
    pub arms: Arms,
    /// Which arm is which combination.
    pub factorial: Factorial,
}

/// Makes the arms of a study.
///
/// One rule for every scenario: the settings of a combination go to [`AnyScenario::cell`], and
/// the case that comes back is its arm. The control comes from the cell of the control's levels.
/// It is an arm of its own, unless it equals the case of that cell: then these levels hold no
/// cause. If the file says `against = "cell"`, that case itself is the control. A scenario may
/// compare a case with its own control; then the case brings this control along. If all cases do,
/// no other control is run. A combination that the machine refuses is left out, with the reason.
///
/// # Errors
/// If the control or every other combination is refused, for example because a need is missing.
pub fn lay_out(
    design: &Design,
    scenario: &dyn AnyScenario,
    host: &Host,
    combinations: usize,
) -> Result<Layout, ScenarioError> {
    arms_by(design, combinations, &|settings| scenario.cell(settings, host))
}

/// The arms of a study, as far as they are known without running a program or changing the
/// machine. What only an OTP or the kernel can refuse is found when the study runs.
///
/// # Errors
/// As [`lay_out`].
pub fn sketch(
    design: &Design,
    scenario: &dyn AnyScenario,
    host: &Host,
    combinations: usize,
) -> Result<Layout, ScenarioError> {
    arms_by(design, combinations, &|settings| scenario.sketch(settings, host))
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
    let mut refused = None;
    for number in 0..combinations {
        let levels = design.levels(number);
        let id = design.id(&levels);
        if is_cell && levels == design.control {
            layout.cell(design, &levels, &id);
            continue;
        }
        match cells(&design.settings_of(&levels)) {
            Ok(cell) => {
                layout.cell(design, &levels, &id);
                layout.pair(design, cell, id);
            }
            Err(error @ (ScenarioError::Interrupted | ScenarioError::Broken(_))) => {
                return Err(error);
            }
            Err(error) => {
                let Some(why) = error.problem() else { continue };
                refused.get_or_insert_with(|| (id.clone(), Box::new(why.clone())));
                layout.arms.left_out.push(LeftOut { id, why: WhyLeftOut::Refused { why } });
            }
        }
    }
    layout.spare_control(is_cell);
    layout.check(refused)?;
    Ok(layout)
}

impl Layout {
    fn cell(&mut self, design: &Design, levels: &[usize], id: &str) {
        let levels = design.names(levels);
        self.factorial.cells.push(CellOfRecord { arm: id.to_owned(), levels });
    }

    /// Adds the arm of a combination, and its own control if the scenario made one.
    fn pair(&mut self, design: &Design, cell: Cell, id: String) {
        let Cell { control, case } = cell;
        let own = design.against == Against::Scenario && case.against.is_some();
        let against = own.then(|| format!("control of {id}"));
        if let Some(id) = &against {
            self.arms.arms.push(Arm { id: id.clone(), role: Role::Control, ..control });
        }
        self.arms.arms.push(Arm { id, role: Role::Case, against, ..case });
    }

    /// If every combination has its own control, nothing is compared with the common control. If
    /// that control is a combination, it is shown beside the others; else it is not run at all.
    fn spare_control(&mut self, is_cell: bool) {
        let mut cases = self.arms.arms.iter().filter(|arm| arm.role == Role::Case).peekable();
        if cases.peek().is_none() || cases.any(|case| case.against.is_none()) {
            return;
        }
        match is_cell {
            true => self.arms.arms[0].role = Role::Baseline,
            false => drop(self.arms.arms.remove(0)),
        }
    }

    /// `refused` is the first combination that was left out, and why.
    fn check(&self, refused: Option<(String, Box<Problem>)>) -> Result<(), ScenarioError> {
        let mut ids = BTreeSet::new();
        if let Some(twice) = self.arms.arms.iter().find(|arm| !ids.insert(arm.id.as_str())) {
            let arm = twice.id.clone();
            return Err(ScenarioError::Unusable(ArmsProblem::SameCombination { arm }.into()));
        }
        match (self.arms.arms.len(), refused) {
            (1, Some((arm, why))) => {
                Err(ScenarioError::Unusable(ArmsProblem::OnlyControl { arm, why }.into()))
            }
            (1, None) => Err(ScenarioError::Unusable(ArmsProblem::OneCombination.into())),
            _ => Ok(()),
        }
    }

    /// How the study is judged: by the figures of its control, each with the largest margin that
    /// any arm has. An arm whose own margin is smaller may be affected, and is not cleared.
    fn judging(&self, design: &Design, scenario: &dyn AnyScenario) -> Vec<Judging> {
        let mut all = scenario.judging(&design.settings_of(&design.control));
        for one in self.arms.arms.iter().flat_map(|arm| scenario.judging(&arm.settings)) {
            for same in all.iter_mut().filter(|judging| judging.measure == one.measure) {
                same.margin = same.margin.max(one.margin);
            }
        }
        all
    }

    /// The plan of a study with these arms.
    pub fn plan(&self, design: &Design, scenario: &dyn AnyScenario, seed: u64) -> Plan {
        let mut judging = self.judging(design, scenario).into_iter();
        let first = judging.next().unwrap_or_else(|| scenario.meta().judging.clone());
        let mut plan = Plan {
            arms: self.arms.arms.clone(),
            left_out: self.arms.left_out.clone(),
            seed,
            min_blocks: design.blocks.least,
            max_blocks: design.blocks.most,
            stop_when_settled: design.blocks.until_settled,
            error_rate: None,
            settle_fixes: false,
            wash_out: design.wash_out,
            judging: first,
            also: judging.collect(),
        };
        plan.split_error_rate(1);
        plan
    }
}

/// The control, and whether it is the combination of the control's levels itself.
fn control(design: &Design, cells: Cells<'_>) -> Result<(Arm, bool), ScenarioError> {
    let id = design.id(&design.control);
    let of = |error: ScenarioError| match error {
        ScenarioError::Unusable(why) => {
            let (arm, why) = (id.clone(), Box::new(why));
            ScenarioError::Unusable(ArmsProblem::ControlNotHad { arm, why }.into())
        }
        other => other,
    };
    let Cell { control, case } = cells(&design.settings_of(&design.control)).map_err(of)?;
    // A case with its own control holds the cause, even if it has the control's settings, like a
    // placebo.
    let no_cause = case.against.is_none() && control.settings == case.settings;
    if design.against == Against::Cell || no_cause {
        return Ok((Arm { id, role: Role::Control, against: None, ..case }, true));
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
