//! Runs the binary from outside: in its own folder, with its processes, in turns.

#![allow(dead_code, reason = "each test file uses the part of it that it needs")]

pub mod browser;
pub mod groups;
pub mod packed;
pub mod processes;
pub mod readers;
pub mod story;
pub mod trials;
pub mod turn;
pub mod watching;

use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The longest wait for anything. It is far longer than needed, since others may use the machine.
pub const PATIENCE: Duration = Duration::from_secs(200);

/// How many studies without a settled verdict a test runs before it gives up. These are more than
/// a quiet machine needs, since other programs may disturb each of them.
pub const OPEN_STUDIES: usize = 8;

/// The binary under test.
pub const BINARY: &str = env!("CARGO_BIN_EXE_tailback");

/// A folder for one run, with its state folder and its output.
pub struct Place {
    folder: tempfile::TempDir,
}

/// The results of a run that has ended.
pub struct Ran {
    /// Its process number, to look for what it left behind.
    pub pid: u32,
    /// How it ended.
    pub status: ExitStatus,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
    /// The lines of standard error about changes of killed runs, of any test, that this run
    /// undid. They are not in `err`.
    pub taken_back: String,
}

/// A run in progress.
pub struct Running<'a> {
    place: &'a Place,
    child: Child,
}

impl Place {
    /// A new folder that any user may enter.
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // The same mode as /tmp, since it is also the folder for temporary files.
        set_mode(folder.path(), 0o1777);
        std::fs::create_dir(folder.path().join("state")).unwrap();
        open_to_all(&folder.path().join("state"));
        Place { folder }
    }

    /// A path in this folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that runs the binary with these words.
    pub fn tailback<S: AsRef<std::ffi::OsStr>>(&self, args: &[S]) -> Command {
        let mut command = self.program(BINARY);
        command.args(args);
        command
    }

    /// A command that runs another program, which ends up as the binary.
    pub fn program(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env("XDG_STATE_HOME", self.path("state")).env("TMPDIR", self.folder.path());
        // Not in the place: anybody may write there, so no code is run from there.
        command.env("XDG_CACHE_HOME", Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache"));
        command.env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
        command.stdin(Stdio::null());
        // A background job of a shell ignores SIGINT, and a program under nohup ignores SIGHUP.
        // Tests inherit both.
        // SAFETY: signal is one of the calls that may be made between fork and exec.
        unsafe {
            command.pre_exec(|| {
                libc::signal(libc::SIGINT, libc::SIG_DFL);
                libc::signal(libc::SIGHUP, libc::SIG_DFL);
                Ok(())
            });
        }
        command
    }

    /// Starts a command of this place. Its output goes to files.
    pub fn start(&self, mut command: Command) -> Running<'_> {
        let file = |name: &str| File::create(self.path(name)).unwrap();
        command.stdout(file("out")).stderr(file("err"));
        let child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
        Running { place: self, child }
    }

    /// Runs a command of this place to its end.
    pub fn run(&self, command: Command) -> Ran {
        self.start(command).end()
    }

    /// Starts a command that may use only these CPUs.
    pub fn start_on(&self, cpus: &[usize], command: Command) -> Running<'_> {
        // On its own thread, since a child inherits the CPU mask of the thread that starts it.
        std::thread::scope(|scope| {
            let pinned = scope.spawn(|| {
                let cpus: Vec<u32> = cpus.iter().map(|cpu| *cpu as u32).collect();
                os::pin::Mask::from_cpus(&cpus).unwrap().apply().unwrap();
                self.start(command)
            });
            pinned.join().unwrap()
        })
    }

    /// Runs the binary with these words until its end.
    pub fn say(&self, args: &[&str]) -> Ran {
        self.run(self.tailback(args))
    }

    /// A golden record, unpacked into a file of this place.
    pub fn golden(&self, name: &str) -> PathBuf {
        let path = self.path(&format!("{name}.record.json"));
        std::fs::write(&path, packed::read(&packed::golden(name))).unwrap();
        path
    }

    /// The whole output of `judge --why` for a record, on one line.
    pub fn said_of(&self, record: &serde_json::Value) -> String {
        let path = self.path("said.json");
        std::fs::write(&path, record.to_string()).unwrap();
        let ran = self.say(&["judge", "--why", path.to_str().unwrap()]);
        ran.assert_no_panic();
        ran.out.split_whitespace().collect::<Vec<&str>>().join(" ")
    }

    /// The records in the state folder.
    pub fn records(&self) -> Vec<PathBuf> {
        let mut files = files(&self.path("state/tailback"));
        files.retain(|file| file.extension().is_some_and(|end| end == "json"));
        files
    }
}

/// The start of a line about an undone change.
const TAKEN_BACK: &str = "left by a run that was killed: ";

impl Running<'_> {
    /// Its process.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal to it.
    pub fn signal(&self, signal: rustix::process::Signal) {
        rustix::process::kill_process(rustix::process::Pid::from_child(&self.child), signal)
            .unwrap();
    }

    /// Whether it has ended.
    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Its standard error so far.
    pub fn err(&self) -> String {
        read(&self.place.path("err"))
    }

    /// Waits for its end.
    pub fn end(self) -> Ran {
        self.end_within(PATIENCE)
    }

    /// Waits for its end, `patience` at most.
    pub fn end_within(mut self, patience: Duration) -> Ran {
        let deadline = Instant::now() + patience;
        while !self.has_ended() {
            assert!(Instant::now() < deadline, "it did not end; it said: {}", self.err());
            std::thread::sleep(Duration::from_millis(2));
        }
        let status = self.child.wait().unwrap();
        let (out, said) = (read(&self.place.path("out")), self.err());
        let (taken_back, err) =
            said.split_inclusive('\n').partition(|line| line.starts_with(TAKEN_BACK));
        Ran { pid: self.pid(), status, out, err, taken_back }
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        // A failed test must not disturb the next one.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ran {
    /// The exit code. The test fails if a signal ended the run.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{self:?}"))
    }

    /// The lines on standard error.
    pub fn complaints(&self) -> Vec<&str> {
        self.err.lines().collect()
    }

    /// The lines on standard error that report problems.
    pub fn wrongs(&self) -> Vec<&str> {
        self.err.lines().filter(|line| line.starts_with("tailback: ")).collect()
    }

    /// Fails if the run crashed.
    pub fn assert_no_panic(&self) {
        assert!(self.code() != 101 && !shows_panic(&self.err), "{self:?}");
    }

    /// Standard output as JSON.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|e| panic!("{e}: {self:?}"))
    }
}

/// Whether this standard error shows that a thread of a program in Rust panicked, here or in a
/// guest. A note about a guest whose kernel panicked does not count.
pub fn shows_panic(err: &str) -> bool {
    err.lines().any(|line| line.contains("thread '") && line.contains(" panicked at "))
}

/// Without standard output, since a record would fill the screen.
impl std::fmt::Debug for Ran {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let cut = |text: &str| text.chars().take(3000).collect::<String>();
        write!(f, "{}; standard output:\n{}\n", self.status, cut(&self.out))?;
        write!(f, "standard error:\n{}", cut(&self.err))
    }
}

/// A JSON file.
pub fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&read(path)).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// The files of a folder; none if there is no such folder.
pub fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    entries.map(|entry| entry.unwrap().path()).collect()
}

/// Waits until `look` finds something, [`PATIENCE`] at most.
pub fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < deadline, "waited in vain for {what}");
        // A look may read all of /proc, and other tests use the CPUs.
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether there is an Erlang to test with. If not, prints that the test is skipped.
pub fn erlang_or_skip() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).any(|folder| folder.join("erl").is_file());
    testing::has_or_skip(found, "no erl on the PATH")
}

/// Runs a study until it has a settled verdict. Returns None if the tool reports in every try
/// that the machine is disturbed. An open study on an undisturbed machine is a failure.
fn sure(args: &[&str]) -> Option<Ran> {
    let mut reasons = Vec::new();
    let mut disturbed = false;
    for _ in 0..OPEN_STUDIES {
        let ran = Place::new().say(args);
        let judgement = &ran.json()["judgement"];
        let state = judgement["state"].as_str().unwrap();
        if ["affected", "not-affected"].contains(&state) {
            return Some(ran);
        }
        eprintln!("tried again, since it was {state}");
        let why = judgement["reasons"].to_string();
        // Then other programs took the CPU time for which the study has a quota.
        disturbed |= state == "untrustworthy" || why.contains("seldom-throttled");
        reasons.push(why);
    }
    assert!(disturbed, "no verdict in {OPEN_STUDIES} tries: {reasons:#?}");
    testing::skipped(format_args!("something disturbs this machine each time: {args:?}"));
    None
}

/// Counts settled verdicts of one study. Up to 5% of them are wrong, so a single wrong one
/// decides nothing.
///
/// A first verdict that is right decides. After a first wrong verdict, three right ones decide, and
/// four more wrong ones fail the test. If 5% of the verdicts are wrong, that fails 4.3 in 1,000,000
/// decisions (0.05 times the sum of C(3 + k, k) 0.05^4 0.95^k for k from 0 to 2).
///
/// The tests have 19 such decisions, and make five of them up to five times ([`says_with`]). Even
/// 100 decisions, together with the four tests by [`never`], fail less than one run in 1,000 of a
/// correct program.
///
/// If all verdicts are wrong, each decision fails. If 90% are wrong, 89% of the decisions fail, and
/// if half of them are wrong, 17%.
#[derive(Debug, Default)]
pub struct Tally {
    wanted: u32,
    wrong: u32,
}

impl Tally {
    /// Counts a verdict. Returns whether the wanted verdict is decided. Fails if the wrong one
    /// is.
    pub fn decides(&mut self, ran: &Ran, wanted: &str) -> bool {
        let state = &ran.json()["judgement"]["state"];
        if state == wanted {
            self.wanted += 1;
            return self.wrong == 0 || self.wanted == 3;
        }
        self.wrong += 1;
        assert!(self.wrong < 5, "{state} and not {wanted}, five times: {ran:?}");
        eprintln!("run again, since it was {state} and not {wanted}");
        false
    }
}

/// Runs a study until this verdict is decided. None if the machine was too disturbed.
pub fn says(state: &str, args: &[&str]) -> Option<Ran> {
    let mut tally = Tally::default();
    loop {
        let ran = sure(args)?;
        if tally.decides(&ran, state) {
            return Some(ran);
        }
    }
}

/// Runs a study until this verdict is decided and a record shows what `shows` asks for. A fix has
/// its own test, which can leave it open in a study with a settled verdict.
pub fn says_with(
    state: &str,
    args: &[&str],
    shows: impl Fn(&serde_json::Value) -> bool,
) -> Option<Ran> {
    for _ in 0..5 {
        let ran = says(state, args)?;
        if shows(&ran.json()) {
            return Some(ran);
        }
        eprintln!("run again, since it does not show: {}", ran.json()["judgement"]["fixes"]);
    }
    panic!("five runs that do not show it: {args:?}");
}

/// Whether a fix helped. Other work on the machine can keep a fix from removing the whole loss.
pub fn helped(fix: &serde_json::Value) -> bool {
    ["fixed", "helped"].contains(&fix["outcome"].as_str().unwrap())
}

/// Runs a study that has this verdict only by chance, up to once in twenty runs. Then it runs
/// again. Three such verdicts in a row are a failure: 1.25 in 10,000 for a correct program. Returns
/// the place of the last run too.
pub fn never(state: &str, run: impl Fn(&Place) -> Ran) -> (Place, Ran) {
    let mut said = Vec::new();
    loop {
        let place = Place::new();
        let ran = run(&place);
        if ran.json()["judgement"]["state"] != state {
            return (place, ran);
        }
        said.push(ran.err);
        assert!(said.len() < 3, "{state} three times: {said:#?}");
        eprintln!("run again, since it was {state}");
    }
}

/// Runs a study on a machine that is not affected.
pub fn never_affected(args: &[&str]) -> Ran {
    never("affected", |place| place.say(args)).1
}

/// The CPUs that this process may use.
pub fn allowed_cpus() -> Vec<usize> {
    os::pin::allowed().unwrap().into_iter().map(|cpu| cpu as usize).collect()
}

/// Whether there are enough CPUs for a trial. If not, prints that the test is skipped.
pub fn two_cpus_or_skip() -> bool {
    testing::has_or_skip(allowed_cpus().len() >= 2, "needs two CPUs")
}

/// Whether the kernel counts how long a group waits for memory. If not, this prints why the test
/// does not apply.
pub fn counts_waits_for_memory() -> bool {
    let counts = Path::new("/proc/pressure/memory").exists();
    if !counts {
        testing::does_not_apply("needs a kernel with CONFIG_PSI, and psi=1");
    }
    counts
}

/// A seed that runs the arms of the first block in this order.
pub fn seed_for(order: &[usize]) -> String {
    let fits = |seed: &u64| runner::order_of_block(*seed, 0, order.len()) == order;
    (0..).find(fits).unwrap().to_string()
}

/// A record of an affected machine.
pub fn affected_record() -> serde_json::Value {
    let text = packed::read(&packed::golden("mmap-lock"));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("the golden record: {e}"))
}

fn read(path: &Path) -> String {
    String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned()
}

/// The mode of /tmp: no user can remove files of others. So a restore trusts the path.
fn open_to_all(path: &Path) {
    set_mode(path, 0o1777);
}

fn set_mode(path: &Path, mode: u32) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// Fails unless each of these runs ends with this exit code, and prints these words in one line
/// on standard error.
pub fn assert_refused(command: &[&str], cases: &[(&[&str], i32, &str)]) {
    for (args, code, words) in cases {
        let ran = Place::new().say(&[command, *args].concat());
        assert_eq!(ran.status.code(), Some(*code), "{args:?}: {ran:?}");
        let line = ran.err.lines().find(|line| line.contains(words));
        assert!(line.is_some(), "{args:?}: {}", ran.err);
    }
}
