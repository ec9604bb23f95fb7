//! From the word that a user gives to an OTP.

use super::found::Otp;
use super::suite::{self, Fetch, suite_of};
use crate::error::BeamError;
use debian::Cache;
use std::path::Path;

impl Otp {
    /// The OTP that a word asks for: `debian:trixie` for that of a suite, which is fetched where it
    /// is not in the cache, else as [`Otp::find`].
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
