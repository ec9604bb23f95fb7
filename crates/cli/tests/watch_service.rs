//! `tailback watch` as a service: incidents, the program that starts for each, counters and
//! health.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod common;

use common::groups::parent_or_skip;
use common::processes::{self, Process};
use common::{BINARY, Place, Running, wait_for};
use host::cgroup::{Bandwidth, BandwidthGroup};
use rustix::process::{Pid, Signal};
use serde_json::Value;
use std::fs::Permissions;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::Duration;
use testing::{root_or_skip, skipped};

/// The complete JSON lines in a text.
fn lines(text: &str) -> Vec<Value> {
    let whole = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let of_json = whole.filter(|line| line.starts_with('{'));
    of_json.map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The incidents of `sh` with a quota, of this event.
fn of_sh<'a>(lines: &'a [Value], event: &str) -> Vec<&'a Value> {
    let is_own = |line: &&Value| {
        let incident = &line["incident"];
        let id = incident["id"].as_str().unwrap();
        id.starts_with("cpu-quota:sh:") && incident["event"] == event
    };
    lines.iter().filter(is_own).collect()
}

fn get(address: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

#[test]
fn an_incident_has_a_line_when_it_begins_and_one_when_it_ends() {
    let Some(parent) = parent_or_skip() else { return };
    let (place, loads) = (Place::new(), Place::new());
    // The input and the user of the program.
    let got = place.path("got");
    std::fs::write(&got, "").unwrap();
    std::fs::set_permissions(&got, Permissions::from_mode(0o666)).unwrap();
    std::fs::set_permissions(place.path(""), Permissions::from_mode(0o755)).unwrap();
    let action = place.path("action");
    let script = format!("#!/bin/sh\n{{ id -u; cat; }} >>{}\n", got.display());
    testing::write_program(&action, &script);
    let group = BandwidthGroup::create(&parent).unwrap();
    group.set(&Bandwidth { quota_us: 5_000, period_us: 50_000, burst_us: 0 }).unwrap();
    let mut load = loads.program("sh");
    load.args(["-c", "while :; do :; done"]);
    let load = loads.start(load);
    group.add(load.pid()).unwrap();

    let action = action.to_str().unwrap();
    let words =
        ["watch", "--incidents", "--listen", "127.0.0.1:0", "--on-finding", action, "--comm", "sh"];
    let running = place.start(place.tailback(&words));
    let out = || std::fs::read_to_string(place.path("out")).unwrap();
    wait_for("an incident", || (!of_sh(&lines(&out()), "began").is_empty()).then_some(()));
    let said = running.err();
    let address =
        said.split_once("http://").unwrap().1.split_once("/metrics").unwrap().0.to_owned();
    assert!(get(&address, "/-/healthy").starts_with("HTTP/1.1 200 "));
    // A counter is 0 when it appears for the first time.
    wait_for("a loss", || {
        let metrics = get(&address, "/metrics");
        let is_own = |line: &&str| {
            line.starts_with("tailback_watch_finding_lost_seconds_total{program=\"sh\"")
                && line.contains("stall=\"cpu-quota\"")
        };
        let lost = metrics.lines().find(is_own)?.rsplit_once(' ')?.1.parse::<f64>().ok()?;
        (lost > 0.0).then_some(())
    });

    running.signal(Signal::TERM);
    let ran = running.end();
    ran.assert_no_panic();
    assert_eq!(ran.code(), 0, "{ran:?}");
    let all = lines(&ran.out);
    let (began, ended) = (of_sh(&all, "began"), of_sh(&all, "ended"));
    assert_eq!((began.len(), ended.len()), (1, 1), "{}", ran.out);
    for key in ["id", "began"] {
        assert_eq!(began[0]["incident"][key], ended[0]["incident"][key], "{key}");
    }
    assert!(ended[0]["incident"]["lost_s"].as_f64().unwrap() > 0.0, "{ended:?}");
    assert!(began[0]["fix"].as_str().unwrap().starts_with("Raise the quota"), "{began:?}");
    assert!(began[0]["says"].as_str().unwrap().starts_with("cpu-quota: sh "), "{began:?}");
    assert!(ended[0]["says"].as_str().unwrap().starts_with("Over: cpu-quota of sh "), "{ended:?}");
    assert_eq!(ended[0].get("fix"), None);
    // The program got both lines, and did not run as root.
    let texts = std::fs::read_to_string(&got).unwrap();
    let users: Vec<&str> = texts.lines().filter(|line| !line.starts_with('{')).collect();
    assert!(users.len() >= 2 && users.iter().all(|user| *user != "0"), "{texts}");
    let passed_on = lines(&texts);
    assert_eq!((of_sh(&passed_on, "began"), of_sh(&passed_on, "ended")), (began, ended));
}

#[test]
fn a_program_that_is_not_there_is_refused() {
    let place = Place::new();
    let ran = place.say(&["watch", "--for", "1s", "--on-finding", "/no/such"]);
    assert_eq!(ran.code(), 2, "{ran:?}");
    assert!(ran.err.contains("--on-finding /no/such: no such program"), "{ran:?}");
}

#[test]
fn without_privileges_it_says_that_it_sees_little() {
    if !root_or_skip() {
        return;
    }
    let place = Place::new();
    let mut command = place.program("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups", BINARY]);
    command.args(["watch", "--incidents", "--for", "3s"]);
    let ran = place.run(command);
    assert_eq!((ran.code(), ran.out.as_str()), (0, ""), "{ran:?}");
    assert!(ran.err.contains("watch: most stalls cannot be found here: "), "{ran:?}");
}

#[test]
fn a_kernel_without_type_information_is_one_line() {
    if !root_or_skip() {
        return;
    }
    if !Path::new("/sys/kernel/btf").exists() {
        skipped("a kernel without BTF: this one has no folder to hide");
        return;
    }
    let place = Place::new();
    let mut command = place.program("unshare");
    // An empty folder in its place, for this program alone.
    let script = "mount -t tmpfs none /sys/kernel/btf && exec \"$0\" watch --incidents --for 3s";
    command.args(["--mount", "sh", "-c", script, BINARY]);
    let ran = place.run(command);
    assert_eq!((ran.code(), ran.out.as_str()), (0, ""), "{ran:?}");
    let about = |line: &&str| line.contains("/sys/kernel/btf/vmlinux");
    let lines: Vec<&str> = ran.err.lines().filter(about).collect();
    let [line] = &lines[..] else { panic!("{ran:?}") };
    assert!(line.starts_with("watch: most stalls cannot be found here: "), "{line}");
}

/// Starts this program as a service that prints incidents.
fn service<'a>(place: &'a Place, program: &Path) -> Running<'a> {
    let mut command = place.program(program.to_str().unwrap());
    command.args(["watch", "--incidents", "--listen", "127.0.0.1:0", "--comm", "no-such-name"]);
    let running = place.start(command);
    wait_for("the metrics", || {
        let said = running.err();
        let address = said.split_once("http://")?.1.split_once("/metrics")?.0;
        let healthy =
            TcpStream::connect(address).is_ok() && get(address, "/-/healthy").contains(" 200 ");
        healthy.then_some(())
    });
    running
}

#[test]
fn another_version_of_its_program_is_said_once() {
    if !root_or_skip() {
        return;
    }
    let place = Place::new();
    let [program, other] = ["tailback", "other"].map(|name| place.path(name));
    for path in [&program, &other] {
        testing::copy_program(Path::new(BINARY), path);
    }
    let running = service(&place, &program);
    assert!(!running.err().contains("was replaced"), "{}", running.err());
    std::fs::rename(&other, &program).unwrap();
    wait_for("a line", || {
        running.err().contains("the file of this program was replaced").then_some(())
    });
    // The next seconds print nothing more.
    std::thread::sleep(Duration::from_millis(2500));
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_eq!((ran.code(), ran.err.matches("replaced").count()), (0, 1), "{ran:?}");
}

/// The child processes of the service, including the reader.
fn children(running: &Running) -> Vec<Process> {
    let mut children = processes::below(running.pid());
    // The workers of the reader end by themselves.
    children.retain(|child| child.parent == running.pid());
    assert!(!children.is_empty(), "no reader");
    children
}

/// Kills the reader; the watch reports that once, and continues.
fn assert_outlives_its_reader(running: Running) {
    let is_reader = |child: &Process| child.name == "tailback-reader";
    let reader = wait_for("the reader", || children(&running).into_iter().find(is_reader));
    assert!(!running.err().contains("has ended"), "{}", running.err());
    processes::kill(&reader);
    wait_for("a line", || running.err().contains("the reader of programs has ended").then_some(()));
    // It continues without questions to the reader: new programs start, and each second is read
    // as before.
    std::thread::sleep(Duration::from_millis(2500));
    running.signal(Signal::TERM);
    let ran = running.end();
    assert_eq!(ran.err.matches("has ended").count(), 1, "{ran:?}");
    assert!(!ran.err.contains("hangs"), "{ran:?}");
}

#[test]
fn a_reader_that_was_killed_is_said_once_and_watch_goes_on() {
    if !root_or_skip() {
        return;
    }
    let (place, plain) = (Place::new(), Place::new());
    assert_outlives_its_reader(service(&place, Path::new(BINARY)));
    let running = plain.start(plain.tailback(&["watch", "--json", "--comm", "no-such-name"]));
    let out = plain.path("out");
    wait_for("a line", || std::fs::read_to_string(&out).unwrap().contains('\n').then_some(()));
    assert_outlives_its_reader(running);
}

#[test]
fn a_hangup_ends_no_service_and_another_service_is_named() {
    if !root_or_skip() {
        return;
    }
    let (place, second) = (Place::new(), Place::new());
    let running = service(&place, Path::new(BINARY));
    let other = second.say(&["watch", "--incidents", "--for", "3s"]);
    assert_eq!(other.code(), 0, "{other:?}");
    assert!(other.err.contains("another `tailback watch` runs on this machine"), "{other:?}");
    if std::fs::File::open("/dev/tty").is_ok() {
        skipped("a hangup: a terminal controls this test, and says by it that it has gone");
        return;
    }
    // If somebody asks systemd to send it, all processes of the service get the signal. USR1 asks
    // the service for a record.
    let children = children(&running);
    for child in &children {
        let child = Pid::from_raw(child.pid.cast_signed()).unwrap();
        for signal in [Signal::HUP, Signal::USR1] {
            rustix::process::kill_process(child, signal).unwrap();
        }
    }
    running.signal(Signal::HUP);
    wait_for("a line", || running.err().contains("no configuration to read again").then_some(()));
    let is_there =
        |child: &Process| processes::at(child.pid).is_some_and(|now| now.started == child.started);
    assert!(children.iter().all(is_there), "{children:?}");
    running.signal(Signal::TERM);
    assert_eq!(running.end().code(), 0);
}
