//! The factorial plan of a study file, and the effects of its factors.

use crate::measure::Unit;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A study of several factors. It says which arm is which combination of levels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factorial {
    /// Name of the study.
    pub name: String,
    /// SHA-256 of the study file at that time, in hexadecimal.
    pub content: String,
    /// Whether the file's settings for a quick run were used.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// The factors, in the order of the file.
    pub factors: Vec<Factor>,
    /// The levels with which the others are compared, one for each factor.
    pub control: Vec<String>,
    /// The combinations that were run.
    pub cells: Vec<Cell>,
    /// Earlier findings about some levels, in the words of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<PriorFinding>,
    /// When the study was started or continued.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sittings: Vec<Sitting>,
}

/// The effects of the levels of the factors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    /// The effect of each level compared with the control's level; then the interactions of two
    /// levels.
    pub shown: Vec<Effect>,
    /// Number of effects that are not listed because there are too many.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// A factor that is varied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Its name: the name of a parameter, or a name that only the file defines.
    pub name: String,
    /// The names of its levels, in the order of the file.
    pub levels: Vec<String>,
}

/// One combination of levels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The arm that ran it.
    pub arm: String,
    /// Its levels, one for each factor.
    pub levels: Vec<String>,
}

/// An earlier finding about a level, by others or on another machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorFinding {
    /// The factor.
    pub factor: String,
    /// Its level.
    pub level: String,
    /// The finding.
    pub words: String,
}

/// A start or continuation of a study.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sitting {
    /// When it was started or continued (RFC 3339, UTC).
    pub started: String,
    /// The first block that it ran, from 0.
    pub first_block: u32,
}

/// The effect of one change of a level, or of two changes beyond the sum of both.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// One change for a main effect, two for an interaction.
    pub changes: Vec<Change>,
    /// Number of combinations of the other factors' levels over which the effect is averaged.
    pub over: u32,
    /// The effect on each figure, by its name.
    pub measures: BTreeMap<String, Shift>,
}

/// A factor that is set to another level.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Change {
    /// The factor.
    pub factor: String,
    /// Its level in the control.
    pub from: String,
    /// The other level.
    pub to: String,
}

/// By how much a figure changed within blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Shift {
    /// Unit of all figures.
    pub unit: Unit,
    /// The number of blocks behind the estimate.
    pub blocks: u32,
    /// Hodges-Lehmann estimate of the change within a block; above zero the figure grew.
    pub shift: f64,
    /// The change is this or more, because trials were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The change is this or less, because trials of the other level were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
    /// Lower end of the interval; absent if there are too few blocks for one, or if it is
    /// unbounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval; absent for the same reasons.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the interval, or of the widest interval that this number of blocks can give.
    pub confidence: f64,
}

impl Shift {
    /// Whether the interval excludes zero.
    pub fn clear(&self) -> bool {
        self.low.is_some_and(|low| low > 0.0) || self.high.is_some_and(|high| high < 0.0)
    }
}

impl Factorial {
    /// Checks it, because a record may have been edited by hand.
    ///
    /// # Errors
    /// A sentence that names the wrong cell.
    pub fn check(&self, is_arm: impl Fn(&str) -> bool) -> Result<(), String> {
        if self.control.len() != self.factors.len() {
            return Err("its control has not one level for each factor".to_owned());
        }
        let mut arms = BTreeSet::new();
        for cell in &self.cells {
            if !arms.insert(&cell.arm) {
                return Err(format!("two cells are of arm `{}`", cell.arm));
            }
            if !is_arm(&cell.arm) {
                return Err(format!(
                    "a cell is of arm `{}`, which the plan does not have",
                    cell.arm
                ));
            }
            if cell.levels.len() != self.factors.len() {
                return Err(format!("cell `{}` has not one level for each factor", cell.arm));
            }
        }
        Ok(())
    }
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_that_do_not_fit_the_factors_are_named() {
        let factor = |name: &str| Factor { name: name.to_owned(), levels: vec!["a".to_owned()] };
        let mut factorial = Factorial {
            factors: vec![factor("x"), factor("y")],
            control: vec!["a".to_owned(); 2],
            cells: vec![Cell { arm: "one".to_owned(), levels: vec!["a".to_owned(); 2] }],
            ..Factorial::default()
        };
        assert_eq!(factorial.check(|arm| arm == "one"), Ok(()));
        assert!(factorial.check(|_| false).is_err_and(|why| why.contains("`one`")));
        factorial.cells.push(factorial.cells[0].clone());
        assert!(factorial.check(|_| true).is_err_and(|why| why.contains("two cells")));
        factorial.cells.pop();
        factorial.cells[0].levels.pop();
        assert!(factorial.check(|_| true).is_err_and(|why| why.contains("`one`")));
        factorial.control.pop();
        assert!(factorial.check(|_| true).is_err_and(|why| why.contains("control")));
    }
}
