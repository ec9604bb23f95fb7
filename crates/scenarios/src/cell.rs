//! One combination of settings in a study of several factors.

use crate::{Arms, ScenarioError};
use model::problem::ArmsProblem;
use model::{Arm, Role, Settings};

/// The arm for a combination of settings, and its control.
#[derive(Debug, Clone, PartialEq)]
pub struct Cell<S = Settings> {
    /// The work without the cause, otherwise with the same settings.
    pub control: Arm<S>,
    /// The work with these settings. It equals the control if the settings have no cause.
    pub case: Arm<S>,
}

impl<S> Cell<S> {
    /// The same cell with its settings in another form.
    pub fn map<T>(self, form: impl Fn(S) -> T) -> Cell<T> {
        Cell { control: self.control.map(&form), case: self.case.map(&form) }
    }

    /// A control and a case of these settings.
    pub fn of_settings(control: S, case: S) -> Self {
        let arm = |id: &str, role, settings| Arm {
            id: id.to_owned(),
            role,
            settings,
            against: None,
            change: None,
        };
        Cell {
            control: arm("control", Role::Control, control),
            case: arm("case", Role::Case, case),
        }
    }

    /// The same, but the case names this control as its own.
    pub fn of_pair(control: S, case: S) -> Self {
        let Cell { control, case } = Self::of_settings(control, case);
        Cell { case: Arm { against: Some(control.id.clone()), ..case }, control }
    }
}

impl<S: Clone> Cell<S> {
    /// Takes control and case from the arms that a scenario makes for a combination. Its fixes are
    /// ignored, because a study varies fixes by its own factors.
    ///
    /// # Errors
    /// If there are several cases, so that the right one is unclear, or if the case cannot run
    /// here.
    pub fn of(arms: Arms<S>) -> Result<Self, ScenarioError> {
        let Arms { arms, left_out } = arms;
        let cases: Vec<&Arm<S>> = arms.iter().filter(|arm| arm.role == Role::Case).collect();
        if let [_, _, ..] = cases.as_slice() {
            let ids: Vec<&str> = cases.iter().map(|arm| arm.id.as_str()).collect();
            let arms = ids.into_iter().map(str::to_owned).collect();
            return Err(ScenarioError::Unusable(ArmsProblem::Several { arms }.into()));
        }
        let case = cases.first().map(|case| (*case).clone());
        let own = case.as_ref().and_then(|case| case.against.clone());
        let control = arms
            .into_iter()
            .find(|arm| arm.role == Role::Control && own.as_ref().is_none_or(|own| *own == arm.id));
        match (control, case, left_out.first()) {
            (Some(control), Some(case), _) => Ok(Cell { control, case }),
            (Some(control), None, None) => Ok(Cell { case: control.clone(), control }),
            (_, _, Some(left_out)) => Err(ScenarioError::Unusable(
                ArmsProblem::NotHad { arm: left_out.id.clone() }.into(),
            )),
            (None, _, None) => Err(ScenarioError::Broken(ArmsProblem::NoControl.into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::testing::arm;
    use model::{LeftOut, WhyLeftOut};

    fn of(arms: Vec<Arm>, left_out: &[&str]) -> Result<Cell, ScenarioError> {
        let why = || WhyLeftOut::Refused { why: ArmsProblem::NoControl.into() };
        let out = |id: &&str| LeftOut { id: (*id).to_owned(), why: why() };
        Cell::of(Arms { arms, left_out: left_out.iter().map(out).collect() })
    }

    #[test]
    fn a_combination_is_its_case_and_fixes_are_left() {
        let control = || arm("control", Role::Control);
        let case = || arm("spread", Role::Case);
        let against = Arm { against: Some("control".to_owned()), ..case() };
        let arms = vec![control(), against.clone(), arm("burst", Role::Fix)];
        let cell = of(arms, &[]).unwrap();
        assert_eq!((cell.control, cell.case), (control(), against));
        let alone = of(vec![control()], &[]).unwrap();
        assert_eq!(alone.case, control());
    }

    #[test]
    fn a_case_keeps_its_own_control() {
        let case = Arm { against: Some("twin".to_owned()), ..arm("case", Role::Case) };
        let arms = vec![arm("other", Role::Control), arm("twin", Role::Control), case];
        assert_eq!(of(arms, &[]).unwrap().control.id, "twin");
    }

    #[test]
    fn several_cases_and_one_that_cannot_be_had_are_refused() {
        let control = || arm("control", Role::Control);
        let two = of(vec![control(), arm("a", Role::Case), arm("b", Role::Case)], &[]);
        let arms = ["a", "b"].map(str::to_owned).to_vec();
        assert_eq!(two, Err(ScenarioError::Unusable(ArmsProblem::Several { arms }.into())));
        let refused = of(vec![control()], &["case"]);
        let arm = "case".to_owned();
        assert_eq!(refused, Err(ScenarioError::Unusable(ArmsProblem::NotHad { arm }.into())));
        assert!(of(Vec::new(), &[]).is_err());
    }
}
