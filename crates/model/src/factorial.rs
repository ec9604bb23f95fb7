//! The factorial plan of a study file, and what its factors did.

use crate::measure::Unit;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A study of several factors: which arm is which combination of levels.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factorial {
    /// Name of the study.
    pub name: String,
    /// SHA-256 of the study file as it stood, in hexadecimal.
    pub content: String,
    /// Whether the file's settings for a quick run were taken.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub quick: bool,
    /// The factors, in the order of the file.
    pub factors: Vec<Factor>,
    /// The levels that the others are held against, one a factor.
    pub control: Vec<String>,
    /// The combinations that were run.
    pub cells: Vec<Cell>,
    /// What was found of some levels before, in the words of the file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<PriorFinding>,
    /// When somebody started or went on with the study.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sittings: Vec<Sitting>,
}

/// What the levels of the factors did.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effects {
    /// What each level did, held against the control's; then what two levels did together.
    pub shown: Vec<Effect>,
    /// Effects beyond the most that are worked out.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left_out: u64,
}

/// Something that is varied.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Factor {
    /// Its name: that of a parameter, or one of the file's own.
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
    /// Its levels, one a factor.
    pub levels: Vec<String>,
}

/// What was found of a level before, by others or on another machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct PriorFinding {
    /// The factor.
    pub factor: String,
    /// Its level.
    pub level: String,
    /// What was found.
    pub words: String,
}

/// One start of a study.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Sitting {
    /// When (RFC 3339, UTC).
    pub started: String,
    /// The first block that it ran, from 0.
    pub first_block: u32,
}

/// What a change of one level did, or what two changes did beyond the sum of each.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Effect {
    /// One change for a main effect, two for an interaction.
    pub changes: Vec<Change>,
    /// Combinations of the other factors' levels that it is the mean over.
    pub over: u32,
    /// What became of each figure, by its name.
    pub measures: BTreeMap<String, Shift>,
}

/// A factor set to another level.
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
    /// How many blocks it rests on.
    pub blocks: u32,
    /// Hodges-Lehmann estimate of the change within a block; above zero the figure grew.
    pub shift: f64,
    /// The change is at least this, since trials were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_least: bool,
    /// The change is at most this, since trials that it is held against were cut off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub at_most: bool,
    /// Lower end of the interval; absent where so few blocks give none, or where it is unbounded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of the interval; absent likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Confidence of the interval, or of the widest that so many blocks could give.
    pub confidence: f64,
}

impl Shift {
    /// Whether the interval leaves out zero: above it, below it, or neither.
    pub fn clear(&self) -> bool {
        self.low.is_some_and(|low| low > 0.0) || self.high.is_some_and(|high| high < 0.0)
    }
}

impl Factorial {
    /// What is wrong with it; a record may have been edited by hand.
    ///
    /// # Errors
    /// A sentence that names the cell.
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
