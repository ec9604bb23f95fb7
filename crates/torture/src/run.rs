//! Runs one case: starts the command, disturbs it, and looks for what it leaves.

use crate::case::{Case, Fault, Outcome, Whom};
use crate::commands;
use crate::family::{Ends, Process, kill, of_run};
use crate::records;
use crate::setup::Setup;
use crate::state::State;
use crate::trace;
use crate::workspace::Workspace;
use os::time;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rustix::process::WaitStatus;
use std::fs::File;
use std::io;
use std::process::Command;
use std::time::{Duration, Instant};

/// How long a command may take after a call failed or a child was killed.
const PATIENCE: Duration = Duration::from_secs(120);

/// How long the processes of a run may take to end after their tool has ended. The helper waits
/// up to five seconds for each group.
const LEAVING: Duration = Duration::from_secs(25);

/// The number of SIGKILL.
const SIGKILL: i32 = 9;

/// How long a difference has to last before it counts. Other runs on the machine cause short
/// ones.
const LASTING: Duration = Duration::from_secs(3);

/// Runs cases.
#[derive(Debug)]
pub struct Runner {
    workspace: Workspace,
    ends: Ends,
    /// The placeholders in the words of commands, and their values.
    stands_for: Vec<(&'static str, String)>,
}

/// A run that was disturbed.
struct Hit {
    tool: i32,
    victims: Vec<String>,
    end: Option<WaitStatus>,
}

impl Runner {
    /// Runs cases in this workspace.
    pub fn new(workspace: Workspace, setup: &Setup) -> Self {
        let mut stands_for = vec![
            ("{folder}", setup.studies.display().to_string()),
            ("{kernel}", setup.kernel.clone()),
        ];
        if let Some((node, cookie)) = &setup.node {
            stands_for
                .extend([("{node}", node.clone()), ("{cookie}", cookie.display().to_string())]);
        }
        Runner { workspace, ends: Ends::default(), stands_for }
    }

    /// Runs one case.
    ///
    /// # Errors
    /// If the command cannot be started, or there is none with this name.
    pub fn run(&mut self, case: &Case) -> io::Result<Outcome> {
        let began = Instant::now();
        self.workspace
            .clean(matches!(case.blow, Fault::Moment { seed, .. } if seed.is_multiple_of(8)));
        let before = State::now(&self.workspace, 0);
        let hit = self.hit(case)?;
        let mut wrong = self.processes_left(&hit);
        let (differs, restored) = self.put_right(case, &hit, &before);
        wrong.extend(differs);
        wrong.extend(records::unreadable(&self.workspace));
        wrong.extend(self.said_wrongly(case, &hit));
        self.workspace.unmount_small_disk();
        Ok(Outcome {
            case: case.clone(),
            victims: hit.victims,
            restored,
            wrong,
            end: hit.end.map_or_else(|| "it did not end".to_owned(), describe),
            took_ms: time::whole_ms(began.elapsed()),
        })
    }

    /// Counts the calls of this kind in the main thread of a command.
    ///
    /// # Errors
    /// If the command cannot be started.
    pub fn count(&mut self, command: &str, calls: crate::case::Calls) -> io::Result<u64> {
        self.workspace.clean(false);
        let command = trace::counting(calls, self.words(command)?, &self.workspace);
        let tool = self.start(command)?;
        self.ends.wait_until(tool, Instant::now() + PATIENCE);
        self.ends.wait_until_alone(LEAVING);
        Ok(trace::count_of(&self.workspace))
    }

    fn hit(&mut self, case: &Case) -> io::Result<Hit> {
        let words = self.words(&case.command)?;
        match &case.blow {
            Fault::Moment { at_ms, whom, then_ms, seed } => {
                let tool = self.start(self.plain(&words))?;
                self.kill_at(tool, *at_ms, *whom, *then_ms, *seed)
            }
            Fault::Call { calls, number, children } => {
                let command = trace::killing(*calls, *number, *children, words, &self.workspace);
                self.traced(command)
            }
            Fault::Restore { at_ms, calls, number } => {
                let tool = self.start(self.plain(&words))?;
                let mut hit = self.kill_at(tool, *at_ms, Whom::All, 0, 0)?;
                self.ends.wait_until_alone(LEAVING);
                let words = vec!["restore".to_owned()];
                let command = trace::killing(*calls, *number, false, words, &self.workspace);
                let restored = self.traced(command)?;
                let of_restore = restored.victims.iter().map(|_| "restore".to_owned());
                hit.victims.extend(of_restore);
                Ok(hit)
            }
            Fault::Full { kib, everywhere } => {
                let disk = self.workspace.small_disk(*kib)?;
                let mut command = self.plain(&words);
                command.env("XDG_STATE_HOME", &disk);
                if *everywhere {
                    command.env("TMPDIR", &disk);
                }
                self.run_until_end(command, format!("disk of {kib} KiB"))
            }
            Fault::Fails { calls, error, number } => {
                let command = trace::failing(calls, error, number, words, &self.workspace);
                let mut hit = self.run_until_end(command, format!("{calls} {error}"))?;
                if !trace::has_failed(&self.workspace) {
                    hit.victims.clear();
                }
                Ok(hit)
            }
        }
    }

    fn kill_at(
        &mut self,
        tool: i32,
        at_ms: u64,
        whom: Whom,
        then_ms: u64,
        seed: u64,
    ) -> io::Result<Hit> {
        let began = Instant::now();
        let ended = self.ends.wait_until(tool, began + Duration::from_millis(at_ms));
        let mut victims = Vec::new();
        if ended.is_none() {
            for process in chosen(&of_run(tool), whom, seed) {
                kill(&process);
                victims.push(process.role(tool));
            }
            let goes_on = Instant::now() + Duration::from_millis(then_ms);
            if self.ends.wait_until(tool, goes_on).is_none() {
                of_run(tool).iter().filter(|process| process.pid == tool).for_each(kill);
                if !victims.iter().any(|victim| victim == "tool") {
                    victims.push("tool".to_owned());
                }
            }
        }
        let end = self.ends.wait_until(tool, Instant::now() + PATIENCE);
        Ok(Hit { tool, victims, end })
    }

    fn traced(&mut self, command: Command) -> io::Result<Hit> {
        let tool = self.start(command)?;
        let mut end = self.ends.wait_until(tool, Instant::now() + PATIENCE);
        if end.is_none() {
            of_run(tool).iter().filter(|process| process.pid == tool).for_each(kill);
            end = self.ends.wait_until(tool, Instant::now() + PATIENCE);
        }
        // The tracer writes its last lines when all processes have ended.
        let left = self.ends.wait_until_alone(LEAVING);
        let mut victims = trace::victims(&self.workspace, tool);
        let killed = end.is_some_and(|end| end.terminating_signal() == Some(SIGKILL));
        // Another thread of the tool was hit.
        if killed && !victims.iter().any(|victim| victim == "tool") {
            victims.push("tool".to_owned());
        }
        victims.extend(left.iter().map(|process| format!("LEFT {}", process.role(tool))));
        Ok(Hit { tool, victims, end })
    }

    fn run_until_end(&mut self, command: Command, victim: String) -> io::Result<Hit> {
        let tool = self.start(command)?;
        let end = self.ends.wait_until(tool, Instant::now() + PATIENCE);
        if end.is_none() {
            of_run(tool).iter().for_each(kill);
        }
        Ok(Hit { tool, victims: vec![victim], end })
    }

    fn processes_left(&mut self, hit: &Hit) -> Vec<String> {
        let marked = hit.victims.iter().filter(|victim| victim.starts_with("LEFT"));
        let mut wrong: Vec<String> = marked.map(|victim| format!("process {victim}")).collect();
        let left = self.ends.wait_until_alone(LEAVING);
        wrong.extend(
            left.iter()
                .map(|process| format!("process {} ({})", process.role(hit.tool), process.pid)),
        );
        wrong
    }

    /// The differences that remain after `tailback restore`, and whether it was run. It runs only
    /// if the case may need it.
    fn put_right(&self, case: &Case, hit: &Hit, before: &State) -> (Vec<String>, bool) {
        let mut differs = self.differs(hit.tool, before);
        // If the helper lives, nothing may be left for others to restore.
        let excused = hit.victims.iter().any(|victim| victim == "helper")
            // The same holds if a call failed that should have removed something.
            || matches!(case.blow, Fault::Restore { .. } | Fault::Fails { .. });
        if differs.is_empty() || !excused {
            return (differs, false);
        }
        let restore = self.workspace.command(&self.workspace.program()).arg("restore").output();
        differs = self.differs(hit.tool, before);
        match restore {
            Ok(ran) if ran.status.success() => {}
            Ok(ran) => differs.push(format!("restore: {ran:?}")),
            Err(error) => differs.push(format!("restore: {error}")),
        }
        (differs, true)
    }

    fn differs(&self, tool: i32, before: &State) -> Vec<String> {
        let deadline = Instant::now() + LASTING;
        loop {
            let differs = State::now(&self.workspace, tool).since(before);
            if differs.is_empty() || Instant::now() >= deadline {
                return differs;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// The problems with the end of the tool: a wrong exit code, or no reason for it.
    fn said_wrongly(&self, case: &Case, hit: &Hit) -> Vec<String> {
        let said = std::fs::read(self.workspace.at("out/err")).unwrap_or_default();
        let said = String::from_utf8_lossy(&said);
        let mut wrong = Vec::new();
        if said.contains(" panicked at ") {
            wrong.push(format!("panic: {said}"));
        }
        // If every write fails, the tool cannot print anything.
        let mute = matches!(&case.blow, Fault::Fails { calls, number, .. }
            if calls == "write" && number.ends_with('+'));
        let killed = hit.victims.iter().any(|victim| victim == "tool" || victim == "restore");
        let code = hit.end.and_then(WaitStatus::exit_status);
        match code {
            None if !killed => wrong.push(format!("it did not end by itself: {:?}", hit.end)),
            Some(2 | 3) if !mute && !said.lines().any(|line| line.starts_with("tailback: ")) => {
                wrong.push(format!("exit code {code:?} without a line that says why: {said}"));
            }
            Some(code) if !(0..=4).contains(&code) => {
                wrong.push(format!("exit code {code}: {said}"))
            }
            _ => {}
        }
        if matches!(case.blow, Fault::Full { .. } | Fault::Fails { .. }) {
            let complaints = said.lines().filter(|line| line.starts_with("tailback: ")).count();
            if complaints > 3 {
                wrong.push(format!("{complaints} complaints: {said}"));
            }
        }
        wrong
    }

    fn words(&self, name: &str) -> io::Result<Vec<String>> {
        let unknown = || io::Error::other(format!("no command {name}"));
        let words = commands::find(name).ok_or_else(unknown)?.words;
        let real = |word: &str| {
            let all = self.stands_for.iter();
            all.fold(word.to_owned(), |word, (from, to)| word.replace(from, to))
        };
        Ok(words.split(' ').map(real).collect())
    }

    fn plain(&self, words: &[String]) -> Command {
        let mut command = self.workspace.command(&self.workspace.program());
        command.args(words);
        command
    }

    fn start(&mut self, mut command: Command) -> io::Result<i32> {
        let file = |name: &str| File::create(self.workspace.at(&format!("out/{name}")));
        command.stdout(file("out")?).stderr(file("err")?);
        self.ends.forget();
        let child = command.spawn()?;
        // It is reaped together with all others.
        i32::try_from(child.id()).map_err(io::Error::other)
    }
}

/// The processes of a run to kill.
fn chosen(run: &[Process], whom: Whom, seed: u64) -> Vec<Process> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let one = random.random_range(0..run.len().max(1));
    let kept = |(place, process): &(usize, &Process)| match whom {
        Whom::Tool => *place == 0,
        Whom::One => *place == one,
        Whom::Some => random.random_bool(0.5),
        Whom::AllButHelper => !process.is_helper(),
        Whom::All => true,
    };
    run.iter().enumerate().filter(kept).map(|(_, process)| process.clone()).collect()
}

fn describe(end: WaitStatus) -> String {
    match (end.exit_status(), end.terminating_signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (_, Some(signal)) => format!("signal {signal}"),
        _ => format!("{end:?}"),
    }
}
