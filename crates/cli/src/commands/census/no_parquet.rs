//! `census --parquet` in a tailback that was built without Parquet.

use crate::exit::Failure;
use crate::session::Session;
use census::Fleet;
use model::Census;
use std::fs::File;
use std::path::Path;

/// Cannot be made: this build has no Parquet.
pub enum Parquet {}

impl Parquet {
    /// Refuses the flag.
    ///
    /// # Errors
    /// Always.
    pub fn at(_: &Path) -> Result<Self, Failure> {
        let line = "--parquet: this build has no Parquet support; build with --features parquet";
        Err(Failure::need(line.to_owned()))
    }

    /// Never called.
    pub fn trials(&self) -> &File {
        match *self {}
    }

    /// Never called.
    ///
    /// # Errors
    /// Never.
    pub fn write(&self, _: &Session, _: &Fleet, _: &Census) -> Result<(), Failure> {
        match *self {}
    }
}
