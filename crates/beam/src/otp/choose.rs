//! Finds the OTP for a word that the user gives.

use super::found::Otp;
use super::suite::{self, Fetch, suite_of};
use crate::error::BeamError;
use debian::Cache;
use std::path::Path;

impl Otp {
    /// The OTP that a word names. `debian:trixie` is the OTP of that suite, which is fetched if
    /// it is not in the cache. Any other word is used as in [`Otp::find`].
    ///
    /// # Errors
    /// As [`Otp::find`]; or if there is no such suite, or it cannot be fetched.
    pub fn named(word: Option<&str>, cache: &Cache, fetch: Fetch<'_>) -> Result<Self, BeamError> {
        match word.and_then(suite_of) {
            Some(name) => suite::find(name, cache, fetch),
            None => Self::find(word.map(Path::new)),
        }
    }
}
