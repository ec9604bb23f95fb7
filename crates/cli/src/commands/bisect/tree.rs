//! Commits of a git tree.
//!
//! Git chooses the next commit (`git rev-list --bisect`). `git bisect` itself is not used, so a
//! bisection of the user in this tree is not disturbed.

use crate::exit::{self, Failure};
use crate::output;
use bisect::{Answer, Found, Source};
use host::private::{self, PrivateError};
use host::program;
use os::child::Child;
use os::stat::Stat;
use rustix::process::{Pid, RawPid, Signal, kill_process_group};
use std::collections::BTreeSet;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// How long a git command may take.
const PATIENCE: Duration = Duration::from_secs(600);

/// Size limit of a git answer that is read, in bytes.
const LONGEST: usize = 64 << 20;

/// Most characters of a message of git that are shown.
const LONGEST_MESSAGE: usize = 500;

/// How long a build may take to end after it was asked to. It removes half-written files in this
/// time.
const GRACE: Duration = Duration::from_secs(30);

/// What the shell runs that guards a build; GRACE stands for a number of seconds. Its input ends
/// when tailback has ended. To `kill`, 0 is its own process group, in which the build runs.
const GUARD: &str = "trap '' HUP INT TERM; read -r line; kill -s TERM 0; sleep GRACE; \
    kill -s KILL 0";

/// Git settings that keep git from running any program of the tree.
const WITHOUT_HOOKS: [&str; 4] = ["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false"];

/// Variables of the environment that choose how a kernel is built.
const CHOICES: [&str; 5] = ["ARCH", "CROSS_COMPILE", "KBUILD_OUTPUT", "KCFLAGS", "LLVM"];

/// How often to check on a build.
const TICK: Duration = Duration::from_millis(200);

/// A git tree.
pub struct Tree<'a> {
    folder: PathBuf,
    interrupted: &'a dyn Fn() -> bool,
}

/// The commits of a tree between a good one and a bad one.
pub struct Commits<'a> {
    tree: &'a Tree<'a>,
    ends: [String; 2],
    /// Whether the bad commit is the newer one. Then the stall begins between them; otherwise it
    /// ends.
    begins: bool,
    /// The older end, and each tested commit that has the same answer.
    old: Vec<String>,
    /// The oldest tested commit that has the same answer as the newer end.
    new: String,
    skipped: BTreeSet<String>,
    /// Commits that were skipped since the last answer.
    in_a_row: u32,
}

/// The result of a build.
#[derive(Debug, PartialEq, Eq)]
pub enum Built {
    /// The build worked.
    Yes,
    /// The build failed, for this reason.
    No(String),
}

/// The note if the environment has variables that choose how a kernel is built, but the build does
/// not get them: root's programs get a [reduced environment](program::strip).
pub fn lost_choices(is_set: &dyn Fn(&str) -> bool) -> Option<String> {
    let lost: Vec<&str> = CHOICES.into_iter().filter(|name| is_set(name)).collect();
    (!lost.is_empty()).then(|| {
        format!(
            "bisect: as root, the build does not get these variables of the environment: {}; set \
             them in the command of --build",
            lost.join(", ")
        )
    })
}

impl<'a> Tree<'a> {
    /// Opens the tree that contains `folder`.
    ///
    /// # Errors
    /// If there is no tree, another user could change it while this runs as root, or it has
    /// uncommitted changes.
    pub fn open(folder: &Path, interrupted: &'a dyn Fn() -> bool) -> Result<Self, Failure> {
        let is_exposed = os::user::is_exposed();
        if is_exposed {
            private::reached(folder).map_err(foreign)?;
        }
        let mut tree = Tree { folder: folder.to_owned(), interrupted };
        let top = tree.git(&["rev-parse", "--show-toplevel"])?;
        tree.folder = PathBuf::from(top);
        if is_exposed {
            tree.check_owner()?;
        }
        match tree.git(&["status", "--porcelain", "--untracked-files=no"])?.is_empty() {
            true => Ok(tree),
            false => Err(Failure::usage(format!(
                "{}: the tree has uncommitted changes; commit or stash them",
                tree.folder.display()
            ))),
        }
    }

    /// Refuses a tree if another user can change a file of it, of its repository, or of a
    /// repository from which that one takes objects. The repository of a worktree is elsewhere.
    fn check_owner(&self) -> Result<(), Failure> {
        let git = self.git(&["rev-parse", "--git-common-dir"])?;
        let repository = private::reached(&self.folder.join(git)).map_err(foreign)?;
        private::owned(&self.folder).map_err(foreign)?;
        // A link inside a repository may lead into another one, which has another owner.
        private::tree(&repository).map_err(foreign)?;
        match repository.join("objects/info/alternates").exists() {
            false => Ok(()),
            true => Err(Failure::usage(format!(
                "{}: it takes objects from another repository, which another user may be able to \
                 change; {AS_OWNER}",
                repository.display()
            ))),
        }
    }

    /// Resolves the word of a flag to a commit.
    ///
    /// # Errors
    /// If the word names no commit, or depends on which commit is checked out while no branch is:
    /// a bisection that was killed left a commit between the ends.
    pub fn end(&self, flag: &str, word: &str) -> Result<String, Failure> {
        let is_relative = word.starts_with("HEAD") || word.starts_with('@');
        match is_relative && self.branch().is_none() {
            false => self.commit(word),
            true => Err(Failure::usage(format!(
                "{flag} {word}: no branch is checked out, perhaps because an earlier bisection \
                 was killed; name a branch, a tag or a hash"
            ))),
        }
    }

    /// The top folder of the tree.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Resolves a word to a commit.
    ///
    /// # Errors
    /// If the word names no commit.
    pub fn commit(&self, word: &str) -> Result<String, Failure> {
        let named = format!("{word}^{{commit}}");
        self.git(&["rev-parse", "--verify", "--quiet", "--end-of-options", &named]).map_err(|_| {
            Failure::usage(format!("{word}: not a commit of {}", self.folder.display()))
        })
    }

    /// The branch that is checked out, if any.
    pub fn branch(&self) -> Option<String> {
        let name = self.git(&["symbolic-ref", "--quiet", "HEAD"]).ok()?;
        name.strip_prefix("refs/heads/").map(str::to_owned)
    }

    /// The branch that is checked out, or the commit if there is no branch.
    ///
    /// # Errors
    /// If git does not report it.
    pub fn head(&self) -> Result<String, Failure> {
        self.branch().map_or_else(|| self.git(&["rev-parse", "HEAD"]), Ok)
    }

    /// Checks out a commit or a branch.
    ///
    /// # Errors
    /// If git fails.
    pub fn check_out(&self, what: &str) -> Result<(), Failure> {
        let is_commit = what.len() >= 40 && what.bytes().all(|byte| byte.is_ascii_hexdigit());
        let words: &[&str] = match is_commit {
            true => &["checkout", "--quiet", "--detach", what, "--"],
            false => &["checkout", "--quiet", what, "--"],
        };
        self.git(words).map(drop)
    }

    /// A commit in one line: its abbreviated hash, and its subject.
    pub fn shown(&self, commit: &str) -> String {
        let line = self.git(&["log", "-1", "--format=%h %s", commit, "--"]);
        os::terminal::line(&line.unwrap_or_else(|_| commit.to_owned()))
    }

    /// Builds the checked-out commit. The output of the command goes to standard error.
    ///
    /// # Errors
    /// If the command cannot be started, was ended by a signal, or asks to stop the bisection
    /// (exit code 128 or more). Also if the user interrupts.
    pub fn build(&self, command: &str) -> Result<Built, Failure> {
        let broken = |why: String| Failure::broken(format!("--build {command}: {why}"));
        // It is dropped last, and kills what the build has left running.
        let group = BuildGroup::new().map_err(broken)?;
        let mut child = self.start(command, &group).map_err(broken)?;
        let status = loop {
            if (self.interrupted)() {
                group.end(&mut child);
                let line = "interrupted".to_owned();
                return Err(Failure { line, code: exit::INTERRUPTED });
            }
            if let Some(status) = child.wait_until(Instant::now() + TICK) {
                break status;
            }
        };
        match status.code() {
            Some(0) => Ok(Built::Yes),
            Some(code @ 128..) => Err(broken(format!(
                "the command ended with exit code {code}, so the bisection stops"
            ))),
            Some(code) => Ok(Built::No(format!("the build ended with exit code {code}"))),
            None => Err(broken(format!("the command was ended: {status}"))),
        }
    }

    /// Starts a build in this group.
    fn start(&self, command: &str, group: &BuildGroup) -> Result<Child, String> {
        let errors = std::io::stderr();
        let out = rustix::io::fcntl_dupfd_cloexec(&errors, 0).map_err(|error| error.to_string())?;
        let mut shell = program::command("sh").map_err(|why| why.to_string())?;
        shell.args(["-c", command]).current_dir(&self.folder).stdin(Stdio::null()).stdout(out);
        // If somebody has killed the guard, the shell of the build still ends with tailback.
        os::death::bind(&mut shell, Signal::TERM);
        let process = shell.process_group(group.id.as_raw_pid()).spawn();
        process.map(Child::alone).map_err(|error| error.to_string())
    }

    /// The output of a git command, without the end of the last line.
    fn git(&self, words: &[&str]) -> Result<String, Failure> {
        let broken = |why: &str| {
            let line = format!("git {} in {}: {why}", words.join(" "), self.folder.display());
            Failure::broken(line)
        };
        let mut command = program::command("git").map_err(|why| broken(&why.to_string()))?;
        command.args(WITHOUT_HOOKS).arg("-C").arg(&self.folder).args(words).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        // At SIGTERM git removes its lock files. A lock file that stays makes later commands fail.
        os::death::bind(&mut command, Signal::TERM);
        let process = command.spawn().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Failure::need("git is not on the PATH; install it"),
            _ => broken(&error.to_string()),
        })?;
        let ran = Child::leading(process)
            .run_to_end(LONGEST, Instant::now() + PATIENCE, &|| false)
            .map_err(|error| broken(&error.to_string()))?;
        if !ran.status.is_some_and(|status| status.success()) {
            return Err(broken(&message(&ran.stderr)));
        }
        let text = String::from_utf8_lossy(&ran.stdout);
        Ok(text.trim_end_matches('\n').to_owned())
    }
}

/// What git wrote to standard error, as one line. Names of files are on lines of their own.
fn message(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.is_empty() {
        true => "it failed".to_owned(),
        false => words.join(" ").chars().take(LONGEST_MESSAGE).collect(),
    }
}

/// The process group of a build. The guard, a shell, leads it, and ends the group when tailback has
/// ended, however that was: compilers would otherwise go on writing into the tree. Dropping this
/// kills the group.
struct BuildGroup {
    id: Pid,
    /// Holds the other end of the guard's input. The guard is not reaped before this is dropped, so
    /// no other group gets its number.
    _guard: Child,
}

impl BuildGroup {
    fn new() -> Result<Self, String> {
        let mut shell = program::command("sh").map_err(|why| why.to_string())?;
        shell.args(["-c", &GUARD.replace("GRACE", &GRACE.as_secs().to_string())]);
        shell.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let guard = shell.spawn().map_err(|error| error.to_string())?;
        Ok(BuildGroup { id: Pid::from_child(&guard), _guard: Child::leading(guard) })
    }

    /// Asks the build to end, and waits until all of its processes have ended, but not longer than
    /// [`GRACE`].
    fn end(&self, build: &mut Child) {
        let deadline = Instant::now() + GRACE;
        // SIGTERM lets compilers remove half-written files.
        let _ = kill_process_group(self.id, Signal::TERM);
        build.wait_until(deadline);
        // The shell ends at once; the programs that it has started may take longer.
        while self.has_others() && Instant::now() < deadline {
            std::thread::sleep(TICK);
        }
    }

    /// Whether processes run in the group besides the guard.
    fn has_others(&self) -> bool {
        let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let numbers = processes.filter_map(|one| one.file_name().to_str()?.parse::<RawPid>().ok());
        let mut others = numbers.filter(|number| *number != self.id.as_raw_pid());
        others.any(|number| {
            let stat = std::fs::read(format!("/proc/{number}/stat")).unwrap_or_default();
            runs_in(&stat, self.id)
        })
    }
}

/// Whether the process with this `/proc/PID/stat` runs and belongs to this process group. One that
/// only waits to be reaped does not run.
fn runs_in(stat: &[u8], group: Pid) -> bool {
    Stat::parse(stat)
        .is_some_and(|stat| !stat.is_dead() && stat.group() == Some(group.as_raw_pid()))
}

impl<'a> Commits<'a> {
    /// The commits between two commits, one of which is an ancestor of the other.
    ///
    /// # Errors
    /// If neither is an ancestor of the other.
    pub fn new(tree: &'a Tree<'a>, good: &str, bad: &str) -> Result<Self, Failure> {
        let older = |one, other| tree.git(&["merge-base", "--is-ancestor", one, other]).is_ok();
        let (begins, old, new) = match () {
            () if older(good, bad) => (true, good, bad),
            () if older(bad, good) => (false, bad, good),
            () => {
                return Err(Failure::usage("neither --good nor --bad is an ancestor of the other"));
            }
        };
        if good == bad {
            return Err(Failure::usage("--good and --bad are the same commit"));
        }
        let (old, new) = (vec![old.to_owned()], new.to_owned());
        let ends = [good, bad].map(str::to_owned);
        Ok(Commits { tree, ends, begins, old, new, skipped: BTreeSet::new(), in_a_row: 0 })
    }

    /// Lists the commits that are not reachable from the older ones, up to the newer end.
    fn list(&self, how: &str) -> Result<String, Failure> {
        let mut words = vec!["rev-list"];
        words.extend((!how.is_empty()).then_some(how));
        words.extend([self.new.as_str(), "--not"]);
        words.extend(self.old.iter().map(String::as_str));
        words.push("--");
        self.tree.git(&words)
    }
}

/// Which of `left` commits to test after this many were skipped in a row. The best one is at 0. The
/// neighbours of a commit that does not build or boot often do not build or boot either. So each
/// further skip halves the number of worse commits behind the place.
fn away(left: usize, in_a_row: u32) -> usize {
    let behind = left.checked_shr(in_a_row).unwrap_or(0);
    (left - behind).min(left.saturating_sub(1))
}

impl Source for Commits<'_> {
    type Error = Failure;

    fn ends(&self) -> [String; 2] {
        self.ends.clone()
    }

    fn next(&mut self) -> Result<Option<String>, Failure> {
        // Sorting all commits takes long. So git names only the best one, until a commit was
        // skipped. `--bisect-all` prints the best commit first, each with its distance after it.
        let all = self.list(if self.skipped.is_empty() { "--bisect" } else { "--bisect-all" })?;
        let commits = all.lines().filter_map(|line| line.split_whitespace().next());
        let commits: Vec<&str> = commits.filter(|one| *one != self.new).collect();
        let is_skipped = |one: &&str| self.skipped.contains(*one);
        let is_best_skipped = commits.first().is_some_and(is_skipped);
        let left: Vec<&str> = commits.into_iter().filter(|one| !is_skipped(one)).collect();
        let at = away(left.len(), self.in_a_row.max(u32::from(is_best_skipped)));
        Ok(left.get(at).map(|one| (*one).to_owned()))
    }

    fn steps(&mut self) -> Result<u32, Failure> {
        let left: usize = self.list("--count")?.trim().parse().unwrap_or(usize::MAX / 2);
        Ok(left.next_power_of_two().trailing_zeros())
    }

    fn tell(&mut self, version: &str, answer: Option<Answer>) -> Result<(), Failure> {
        let turned = |answer: Answer| if self.begins { answer } else { answer.opposite() };
        match answer.map(turned) {
            Some(Answer::Good) => self.old.push(version.to_owned()),
            Some(Answer::Bad) => version.clone_into(&mut self.new),
            None => drop(self.skipped.insert(version.to_owned())),
        }
        self.in_a_row = if answer.is_none() { self.in_a_row + 1 } else { 0 };
        Ok(())
    }

    fn found(&mut self) -> Result<Found, Failure> {
        let among: Vec<String> = self.list("")?.lines().map(str::to_owned).collect();
        let before = self.old.last().cloned().unwrap_or_default();
        Ok(Found { begins: self.begins, before, among })
    }
}

/// Puts the tree back to its branch or commit, at the latest when this is dropped.
pub struct Restored<'a> {
    tree: &'a Tree<'a>,
    to: Option<String>,
}

impl<'a> Restored<'a> {
    /// Will check out this branch or commit.
    pub fn to(tree: &'a Tree<'a>, to: &str) -> Self {
        Restored { tree, to: Some(to.to_owned()) }
    }

    /// Puts the tree back. Returns whether that worked; if not, the user is told.
    pub fn now(mut self) -> bool {
        self.put_back()
    }

    fn put_back(&mut self) -> bool {
        let Some(to) = self.to.take() else { return true };
        self.tree.check_out(&to).map_err(|failure| output::complain(&failure.line)).is_ok()
    }
}

impl Drop for Restored<'_> {
    fn drop(&mut self) {
        self.put_back();
    }
}

/// Who should run a bisection in a tree that root cannot trust.
const AS_OWNER: &str = "run bisect as the owner of the tree: it does not need root";

fn foreign(why: PrivateError) -> Failure {
    Failure::usage(format!("{why}; {AS_OWNER}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// A git tree with this many commits. In each commit, the file `number` holds its number.
    fn tree(commits: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let git = |words: &[&str]| {
            let mut command = Command::new("git");
            // If a git hook starts this test, the environment names another tree.
            command.env_remove("GIT_DIR").env_remove("GIT_WORK_TREE").env_remove("GIT_INDEX_FILE");
            let who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"];
            // Git chooses between equally good commits by their hashes.
            let day = "2026-01-01T00:00:00Z";
            command.env("GIT_AUTHOR_DATE", day).env("GIT_COMMITTER_DATE", day);
            command.arg("-C").arg(folder.path()).args(who).args(words);
            let ran = command.output().unwrap();
            assert!(ran.status.success(), "{ran:?}");
        };
        git(&["init", "--quiet", "--initial-branch=main"]);
        for number in 0..commits {
            std::fs::write(folder.path().join("number"), number.to_string()).unwrap();
            git(&["add", "number"]);
            git(&["commit", "--quiet", "-m", &format!("commit {number}")]);
        }
        folder
    }

    fn has_git() -> bool {
        testing::has_or_skip(Command::new("git").arg("--version").output().is_ok(), "no git")
    }

    #[test]
    fn the_commit_is_found_that_begins_it_and_the_tree_is_put_back() {
        if !has_git() {
            return;
        }
        let folder = tree(17);
        let not = || false;
        let tree = Tree::open(folder.path(), &not).unwrap();
        let (good, bad) = (tree.commit("main~16").unwrap(), tree.commit("main").unwrap());
        let was = tree.head().unwrap();
        assert_eq!(was, "main");
        for begins in 1..=16 {
            let _restored = Restored::to(&tree, &was);
            let mut commits = Commits::new(&tree, &good, &bad).unwrap();
            assert_eq!(commits.steps().unwrap(), 4);
            let mut asked = 0;
            while let Some(commit) = commits.next().unwrap() {
                asked += 1;
                tree.check_out(&commit).unwrap();
                let number = std::fs::read_to_string(folder.path().join("number")).unwrap();
                let number: usize = number.parse().unwrap();
                let answer = if number >= begins { Answer::Bad } else { Answer::Good };
                // Commit 8 cannot be tested.
                commits.tell(&commit, (number != 8).then_some(answer)).unwrap();
            }
            assert!(asked <= 6, "{asked}");
            let found = commits.found().unwrap();
            let shown: Vec<String> = found.among.iter().map(|one| tree.shown(one)).collect();
            let is_in = shown.iter().any(|line| line.ends_with(&format!(" commit {begins}")));
            assert!(is_in && shown.len() <= 2, "{begins}: {shown:?}");
        }
        assert_eq!(tree.head().unwrap(), "main");
    }

    #[test]
    fn variables_that_the_build_of_root_does_not_get_are_named() {
        let note = lost_choices(&|name| ["LLVM", "ARCH", "HOME"].contains(&name)).unwrap();
        assert!(note.contains("of the environment: ARCH, LLVM; set them"), "{note}");
        assert_eq!(lost_choices(&|name| name == "PATH"), None);
    }

    #[test]
    fn what_cannot_be_bisected_is_refused() {
        if !has_git() {
            return;
        }
        let folder = tree(3);
        let not = || false;
        let tree = Tree::open(folder.path(), &not).unwrap();
        assert_eq!(tree.commit("no-such").unwrap_err().code, exit::USAGE);
        let (old, new) = (tree.commit("main~2").unwrap(), tree.commit("main").unwrap());
        assert!(Commits::new(&tree, &new, &new).is_err());
        let mut ends = Commits::new(&tree, &new, &old).unwrap();
        let middle = ends.next().unwrap().unwrap();
        ends.tell(&middle, Some(Answer::Good)).unwrap();
        let found = ends.found().unwrap();
        assert!(!found.begins && found.among == [middle], "it ends there: {found:?}");
        std::fs::write(folder.path().join("number"), "changed").unwrap();
        let failure = Tree::open(folder.path(), &not).err().unwrap();
        assert!(failure.line.contains("uncommitted"), "{failure:?}");
        // Where a killed bisection leaves the tree, HEAD is no end.
        std::fs::write(folder.path().join("number"), "2").unwrap();
        assert_eq!(tree.end("--bad", "HEAD").unwrap(), new);
        tree.check_out(&tree.commit("main~1").unwrap()).unwrap();
        for word in ["HEAD", "HEAD~1", "@"] {
            let failure = tree.end("--bad", word).unwrap_err();
            assert!(failure.line.contains("no branch is checked out"), "{failure:?}");
        }
        assert_eq!(tree.end("--bad", "main").unwrap(), new);
        let empty = tempfile::tempdir().unwrap();
        assert!(Tree::open(empty.path(), &not).is_err());
    }

    #[test]
    fn a_file_that_a_build_changed_is_named_if_the_next_commit_cannot_be_checked_out() {
        if !has_git() {
            return;
        }
        let folder = tree(2);
        let not = || false;
        let tree = Tree::open(folder.path(), &not).unwrap();
        std::fs::write(folder.path().join("number"), "changed").unwrap();
        let commit = tree.commit("main~1").unwrap();
        let failure = tree.check_out(&commit).unwrap_err();
        let words: Vec<&str> = failure.line.split(' ').collect();
        assert!(words.contains(&"number"), "{failure:?}");
        assert_eq!(failure.line.lines().count(), 1, "{failure:?}");
        assert_eq!(message(b"\n \n"), "it failed");
        assert_eq!(message(&[b'x'; 999]).len(), LONGEST_MESSAGE);
    }

    #[test]
    fn a_range_that_does_not_boot_is_left_behind_in_a_few_steps() {
        if !has_git() {
            return;
        }
        let folder = tree(65);
        let not = || false;
        let tree = Tree::open(folder.path(), &not).unwrap();
        let (good, bad) = (tree.commit("main~64").unwrap(), tree.commit("main").unwrap());
        let mut commits = Commits::new(&tree, &good, &bad).unwrap();
        let (mut skipped, mut asked) = (0, 0);
        while let Some(commit) = commits.next().unwrap() {
            asked += 1;
            let number = tree.git(&["log", "-1", "--format=%s", &commit]).unwrap();
            let number: usize = number.strip_prefix("commit ").unwrap().parse().unwrap();
            // A third of all commits, around the middle.
            let can_boot = !(22..43).contains(&number);
            skipped += usize::from(!can_boot);
            let answer = if number >= 50 { Answer::Bad } else { Answer::Good };
            commits.tell(&commit, can_boot.then_some(answer)).unwrap();
        }
        assert_eq!(commits.found().unwrap().among, [tree.commit("main~14").unwrap()]);
        // The neighbours of the first one are all 21.
        assert!((1..=12).contains(&skipped) && asked <= 21, "{skipped} of {asked}");
    }

    #[test]
    fn each_skip_in_a_row_leads_further_away() {
        assert_eq!([0, 1, 2, 3, 64].map(|in_a_row| away(16, in_a_row)), [0, 8, 12, 14, 15]);
        assert_eq!([0, 1, 9].map(|in_a_row| away(1, in_a_row)), [0; 3]);
        assert_eq!(away(0, 3), 0);
    }

    #[test]
    fn the_tree_of_another_user_is_refused_wherever_its_repository_is() {
        use std::os::unix::fs::{lchown, symlink};
        if !has_git() {
            return;
        }
        if !rustix::process::geteuid().is_root() {
            return testing::skipped("only root can give a file away");
        }
        let folder = tree(2);
        let place = tempfile::tempdir().unwrap();
        let not = || false;
        let top = Tree::open(folder.path(), &not).unwrap();
        let worktree = place.path().join("worktree");
        top.git(&["worktree", "add", "--quiet", worktree.to_str().unwrap(), "main~1"]).unwrap();
        top.check_owner().unwrap();
        let in_worktree = Tree { folder: worktree, interrupted: &not };
        in_worktree.check_owner().unwrap();
        let config = folder.path().join(".git/config");
        lchown(&config, Some(65_534), None).unwrap();
        for tree in [&top, &in_worktree] {
            let failure = tree.check_owner().unwrap_err();
            assert!(failure.line.contains("owned by user 65534"), "{failure:?}");
        }
        lchown(&config, Some(0), None).unwrap();
        lchown(folder.path().join("number"), Some(65_534), None).unwrap();
        assert!(top.check_owner().is_err());
        in_worktree.check_owner().unwrap();
        // A link of the working tree may lead anywhere, but none of the repository.
        symlink("/home/somebody", in_worktree.folder.join("link")).unwrap();
        in_worktree.check_owner().unwrap();
        let link = folder.path().join(".git/refs/link");
        symlink("/home/somebody/linux/.git/refs", &link).unwrap();
        assert!(in_worktree.check_owner().unwrap_err().line.contains("a symbolic link"));
        std::fs::remove_file(&link).unwrap();
        let alternates = folder.path().join(".git/objects/info/alternates");
        std::fs::create_dir_all(alternates.parent().unwrap()).unwrap();
        std::fs::write(alternates, "/home/somebody/linux/.git/objects\n").unwrap();
        assert!(in_worktree.check_owner().unwrap_err().line.contains("another repository"));
    }

    #[test]
    fn a_build_that_fails_leaves_out_its_commit_and_128_stops() {
        if !has_git() {
            return;
        }
        let folder = tree(1);
        let not = || false;
        let tree = Tree::open(folder.path(), &not).unwrap();
        assert_eq!(tree.build("test -e number").unwrap(), Built::Yes);
        assert_eq!(
            tree.build("exit 3").unwrap(),
            Built::No("the build ended with exit code 3".to_owned())
        );
        assert_eq!(tree.build("exit 128").unwrap_err().code, exit::BROKEN);
        assert_eq!(tree.build("kill -9 $$").unwrap_err().code, exit::BROKEN);
        let begun = || folder.path().join("half").exists();
        let tree = Tree { folder: folder.path().to_owned(), interrupted: &begun };
        let slow = "trap 'rm half; exit 1' TERM; touch half; sleep 60 & wait";
        assert_eq!(tree.build(slow).unwrap_err().code, exit::INTERRUPTED);
        assert!(!folder.path().join("half").exists(), "it could clean up");
        // Here a shell between the two ends at once.
        let slower =
            "sh -c \"trap 'sleep 0.5; rm half; exit 1' TERM; touch half; sleep 60 & wait\"; :";
        assert_eq!(tree.build(slower).unwrap_err().code, exit::INTERRUPTED);
        assert!(!folder.path().join("half").exists(), "it had the time to clean up");
    }

    /// Waits until this is true.
    fn is_soon(what: impl Fn() -> bool) -> bool {
        (0..3_000).any(|_| {
            std::thread::sleep(Duration::from_millis(20));
            what()
        })
    }

    /// Whether the process whose number is in this file has ended.
    fn has_ended(number: &Path) -> bool {
        let number = std::fs::read_to_string(number).unwrap();
        let stat = std::fs::read(format!("/proc/{}/stat", number.trim())).unwrap_or_default();
        Stat::parse(&stat).is_none_or(|stat| stat.is_dead())
    }

    #[test]
    fn what_a_build_leaves_running_ends_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let not = || false;
        let tree = Tree { folder: folder.path().to_owned(), interrupted: &not };
        assert_eq!(tree.build("sleep 600 & echo $! >left").unwrap(), Built::Yes);
        assert!(is_soon(|| has_ended(&folder.path().join("left"))));
    }

    /// The folder in which the process builds that a test starts and kills.
    const BUILDS_IN: &str = "TAILBACK_TEST_BUILDS_IN";

    #[test]
    fn a_build_ends_with_all_it_started_when_tailback_is_killed() {
        if let Some(folder) = std::env::var_os(BUILDS_IN) {
            let not = || false;
            let tree = Tree { folder: PathBuf::from(folder), interrupted: &not };
            let _ = tree.build("sleep 600 & echo $! >new && mv new started; wait");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (_, module) = module_path!().split_once("::").unwrap();
        let name = format!("{module}::a_build_ends_with_all_it_started_when_tailback_is_killed");
        let mut tailback = Command::new(std::env::current_exe().unwrap());
        tailback.args(["--exact", &name]).env(BUILDS_IN, folder.path());
        tailback.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut tailback = Child::alone(tailback.spawn().unwrap());
        let started = folder.path().join("started");
        assert!(is_soon(|| started.exists()), "{:?}", tailback.ended());
        tailback.end();
        assert!(is_soon(|| has_ended(&started)));
    }

    #[test]
    fn only_what_runs_in_the_group_is_waited_for() {
        let group = Pid::from_raw(77).unwrap();
        assert!(runs_in(b"9 (a\xff) Z b) S 1 77 77 0 -1", group));
        assert!(!runs_in(b"9 (make) Z 1 77 77 0 -1", group));
        assert!(!runs_in(b"9 (make) X 1 77 77 0 -1", group));
        assert!(!runs_in(b"9 (make) S 77 78 77 0 -1", group));
        assert!([&b""[..], b"9 (make", b"9 (make) S 77"].iter().all(|torn| !runs_in(torn, group)));
    }
}
