//! `census --parquet` where tailback was built without it.

use crate::exit::Failure;
use crate::session::Session;
use census::Fleet;
use model::Census;
use std::fs::File;
use std::path::Path;

/// There is none.
pub enum Parquet {}

impl Parquet {
    /// Refuses it.
    ///
    /// # Errors
    /// Always.
    pub fn at(_: &Path) -> Result<Self, Failure> {
        let line = "--parquet: this build has no Parquet; build with --features parquet";
        Err(Failure::need(line.to_owned()))
    }

    /// There is none.
    pub fn trials(&self) -> &File {
        match *self {}
    }

    /// There is none.
    ///
    /// # Errors
    /// Never.
    pub fn write(&self, _: &Session, _: &Fleet, _: &Census) -> Result<(), Failure> {
        match *self {}
    }
}
