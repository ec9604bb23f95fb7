//! The flags of `tailback matrix`.

use crate::command::below;
use crate::commands::check::scenario_names;
use crate::commands::vm::session::Machine;
use crate::ktap::KtapFlags;
use crate::settings::parse_seed;
use std::path::PathBuf;

const HELP: &str = "Versions take turns, one block of trials each, so that a disturbance of the \
    host affects all of them. Each kernel has its own guest, whose clock stops while other guests \
    run.\n\nEach version runs at least 16 blocks, and is compared with the next version. But two \
    runs of one version differ too. So if the first runs of two versions differ, fresh runs of \
    both run side by side in 5 to 7 pairs. A boundary is named if each pair differs in the same \
    direction as the first runs. This is done for at most three steps: those with the largest \
    differences.\n\nNAME*12 runs a version 12 times, which shows how much its runs differ.\n\nExit \
    codes:\n  the code of the worst verdict; with --expect:\n  0  all verdicts and effects are as \
    expected\n  1  a verdict differs, in a fresh run too, or an effect changes in the unexpected \
    direction\n  4  a verdict or an effect is undecided\n\n";

/// Compare one scenario across several kernels or OTPs
#[derive(clap::Args)]
#[command(after_help = format!("{HELP}{}", below("", [
    "tailback matrix mmap-lock --kernels debian:6.1,debian:sid -- --procfile maps",
    "tailback matrix blocking-nif --otps debian:bookworm..sid",
])))]
pub struct Matrix {
    /// The scenario that runs in each version
    #[arg(value_name = "SCENARIO", value_parser = scenario_names())]
    pub(super) scenario: String,
    /// Kernels, each in the form that --kernel of `tailback vm` takes. debian:6.16..7.3 means
    /// every series from 6.16 to 7.3
    #[arg(long, value_name = "K,..", value_delimiter = ',')]
    pub(super) kernels: Vec<String>,
    /// OTPs, each in the form that --otp of `tailback run` takes. debian:bookworm..sid means
    /// every suite from bookworm to sid. They run on this machine
    #[arg(long, value_name = "E,..", value_delimiter = ',')]
    pub(super) otps: Vec<String>,
    /// Run only as many versions as needed to find where the effect changes
    #[arg(long)]
    pub(super) bisect: bool,
    /// Run each version only once: differences are shown, but no boundary is named
    #[arg(long, conflicts_with = "expect")]
    pub(super) once: bool,
    /// Also write an HTML page of the versions and their records to FILE
    #[arg(long, value_name = "FILE")]
    pub(super) page: Option<PathBuf>,
    /// If a newer kernel stalls more, also write a report for the kernel's mailing lists to FILE.
    /// tailback does not send it
    #[arg(long, value_name = "FILE", requires = "kernels", conflicts_with = "once")]
    pub(super) mail: Option<PathBuf>,
    /// Use fewer arms: each verdict takes less time, but shows less detail
    #[arg(long)]
    pub(super) quick: bool,
    /// Check verdicts and boundaries against vm/versions.toml
    #[arg(long, conflicts_with_all = ["format", "bisect"])]
    pub(super) expect: bool,
    /// Print JSON
    #[arg(long, conflicts_with = "markdown")]
    pub(super) json: bool,
    /// Print Markdown
    #[arg(long, conflicts_with = "format")]
    pub(super) markdown: bool,
    #[command(flatten)]
    pub(super) ktap: KtapFlags,
    /// Seed of every random choice, in all guests [default: a new one, which is printed]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    pub(super) seed: Option<u64>,
    /// Further flags for `tailback run SCENARIO`, after --: -- --procfile maps
    #[arg(value_name = "PARAMETERS", num_args = 0.., last = true)]
    pub(super) words: Vec<String>,
    #[command(flatten)]
    pub(super) machine: Machine,
}
