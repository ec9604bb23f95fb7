//! `tailback watch`: observes a live system. While it runs, it loads eBPF programs and has the
//! kernel count their CPU time; `--node` switches on two kinds of accounting in a node. It changes
//! nothing else.

mod hindsight;
mod incidents;
mod listen;
mod nodes;
mod notifier;
mod patience;
pub mod record;
mod screen;
mod service;
mod session;
mod terminal;
mod walls;

use crate::briefs::{self, BriefFlags, Briefs};
use crate::command::{Failure, Run, Session as Program, below, parse_some_time};
use crate::exit;
use crate::output;
use crate::records;
use crate::signals::{self, Asked, Interruption};
use hindsight::Hindsight;
use host::Roots;
use incidents::IncidentLog;
use listen::{Bound, Listener};
use model::live::{Scope, Source, SourceUse};
use model::{Live, units};
use notifier::Notifier;
pub use notifier::NotifierFlags;
use service::Service;
use session::WatchSession;
use signal_hook::consts::SIGUSR1;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use terminal::Terminal;
use watch::reader::{Reader, Readers};
use watch::{Sampler, Sampling, StartError, Step, Steps, Summary, Tick};

const CODES: &str = "  0    no finding; see the last line for what was not measured\n  1    a \
    finding\n  2    bad usage\n  3    nothing can be measured here\n  130  interrupted within the \
    first second";

/// Show what is stalled on this machine now, and what causes it.
///
/// While watch runs, it loads eBPF programs and makes the kernel count their CPU time. With --node
/// it also switches on two kinds of accounting in the node. watch changes nothing else. The eBPF
/// programs measure which tasks were ready and did not run. They need root, or CAP_BPF and
/// CAP_PERFMON (on Linux 5.10 also CAP_SYS_RESOURCE). Without these privileges, watch shows only
/// what /proc and cpu.stat show.
#[derive(clap::Args)]
#[command(mut_arg("brief", |arg| arg.requires("length")))]
#[command(after_help = below(CODES, [
    "sudo tailback watch",
    "sudo tailback watch --for 30s --record watch.json",
]))]
pub struct Watch {
    /// Show only the losses of these processes, and of others that have the same name and are in
    /// the same control group: they count as one program [default: the whole machine]
    #[arg(long, value_name = "PID", value_delimiter = ',')]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    pid: Vec<u32>,
    /// Show only the losses of the processes in this control group and in the groups below it:
    /// /system.slice
    #[arg(long, value_name = "PATH")]
    cgroup: Option<String>,
    /// Show only the losses of the processes with this name, as ps -o comm shows it
    #[arg(long, value_name = "NAME")]
    comm: Option<String>,
    /// Also look into these Erlang nodes: web@host, or web@host:PORT without epmd. While watch
    /// runs, it switches on scheduler_wall_time in them, and at times microstate_accounting
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    node: Vec<String>,
    /// File with the cookie of these nodes [default: ~/.erlang.cookie, or the cookie of Debian's
    /// RabbitMQ]
    #[arg(long, value_name = "FILE", requires = "node")]
    cookie_file: Option<PathBuf>,
    /// Allow nodes on other machines. tailback cannot check which process there gets the proof of
    /// the cookie
    #[arg(long, requires = "node")]
    node_anywhere: bool,
    /// Watch for TIME, print one report and exit: 30s
    #[arg(long = "for", value_name = "TIME", value_parser = parse_some_time)]
    length: Option<Duration>,
    /// Print one JSON line per second, about the last 5 s. With --for, the final line is about
    /// the whole run
    #[arg(long)]
    pub json: bool,
    /// Print one JSON line when an incident begins, and one when it has ended. A finding becomes
    /// an incident after 8 s, and ends when it has been absent for a minute. The exit code is 0
    #[arg(long, conflicts_with_all = ["json", "brief", "why"])]
    incidents: bool,
    /// Start PROGRAM for each line of --incidents, with the line as its standard input. If tailback
    /// runs as root, PROGRAM runs as the user of the load
    #[arg(long, value_name = "PROGRAM")]
    on_finding: Option<PathBuf>,
    /// Write a record to FILE at the end, for explain, report and export. It replaces an older
    /// record in FILE
    #[arg(long, value_name = "FILE")]
    pub record: Option<PathBuf>,
    /// Keep the last seconds in SIZE of memory (64MiB). Write them when a finding begins (an
    /// incident, with --incidents or --on-finding), or on SIGUSR1. They go to --record FILE
    /// (w.json), or to the next free name beside it (w-1.json, w-2.json)
    #[arg(long, value_name = "SIZE", value_parser = units::parse_size)]
    ring: Option<u64>,
    /// Serve the figures as OpenMetrics at ADDRESS: 127.0.0.1:9964
    #[arg(long, value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Allow an address that other machines can reach
    #[arg(long, requires = "listen")]
    listen_anywhere: bool,
    /// Show every finding, every fix and every source
    #[arg(long)]
    pub why: bool,
    #[command(flatten)]
    brief: BriefFlags,
}

/// Open files of processes, for watch
#[derive(clap::Args)]
pub struct ReaderFlags {}

/// How often the figures are read.
const INTERVAL: Duration = Duration::from_secs(1);

/// How often keys and an interruption are checked.
const PAUSE: Duration = Duration::from_millis(50);

/// A reading that takes longer than this is reported.
const LATE: Duration = Duration::from_secs(5);

/// Late readings are reported at most this often: on an overloaded machine every reading is late.
const REPORTED: Duration = Duration::from_secs(600);

/// How long to wait for the last interval after the end.
const LAST: Duration = Duration::from_secs(1);

/// The same, if the thread that reads it is runnable and gets little CPU.
const LAST_READY: Duration = Duration::from_secs(10);

/// The schema of a JSON line.
const SCHEMA: &str = "tailback/watch/1";

/// The requested output.
struct Wanted {
    length: Option<Duration>,
    json: bool,
    incidents: bool,
    record: Option<PathBuf>,
    ring: Option<u64>,
    briefs: Option<Briefs>,
    screen: bool,
}

impl Run for Watch {
    fn run(&self, program: &Program) -> Result<u8, Failure> {
        watch(self, program)
    }

    fn jitter(&self) -> Option<Duration> {
        self.brief.jitter
    }
}

impl Run for ReaderFlags {
    fn run(&self, _: &Program) -> Result<u8, Failure> {
        reader()
    }
}

/// Watches until the end and returns the exit code.
fn watch(flags: &Watch, program: &Program) -> Result<u8, Failure> {
    let wanted = Wanted::of(flags, program)?;
    os::memory::give_back_large();
    let mut service = (flags.is_service() && !wanted.screen).then(Service::start);
    let interruption = match service.as_ref().is_some_and(Service::hears_hangup) {
        true => program.interruption_of_service(),
        false => program.interruption(),
    };
    let dump = Asked::watch(SIGUSR1);
    let bound = bind(flags)?;
    let nodes = nodes::wanted(&flags.node, flags.node_anywhere, flags.cookie_file.as_ref())?;
    // From here on signals are handled, because the next check takes a second.
    if let Some(service) = &service {
        service.look_for_another();
    }
    let readers = start_reader()?;
    if let (Some(service), Readers::Process(reader)) = (&mut service, &readers) {
        service.look_after(reader.state().ok());
    }
    let (sampling, sources) = sample(flags.scope(), readers)?;
    if nodes.is_empty() && sources.iter().all(|one| one.missing.is_some()) {
        return Err(Failure::need("nothing can be measured here; run it as root"));
    }
    if service.is_some() {
        note_missing(&sources);
    }
    let mut has_programs = !lacks_programs(&sources);
    let notifier = flags.on_finding.as_deref().map(Notifier::start).transpose()?;
    let mut terminal = if wanted.screen { Some(Terminal::enter()?) } else { None };
    walls::enter(&wanted.writes(), wanted.ring.unwrap_or(0), !nodes.is_empty());
    // Threads that start here have no more rights than this thread has at this point.
    let mut listener = bound.map(Listener::start).transpose()?;
    sampling.ask(nodes::start(nodes)?);
    let mut hindsight = wanted.hindsight();
    let keeps = wanted.record.is_some() && hindsight.is_none();
    let mut session = WatchSession::new((sampling, sources), flags.scope(), keeps);
    let wants_incidents = flags.incidents || notifier.is_some();
    let mut incidents = wants_incidents.then(|| IncidentLog::new(flags.incidents, notifier));
    let began = Instant::now();
    let is_over = || wanted.length.is_some_and(|length| began.elapsed() >= length);
    let mut reported = None;
    let mut goes_on = true;
    while goes_on && !interruption.noticed() && !is_over() && flags.is_of_use(&program.out) {
        let left = wanted.length.map_or(INTERVAL, |all| all.saturating_sub(began.elapsed()));
        goes_on = wait(INTERVAL.min(left), interruption, &mut terminal, &session);
        let ends = || interruption.noticed() || is_over();
        let Some(tick) = tick(&mut session, &mut terminal, &mut reported, &ends) else { break };
        if service.is_some() && has_programs && lacks_programs(session.sources()) {
            has_programs = false;
            note_missing(session.sources());
        }
        if terminal.is_some() || listener.is_some() || incidents.is_some() || wanted.json {
            session.look();
        }
        let has_begun = match &mut incidents {
            Some(incidents) => incidents.look(&session, program),
            None => session.has_begun(),
        };
        if let Some(hindsight) = &mut hindsight {
            hindsight.add(tick, &session, has_begun, dump.noticed());
        }
        if let (Some(listener), Some(last)) = (&mut listener, session.seen()) {
            listener.show(&session.last(), last);
        }
        if let Some(service) = &mut service {
            service.look();
        }
        if let (true, false, Some(live)) = (wanted.json, is_over(), session.seen()) {
            print_line(program, live);
        }
    }
    drop(terminal);
    if let Some(hindsight) = &mut hindsight {
        hindsight.end(&session);
    }
    if let Some(incidents) = incidents {
        incidents.end(program);
    }
    finish(&session, &wanted, flags.why, program)
}

/// Whether there are no programs in the kernel. They may also be lost while `watch` runs.
fn lacks_programs(sources: &[SourceUse]) -> bool {
    sources.iter().any(|one| one.source == Source::Scheduler && one.missing.is_some())
}

/// Prints what a service cannot see, since it shows no answers.
fn note_missing(sources: &[SourceUse]) {
    let told = [
        (Source::Scheduler, "most stalls cannot be found here"),
        (Source::GroupsAbove, "quotas of groups above and beside this container"),
    ];
    for (source, what) in told {
        let source = sources.iter().find(|one| one.source == source);
        if let Some(why) = source.and_then(|one| one.missing.as_ref()) {
            let why = report::prose::live::missing(why);
            output::note(&format!("watch: {what}: {why}"));
        }
    }
}

/// Opens files of processes for another `watch`, at the other end of standard input.
fn reader() -> Result<u8, Failure> {
    // It ends with its `watch`.
    signals::ignore_requests();
    let not_asked = || Failure::usage("reader: only `tailback watch` starts it");
    let socket = std::io::stdin().as_fd().try_clone_to_owned().map_err(|_| not_asked())?;
    ::watch::reader::serve(UnixStream::from(socket)).map(|()| 0).map_err(|_| not_asked())
}

/// Starts the reader, which opens files that users wrote.
fn start_reader() -> Result<Readers, Failure> {
    if !Roots::real().proc.join("self/stat").exists() {
        return Err(Failure::need(
            "watch: /proc shows no processes; mount it: mount -t proc proc /proc",
        ));
    }
    let mut command = Command::new("/proc/self/exe");
    command.arg0("tailback").arg("reader").env_clear().current_dir("/").process_group(0);
    match Reader::start(command) {
        Ok(reader) => Ok(Readers::Process(Box::new(reader))),
        Err(error) => {
            output::note(&format!(
                "watch: the reader of programs did not start: {error}; functions are shown without names"
            ));
            Ok(Readers::None)
        }
    }
}

/// Starts the sampler.
fn sample(scope: Scope, readers: Readers) -> Result<(Sampling, Vec<SourceUse>), Failure> {
    let make = move |steps| {
        Sampler::start(&Roots::real(), &scope, readers).map(|sampler| sampler.with_steps(steps))
    };
    let start = || Sampling::start(make, walls::enter_sampling);
    patience::report_if_late(LATE, say_loading, start).map_err(|error| match error {
        StartError::Scope(error) => Failure::usage(error.to_string()),
        StartError::Thread(error) => Failure::need(format!("watch: {error}; see ulimit -u")),
    })
}

/// On a machine whose CPUs were all busy, loading has taken 50 s.
fn say_loading() {
    output::note(&format!(
        "watch: loading the eBPF programs takes longer than {} s; tailback may get little CPU on \
         this machine now",
        LATE.as_secs()
    ));
}

/// Reads an interval. Reports a reading that takes too long, unless one was reported lately. None
/// if the run ends first.
fn tick(
    session: &mut WatchSession,
    terminal: &mut Option<Terminal>,
    reported: &mut Option<Instant>,
    is_over: &dyn Fn() -> bool,
) -> Option<Tick> {
    let (began, began_ran) = (Instant::now(), session.steps().ran(&Roots::real()));
    let (mut is_named, mut over_since) = (false, None);
    let late = |steps: &Steps| {
        let ran = steps.ran(&Roots::real()).zip(began_ran);
        let got = ran.map(|(now, before)| now.saturating_sub(before));
        output::note(&late(steps, got, began.elapsed()));
    };
    loop {
        if let Some(tick) = session.tick(PAUSE) {
            return Some(tick);
        }
        if let Some(terminal) = terminal
            && !terminal.show(session.seen(), Duration::ZERO)
        {
            return None;
        }
        // A reading that never ends is reported in any case, at the latest when the pause is over.
        let is_due = reported.is_none_or(|last| last.elapsed() >= REPORTED);
        if began.elapsed() >= LATE && !is_named && terminal.is_none() && is_due {
            is_named = true;
            *reported = Some(Instant::now());
            late(session.steps());
        }
        if is_over() {
            let waited = over_since.get_or_insert_with(Instant::now).elapsed();
            if waited >= LAST && (waited >= LAST_READY || !is_ready(session.steps())) {
                late(session.steps());
                return None;
            }
        }
    }
}

fn is_ready(steps: &Steps) -> bool {
    steps.is_ready(&Roots::real()).unwrap_or(false)
}

/// The message about a late reading: it hangs, or its thread waits for a CPU.
fn late(steps: &Steps, got: Option<Duration>, over: Duration) -> String {
    let what = match steps.now() {
        Step::Idle => "the figures of an interval",
        Step::Tables => "the kernel's tables",
        Step::Machine => "the figures of the machine",
        Step::Nodes => "the Erlang nodes",
        Step::Processes => "the names and groups of processes",
        Step::Spots => "the functions in which threads spin",
        Step::Groups => "the counters of control groups",
        Step::Runtimes => "the runtimes of programs",
        Step::Memory => "the memory of control groups",
    };
    match got.filter(|_| is_ready(steps)) {
        Some(got) => format!(
            "watch: reading {what} takes long: its thread is ready to run and got {} ms of CPU in \
             {:.1} s, because this machine is busy",
            got.as_millis(),
            over.as_secs_f64()
        ),
        None => format!("watch: reading {what} hangs; the figures do not change until it ends"),
    }
}

impl Wanted {
    fn of(flags: &Watch, program: &Program) -> Result<Self, Failure> {
        let wanted = Wanted {
            length: flags.length,
            json: flags.json,
            incidents: flags.incidents,
            record: None,
            ring: flags.ring,
            briefs: Briefs::asked(program, &flags.brief)?,
            screen: false,
        };
        let named = flags.record.as_ref();
        if wanted.ring.is_some() && named.is_none() {
            return Err(Failure::usage(
                "--ring: name the file for the records of findings: --record FILE",
            ));
        }
        let quiet = wanted.json || wanted.length.is_some() || flags.incidents;
        let listens = flags.listen.is_some();
        let is_terminal = std::io::stdout().is_terminal() && std::io::stdin().is_terminal();
        if !quiet && !is_terminal && !listens && wanted.ring.is_none() {
            return Err(Failure::usage(
                "watch: no terminal for the live screen; use --for 30s, --json or --incidents",
            ));
        }
        flags.on_finding.as_deref().map(notifier::check).transpose()?;
        let record = named.map(|path| record::check(path, wanted.ring.is_some())).transpose()?;
        Ok(Wanted { record, screen: !quiet && is_terminal, ..wanted })
    }

    fn hindsight(&self) -> Option<Hindsight> {
        self.ring.zip(self.record.as_ref()).map(|(bytes, file)| Hindsight::new(bytes, file))
    }

    /// Whether all output is the lines that are printed while it runs: those of incidents, or
    /// those of `--json` without an end. With `--for`, a last line is about the whole run.
    fn prints_only_lines(&self) -> bool {
        self.incidents || (self.json && self.length.is_none())
    }

    /// The folders that this run writes to.
    fn writes(&self) -> Vec<PathBuf> {
        let files = self.record.iter().map(PathBuf::as_path);
        let files = files.chain(self.briefs.as_ref().and_then(Briefs::file));
        files.map(crate::paths::folder_of).collect()
    }
}

fn bind(flags: &Watch) -> Result<Option<Bound>, Failure> {
    let Some(address) = flags.listen else { return Ok(None) };
    let bound = Bound::at(address, flags.listen_anywhere)?;
    output::note(&format!("metrics: http://{}/metrics", bound.address()));
    Ok(Some(bound))
}

/// Prints the results at the end.
fn finish(
    session: &WatchSession,
    wanted: &Wanted,
    why: bool,
    program: &Program,
) -> Result<u8, Failure> {
    if session.is_empty() {
        return Ok(exit::INTERRUPTED);
    }
    let all = session.all();
    deliver(&all, wanted, why, program)?;
    // Stopping a service is no failure.
    match wanted.incidents {
        true => Ok(0),
        false => Ok(briefs::code(wanted.briefs.as_ref(), code(&::watch::summary(&all)))),
    }
}

/// Prints the results and writes the record. A failure of one does not keep the other back.
fn deliver(all: &Live, wanted: &Wanted, why: bool, program: &Program) -> Result<(), Failure> {
    let mut given = Ok(());
    if wanted.prints_only_lines() {
        // They are already printed.
    } else if let Some(briefs) = &wanted.briefs {
        given = briefs.give(program, std::iter::once(&record::of(all)));
    } else if wanted.json {
        print_line(program, &Live { intervals: Vec::new(), ..all.clone() });
    } else {
        program.out.print(&report::live(all, records::meta_of, output::look_with(why)));
    }
    // With a ring, only the intervals around findings are written.
    let kept = match (&wanted.record, wanted.ring) {
        (Some(path), None) => record::write(all, path),
        _ => Ok(()),
    };
    if let (Err(given), Err(_)) = (&given, &kept) {
        output::complain(&given.line);
    }
    kept.and(given)
}

/// The exit code for a summary.
fn code(summary: &Summary) -> u8 {
    match summary {
        Summary::Finding | Summary::FindingBeside(_) => 1,
        Summary::NothingMeasured => exit::NEED,
        Summary::NoFigures
        | Summary::Loses(_)
        | Summary::Near(_)
        | Summary::Together(_)
        | Summary::AllWell(_)
        | Summary::Stolen(_)
        | Summary::PartlyMeasured => 0,
    }
}

impl Watch {
    /// Whether it reports to others for as long as it runs.
    fn is_service(&self) -> bool {
        let is_endless = self.length.is_none() && (self.json || self.ring.is_some());
        self.incidents || self.on_finding.is_some() || self.listen.is_some() || is_endless
    }

    /// Whether anybody gets more from this run. A run that only prints ends when its output can no
    /// longer be written. One with `--for` ends by itself.
    fn is_of_use(&self, out: &output::Output) -> bool {
        let serves = self.listen.is_some() || self.on_finding.is_some() || self.ring.is_some();
        serves || self.length.is_some() || out.is_of_use()
    }

    fn scope(&self) -> Scope {
        Scope { pids: self.pid.clone(), cgroup: self.cgroup.clone(), comm: self.comm.clone() }
    }
}

/// Waits, and handles keys meanwhile. Returns whether to continue.
fn wait(
    time: Duration,
    interruption: &Interruption,
    terminal: &mut Option<Terminal>,
    session: &WatchSession,
) -> bool {
    let until = Instant::now() + time;
    loop {
        let left = PAUSE.min(until.saturating_duration_since(Instant::now()));
        match terminal {
            None => std::thread::sleep(left),
            Some(terminal) => {
                if !terminal.show(session.seen(), left) {
                    return false;
                }
            }
        }
        if interruption.noticed() || Instant::now() >= until {
            return true;
        }
    }
}

fn print_line(program: &Program, live: &Live) {
    let summary = ::watch::summary(live);
    let line = serde_json::json!({ "schema": SCHEMA, "live": live, "summary": summary });
    program.out.json(&format!("{line}\n"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::{Args, FromArgMatches};
    use model::live::Program;
    use watch::{Loss, To};

    fn parsed(words: &[&str]) -> Watch {
        let command = Watch::augment_args(clap::Command::new("watch")).no_binary_name(true);
        Watch::from_arg_matches(&command.try_get_matches_from(words).unwrap()).unwrap()
    }

    #[test]
    fn a_watch_that_only_prints_ends_with_the_reader_of_its_output() {
        let closed = output::Output::default();
        closed.check(Err(std::io::ErrorKind::BrokenPipe.into()));
        for words in [&["--json"][..], &["--incidents"], &["--json", "--record", "w.json"]] {
            assert!(parsed(words).is_of_use(&output::Output::default()), "{words:?}");
            assert!(!parsed(words).is_of_use(&closed), "{words:?}");
        }
        for words in [
            &["--json", "--for", "30s"][..],
            &["--json", "--listen", "127.0.0.1:9964"],
            &["--json", "--ring", "64MiB", "--record", "w.json"],
            &["--incidents", "--on-finding", "/bin/true"],
        ] {
            assert!(parsed(words).is_of_use(&closed), "{words:?}");
        }
    }

    #[test]
    fn only_json_with_a_length_ends_with_a_line_about_the_whole_run() {
        let session = crate::command::Session::new(|| clap::Command::new("tailback"));
        let prints_only_lines =
            |words: &[&str]| Wanted::of(&parsed(words), &session).unwrap().prints_only_lines();
        for words in [&["--json"][..], &["--incidents"], &["--incidents", "--for", "30s"]] {
            assert!(prints_only_lines(words), "{words:?}");
        }
        for words in [&["--json", "--for", "30s"][..], &["--for", "30s"]] {
            assert!(!prints_only_lines(words), "{words:?}");
        }
    }

    #[test]
    fn only_findings_and_nothing_measured_are_no_success() {
        let program = Program::default();
        let loss = Loss {
            program,
            ms_per_s: 900.0,
            to: To::Quota,
            and_others: false,
            part_ms_per_s: 800.0,
        };
        let beside = Summary::FindingBeside(loss.clone());
        assert_eq!([code(&Summary::Finding), code(&beside)], [1, 1]);
        assert_eq!([code(&Summary::Loses(loss)), code(&Summary::AllWell(None))], [0, 0]);
        assert_eq!(code(&Summary::NothingMeasured), exit::NEED);
    }

    #[test]
    fn a_record_is_written_also_where_the_brief_record_cannot_be() {
        let place = tempfile::tempdir().unwrap();
        let (into, kept) = (place.path().join("answers"), place.path().join("w.json"));
        let into_word = into.to_str().unwrap();
        let to_word = kept.to_str().unwrap();
        let words = ["--for", "1s", "--brief", "--into", into_word, "--record", to_word];
        let session = crate::command::Session::new(|| clap::Command::new("tailback"));
        let wanted = Wanted::of(&parsed(&words), &session).unwrap();
        // As on a full disk, no file can be made there any more.
        std::fs::remove_dir(&into).unwrap();
        let failure = deliver(&Live::default(), &wanted, false, &session).unwrap_err();
        assert!(failure.line.starts_with("--into: "), "{}", failure.line);
        assert_eq!((failure.code, kept.is_file()), (exit::NEED, true));
    }
}
