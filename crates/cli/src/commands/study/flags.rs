//! The flags of `tailback study`.

use crate::command::{VERDICT, below};
use crate::settings::parse_seed;
use std::path::PathBuf;

/// Run a study of several factors, as a file describes it.
///
/// Each combination of levels is an arm of one record. The record is saved after every block. Run
/// the same file again to resume an interrupted study after its last whole block. The result is a
/// table with the effect of each level. docs/studies.md explains the file.
#[derive(clap::Args)]
#[command(after_help = below(VERDICT, [
    "tailback study quota.toml --dry-run",
    "tailback study quota.toml",
]))]
pub struct StudyFile {
    /// The study file
    #[arg(value_name = "FILE.toml")]
    pub(super) file: PathBuf,
    /// Write the record to FILE, or continue the record in FILE [default: a file in the state
    /// folder, named after the study and its content]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    // The part of one kernel, as a guest runs it. The study file is on the host.
    #[arg(long, value_name = "TOML", hide = true)]
    pub(super) text: Option<String>,
    #[arg(long, value_name = "K", hide = true)]
    pub(super) in_kernel: Option<String>,
    /// Run all blocks again, even if the record could be continued. The new record replaces it
    #[arg(long)]
    pub(super) fresh: bool,
    /// Show the arms and the time they need, but run nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Trust the file: a study file is code. It may name programs, kernels and a root folder, and
    /// write outside the working folder
    #[arg(long)]
    pub(super) trust: bool,
    /// Do not ask before a study of more than 200 arms or more than an hour
    #[arg(long)]
    pub(super) yes: bool,
    /// Run exactly N blocks, whatever the file says. To continue a study, give a larger N than
    /// before
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) samples: Option<u32>,
    /// Print only the record, as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Also show every figure, the reasons for the verdict, and what it cannot tell
    #[arg(long)]
    pub(super) why: bool,
    /// Seed of every random choice [default: the seed of the file or of the record, else a new
    /// one]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    pub(super) seed: Option<u64>,
    /// Use the quick settings of the file: fewer levels and blocks
    #[arg(long)]
    pub(super) quick: bool,
}
