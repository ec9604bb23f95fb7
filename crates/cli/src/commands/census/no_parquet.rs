//! `census --parquet` where tailback was built without it.

use crate::exit::Failure;
use census::Fleet;
use clap::ArgMatches;
use model::Census;
use std::fs::File;

/// There is none.
pub enum Parquet {}

impl Parquet {
    /// Refuses it where it was asked for.
    ///
    /// # Errors
    /// If it was asked for.
    pub fn asked(matches: &ArgMatches) -> Result<Option<Self>, Failure> {
        match matches.contains_id("parquet") {
            true => Err(Failure::need(
                "--parquet: this build has no Parquet; build with --features parquet".to_owned(),
            )),
            false => Ok(None),
        }
    }

    /// There is none.
    pub fn trials(&self) -> &File {
        match *self {}
    }

    /// There is none.
    ///
    /// # Errors
    /// Never.
    pub fn write(&self, _: &Fleet, _: &Census) -> Result<(), Failure> {
        match *self {}
    }
}
