//! `tailback judge RECORD`.

use crate::command::{Failure, Run, Session, VERDICT, below};
use crate::{output, records};
use report::Shown;
use std::path::{Path, PathBuf};

/// Show a record, and judge it again by the rules of this version
#[derive(clap::Args)]
#[command(after_help = below(VERDICT, ["tailback judge run.json", "tailback judge --why run.json"]))]
pub struct Judge {
    /// The record; - reads standard input
    #[arg(value_name = "RECORD")]
    file: PathBuf,
    /// Print the judged record as JSON
    #[arg(long)]
    json: bool,
    /// Also show every figure, the reasons for the verdict, and what it cannot tell
    #[arg(long)]
    why: bool,
}

impl Run for Judge {
    /// The exit code is the one of the verdict.
    fn run(&self, session: &Session) -> Result<u8, Failure> {
        let (record, meta) = records::judgeable(&self.file)?;
        if self.json {
            session.out.json(&record.to_json());
        } else {
            let name = self.file.display().to_string();
            let shown = Shown::new(&record, Some(meta), &name);
            session.out.print(&report::record(&shown, output::look_with(self.why)));
        }
        Ok(record.judgement.state.exit_code())
    }

    fn writes(&self) -> Option<Vec<&Path>> {
        Some(Vec::new())
    }
}
