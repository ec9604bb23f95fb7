//! Figures over the time of a trial.

use crate::measure::Unit;
use serde::{Deserialize, Serialize};

/// Figures over the time of a trial: a row for each moment, a column for each thing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Series {
    /// Unit of the figures.
    pub unit: Unit,
    /// What the figures are, in the words of an older record. For newer records the scenario has
    /// a sentence for the name of the series.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The name of each column, such as `scheduler 1`.
    pub columns: Vec<String>,
    /// The name of another series of the same trial with the same moments. This series depends on
    /// the first column of that one, such as a cost on the length of a queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// The moments, in milliseconds after the release of the trial's load, ascending.
    pub at_ms: Vec<f64>,
    /// A row for each moment, with a figure for each column; null if there is no figure.
    pub rows: Vec<Vec<Option<f64>>>,
}

impl Series {
    /// An empty series.
    pub fn new(unit: Unit, columns: Vec<String>) -> Self {
        Series { unit, title: None, columns, against: None, at_ms: Vec::new(), rows: Vec::new() }
    }

    /// Adds a moment. A row that is too short is padded, and a row that is too long is cut.
    pub fn push(&mut self, at_ms: f64, mut row: Vec<Option<f64>>) {
        row.resize(self.columns.len(), None);
        self.at_ms.push(at_ms);
        self.rows.push(row);
    }

    /// Whether rows, moments and columns fit together.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn check(&self) -> Result<(), String> {
        if self.at_ms.len() != self.rows.len() {
            return Err(format!("{} moments and {} rows", self.at_ms.len(), self.rows.len()));
        }
        match self.rows.iter().find(|row| row.len() != self.columns.len()) {
            Some(row) => Err(format!("a row of {} in {} columns", row.len(), self.columns.len())),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_as_wide_as_the_columns() {
        let mut series = Series::new(Unit::Count, vec!["a".into(), "b".into()]);
        series.push(0.0, vec![Some(1.0)]);
        series.push(1.0, vec![Some(1.0), None, Some(3.0)]);
        assert_eq!(series.rows, [[Some(1.0), None], [Some(1.0), None]]);
        assert_eq!(series.check(), Ok(()));
        series.rows[1].pop();
        assert!(series.check().is_err());
        series.rows.pop();
        assert!(series.check().is_err());
    }
}
