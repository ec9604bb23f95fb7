//! The trials of a record that a test ran.

use serde_json::Value;

/// The trials of an arm, in the order of their runs.
pub fn trials<'a>(record: &'a Value, arm: &str) -> Vec<&'a Value> {
    let trials = record["trials"].as_array().unwrap();
    trials.iter().filter(|trial| trial["arm"] == arm).collect()
}

/// A figure of a trial. It must be there.
pub fn figure(trial: &Value, name: &str) -> f64 {
    let value = &trial["observation"]["measures"][name]["value"];
    value.as_f64().unwrap_or_else(|| panic!("{name}: {trial}"))
}
