//! The flags of `tailback bisect`.

use crate::command::below;
use crate::commands::check::scenario_names;
use crate::commands::vm::session::Machine;
use crate::settings::parse_seed;
use std::path::PathBuf;

const HELP: &str = "With --kernels, bisect halves a list. With --build, it halves the commits \
    between --good and --bad, in the git tree of the working folder: it checks out a commit, runs \
    the command and boots --kernel. At the end it restores the original checkout.\n\nEach version \
    is booted until its answer is certain enough: the whole bisection names a wrong version in at \
    most 5% of cases. If all boots of a version agree, two boots are enough, or three if more than \
    15 steps are expected; with --by-effect, eight to eleven boots.\n\n--good and --bad are tested \
    first. The bisection stops if --good has the stall, or --bad does not have it. A version is \
    skipped if it does not build or boot, or has no verdict after --boots boots.\n\nEach boot is \
    logged. Run the same command again to continue a stopped bisection.\n\nExit codes:\n  \
    0    found\n  1    --good has the stall, or --bad does not have it\n  2    bad usage or \
    input\n  3    a need is missing\n  4    --good or --bad has no verdict, several versions are \
    left, or git, build or host failed\n  130  interrupted; the same command continues\n\n";

/// Find the kernel or the commit where a stall begins or ends
#[derive(clap::Args)]
#[command(after_help = format!("{HELP}{}", below("", [
    "tailback bisect mmap-lock --good debian:6.18 --bad debian:6.12 --kernels debian:6.12..6.18 \
     -- --reader-quota 10ms/100ms --busy 4 --nice 0",
    "tailback bisect cpu-quota --good v5.4 --bad v4.19 --build ./build.sh --cpus 8",
])))]
pub struct Bisect {
    /// The scenario that shows the stall
    #[arg(value_name = "SCENARIO", value_parser = scenario_names())]
    pub(super) scenario: String,
    /// A version without the stall: an entry of --kernels, or a commit
    #[arg(long, value_name = "VERSION")]
    pub(super) good: String,
    /// A version with the stall: an entry of --kernels, or a commit
    #[arg(long, value_name = "VERSION")]
    pub(super) bad: String,
    /// Ordered list of kernels, each in the form that --kernel of `tailback vm` takes
    #[arg(long, value_name = "K,..", value_delimiter = ',')]
    #[arg(required_unless_present = "build", conflicts_with = "build")]
    pub(super) kernels: Vec<String>,
    /// Build the checked-out commit with COMMAND, run at the top of the tree. If it fails, the
    /// commit is skipped; an exit code of 128 or more stops the bisection. COMMAND must leave the
    /// files that git tracks as they were: else the next commit cannot be checked out. As root, set
    /// ARCH, CROSS_COMPILE or LLVM in COMMAND: it gets few variables of the environment
    #[arg(long, value_name = "COMMAND")]
    pub(super) build: Option<String>,
    /// The kernel that the build makes, in the form that --kernel of `tailback vm` takes; a path
    /// is relative to the top of the tree [default: the tree itself]
    #[arg(long, value_name = "KERNEL", requires = "build")]
    pub(super) kernel: Option<String>,
    /// Find where the effect passes the middle between the effect in --good and the effect in
    /// --bad, whatever the verdicts are. This takes eight to eleven boots per version if all boots
    /// of a version agree
    #[arg(long)]
    pub(super) by_effect: bool,
    /// Most boots of one version [default: 12; 40 with --by-effect]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=100))]
    pub(super) boots: Option<u32>,
    /// Ignore the log of an earlier bisection and start again
    #[arg(long)]
    pub(super) fresh: bool,
    /// Keep the log in FILE [default: a file in the state folder, one for each question]
    #[arg(long, value_name = "FILE")]
    pub(super) log: Option<PathBuf>,
    /// Use fewer arms: each verdict takes less time, but shows less detail
    #[arg(long)]
    pub(super) quick: bool,
    /// Print JSON
    #[arg(long)]
    pub(super) json: bool,
    /// Seed of every random choice [default: a new one, which is printed]
    #[arg(long, value_name = "S", value_parser = parse_seed)]
    pub(super) seed: Option<u64>,
    /// Further flags for `tailback run SCENARIO`, after --: -- --procfile maps
    #[arg(value_name = "PARAMETERS", num_args = 0.., last = true)]
    pub(super) words: Vec<String>,
    #[command(flatten)]
    pub(super) machine: Machine,
}
