//! Reads the facts from the text of a record, of this schema or an older one.

use crate::record::{Facts, MOST_TEXT, RecordError};
use serde::Deserialize;

/// The text before the number of a schema.
const SCHEMA_PREFIX: &str = "tailback/record/";

/// The number in [`crate::record::SCHEMA`].
const SCHEMA_NUMBER: u32 = 3;

/// The number of the oldest schema that is read; [`crate::older`] converts it.
const OLDEST_NUMBER: u32 = 1;

/// The part of a text that decides whether it is a record.
#[derive(Deserialize)]
struct SchemaOnly {
    schema: Option<String>,
}

impl Facts {
    /// Reads a record.
    ///
    /// # Errors
    /// If the text is incomplete, has a newer schema, is not a record, or is longer than
    /// [`MOST_TEXT`].
    pub fn from_json(text: &str) -> Result<Self, RecordError> {
        if text.len() > MOST_TEXT {
            return Err(RecordError::TooLarge);
        }
        let schema = match serde_json::from_str::<SchemaOnly>(text) {
            Ok(only) => only.schema,
            Err(error) if error.is_data() => None,
            Err(error) => return Err(RecordError::Torn(error)),
        };
        let facts: Facts = match number(schema.as_deref())? {
            // The text is read straight into its types: unknown fields are skipped and never
            // kept.
            SCHEMA_NUMBER => serde_json::from_str(text)
                .map_err(|error| RecordError::Inconsistent(error.to_string()))?,
            _ => crate::older::read(text)?,
        };
        facts.check()?;
        Ok(facts)
    }
}

/// The number of a schema that is read.
fn number(schema: Option<&str>) -> Result<u32, RecordError> {
    let schema = schema.ok_or(RecordError::Foreign)?;
    let number = schema.strip_prefix(SCHEMA_PREFIX).ok_or(RecordError::Foreign)?;
    match number.parse::<u32>() {
        Ok(number @ OLDEST_NUMBER..=SCHEMA_NUMBER) => Ok(number),
        Ok(number) if number > SCHEMA_NUMBER => Err(RecordError::Newer(schema.to_owned())),
        _ => Err(RecordError::Foreign),
    }
}
