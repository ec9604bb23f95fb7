//! One run of a row on this machine.

use crate::hog::RunningHog;
use crate::{Answer, Row, ladders};
use host::Roots;
use host::cgroup::{Bandwidth, BandwidthGroup, CgroupError, ParentGroup, sweep};
use model::Facts;
use model::change::{self, Change, ChangeState};
use model::ladder::{Ladder, Step};
use rustix::process::{Pid, Signal, kill_process};
use serde::Deserialize;
use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Interval between checks whether a run has ended. It is long, since the run is being measured.
const LOOK: Duration = Duration::from_millis(200);

/// Time that a run has to end after it was asked to.
const PATIENCE: Duration = Duration::from_secs(20);

/// Quota period of a limited group, in microseconds: the kernel's default.
const PERIOD_US: u64 = 100_000;

/// The command whose own arguments end at `--`.
const MATRIX: &str = "matrix";

/// The user `nobody`, who has no privileges.
const ORDINARY: u32 = 65_534;

/// The results of a run.
pub struct Ran {
    /// Its answer.
    pub answer: Answer,
    /// The record, as printed.
    pub record: String,
}

/// Why a run has no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoAnswer {
    /// The user interrupted the table.
    Interrupted,
    /// It could not be run, or did not finish. The text is a sentence about it.
    Failed(String),
}

impl NoAnswer {
    fn failed(what: impl std::fmt::Display) -> Self {
        NoAnswer::Failed(what.to_string())
    }
}

/// The paths of the programs.
#[derive(Debug, Clone)]
pub struct Programs {
    /// `tailback`.
    pub tailback: PathBuf,
}

/// Removes groups that a killed table has left behind.
pub fn tidy() {
    if let Ok(parent_group) = ParentGroup::find(&Roots::real()) {
        sweep(&parent_group);
    }
}

/// Runs the command of a row once.
///
/// # Errors
/// If it has no answer. Then the run leaves nothing behind.
pub fn run(row: &Row, programs: &Programs, stop: &dyn Fn() -> bool) -> Result<Ran, NoAnswer> {
    let folder = tempfile::tempdir().map_err(NoAnswer::failed)?;
    let out = folder.path().join("out");
    let err = folder.path().join("err");
    // The guards end in reverse order of their creation: the run, its group, the hog.
    let _hog = match &row.environment.hog {
        Some(hog) => {
            Some(RunningHog::start(hog).map_err(|e| NoAnswer::failed(format!("the hog: {e}")))?)
        }
        None => None,
    };
    let group = match row.environment.group_cpus {
        Some(cpus) => Some(limited(cpus)?),
        None => None,
    };
    let words = words(row, programs, group.as_ref())?;
    let mut command = command(row, &words, folder.path());
    let file = |path: &Path| File::create(path).map_err(NoAnswer::failed);
    command.stdout(file(&out)?).stderr(file(&err)?);
    let child = command.spawn().map_err(|e| NoAnswer::failed(format!("{}: {e}", words[0])))?;
    let status = Running(child).wait(Duration::from_secs(row.limit_s), stop)?;
    let record = std::fs::read_to_string(&out).map_err(NoAnswer::failed)?;
    match answer(row, &record, status.code()) {
        Some(answer) => Ok(Ran { answer, record }),
        None => Err(NoAnswer::Failed(why_none(status, &err))),
    }
}

/// The used parts of the output of `matrix --json`.
#[derive(Deserialize)]
struct Versions {
    schema: String,
    ladder: Ladder,
}

/// The schema of that output.
const VERSIONS: &str = "tailback/matrix/1";

/// The answer of a run: from a record of `run`, from a comparison, or from the versions of
/// `matrix`. The exit code of a comparison that could not make all its pairs differs from that of
/// its answer.
fn answer(row: &Row, printed: &str, code: Option<i32>) -> Option<Answer> {
    if let Ok(facts) = Facts::from_json(printed) {
        return Some(scenarios::judge(&facts).state.into());
    }
    if let Ok(change) = serde_json::from_str::<Change>(printed) {
        let whole = change.schema == change::SCHEMA;
        let whole = whole && code == Some(change.state.exit_code().into());
        return whole.then(|| change.state.into());
    }
    let Versions { schema, ladder } = serde_json::from_str(printed).ok()?;
    let compared = ladder.steps.iter().all(|step| step.state != ChangeState::NotComparable);
    let ran = ladder.rungs.iter().all(|rung| rung.verdict.is_some());
    let answer = match &row.boundary {
        Some(boundary) => ladders::answer(&ladder, Some(&|step| is_in(&ladder, boundary, step))),
        None => ladders::answer(&ladder, None),
    };
    (schema == VERSIONS && compared && ran).then_some(answer)
}

/// Whether a step contains the step between two neighbouring versions. It may skip versions.
fn is_in(ladder: &Ladder, [from, to]: &[String; 2], step: &Step) -> bool {
    let place = |name: &str| ladder.rungs.iter().position(|rung| rung.name == name);
    let within = |name: &str| place(&step.from) <= place(name) && place(name) <= place(&step.to);
    place(from).is_some() && place(to).is_some() && within(from) && within(to)
}

/// The exit status of a run without a record, and the last line that it printed.
fn why_none(status: ExitStatus, err: &Path) -> String {
    let text = String::from_utf8_lossy(&std::fs::read(err).unwrap_or_default()).into_owned();
    let last = text.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no output");
    let last: String = os::terminal::line(last).chars().take(300).collect();
    format!("{status}: {last}")
}

fn limited(cpus: f64) -> Result<BandwidthGroup, NoAnswer> {
    // The error as data. Sentences are made only where records are shown.
    let failed = |error: CgroupError| NoAnswer::Failed(format!("{error:?}"));
    let parent_group = ParentGroup::find(&Roots::real()).map_err(failed)?;
    let group = BandwidthGroup::create(&parent_group).map_err(failed)?;
    // The CPU limit in whole microseconds per period.
    let quota_us = (cpus * PERIOD_US as f64).round() as u64;
    let bandwidth = Bandwidth { quota_us, period_us: PERIOD_US, burst_us: 0 };
    group.set(&bandwidth).map_err(failed)?;
    Ok(group)
}

/// The words of the whole command, with the program first.
fn words(
    row: &Row,
    programs: &Programs,
    group: Option<&BandwidthGroup>,
) -> Result<Vec<String>, NoAnswer> {
    let text = |path: &Path| path.display().to_string();
    let mut words = Vec::new();
    if let Some(group) = group {
        // The shell joins the group before the run starts, so the whole run is inside the group.
        let join = "while [ \"$1\" != -- ]; do echo $$ >\"$1/cgroup.procs\" || exit 3; shift; done; \
                    shift; exec \"$@\"";
        words.extend(["sh", "-c", join, "truth"].map(str::to_owned));
        words.extend(group.join_paths().into_iter().map(text));
        words.push("--".to_owned());
    }
    words.push(text(&programs.tailback));
    if let Some(guest) = &row.environment.guest {
        let (kernel, cpus) = (guest.kernel.clone(), guest.cpus.to_string());
        words.extend(["vm", "--kernel", &kernel, "--cpus", &cpus, "--"].map(str::to_owned));
    }
    words.extend(row.words().map_err(NoAnswer::Failed)?);
    if let Some(suite) = &row.environment.root {
        words.extend(["--otp".to_owned(), format!("debian:{suite}")]);
    }
    // The words after `--` belong to another command.
    let end = words.iter().position(|word| word == MATRIX).map_or(words.len(), |place| place + 1);
    words.insert(end, "--json".to_owned());
    Ok(words)
}

fn command(row: &Row, words: &[String], folder: &Path) -> Command {
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command.env("XDG_STATE_HOME", folder.join("state"));
    if row.environment.ordinary_user {
        // Its files go to a folder that it can write to.
        let _ = std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o777));
        command.env("XDG_CACHE_HOME", folder.join("cache")).env("HOME", folder);
        command.uid(ORDINARY).gid(ORDINARY).current_dir("/");
    }
    os::death::bind(&mut command, Signal::TERM);
    command
}

/// A run in progress. It is ended when this guard is dropped.
struct Running(Child);

impl Running {
    fn wait(mut self, limit: Duration, stop: &dyn Fn() -> bool) -> Result<ExitStatus, NoAnswer> {
        let begun = Instant::now();
        loop {
            if let Some(status) = self.0.try_wait().map_err(NoAnswer::failed)? {
                // Ctrl-C also reaches the run, which may end first.
                return if stop() { Err(NoAnswer::Interrupted) } else { Ok(status) };
            }
            if stop() {
                self.end();
                return Err(NoAnswer::Interrupted);
            }
            if begun.elapsed() > limit {
                self.end();
                return Err(NoAnswer::failed(format!("it took longer than {} s", limit.as_secs())));
            }
            std::thread::sleep(LOOK);
        }
    }

    /// Asks the run to end, so that it restores what it changed. After a timeout it is killed.
    fn end(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::TERM);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if matches!(self.0.try_wait(), Ok(Some(_)) | Err(_)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::{Guest, parse, tests::ROW};

    fn programs() -> Programs {
        Programs { tailback: "/bin/tailback".into() }
    }

    /// Two versions whose effect differs, with fresh pairs.
    fn versions(verdict: &str, again: &str) -> String {
        let rung =
            |name: &str, verdict: &str| format!(r#"{{"name":"{name}","release":""{verdict}}}"#);
        let verdict = format!(r#","verdict":"{verdict}""#);
        let step = format!(r#"{{"from":"6.16","to":"6.17","state":"differs"{again}}}"#);
        format!(
            r#"{{"schema":"tailback/matrix/1","scenario":"mmap-lock","rows":[],"ladder":
            {{"schema":"tailback/ladder/1","scenario":"mmap-lock","confidence":0.95,
            "rungs":[{},{}],"steps":[{step}]}}}}"#,
            rung("6.16", &verdict),
            rung("6.17", &verdict),
        )
    }

    #[test]
    fn versions_answer_whether_the_boundary_is_named_that_there_is() {
        let answer = |row: &Row, printed: &str| answer(row, printed, Some(1));
        let mut row = parse(ROW).unwrap().remove(0);
        let holds = r#","repeated":{"pairs":[9,9,9,9,9],"alike":5,"needed":5,"among":1}"#;
        let named = versions("affected", holds);
        assert_eq!(answer(&row, &named), Some(Answer::WrongBoundary));
        row.boundary = Some(["6.16", "6.17"].map(str::to_owned));
        assert_eq!(answer(&row, &named), Some(Answer::Boundary));
        assert_eq!(answer(&row, &versions("affected", "")), Some(Answer::NoBoundary));
        row.boundary = Some(["6.17", "6.18"].map(str::to_owned));
        assert_eq!(answer(&row, &named), Some(Answer::WrongBoundary));
        let missing = named.replace(r#","verdict":"affected""#, "");
        assert_eq!(answer(&row, &missing), None, "a version without a record");
        assert_eq!(answer(&row, "{}"), None);
    }

    #[test]
    fn the_command_is_wrapped_by_its_environment() {
        let mut row = parse(ROW).unwrap().remove(0);
        let line = |row: &Row| words(row, &programs(), None).unwrap().join(" ");
        let plain = "/bin/tailback run mmap-lock --procfile status --busy 0,10 --json";
        assert_eq!(line(&row), plain);
        row.command = Some("matrix mmap-lock --kernels a,b -- --busy 1".to_owned());
        assert_eq!(line(&row), "/bin/tailback matrix --json mmap-lock --kernels a,b -- --busy 1");
        row.command = Some("run mmap-lock --procfile status --busy 0,10".to_owned());
        row.environment.guest = Some(Guest { kernel: "built:plain".to_owned(), cpus: 4 });
        let guest = line(&row);
        assert!(
            guest.starts_with("/bin/tailback vm --kernel built:plain --cpus 4 -- run "),
            "{guest}"
        );
        row.environment.guest = None;
        row.environment.root = Some("trixie".to_owned());
        assert_eq!(line(&row), plain.replace(" --json", " --otp debian:trixie --json"));
    }

    #[test]
    fn a_run_without_a_record_says_how_it_ended() {
        let row = parse(ROW).unwrap().remove(0);
        let programs = Programs { tailback: "/bin/false".into() };
        let Err(NoAnswer::Failed(why)) = run(&row, &programs, &|| false) else { panic!() };
        assert!(why.contains("exit status: 1"), "{why}");
        let programs = Programs { tailback: "/no/such".into() };
        assert!(matches!(run(&row, &programs, &|| false), Err(NoAnswer::Failed(_))));
    }

    #[test]
    fn a_run_ends_when_the_table_does_and_when_it_takes_too_long() {
        let mut row = parse(ROW).unwrap().remove(0);
        row.command = Some("60".to_owned());
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("tailback");
        testing::write_program(&program, "#!/bin/sh\nexec sleep 60\n");
        let programs = Programs { tailback: program };
        assert_eq!(run(&row, &programs, &|| true).err(), Some(NoAnswer::Interrupted));
        row.limit_s = 0;
        let Err(NoAnswer::Failed(why)) = run(&row, &programs, &|| false) else { panic!() };
        assert!(why.contains("longer"), "{why}");
    }
}
