//! All combinations of the levels of a study.

use super::design::Design;
use super::error::StudyError;
use model::Settings;
use std::path::Path;

/// Most arms of one study. After each block, the whole record is written, and judging takes time
/// proportional to the square of the arms.
pub const MOST_ARMS: usize = 20_000;

impl Design {
    /// How many combinations there are.
    ///
    /// # Errors
    /// If there are more than [`MOST_ARMS`]; `path` is for the message.
    pub fn combinations(&self, path: &Path) -> Result<usize, StudyError> {
        let sizes = self.factors.iter().map(|factor| factor.levels.len() as u128);
        let arms = sizes.fold(1u128, u128::saturating_mul);
        usize::try_from(arms)
            .ok()
            .filter(|arms| *arms <= MOST_ARMS)
            .ok_or_else(|| StudyError::TooMany { path: path.to_owned(), arms, most: MOST_ARMS })
    }

    /// The levels of a combination, given its number. The last factor changes fastest.
    pub fn levels(&self, number: usize) -> Vec<usize> {
        let mut rest = number;
        let mut levels: Vec<usize> = self
            .factors
            .iter()
            .rev()
            .map(|factor| {
                let size = factor.levels.len().max(1);
                let level = rest % size;
                rest /= size;
                level
            })
            .collect();
        levels.reverse();
        levels
    }

    /// The names of some levels, one per factor.
    pub fn names(&self, levels: &[usize]) -> Vec<String> {
        let chosen = self.factors.iter().zip(levels);
        chosen.map(|(factor, level)| factor.levels[*level].name.clone()).collect()
    }

    /// The name of a combination's arm: `busy=10,procfile=maps`.
    pub fn id(&self, levels: &[usize]) -> String {
        let parts: Vec<String> = self
            .factors
            .iter()
            .zip(levels)
            .map(|(factor, level)| format!("{}={}", factor.name, factor.levels[*level].name))
            .collect();
        parts.join(",")
    }

    /// The parameters of a combination.
    pub fn settings_of(&self, levels: &[usize]) -> Settings {
        let mut settings = self.settings.clone();
        for (factor, level) in self.factors.iter().zip(levels) {
            let of_level = factor.levels[*level].settings.0.iter();
            of_level.for_each(|(name, value)| settings.set(name, value.clone()));
        }
        settings
    }
}
