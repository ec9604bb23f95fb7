//! Conversion between the struct of a scenario and the settings of a record.

use model::Settings;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Parameters in the form of a record.
pub(super) fn of<P: Serialize>(params: &P) -> Settings {
    // Names with words and numbers always serialise.
    serde_json::to_value(params).and_then(serde_json::from_value).unwrap_or_default()
}

/// Parameters from a record.
pub(super) fn read<P: DeserializeOwned>(settings: &Settings) -> Result<P, String> {
    serde_json::to_value(settings)
        .and_then(serde_json::from_value)
        .map_err(|error| format!("settings of another scenario or version: {error}"))
}
