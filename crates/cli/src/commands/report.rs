//! `tailback report RECORD.. -o F.html`.

use crate::command::{Failure, Run, Session, below};
use crate::{page, records};
use std::path::{Path, PathBuf};

/// Write an HTML page from records
#[derive(clap::Args)]
#[command(after_help = below("", [
    "tailback report run.json -o run.html",
    "tailback report before.json after.json -o both.html",
]))]
pub struct Report {
    /// The records; the page has one section for each
    #[arg(value_name = "RECORD", required = true, num_args = 1..)]
    records: Vec<PathBuf>,
    /// Write the page to FILE; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
}

impl Run for Report {
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let page = page::of(&records::named(&self.records)?)?;
        page::write(session, &page, Some(&self.output))?;
        Ok(0)
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        Some(vec![&self.output])
    }
}
