//! Tests every ending of a guest without QEMU: a script replaces it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use os::arch::Arch;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use tailback_guest::frame::{FrameKind, encode, pack};
use tailback_guest::{
    Accel, Clock, Ending, Event, Guest, GuestError, Hello, Kernel, Limits, Outcome, Qemu, Setup,
};

/// Longer than any of these tests takes, even on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// A program that finds its socket ends as QEMU does, and then runs the test's script: `send
/// FILE` writes to the data port, `print TEXT` to the console. `$control` is the control port.
const FAKE_QEMU: &str = r#"#!/bin/bash
for word in "$@"; do
    case $word in
    socket,id=console,fd=*) console=${word##*=} ;;
    socket,id=data,fd=*) data=${word##*=} ;;
    socket,id=control,fd=*) control=${word##*=} ;;
    esac
done
send() { cat "$1" >&"$data"; }
print() { echo "$*" >&"$console"; }
"#;

struct Fixture {
    folder: tempfile::TempDir,
}

impl Fixture {
    fn new() -> Self {
        let fixture = Fixture { folder: tempfile::tempdir().unwrap() };
        // If root runs this test, the script runs as nobody.
        std::fs::set_permissions(fixture.folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A file with these frames.
    fn frames(&self, name: &str, frames: &[(FrameKind, &[u8])]) -> String {
        let bytes: Vec<u8> = frames.iter().flat_map(|(kind, load)| encode(*kind, load)).collect();
        std::fs::write(self.path(name), bytes).unwrap();
        self.path(name).display().to_string()
    }

    fn hello(&self) -> String {
        let hello = Hello { release: "6.1.0".into(), cpus: 4 };
        self.frames("hello", &[(FrameKind::Hello, &serde_json::to_vec(&hello).unwrap())])
    }

    fn start(&self, script: &str, limits: Limits) -> Guest {
        let program = self.path("qemu");
        testing::write_program(&program, &format!("{FAKE_QEMU}{script}\n"));
        let program = program.display().to_string();
        let qemu = Qemu { arch: Arch::OWN, program, version: "0".into() };
        let image = self.path("k");
        std::fs::write(&image, "image").unwrap();
        let sha256 = debian::sha256(&image).unwrap();
        let kernel = Kernel {
            name: "k".into(),
            image,
            release: "6.1.0".into(),
            sha256,
            config: None,
            modules: Vec::new(),
        };
        let setup = Setup {
            qemu: &qemu,
            kernel: &kernel,
            cpus: 4,
            memory: 512 << 20,
            clock: Clock::Host,
            initramfs: b"archive",
            limits,
            root: None,
        };
        Guest::start(&setup, Accel::Tcg).unwrap()
    }

    /// The events of the guest of this script, and its outcome.
    fn run(&self, script: &str, limits: Limits) -> (Vec<Event>, Outcome) {
        let mut guest = self.start(script, limits);
        let began = Instant::now();
        let mut events = Vec::new();
        loop {
            let event = guest.next(&|| began.elapsed() > PATIENCE).unwrap();
            match event {
                Event::End(outcome) => return (events, outcome),
                other => events.push(other),
            }
        }
    }
}

fn patient() -> Limits {
    Limits { boot: PATIENCE, silence: PATIENCE, total: PATIENCE }
}

fn ending(outcome: Outcome) -> Ending {
    match outcome {
        Outcome::Failed { ending, output, record: None } if output.is_empty() => ending,
        _ => panic!("{outcome:?}"),
    }
}

#[test]
fn a_command_that_ends_brings_output_record_and_code() {
    let fixture = Fixture::new();
    let sent = fixture.frames(
        "sent",
        &[
            (FrameKind::Heartbeat, b""),
            (FrameKind::Line, b"a line of its own"),
            (FrameKind::Event, br#"{"event":"block-end"}"#),
            (FrameKind::Warning, b"no pids"),
            (FrameKind::Output, &pack(b"a table")),
            (FrameKind::Record, &pack(b"{}")),
            (FrameKind::Exit, &[1]),
        ],
    );
    let script = format!("send {}; send {sent}; sleep 1000", fixture.hello());
    let (events, outcome) = fixture.run(&script, patient());
    let record = Some("{}".to_owned());
    assert_eq!(outcome, Outcome::Done { code: 1, output: "a table".into(), record });
    assert_eq!(events[0], Event::Hello(Hello { release: "6.1.0".into(), cpus: 4 }));
    assert_eq!(events[1], Event::Line("a line of its own".into()));
    assert_eq!(events[2], Event::Told(r#"{"event":"block-end"}"#.into()));
    assert_eq!(events[3], Event::Warning("no pids".into()));
}

#[test]
fn a_panic_is_told_from_other_ends_before_and_after_the_guest_is_up() {
    let fixture = Fixture::new();
    let line = "Kernel panic - not syncing: VFS: Unable to mount root fs";
    let (_, outcome) = fixture.run(&format!("print Linux version; print '{line}'"), patient());
    assert_eq!(ending(outcome), Ending::Panic { line: line.into(), up: false });
    // A kernel that panics and does not end its machine is ended.
    let script = format!("send {}; print '{line}'; sleep 1000", fixture.hello());
    let (_, outcome) = fixture.run(&script, patient());
    assert_eq!(ending(outcome), Ending::Panic { line: line.into(), up: true });
}

#[test]
fn an_early_end_is_a_boot_failure_before_and_a_death_after() {
    let fixture = Fixture::new();
    let (_, outcome) = fixture.run("print 'no bootable device'; exit 3", patient());
    let Ending::BootFailure { why } = ending(outcome) else { panic!() };
    assert!(why.contains("exit status: 3") && why.contains("no bootable device"), "{why}");
    let (_, outcome) = fixture.run(&format!("send {}; exit 0", fixture.hello()), patient());
    assert!(matches!(ending(outcome), Ending::Died { .. }));
}

#[test]
fn limits_end_what_does_not_end_by_itself() {
    let fixture = Fixture::new();
    let short = Duration::from_millis(300);
    let boot = Limits { boot: short, ..patient() };
    let (_, outcome) = fixture.run("sleep 1000", boot);
    let Ending::BootFailure { why } = ending(outcome) else { panic!() };
    assert!(why.contains("no console output"), "{why}");

    let hello = fixture.hello();
    let silent = Limits { silence: short, ..patient() };
    let (_, outcome) = fixture.run(&format!("send {hello}; sleep 1000"), silent);
    assert!(matches!(ending(outcome), Ending::Hang { silence } if silence >= short));

    // After the limit, the guest has as much time as it may be silent. That has to be longer than
    // a stall of the machine, which looks like silence.
    let total = Limits { total: Duration::from_secs(2), silence: short * 20, ..patient() };
    let beat = fixture.frames("beat", &[(FrameKind::Heartbeat, b"")]);
    let script = format!("send {hello}; while send {beat}; do sleep 0.05; done");
    let (_, outcome) = fixture.run(&script, total);
    match ending(outcome) {
        Ending::TimeOut { limit } => assert_eq!(limit, total.total),
        // The limit includes the start of the script, which may be slow.
        Ending::BootFailure { .. } => {}
        other => panic!("{other:?}"),
    }
}

/// Waits for the host's byte, and then sends the results of an interrupted command.
fn sends_when_asked(fixture: &Fixture) -> String {
    let sent = fixture.frames(
        "sent",
        &[
            (FrameKind::Output, &pack(b"a table")),
            (FrameKind::Record, &pack(b"{}")),
            (FrameKind::Exit, &[130]),
        ],
    );
    format!(
        "send {}; read -r -N1 -u \"$data\" word; [ \"$word\" = E ] && send {sent}; sleep 1000",
        fixture.hello()
    )
}

#[test]
fn a_guest_that_takes_too_long_is_asked_for_what_it_has() {
    let fixture = Fixture::new();
    let limits = Limits { total: Duration::from_secs(3), boot: PATIENCE, ..patient() };
    // The limit includes the start of the script, which may be slow.
    let (_, outcome) = fixture.run(&sends_when_asked(&fixture), limits);
    let Outcome::Failed { ending, output, record } = outcome else { panic!("{outcome:?}") };
    match ending {
        Ending::TimeOut { limit } => {
            assert_eq!((limit, record), (limits.total, Some("{}".to_owned())));
            assert_eq!(output, "a table");
        }
        Ending::BootFailure { .. } => assert_eq!(record, None, "it was slow to come up"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_guest_that_is_not_wanted_any_more_tells_what_it_has() {
    let fixture = Fixture::new();
    let mut guest = fixture.start(&sends_when_asked(&fixture), patient());
    assert!(!guest.ask_to_end(), "it is not up");
    let began = Instant::now();
    let mut next = || guest.next(&|| began.elapsed() > PATIENCE).unwrap();
    assert!(matches!(next(), Event::Hello(_)));
    assert!(guest.ask_to_end() && guest.ask_to_end());
    let outcome = guest.next(&|| began.elapsed() > PATIENCE).unwrap();
    let record = Some("{}".to_owned());
    assert_eq!(outcome, Event::End(Outcome::Done { code: 130, output: "a table".into(), record }));
}

#[test]
fn a_flood_on_the_console_delays_no_limit() {
    let (sender, ended) = mpsc::channel();
    // In another thread: if the flood were read without an end, no interruption would be noticed.
    let thread = std::thread::spawn(move || {
        let fixture = Fixture::new();
        let limits = Limits { boot: Duration::from_secs(1), ..patient() };
        let mut guest = fixture.start("yes flood >&\"$console\"", limits);
        let event = guest.next(&|| false).unwrap();
        sender.send((event, guest.console(1000).len())).unwrap();
    });
    let (event, lines) = ended.recv_timeout(PATIENCE).unwrap_or_else(|error| {
        panic!("the guest did not end by its limit of a second within {PATIENCE:?}: {error}")
    });
    thread.join().unwrap();
    assert!(
        matches!(event, Event::End(Outcome::Failed { ending: Ending::BootFailure { .. }, .. })),
        "{event:?}"
    );
    assert!(lines <= 201, "{lines}");
}

#[test]
fn nonsense_on_the_data_port_is_garbled() {
    let fixture = Fixture::new();
    for (name, bytes) in [("a", &b"nonsense"[..]), ("b", &encode(FrameKind::Output, b"not packed"))]
    {
        std::fs::write(fixture.path(name), bytes).unwrap();
        let script = format!("send {}; sleep 1000", fixture.path(name).display());
        assert!(matches!(ending(fixture.run(&script, patient()).1), Ending::Garbled { .. }));
    }
}

#[test]
fn an_interrupted_guest_leaves_no_process() {
    let fixture = Fixture::new();
    let mut guest = fixture.start("sleep 1000 & wait", patient());
    let pid = guest.pid();
    assert!(matches!(guest.next(&|| true), Err(GuestError::Interrupted)));
    drop(guest);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
}

#[test]
fn a_flood_of_long_lines_and_warnings_is_cut() {
    let fixture = Fixture::new();
    let long = vec![b'x'; 1 << 20];
    let mut frames: Vec<(FrameKind, &[u8])> =
        vec![(FrameKind::Line, &long), (FrameKind::Warning, &long)];
    frames.extend(std::iter::repeat_n((FrameKind::Warning, &b"w"[..]), 30_000));
    frames.push((FrameKind::Exit, &[0]));
    let sent = fixture.frames("sent", &frames);
    let script = format!("send {}; send {sent}; sleep 1000", fixture.hello());
    let (events, outcome) = fixture.run(&script, patient());
    assert!(matches!(outcome, Outcome::Done { code: 0, .. }), "{outcome:?}");
    let longest = events.iter().map(|event| match event {
        Event::Line(line) | Event::Warning(line) => line.len(),
        _ => 0,
    });
    assert_eq!(longest.max(), Some(4096));
    assert!(events.len() <= 20_001, "{}", events.len());
    let last = events.last();
    assert!(matches!(last, Some(Event::Warning(line)) if line.contains("not shown")), "{last:?}");
}

/// The last block of a study ends just before its guest does.
#[test]
fn a_guest_that_ends_before_it_is_paused_keeps_its_results() {
    let fixture = Fixture::new();
    let sent =
        fixture.frames("sent", &[(FrameKind::Record, &pack(b"{}")), (FrameKind::Exit, &[1])]);
    // It answers no command.
    let script = format!("send {}; send {sent}; exit 0", fixture.hello());
    let mut guest = fixture.start(&script, patient());
    let began = Instant::now();
    let late = || began.elapsed() > PATIENCE;
    assert!(matches!(guest.next(&late).unwrap(), Event::Hello(_)));
    guest.pause().unwrap();
    guest.resume().unwrap();
    let outcome = guest.next(&late).unwrap();
    let record = Some("{}".to_owned());
    assert_eq!(outcome, Event::End(Outcome::Done { code: 1, output: String::new(), record }));
}

#[test]
fn a_running_guest_that_refuses_a_pause_is_an_error() {
    let fixture = Fixture::new();
    let script = r#"read -r -u "$control" line
        echo '{"error": {"desc": "no"}}' >&"$control"; sleep 1000"#;
    let mut guest = fixture.start(script, patient());
    assert!(matches!(guest.pause(), Err(GuestError::Qemu(why)) if why.contains("no")));
}

#[test]
fn a_guest_says_hello_once() {
    let fixture = Fixture::new();
    let script = format!("send {0}; send {0}; sleep 1000", fixture.hello());
    let (_, outcome) = fixture.run(&script, patient());
    let ending = ending(outcome);
    assert!(
        matches!(&ending, Ending::Garbled { why } if why.contains("two hello frames")),
        "{ending:?}"
    );
}

#[test]
fn qemu_gets_no_more_of_roots_environment_than_it_needs_and_no_privilege() {
    if !rustix::process::geteuid().is_root() {
        return testing::skipped("only root has something to keep back");
    }
    let fixture = Fixture::new();
    let told = fixture.path("told");
    std::fs::write(&told, "").unwrap();
    std::fs::set_permissions(&told, PermissionsExt::from_mode(0o666)).unwrap();
    let exit = fixture.frames("exit", &[(FrameKind::Exit, &[0])]);
    let hello = fixture.hello();
    let told_in = told.display();
    let script = format!(
        "send {hello}; {{ env; cat /proc/self/status; }} > {told_in}; send {exit}; sleep 1000"
    );
    fixture.run(&script, patient());
    let told = std::fs::read_to_string(told).unwrap();
    // Cargo sets some of these for every test.
    assert!(std::env::vars().any(|(name, _)| name.starts_with("CARGO")));
    assert!(!told.contains("CARGO"), "{told}");
    for line in ["NoNewPrivs:\t1", "CapEff:\t0000000000000000", "Uid:\t65534"] {
        assert!(told.contains(line), "{line}: {told}");
    }
}
