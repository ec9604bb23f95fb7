//! The flags of `tailback study`.

use crate::command::{VERDICT, below};
use crate::settings::parse_seed;
use std::path::PathBuf;

/// Run a study of several factors that a file describes.
///
/// Each combination of levels is an arm of one record, which is saved after every block. Run the
/// same file again to resume an interrupted study after its last whole block. The result is a table
/// of what each level did. docs/studies.md
/// explains the file.
#[derive(clap::Args)]
#[command(after_help = below(VERDICT, [
    "tailback study quota.toml --dry-run",
    "tailback study quota.toml",
]))]
pub struct StudyFile {
    /// The study file
    #[arg(value_name = "FILE.toml")]
    pub(super) file: PathBuf,
    /// Write the record to FILE, or continue the one that is there [default: named after the study
    /// and its content, in the state folder]
    #[arg(short = 'o', long, value_name = "FILE")]
    pub(super) record: Option<PathBuf>,
    // One kernel's part of a study, as a guest runs it: the file is the host's.
    #[arg(long, value_name = "TOML", hide = true)]
    pub(super) text: Option<String>,
    #[arg(long, value_name = "K", hide = true)]
    pub(super) in_kernel: Option<String>,
    /// Start from scratch, even if a record could be continued
    #[arg(long)]
    pub(super) fresh: bool,
    /// Show the arms and the time they need, and execute nothing
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Trust the file, which is code: it may name programs, kernels and a root folder, and write
    /// outside the working folder
    #[arg(long)]
    pub(super) trust: bool,
    /// Do not ask before a study of more than 200 arms or more than an hour
    #[arg(long)]
    pub(super) yes: bool,
    /// Run exactly N blocks, whatever the file says. To continue a study, name more blocks than
    /// before
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(super) samples: Option<u32>,
    /// Print only the record, as JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Also show every figure, the reasons for the verdict, and what it cannot tell
    #[arg(long)]
    pub(super) why: bool,
    /// Seed of every random choice [default: that of the file or of the record, else a new one]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    pub(super) seed: Option<u64>,
    /// Use the quick settings of the file: fewer levels and blocks
    #[arg(long)]
    pub(super) quick: bool,
}
