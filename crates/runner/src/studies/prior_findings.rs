//! Findings of earlier studies, from the table `found` of a study file, shown beside the new
//! ones.

use super::error::StudyError;
use super::factors::Factor;
use super::read::{Reader, suggestion};
use model::factorial::PriorFinding;
use toml::Spanned;
use toml::de::DeValue;

/// Longest finding, in characters.
const LONGEST: usize = 200;

/// Reads the table `found`: a table for each factor, with words about its levels. Levels that
/// exist only in the other form of the file are left out.
///
/// # Errors
/// If the file has no such factor or level, or if the words are too long.
pub(super) fn prior_findings(
    reader: Reader,
    value: &Spanned<DeValue>,
    factors: &[Factor],
    all: &[Factor],
) -> Result<Vec<PriorFinding>, StudyError> {
    let mut found = Vec::new();
    for of_factor in reader.entries(reader.table(value, "found")?) {
        let Some(factor) = all.iter().find(|factor| factor.name == of_factor.key) else {
            let known = suggestion(of_factor.key, all.iter().map(|factor| factor.name.as_str()));
            let why = format!("found: no factor `{}`{known}", of_factor.key);
            return Err(reader.bad(of_factor.at, why));
        };
        let place = format!("found.{}", factor.name);
        for entry in reader.entries(reader.table(of_factor.value, &place)?) {
            let names = || factor.levels.iter().map(|level| level.name.as_str());
            if !names().any(|name| name == entry.key) {
                let known = suggestion(entry.key, names());
                let why = format!("{place}: no level `{}`{known}", entry.key);
                return Err(reader.bad(entry.at, why));
            }
            let words = reader.string(entry.value, &place)?;
            if words.chars().count() > LONGEST || words.chars().any(os::terminal::steers) {
                let why = format!("{place}: at most {LONGEST} characters, none of them control");
                return Err(reader.bad(entry.value.span(), why));
            }
            let has_it = |other: &Factor| {
                other.name == factor.name && other.levels.iter().any(|l| l.name == entry.key)
            };
            if factors.iter().any(has_it) {
                let (factor, level) = (factor.name.clone(), entry.key.to_owned());
                found.push(PriorFinding { factor, level, words: words.to_owned() });
            }
        }
    }
    Ok(found)
}
